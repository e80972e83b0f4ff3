"""Who starts whom: `srun torchrun --nproc_per_node 8 train.py --lr 1` → the launcher with its flags, the script with its own.

In the text nothing tells a launcher's flag from the script's, and a flag that takes no value stands before the script's name
like one that does: only the launchers' own argument parsers know.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from stablint.source.tree import Command, Entry, Mapping, Node, Scalar, Sequence


class Launcher(NamedTuple):
    """`switches` are its flags without a value, `values` those with one; a flag in neither takes one word."""

    switches: frozenset[str]
    values: frozenset[str] = frozenset()


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Programs that start another one with its own words and flags behind them. "uv run" is told by its two words.
_WRAPPERS: dict[str, Launcher] = {
    "nohup": Launcher(_keys("")), "time": Launcher(_keys("p v"), _keys("o f")), "exec": Launcher(_keys("c l"), _keys("a")),
    "env": Launcher(_keys("i"), _keys("u C S")), "sudo": Launcher(_keys("E H n"), _keys("u g")), "nice": Launcher(_keys(""), _keys("n")),
    "numactl": Launcher(_keys("")), "stdbuf": Launcher(_keys("")), "timeout": Launcher(_keys("foreground preserve_status v"), _keys("s k")),
    "xvfb-run": Launcher(_keys("a auto_servernum"), _keys("s server_args n server_num")),
    "srun": Launcher(_keys("l label u unbuffered exclusive overlap verbose v pty no_kill K kill_on_bad_exit"), _keys(
        "N n c G p A J w t nodes ntasks ntasks_per_node cpus_per_task gpus gpus_per_node gres partition account job_name nodelist time mem mpi jobid")),
    "uv run": Launcher(_keys("active no_sync frozen locked isolated no_project all_extras no_dev q quiet"), _keys("with extra group p python env_file with_requirements directory project")),
    "poetry run": Launcher(_keys("")), "pdm run": Launcher(_keys("")), "pipenv run": Launcher(_keys("")), "rye run": Launcher(_keys("")),
    "conda run": Launcher(_keys("no_capture_output live_stream"), _keys("n name p prefix")),
}  # fmt: skip

_PYTHON = Launcher(_keys("u O OO B s S E I v q d x b i"), _keys("m c W X"))
# torch.distributed.run; `use_env` is of the older torch.distributed.launch.
_TORCHRUN = Launcher(
    _keys("standalone m module no_python run_path use_env"),
    _keys("nnodes nproc_per_node rdzv_backend rdzv_endpoint rdzv_id rdzv_conf max_restarts monitor_interval start_method role log_dir "
          "r redirects t tee local_ranks_filter node_rank master_addr master_port local_addr logs_specs numa_binding"),
)  # fmt: skip
# accelerate 1.0.1 to 1.15.0, commands/launch.py: what it stores as true; `fp16` and `use_mps_device` are older. All else takes a value.
_ACCELERATE = Launcher(
    _keys("cpu debug downcast_bf16 dynamo_use_dynamic dynamo_use_fullgraph dynamo_use_regional_compilation enable_cpu_affinity fp16 "
          "fp8_use_autocast_during_eval ipex m module multi_gpu no_python no_tpu_cluster q quiet same_network tpu tpu_cluster tpu_use_sudo "
          "use_deepspeed use_fsdp use_megatron_lm use_mps_device use_parallelism_config use_xpu"),
    _keys("config_file mixed_precision num_processes num_machines num_cpu_threads_per_process dynamo_backend dynamo_mode gpu_ids machine_rank "
          "main_process_ip main_process_port rdzv_backend rdzv_conf max_restarts monitor_interval deepspeed_config_file zero_stage "
          "offload_optimizer_device offload_param_device offload_optimizer_nvme_path offload_param_nvme_path gradient_clipping zero3_init_flag "
          "zero3_save_16bit_model deepspeed_hostfile deepspeed_exclusion_filter deepspeed_inclusion_filter deepspeed_multinode_launcher "
          "deepspeed_moe_layer_cls_names fsdp_version fsdp_offload_params fsdp_min_num_params fsdp_sharding_strategy fsdp_reshard_after_forward "
          "fsdp_auto_wrap_policy fsdp_transformer_layer_cls_to_wrap fsdp_backward_prefetch fsdp_state_dict_type fsdp_forward_prefetch "
          "fsdp_use_orig_params fsdp_cpu_ram_efficient_loading fsdp_sync_module_states fsdp_activation_checkpointing main_training_function"),
)  # fmt: skip
# deepspeed 0.18.2 and 0.19.8, launcher/runner.py
_DEEPSPEED = Launcher(
    _keys("bind_cores_to_rank elastic_training force_multi module no_local_rank no_python no_ssh no_ssh_check q quiet save_pid"),
    _keys("H autotuning bind_core_list e enable_each_rank_log exclude hostfile i include launcher launcher_args log_level master_addr master_port max_elastic_nodes min_elastic_nodes node_rank num_accelerators num_gpus num_nodes ssh_port venv_script"),
)  # fmt: skip

_PROGRAMS = {"python": _PYTHON, "torchrun": _TORCHRUN, "accelerate launch": _ACCELERATE, "accelerate-launch": _ACCELERATE, "deepspeed": _DEEPSPEED}
_MODULES = {
    "torch.distributed.run": _TORCHRUN, "torch.distributed.launch": _TORCHRUN, "accelerate.commands.launch": _ACCELERATE,
    "deepspeed": _DEEPSPEED, "deepspeed.launcher.runner": _DEEPSPEED,
}  # fmt: skip
_OWN = frozenset[str]().union(*(launcher.switches | launcher.values for launcher in _PROGRAMS.values()))
# Started by a wrapper all the same; they read their flags themselves.
_TRAINERS = frozenset({"llamafactory-cli", "swift", "trl", "axolotl", "tune", "litgpt", "xtuner", "openrlhf", "bash", "sh"})
_PYTHON_NAME = re.compile(r"python[0-9.]*\Z")
_MOST_WRAPPERS = 6
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)


class _Argument(NamedTuple):
    """A word (`entry` None), or a flag without the values that follow it. `text` is the word, or the key with `_`."""

    text: str
    node: Scalar | None
    entry: Entry | None = None
    loose: bool = False  # a word that no flag takes: it stands behind `--key=value`


def split_launch(command: Command) -> tuple[Command, Command | None]:
    """The launcher and the script that it starts, each with its own words and flags; wrappers such as `nohup` are left out.

    None for the script where the program reads all flags itself (`llamafactory-cli train`, `./train.sh`).
    """
    rest = _flatten(command)
    environment = list(command.environment.entries)
    for _ in range(_MOST_WRAPPERS):
        wrapper = _named(rest, _WRAPPERS)
        if wrapper is None:
            break
        inner = _behind_own(rest[len(wrapper.split()) :], _WRAPPERS[wrapper])
        while inner and wrapper in ("env", "timeout") and (_ASSIGNED.match(inner[0].text) or inner[0].text[:1].isdigit()):
            environment += _assignments(inner[0])
            inner = inner[1:]
        if not inner or inner[0].entry:
            break
        rest = inner
    words, launcher = _launcher(rest)
    if launcher is None:
        return _command(command, rest, environment), None
    script = _behind_own(rest[words:], launcher, module=launcher is _PYTHON)
    if not script or (launcher is _PYTHON and any(argument.entry and argument.text == "c" for argument in rest)):
        return _command(command, rest, environment), None
    own = rest[: len(rest) - len(script)]
    return (
        _command(command, own, environment, len(own) if launcher is _PYTHON else words, script[0]),
        _command(command, script, environment),
    )


def _launcher(rest: list[_Argument]) -> tuple[int, Launcher | None]:
    """How many arguments name the launcher, and what it is. `python -m torch.distributed.run` is torchrun."""
    name = _named(rest, _PROGRAMS)
    if name is None:
        return 0, None
    launcher = _PROGRAMS[name]
    if launcher is _PYTHON:
        for place, argument in enumerate(rest[1:], 1):
            if argument.entry and argument.text == "m" and place + 1 < len(rest):
                inner = _MODULES.get(rest[place + 1].text)
                return (place + 2, inner) if inner else (len(name.split()), launcher)
            if not argument.entry:
                break
    return len(name.split()), launcher


def _named(rest: list[_Argument], programs: dict[str, Launcher]) -> str | None:
    if not rest or rest[0].entry:
        return None
    first = rest[0].text.rpartition("/")[2]
    first = "python" if _PYTHON_NAME.match(first) else first
    second = f"{first} {rest[1].text}" if len(rest) > 1 and not rest[1].entry else ""
    return second if second in programs else first if first in programs else None


def _behind_own(rest: list[_Argument], launcher: Launcher, module: bool = False) -> list[_Argument]:
    """The arguments from the program on that a launcher starts."""
    at = 0
    while at < len(rest):
        argument = rest[at]
        if argument.entry is None:
            return rest[at:]
        at += 1
        if module and argument.text == "m":
            return rest[at:]
        takes = argument.text in launcher.values or (argument.text not in launcher.switches and not _is_program(rest, at))
        if takes and at < len(rest) and rest[at].entry is None:
            at += 1
    return []


def _is_program(rest: list[_Argument], at: int) -> bool:
    """Whether a word behind an unknown flag is rather the program than the flag's value."""
    if at >= len(rest) or rest[at].entry:
        return False
    text = rest[at].text
    first = text.rpartition("/")[2]
    return text.endswith(".py") or first in _TRAINERS or _named(rest[at:], _PROGRAMS) is not None


