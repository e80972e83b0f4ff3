"""Launch commands: what the launcher's flags say about processes and sharding, what the script's flags say about training, which files they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from stablint.dialect import accelerate, huggingface, llamafactory, programs
from stablint.dialect.fragment import Block, Fragment, Link, Row, spelled, statement
from stablint.run.fact import OPEN, PRESUMED, Explicit, Place, Statement
from stablint.run.releases import known_key
from stablint.source.tree import Command, Document, Entry, Mapping, Scalar, Script

SplitLaunch = Callable[[Command], "tuple[Command, Command | None]"]

# Flags of torchrun (torch.distributed.run), the deepspeed runner and accelerate that say how many processes there are.
_PROCESS_FLAGS = {
    "nproc_per_node": "launch.processes_per_node", "num_gpus": "launch.processes_per_node", "num_processes": "launch.processes",
    "nnodes": "launch.nodes", "num_nodes": "launch.nodes", "num_machines": "launch.nodes",
}  # fmt: skip
_CONFIG_SUFFIX = (".yaml", ".yml", ".json")
# A caller that hands over a whole config: everything else in it stands in that file.
_CONFIG_FLAGS = frozenset({"config", "config_file", "config_path"})
_MANY = re.compile(r"[0-9]+(,[0-9]+)*\Z")


def recognise(document: Document, split_launch: SplitLaunch) -> int:
    script = document.root
    if not isinstance(script, Script):
        return 0
    return (
        90
        if any(_is_training(*parts) or _launches_script(*parts) for parts in map(split_launch, script.commands))
        else 0
    )


def _is_training(launcher: Command, script: Command | None) -> bool:
    target = script or launcher
    keys = {spelled(entry.key) for entry in target.flags.entries}
    known = _known_flags(target)
    return (
        known >= 3
        or (programs.of(launcher, script) is not None and (bool(keys) or bool(_config_links(target))))
        or (known >= 1 and bool(keys & huggingface.TELLING))
        or (bool(_config_links(target)) and _starts_training(launcher, target))
    )


def _launches_script(launcher: Command, script: Command | None) -> bool:
    """A launcher in front of a Python file: what the file does is told by the file."""
    named = launcher.words[:1] in (("torchrun",), ("deepspeed",), ("accelerate",), ("python",), ("python3",))
    return named and any(word.endswith(".py") for word in _script_words(script or launcher))


def _script_words(command: Command) -> tuple[str, ...]:
    return (*command.words, *(word.value for word in command.positionals if isinstance(word.value, str)))


def _known_flags(target: Command) -> int:
    return sum(1 for entry in target.flags.entries if known_key(key := spelled(entry.key)) or key in llamafactory.ROWS)


def _starts_training(launcher: Command, target: Command) -> bool:
    words = launcher.words
    named = words[:2] in (("accelerate", "launch"), ("llamafactory-cli", "train")) or (
        words and words[0] in ("torchrun", "deepspeed", "trl")
    )
    return bool(named) or any("train" in word or "finetune" in word or "sft" in word for word in target.words)


def lower(document: Document, split_launch: SplitLaunch) -> Iterator[Fragment]:
    """Two fragments a training command: the launcher's and the script's; commands are numbered, each makes a run."""
    script = document.root
    assert isinstance(script, Script)
    for index, command in enumerate(script.commands):
        launcher, target = split_launch(command)
        weak = not _is_training(launcher, target)
        if weak and not _launches_script(launcher, target):
            continue
        yield _training(document, launcher, target or launcher, index)._replace(weak=weak)
        yield _launcher(document, launcher, index, own=target is not None)._replace(weak=weak)


def _training(document: Document, launcher: Command, target: Command, index: int) -> Fragment:
    block = Block(document, "flags", " ".join(target.words), target.flags, launcher.start, target.end, index, target)
    program = programs.of(launcher, target)
    fragment = programs.lower(block, program)
    configs = _config_links_of(document, target, index)
    scopes = dict(fragment.scopes)
    # What is not among the flags may stand in the file; and few known flags do not prove that the script parses TrainingArguments.
    if any(link.role == "config" for link in configs) or (program is None and _known_flags(target) < 3):
        scopes = dict.fromkeys(scopes, OPEN)
    return fragment._replace(links=(*fragment.links, *configs), scopes=scopes)


def reader(command: Command, split_launch: SplitLaunch) -> str:
    """The dialect that the flags of a command are written in."""
    program = programs.of(*split_launch(command))
    return program.dialect if program is not None else "hf-args"


def _config_links(command: Command) -> list[tuple[str, Scalar]]:
    found = [
        (str(entry.value.value), entry.value)
        for entry in command.flags.entries
        if spelled(entry.key) in _CONFIG_FLAGS
        and isinstance(entry.value, Scalar)
        and isinstance(entry.value.value, str)
    ]
    found += [
        (word.value, word)
        for word in command.positionals
        if isinstance(word.value, str) and word.value.endswith(_CONFIG_SUFFIX)
    ]
    return found


def _config_links_of(document: Document, command: Command, index: int) -> tuple[Link, ...]:
    links = [Link("config", path, Place(document, path, node.start, node.end)) for path, node in _config_links(command)]
    for word in _script_words(command):
        if word.endswith(".py"):
            links.append(Link("script", word, Place(document, word, command.start, command.end)))
    return tuple(links)


def _launcher(document: Document, launcher: Command, index: int, own: bool) -> Fragment:
    """The launcher's own flags and the environment in front of it. Without a launcher the run is one process."""
    flags = launcher.flags if own else Mapping((), launcher.start, launcher.start)
    block = Block(document, "flags", " ".join(launcher.words), flags, launcher.start, launcher.end, index, launcher)
    words, links = launcher.words, []
    accelerated = words[:2] == ("accelerate", "launch")
    statements: list[Statement] = []
    for entry in flags.entries:
        key = spelled(entry.key)
        if key in _PROCESS_FLAGS:
            statements.append(statement(block, entry, (key,), Row(key, _PROCESS_FLAGS[key]), "accelerate-flags"))
        elif (
            accelerated
            and key == "config_file"
            and isinstance(entry.value, Scalar)
            and isinstance(entry.value.value, str)
        ):
            links.append(
                Link(
                    "accelerate",
                    entry.value.value,
                    Place(document, entry.key, entry.value.start, entry.value.end, entry),
                )
            )
        elif accelerated and (row := accelerate.flag_row(key)) is not None:
            statements.append(statement(block, entry, (key,), row, "accelerate-flags"))
        elif key == "include" and words[:1] == ("deepspeed",) and isinstance(entry.value, Scalar):
            statements += _included(block, entry)
    statements.append(_launched_by(block, launcher))
    statements += _environment(block, launcher)
    scopes = {"launch": OPEN if flags.open else PRESUMED}
    if accelerated and not links:
        scopes |= {"accelerate": OPEN}  # the user's default config file may say more
    return Fragment("shell", block, "accelerate-flags", tuple(statements), scopes, {}, tuple(links))


