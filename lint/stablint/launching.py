"""`stablint run -- COMMAND`: check what the command will read, then become it. With an error in it, nothing is started."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stablint import knowledge
from stablint.assemble.asked import Options
from stablint.cli import FOUND, WRONG
from stablint.inspect import Inspection, inspect
from stablint.options import Wrong
from stablint.outputs import tell_faults, wants_color
from stablint.report import full
from stablint.report.once import joined
from stablint.report.plain import plain
from stablint.secrets import exit
from stablint.source.tree import Text

NAME = "command line"
# Variables that a launcher or a library reads its settings from. Nothing here holds a secret.
_READ = re.compile(
    r"(ACCELERATE_|FSDP_|NCCL_|TORCH_|TORCHELASTIC_|PYTORCH_|DS_|CUDA_|HIP_|ROCR_|MASTER_)\w+\Z"
    r"|(WORLD_SIZE|NNODES|NODE_RANK|NPROC_PER_NODE|FORCE_TORCHRUN|OMP_NUM_THREADS|TOKENIZERS_PARALLELISM|WANDB_DISABLED|WANDB_MODE"
    r"|HF_HUB_OFFLINE|TRANSFORMERS_OFFLINE|UNSLOTH_\w+)\Z"
)
# These start the command on another machine: what this one has says nothing.
_ELSEWHERE = frozenset({"srun", "sbatch", "ssh", "kubectl", "docker", "podman", "ray", "sky", "mpirun", "dask"})


_SHELL = (".sh", ".bash", ".slurm", ".sbatch")
# What these start stands in files of a kind that is not read.
_MAKERS = frozenset({"make", "gmake", "just", "task", "invoke", "ninja", "nox", "tox", "npm", "poe", "rake"})


def run_launch(given: argparse.Namespace, options: Options, command: Sequence[str]) -> int:
    """Does not return where the command is started: its exit code and its signals are its own. 127 if there is no such program."""
    if not command:
        raise Wrong("which command? write it behind two dashes: stablint run -- accelerate launch train.py …")
    found = examine(command, options, os.environ, os.getcwd())
    _tell(found, given, options.policies.texts() if options.policies is not None else {})
    if not found.runs and not given.force and (maker := _maker(command)):
        why = f"what `{maker}` starts is not read: give the command itself, or check its files with `stablint check`"
        return _refused(why, WRONG)
    errors = sum(
        diagnostic.severity == "error" and diagnostic.suppressed is None for diagnostic in found.report.diagnostics
    )
    if found.report.internal_errors and not given.force:
        return _refused("a rule failed, which is a fault of stablint", WRONG)
    if errors and not given.force:
        return _refused(f"{errors} error{'s' if errors > 1 else ''}", FOUND)
    return start(command)


def examine(command: Sequence[str], options: Options, environment: Mapping[str, str], folder: str) -> Inspection:
    """What the command will read: its flags, the variables that it gets, and the files that it names."""
    here = tuple(_installed(command))
    options = options._replace(
        releases=(*here, *options.releases),
        said={library: f"{library} is installed" for library, _ in here if library not in dict(options.releases)},
    )
    if not options.gpus and command[0] not in _ELSEWHERE:
        from stablint.target.live import machine, targets

        options = options._replace(gpus=targets(machine()), said={**options.said, "gpu": "of this machine"})
    text = Text(os.path.join(folder, NAME + ".sh"), NAME, as_text(command, environment))
    found = inspect([], options, base=folder, texts={text.path: text})
    if found.runs:
        return found
    scripts = [
        word
        for word in command
        if word.endswith((".py", ".yaml", ".yml", ".json", *_SHELL)) and os.path.isfile(os.path.join(folder, word))
    ]
    return inspect(scripts, options, base=folder) if scripts else found


def _maker(command: Sequence[str]) -> str:
    """The program that reads what to start from a file of its own; empty for any other command."""
    for word in command:
        name = os.path.basename(word)
        if name in _MAKERS:
            return name
        if name not in _BEFORE and "=" not in name and not name.startswith("-"):
            break
    return ""


_BEFORE = frozenset({"env", "nohup", "time", "nice", "sudo", "exec", "command"})


def as_text(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The command as a shell would be given it, with the variables that decide about training in front."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(environment.items()) if _READ.match(name)]
    return " ".join([*variables, shlex.join(command)]) + "\n"


def _installed(command: Sequence[str]) -> Iterable[tuple[str, str]]:
    """The releases of this environment, if the command's program belongs to it."""
    program = shutil.which(command[0])
    if program is None or os.path.dirname(os.path.abspath(program)) != os.path.dirname(os.path.abspath(sys.executable)):
        return ()
    from stablint.integrate.installed import specifiers

    return specifiers()


def _tell(found: Inspection, given: argparse.Namespace, house_texts: Mapping[str, Any]) -> None:
    report = joined(found.report)
    if not found.runs:
        exit.tell("nothing in this command is a training configuration that stablint reads")
    elif report.diagnostics or not given.quiet:
        texts = {**knowledge.load("texts"), **house_texts} if report.diagnostics else {}
        secrets = found.secrets
        exit.learn(secrets)
        exit.say(full.render(report, texts, color=wants_color(given.color, error=True), secrets=secrets), error=True)
    tell_faults(found)


def _refused(why: str, code: int) -> int:
    exit.tell(f"not started: {why}; --force starts it all the same")
    return code


def start(command: Sequence[str]) -> int:
    """Become the command; where a process cannot do that (Windows), wait for it and end as it does."""
    exit.flush()
    program = shutil.which(command[0])
    if program is None:
        exit.tell(f"{plain(command[0])}: no such program")
        return 127
    if os.name == "posix":
        try:
            os.execv(program, list(command))
        except OSError as error:
            exit.tell(f"{plain(command[0])}: {error.strerror}")
            return 126
    return _attended(program, command)


def _attended(program: str, command: Sequence[str]) -> int:
    """Ctrl-C reaches the child through the console; this process only waits for what it makes of it."""
    import signal
    import subprocess

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with subprocess.Popen([program, *command[1:]]) as child:
            return child.wait()
    finally:
        signal.signal(signal.SIGINT, before)