def _flatten(command: Command) -> list[_Argument]:
    """The arguments in their order again. Words behind `--key=value` are placed by where they stand."""
    spare = len(command.words) - 1
    nodes: list[Scalar | None] = [None, *command.positionals[:spare]]
    arguments = [_Argument(word, node) for word, node in zip(command.words, nodes)]
    later = [_word(node)._replace(loose=True) for node in reversed(command.positionals[max(spare, 0) :])]
    for entry in command.flags.entries:
        direct = command.start <= entry.key_start < command.end
        key = entry.key.replace("-", "_")
        while later and (_start(later[-1:], 0) < entry.key_start if direct else key not in _OWN):
            arguments.append(later.pop())
        value = entry.value
        values: tuple[Node, ...] = value.items if isinstance(value, Sequence) else () if _is_bare(value) else (value,)
        arguments.append(_Argument(key, None, entry))
        arguments += [_word(node) for node in values if isinstance(node, Scalar)]
    return arguments + later[::-1]


def _word(node: Scalar) -> _Argument:
    return _Argument(str(node.value) if isinstance(node.value, (str, int, float)) else "", node)


def _assignments(argument: _Argument) -> list[Entry]:
    """`NAME=value` among the words of `env`."""
    found, node = _ASSIGNED.match(argument.text), argument.node
    if not found or node is None:
        return []
    value = Scalar(argument.text[found.end() :], node.start, node.end, "plain", False)
    return [Entry(found[1], node.start, node.start, value)]


