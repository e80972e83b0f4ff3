"""What a launcher's own flags and environment say: how many processes on how many nodes, what accelerate shards, which files it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from stablint.frameworks import accelerate
from stablint.frameworks.fragment import Block, Fragment, Link, Row, spelled, statement
from stablint.run.fact import OPEN, PRESUMED, Explicit, Place, Statement
from stablint.syntax.tree import Command, Document, Entry, Mapping, Scalar, Script, Unknown

_LAYER = "accelerate-flags"
# Flags of torchrun (torch.distributed.run), the deepspeed runner and accelerate that say how many processes there are.
_PROCESS_FLAGS = {
    "nproc_per_node": "launch.processes_per_node", "num_gpus": "launch.processes_per_node", "num_accelerators": "launch.processes_per_node",
    "num_processes": "launch.processes", "nnodes": "launch.nodes", "num_nodes": "launch.nodes", "num_machines": "launch.nodes",
}  # fmt: skip
_LAUNCHERS = {"torchrun": "torchrun", "deepspeed": "deepspeed", "accelerate": "accelerate", "accelerate-launch": "accelerate",
              "llamafactory-cli": "llamafactory-cli", "swift": "swift", "megatron": "swift", "trl": "trl", "axolotl": "axolotl"}  # fmt: skip
# They start torchrun with what these variables say (ms-swift swift/cli/main.py, LLaMA-Factory launcher.py, xtuner's train command).
_BY_ENVIRONMENT = frozenset({"swift", "llamafactory-cli", "xtuner"})
_VARIABLES = {"NPROC_PER_NODE": "launch.processes_per_node", "NNODES": "launch.nodes", "NODE_RANK": "launch.node_rank"}
# trl/accelerate_configs/*.yaml: what the names behind `trl … --accelerate_config` stand for.
_ZERO = {"zero1": 1, "zero2": 2, "zero3": 3}
# Flags that the launchers hold against each other, and refuse together or apart (deepspeed 0.19.8 launcher/runner.py, torch distributed/run.py).
_COMPARED = {
    "deepspeed": frozenset({"include", "exclude", "num_gpus", "num_nodes", "no_ssh", "node_rank", "hostfile"}),
    "torchrun": frozenset({"nnodes", "node_rank", "rdzv_backend", "rdzv_endpoint", "standalone", "master_addr", "module", "no_python"}),
    "accelerate": frozenset({"machine_rank", "main_process_ip", "main_process_port", "same_network", "rdzv_backend", "module", "no_python"}),
}  # fmt: skip
_PYTHON = re.compile(r"python[0-9.]*\Z")
_SLOTS = re.compile(r"[0-9]+(?:,[0-9]+)*\Z")
_RANGE = re.compile(r"([0-9]+):([0-9]+)\Z")
_DEVICES = re.compile(r"[0-9]+(?:,[0-9]+)*,?\Z")


def lower(document: Document, launcher: Command, index: int, own: bool, first: str = "") -> Fragment:
    """The launcher's flags (all of the command's, if the program starts nothing else) and the environment in front of it.

    `first`: the word that the whole command begins with. What MPI starts is many processes, whatever else starts each of them.
    """
    name = first if first in ("mpirun", "mpiexec") else name_of(launcher)
    reads = own or name == "trl"  # `trl sft` takes the flags of `accelerate launch` among its own
    flags = launcher.flags if reads else Mapping((), launcher.start, launcher.start)
    block = Block(document, "flags", " ".join(launcher.words), flags, launcher.start, launcher.end, index, launcher)
    accelerated = name == "accelerate"
    statements: list[Statement] = []
    links: list[Link] = []
    unread: list[Statement] = []
    lacking = _lacking(flags) if accelerated else frozenset()
    compared = _COMPARED.get(name, frozenset())
    if name == "torchrun" and any(spelled(entry.key) == "run_path" for entry in flags.entries):
        compared -= {
            "module",
            "no_python",
        }  # looked at first, and the others then not at all (torch 2.13 distributed/run.py:949)
    for entry in flags.entries:
        key = spelled(entry.key)
        if key in compared:
            statements.append(statement(block, entry, (key,), Row(key, f"launch.flags.{key}"), _LAYER))
        if key in _PROCESS_FLAGS and not (key == "num_processes" and name == "torchrun"):
            statements.append(_counted(block, entry, _PROCESS_FLAGS[key]))
        elif key == "standalone" and name == "torchrun":
            statements.append(_said(block, entry, "launch.nodes", 1))
        elif name == "trl" and key == "accelerate_config":
            statements += _named_config(block, entry)
            links += _link("accelerate", document, entry)
        elif accelerated and (switch := accelerate.switch_of(key)) in lacking:
            unread.append(_said(block, entry, "launch.flags.without_switch", f"--{switch}"))
        elif accelerated and key == "config_file":
            links += _link("accelerate", document, entry)
            statements.append(statement(block, entry, (key,), Row(key, "launch.accelerate_file"), _LAYER))
        elif accelerated and (row := accelerate.flag_row(key)) is not None:
            said = statement(block, entry, (key,), row, _LAYER)
            is_text = key == "gpu_ids" and isinstance(
                said.value, int
            )  # the launcher's parser takes it as it is written
            statements.append(said._replace(value=str(said.value), raw=str(said.value)) if is_text else said)
            links += _link("deepspeed", document, entry) if key == "deepspeed_config_file" else []
            if key == "mixed_precision":
                statements.append(_said(block, entry, accelerate.PRECISION_IN_FILE, None))
            if key == "dynamo_backend":
                statements.append(statement(block, entry, (key,), Row(key, accelerate.DYNAMO_IN_FILE), _LAYER))
        elif name == "deepspeed" and key == "autotuning":
            statements += _tuned(block, entry)
        elif name == "deepspeed" and key == "include":
            statements += _included(block, entry)
        elif name == "deepspeed" and key in ("exclude", "hostfile"):
            fact = "launch.processes_per_node" if key == "exclude" else "launch.nodes"
            statements.append(_said(block, entry, fact, Unknown(f"`--{key}` says it")))
    if name == "axolotl":
        statements += [
            _counted(block, one, _PROCESS_FLAGS[key])
            for one in _behind_dashes(launcher)
            if (key := spelled(one.key)) in _PROCESS_FLAGS
        ]
    if accelerated:
        statements += [*_mode(block), *unread[:1]]
    statements.append(_launched_by(block, launcher, name))
    statements += _unexported(document, block, launcher)
    command = (*launcher.words, "", "")[1] if name in ("llamafactory-cli", "swift", "trl") else ""
    if launcher.words[:1] == ("megatron",):  # ms-swift's second command, whose arguments are Megatron's
        command = "megatron"
    if command:
        statements.append(_launched_by(block, launcher, command)._replace(fact="launch.command"))
    statements += _environment(block, launcher, name, {s.fact for s in statements})
    scopes = {"launch": OPEN if flags.open and own else PRESUMED}
    if accelerated and not any(link.role == "accelerate" for link in links):
        scopes |= {"accelerate": OPEN}  # the user's default config file may say more
    return Fragment("shell", block, _LAYER, tuple(statements), scopes, {}, tuple(links))


def _behind_dashes(launcher: Command) -> Iterator[Entry]:
    """Flags behind `--`, which `axolotl train` hands on to the launcher that it starts (axolotl 0.17.0 cli/main.py:119, launcher_args)."""
    words = launcher.positionals
    for word, after in zip(words, (*words[1:], None), strict=True):
        if not isinstance(word.value, str) or not word.value.startswith("--"):
            continue
        name, equals, text = word.value[2:].partition("=")
        if equals:
            value = Scalar(int(text) if text.isdigit() else text, word.end - len(text), word.end)
            yield Entry(name, word.start, word.start + 2 + len(name), value)
        elif after is not None:
            yield Entry(name, word.start, word.end, after)


# What shards or multiplies the run, by the launcher's flags; the file's word counts where none of them is given (accelerate 1.15.0
# commands/launch.py, _validate_launch_command).
_MODES = {
    "multi_gpu": "MULTI_GPU", "use_deepspeed": "DEEPSPEED", "use_fsdp": "FSDP", "use_megatron_lm": "MEGATRON_LM", "tpu": "XLA",
    "tpu_use_cluster": "XLA", "cpu": "NO",
}  # fmt: skip


def _mode(block: Block) -> Iterator[Statement]:
    """The distributed type that one flag of `accelerate launch` asks for; it refuses two."""
    found = [entry for entry in block.mapping.entries if spelled(entry.key) in _MODES]
    if found and len({_MODES[spelled(entry.key)] for entry in found}) == 1:
        yield _said(block, found[0], "accelerate.distributed_type", _MODES[spelled(found[0].key)])


def _lacking(flags: Mapping) -> frozenset[str]:
    """The switches that neither the command nor a file which it names can give: the flags that want them are read by nobody."""
    keys = {spelled(entry.key) for entry in flags.entries}
    return frozenset() if flags.open or "config_file" in keys else accelerate.SWITCHES - keys


def name_of(launcher: Command) -> str:
    """The launcher in one word."""
    word = launcher.words[0].rpartition("/")[2] if launcher.words else ""
    words = " ".join(launcher.words)
    if "torch.distributed" in words or word == "tune":
        return "torchrun"
    if "accelerate.commands.launch" in words:
        return "accelerate"
    if _PYTHON.match(word):
        return "deepspeed" if launcher.words[-1] in ("deepspeed", "deepspeed.launcher.runner") else "python"
    return _LAUNCHERS.get(word, word)


def _counted(block: Block, entry: Entry, fact: str) -> Statement:
    """A number of processes or nodes. `auto`, `gpu`, `1:4` and -1 leave it to the machine."""
    stated = statement(block, entry, (spelled(entry.key),), Row(entry.key, fact), _LAYER)
    value = stated.value
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return stated
    if isinstance(value, str):
        found = _RANGE.match(value)
        if found and found[1] == found[2]:
            return stated._replace(value=int(found[1]))
        return stated._replace(value=Unknown(f"`{value}` is decided when it starts"))
    return stated._replace(value=Unknown("all that there are")) if value < 0 else stated


def _said(block: Block, entry: Entry, fact: str, value: object) -> Statement:
    """What a flag comes to that is no value of its own; nothing can be put in its place."""
    return statement(block, entry, (spelled(entry.key),), Row(entry.key, fact), _LAYER)._replace(value=value)


def _included(block: Block, entry: Entry) -> Iterator[Statement]:
    """`--include localhost:0,1` or `worker-0:0,2@worker-1:0,2`: a process for each number (deepspeed launcher/runner.py)."""
    text = str(entry.value.value) if isinstance(entry.value, Scalar) else ""
    hosts = [host.partition(":")[2] for host in text.split("@")]
    if all(_SLOTS.match(slots) for slots in hosts):
        yield _said(block, entry, "launch.processes", sum(len(slots.split(",")) for slots in hosts))
        yield _said(block, entry, "launch.nodes", len(hosts))
    else:
        yield _said(block, entry, "launch.processes_per_node", Unknown("the nodes' own GPUs"))


def _tuned(block: Block, entry: Entry) -> Iterator[Statement]:
    """Each trial of the autotuner has a file of its own, with ZeRO and a batch size (deepspeed autotuning/autotuner.py)."""
    for key in ("zero_optimization", "train_micro_batch_size_per_gpu"):
        yield _said(block, entry, f"deepspeed.{key}", Unknown("the autotuner writes it"))


def _named_config(block: Block, entry: Entry) -> Iterator[Statement]:
    name = entry.value.value if isinstance(entry.value, Scalar) else None
    if isinstance(name, str) and name in _ZERO:
        yield _said(block, entry, "deepspeed.zero_optimization.stage", _ZERO[name])


def _link(role: str, document: Document, entry: Entry) -> list[Link]:
    path = path_in(document, entry.value)
    return [Link(role, path, Place(document, entry.key, entry.value.start, entry.value.end, entry))] if path else []


def path_in(document: Document, node: object) -> str | None:
    """The file that a value names. Of one with an unknown variable its own words: the script may write that very file."""
    if not isinstance(node, Scalar):
        return None
    if isinstance(node.value, str):
        return node.value
    if not isinstance(node.value, Unknown):
        return None
    return document.text.text[node.start : node.end].strip("\"'") or None


def _launched_by(block: Block, launcher: Command, name: str) -> Statement:
    word = launcher.words[0] if launcher.words else ""
    place = Place(block.document, word, launcher.start, launcher.start + len(word), None, (word,))
    return Statement("launch.launcher", name, word, Explicit(place, _LAYER, block.number))


# What only the program that is started reads, never a script by itself.
_FOR_PROGRAMS = frozenset(
    {"NPROC_PER_NODE", "MAX_PIXELS", "VIDEO_MAX_PIXELS", "FPS_MAX_FRAMES", "CUDA_VISIBLE_DEVICES"}
)


def _unexported(document: Document, block: Block, launcher: Command) -> Iterator[Statement]:
    """Variables of the shell alone, where the script hands them on in no other way: `launch.unexported.NPROC_PER_NODE`."""
    root = document.root
    if not isinstance(root, Script):
        return
    given = {entry.key for entry in launcher.environment.entries}
    for entry in root.names.entries:
        key = entry.key
        if key in _FOR_PROGRAMS and key not in given and key not in _handed_on(document.text.text):
            yield statement(block, entry, (key,), Row(key, f"launch.unexported.{key}", "text"), "environment")


_EXPORTS_ALL = re.compile(r"\bset[ \t]+(?:-\w*a\w*\b|-o[ \t]+allexport)")
_USED = re.compile(r"\$\{?(\w+)")
_EXPORTED = re.compile(r"\b(?:export|declare)\b([^\n]*)")


@lru_cache(maxsize=4)  # once a script, however many commands it starts
def _handed_on(text: str) -> frozenset[str]:
    """Those of the variables that a script exports or hands on by their value."""
    if _EXPORTS_ALL.search(text):
        return _FOR_PROGRAMS
    exported = (word for line in _EXPORTED.findall(text) for word in re.findall(r"\w+", line))
    return _FOR_PROGRAMS.intersection((*_USED.findall(text), *exported))


def _environment(block: Block, launcher: Command, name: str, stated: set[str]) -> Iterator[Statement]:
    for entry in launcher.environment.entries:
        yield statement(block, entry, (entry.key,), Row(entry.key, "launch.env." + entry.key, "text"), "environment")
        if name in _BY_ENVIRONMENT and entry.key in _VARIABLES:
            row = Row(entry.key, _VARIABLES[entry.key])
            yield statement(block, entry, (entry.key,), row, "environment")
        elif name == "deepspeed" and entry.key == "CUDA_VISIBLE_DEVICES":
            yield from _visible(block, entry, stated)


def _visible(block: Block, entry: Entry, stated: set[str]) -> Iterator[Statement]:
    """Without a word on GPUs and nodes the deepspeed runner starts a process for each that is visible (launcher/runner.py, main)."""
    value = entry.value.value if isinstance(entry.value, Scalar) else None
    if stated & {"launch.processes", "launch.processes_per_node", "launch.nodes"} or not isinstance(value, str):
        return
    if _DEVICES.match(value):
        row = Row(entry.key, "launch.processes_per_node")
        count = len(value.strip(",").split(","))
        yield statement(block, entry, (entry.key,), row, "environment")._replace(value=count)