def _included(block: Block, entry: Entry) -> Iterator[Statement]:
    """`--include localhost:0,1,2` starts one process for each number (deepspeed launcher/runner.py)."""
    text = str(entry.value.value) if isinstance(entry.value, Scalar) else ""
    slots = text.rpartition(":")[2]
    if "@" not in text and _MANY.match(slots):
        node = Scalar(len(slots.split(",")), entry.value.start, entry.value.end, "plain", False)
        yield statement(
            block,
            Entry(entry.key, entry.key_start, entry.key_end, node),
            (entry.key,),
            Row("include", "launch.processes_per_node"),
            "accelerate-flags",
        )


_LAUNCHERS = {"torchrun": "torchrun", "deepspeed": "deepspeed", "python": "python", "python3": "python", "accelerate": "accelerate",
              "llamafactory-cli": "llamafactory-cli", "swift": "swift", "trl": "trl", "axolotl": "axolotl"}  # fmt: skip


def _launched_by(block: Block, launcher: Command) -> Statement:
    word = launcher.words[0] if launcher.words else ""
    name = (
        "torchrun" if "torch.distributed" in " ".join(launcher.words) else _LAUNCHERS.get(word.rpartition("/")[2], word)
    )
    place = Place(block.document, word, launcher.start, launcher.start + len(word), None, (word,))
    return Statement("launch.launcher", name, word, Explicit(place, "accelerate-flags", block.number))


def _environment(block: Block, launcher: Command) -> Iterator[Statement]:
    for entry in launcher.environment.entries:
        yield statement(block, entry, (entry.key,), Row(entry.key, "launch.env." + entry.key, "text"), "environment")