def _command(whole: Command, arguments: list[_Argument], environment: list[Entry], words: int = 0, script: _Argument | None = None) -> Command:
    """A command of its own out of some arguments; up to `words`, flags are words as well (`python -m`)."""
    named: list[str] = []
    flags: list[tuple[Entry, list[Scalar]]] = []
    positionals: list[Scalar] = []
    for place, argument in enumerate(arguments):
        if argument.entry is not None and place >= words:
            flags.append((argument.entry, []))
        elif argument.entry is not None:
            named.append("-" + argument.text)
        elif not flags:
            named.append(argument.text)
            if len(named) > 1 and argument.node is not None:
                positionals.append(argument.node)
        elif argument.node is not None and not argument.loose:
            flags[-1][1].append(argument.node)
        elif argument.node is not None:
            positionals.append(argument.node)
    start = _start(arguments, whole.start) if script is None or arguments[0].node else whole.start
    end = whole.end if script is None else max(start, _start([script], whole.end))
    entries = tuple(_entry(entry, values) for entry, values in flags)
    opened = whole.flags.open and (script is None or _open_before(whole, end))
    mapping = Mapping(entries, min(start, end), end, opened)
    return Command(tuple(named), mapping, tuple(positionals), whole.environment._replace(entries=tuple(environment)), start, end)


def _entry(entry: Entry, values: list[Scalar]) -> Entry:
    """The flag with the values that are left to it."""
    if not values:
        return entry._replace(value=Scalar(True, entry.key_start, entry.key_end, "flag")) if not _is_bare(entry.value) else entry
    if len(values) == 1:
        return entry._replace(value=values[0])
    if isinstance(entry.value, Sequence) and len(values) == len(entry.value.items):
        return entry
    return entry._replace(value=Sequence(tuple(values), values[0].start, values[-1].end, all(value.editable for value in values)))


def _is_bare(node: Node) -> bool:
    return isinstance(node, Scalar) and node.form == "flag"


def _start(arguments: list[_Argument], otherwise: int) -> int:
    node = arguments[0].node if arguments else None
    return node.start if node is not None else otherwise


def _open_before(command: Command, end: int) -> bool:
    """Whether something unknown stands among the launcher's own arguments."""
    return any(node.form == "unknown" and node.start < end for node in command.positionals)
