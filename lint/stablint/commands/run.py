"""`stablint run -- COMMAND`: check what the command will read, then become it. With an error in it, nothing is started."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stablint.assemble.asked import Options
from stablint.base import language
from stablint.base.language import gettext, ngettext
from stablint.commands.outputs import tell_faults, wants_color
from stablint.config.options import Wrong
from stablint.config.spec import FOUND, WRONG
from stablint.engine.inspect import Inspection, inspect
from stablint.hardware import live
from stablint.integrate import installed
from stablint.report import full
from stablint.report.model import Diagnostic
from stablint.report.once import joined
from stablint.report.plain import plain
from stablint.secrets import exit
from stablint.syntax.tree import Text

NAME = "command line"
SKIP = "STABLINT_SKIP"  # the environment's `--force`, for who types another command that a wrapper checks (deploy/slurm/sbatch)
# Variables that a launcher or a library reads its settings from. Nothing here holds a secret.
_READ = re.compile(
    r"(ACCELERATE_|FSDP_|NCCL_|TORCH_|TORCHELASTIC_|PYTORCH_|DS_|CUDA_|HIP_|ROCR_|MASTER_)\w+\Z"
    r"|(WORLD_SIZE|NNODES|NODE_RANK|NPROC_PER_NODE|FORCE_TORCHRUN|OMP_NUM_THREADS|TOKENIZERS_PARALLELISM|WANDB_DISABLED|WANDB_MODE"
    r"|HF_HUB_OFFLINE|TRANSFORMERS_OFFLINE|UNSLOTH_\w+)\Z"
)
# These start the command on another machine: what this one has says nothing.
_ELSEWHERE = frozenset({"srun", "sbatch", "ssh", "kubectl", "docker", "podman", "ray", "sky", "mpirun", "dask"})


_SHELL = (".sh", ".bash", ".slurm", ".sbatch")
_SHEBANG = re.compile(rb"#!.*\b(?:ba|z|da|k)?sh\b")
_MOST, _LONGEST = 20, 200_000  # scripts that start each other; characters of one
# What these start stands in files of a kind that is not read.
_MAKERS = frozenset({"make", "gmake", "just", "task", "invoke", "ninja", "nox", "tox", "npm", "poe", "rake"})


def run_launch(given: argparse.Namespace, options: Options, command: Sequence[str]) -> int:
    """Does not return where the command is started: its exit code and its signals are its own. 127 if there is no such program."""
    if not command:
        raise Wrong(gettext("which command? write it behind two dashes: stablint run -- accelerate launch train.py …"))
    forced = given.force or os.environ.get(SKIP) == "1"
    options = _of_here(command, options)
    found = sure = examine(command, options._replace(trusting=True), os.environ, os.getcwd())
    feared = _errors(found)
    if (
        feared
    ):  # an error may rest on the program's giving its file to a library: say so, and do not start it all the same
        sure = examine(command, options, os.environ, os.getcwd())
    _tell(sure, given, options.policies.texts() if options.policies is not None else {})
    if not found.runs and not forced and (maker := _maker(command)):
        why = gettext(
            "what `{maker}` starts is not read: give the command itself, or check its files with `stablint check`"
        )
        return _refused(why.format(maker=maker), WRONG)
    if (found.report.incomplete or sure.report.incomplete) and not forced:
        return _refused(gettext("a rule failed, which is a fault of stablint"), WRONG)
    errors = len(_errors(sure))
    if errors and not forced:
        return _refused(ngettext("{errors} error", "{errors} errors", errors).format(errors=errors), FOUND)
    if feared and not forced:
        codes = sorted({one.code for one in feared})
        why = ngettext(
            "{codes} is an error if the program gives a library what it is handed, which is not seen",
            "{codes} are errors if the program gives a library what it is handed, which is not seen",
            len(codes),
        )
        return _refused(why.format(codes=", ".join(codes)), FOUND)
    return start(command)


def _errors(found: Inspection) -> list[Diagnostic]:
    return [one for one in found.report.diagnostics if one.severity == "error" and one.suppressed is None]


def _of_here(command: Sequence[str], options: Options) -> Options:
    """With the releases and the GPUs of this machine, where the command uses them and nothing else is said."""
    here = tuple(_installed(command))
    options = options._replace(
        releases=(*here, *options.releases),
        said={library: f"{library} is installed" for library, _ in here if library not in dict(options.releases)},
    )
    if not options.gpus and command[0] not in _ELSEWHERE:
        options = options._replace(gpus=live.targets(live.machine()), said={**options.said, "gpu": "of this machine"})
    return options


def examine(command: Sequence[str], options: Options, environment: Mapping[str, str], folder: str) -> Inspection:
    """What the command will read: its flags, the variables that it gets, and the files that it names."""
    text = Text(os.path.join(folder, NAME + ".sh"), NAME, as_text(command, environment))
    found = inspect([], options, base=folder, texts={text.path: text})
    if found.runs:
        return found
    scripts, seen = list(_scripts(command, folder)), set[str]()
    while scripts and not found.runs and len(seen) < _MOST:
        bare = [_unnamed(word, folder) for word in scripts]
        unnamed = {one.path: one for one in bare if one is not None}
        known = [word for word in scripts if os.path.join(folder, word) + _SHELL[0] not in unnamed]
        found = inspect(known, options, base=folder, texts=unnamed)
        seen.update(scripts)
        words = [word for script in scripts for word in _words_of(os.path.join(folder, script))]
        inner = dict.fromkeys(word for word in _scripts(words, folder) if _is_shell(os.path.join(folder, word)))
        scripts = [word for word in inner if word not in seen]
    return found


def _scripts(words: Iterable[str], folder: str) -> Iterable[str]:
    """The files among the words of a command that a shell, a program or a framework reads; those in a word that is a command of its own too."""
    for word in words:
        if " " in word.strip():
            yield from _scripts(_split(word), folder)
            continue
        path = os.path.join(folder, word)
        if word.endswith((".py", ".yaml", ".yml", ".json", *_SHELL)):
            if os.path.isfile(path):
                yield word
        elif "." not in os.path.basename(word) and os.path.isfile(path) and _is_shell(path):
            yield word  # `./train`


def _unnamed(word: str, folder: str) -> Text | None:
    """A script without a suffix, as one with a shell's."""
    path = os.path.join(folder, word)
    if path.endswith((".py", ".yaml", ".yml", ".json", *_SHELL)):
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        return Text(path + _SHELL[0], word, file.read(_LONGEST))


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def _words_of(path: str) -> list[str]:
    """The words of a shell script that was read and holds no run by itself: it may start others."""
    if not _is_shell(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        return [word for line in file.read(_LONGEST).splitlines() for word in _split(line.replace(";", " ; "))]


def _is_shell(path: str) -> bool:
    """By its suffix; one without says so in its first line."""
    if path.endswith(_SHELL):
        return True
    try:
        with open(path, "rb") as file:
            return _SHEBANG.match(file.readline(200)) is not None
    except OSError:
        return False


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
    return installed.specifiers()


def _tell(found: Inspection, given: argparse.Namespace, house_texts: Mapping[str, Any]) -> None:
    report = joined(found.report)
    if not found.runs:
        exit.tell(gettext("nothing in this command is a training configuration that stablint reads"))
    elif report.diagnostics or not given.quiet:
        texts = language.texts(house_texts) if report.diagnostics else {}
        secrets = found.secrets
        exit.learn(secrets)
        exit.say(full.render(report, texts, color=wants_color(given.color, error=True), secrets=secrets), error=True)
    tell_faults(found)


def _refused(why: str, code: int) -> int:
    exit.tell(
        gettext("not started: {why}; --force, or {skip}=1 in the environment, starts it all the same").format(
            why=why, skip=SKIP
        )
    )
    return code


def start(command: Sequence[str]) -> int:
    """Become the command; where a process cannot do that (Windows), wait for it and end as it does."""
    exit.flush()
    program = shutil.which(command[0])
    if program is None:
        exit.tell(gettext("{command}: no such program").format(command=plain(command[0])))
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
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with subprocess.Popen([program, *command[1:]]) as child:
            return child.wait()
    finally:
        signal.signal(signal.SIGINT, before)
