"""Who starts whom: `srun torchrun --nproc_per_node 8 train.py --lr 1` → the launcher with its flags, the script with its own.

In the text nothing tells a launcher's flag from the script's, and a flag that takes no value stands before the script's name
like one that does: only the launchers' own argument parsers know.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from stablint.syntax.shell.launchers import MODULES, PROGRAMS, PYTHON, WRAPPERS, Launcher, trainers
from stablint.syntax.tree import Command, Entry, Mapping, Node, Scalar, Sequence, Unknown

_OWN = frozenset[str]().union(*(launcher.switches | launcher.values for launcher in PROGRAMS.values()))
_SHELLS = frozenset({"bash", "sh"})  # started by a wrapper all the same, like what reads its flags itself
_PYTHON_NAME = re.compile(r"python[0-9.]*\Z")
_MOST_WRAPPERS = 6
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)


def starts_program(command: Command) -> bool:
    """Whether its flags are those of a program that may train: Python, a launcher, a trainer of its own or another script. `cut -d= x` is none."""
    launcher, script = split_launch(command)
    first = launcher.words[0].rpartition("/")[2] if launcher.words else ""
    return (
        script is not None
        or first in _SHELLS
        or first in trainers()
        or first.endswith((".py", ".sh"))
        or first in PROGRAMS
        or _PYTHON_NAME.match(first) is not None
    )


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
        wrapper = _named(rest, WRAPPERS)
        if wrapper is None:
            break
        inner = _behind_own(rest[len(wrapper.split()) :], WRAPPERS[wrapper])
        while (
            inner and wrapper in ("env", "timeout") and (_ASSIGNED.match(inner[0].text) or inner[0].text[:1].isdigit())
        ):
            environment += _assignments(inner[0])
            inner = inner[1:]
        if not inner or inner[0].entry:
            break
        rest = inner
        if wrapper.endswith(" run") and rest[0].text.endswith(".py"):  # `uv run train.py`
            rest = [_Argument("python", None), *rest]
    words, launcher = _launcher(rest)
    if launcher is None:
        return _command(command, rest, environment), None
    script = _behind_own(rest[words:], launcher, module=launcher is PYTHON)
    if not script or (launcher is PYTHON and any(argument.entry and argument.text == "c" for argument in rest)):
        return _command(command, rest, environment), None
    own = rest[: len(rest) - len(script)]
    return (
        _command(command, own, environment, len(own) if launcher is PYTHON else words, script[0]),
        _command(command, script, environment),
    )


def _launcher(rest: list[_Argument]) -> tuple[int, Launcher | None]:
    """How many arguments name the launcher, and what it is. `python -m torch.distributed.run` is torchrun."""
    name = _named(rest, PROGRAMS)
    if name is None:
        return 0, None
    launcher = PROGRAMS[name]
    if launcher is PYTHON:
        for place, argument in enumerate(rest[1:], 1):
            if argument.entry and argument.text == "m" and place + 1 < len(rest):
                inner = MODULES.get(rest[place + 1].text)
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
        takes = argument.text in launcher.values or (
            argument.text not in launcher.switches and not _is_program(rest, at)
        )
        if takes and at < len(rest) and rest[at].entry is None:
            at += 1
    return []


def _is_program(rest: list[_Argument], at: int) -> bool:
    """Whether a word behind an unknown flag is rather the program than the flag's value."""
    if at >= len(rest) or rest[at].entry:
        return False
    text = rest[at].text
    first = text.rpartition("/")[2]
    known = first in _SHELLS or first in trainers() or _named(rest[at:], PROGRAMS) is not None
    return known or text.endswith(".py")


def _flatten(command: Command) -> list[_Argument]:
    """The arguments in their order again. Words behind `--key=value` are placed by where they stand."""
    spare = len(command.words) - 1
    nodes: list[Scalar | None] = [None, *command.positionals[:spare]]
    arguments = [_Argument(word, node) for word, node in zip(command.words, nodes, strict=False)]
    later = [_word(node)._replace(loose=True) for node in reversed(command.positionals[max(spare, 0) :])]
    for entry in command.flags.entries:
        direct = command.start <= entry.key_start < command.end
        key = entry.key.replace("-", "_")
        # What comes out of a variable or an array has its place there: it stands behind what only a launcher takes.
        while later and (
            at < entry.key_start
            if command.start <= (at := _start(later[-1:], 0)) < command.end and direct
            else key not in _OWN
        ):
            arguments.append(later.pop())
        value = entry.value
        values: tuple[Node, ...] = value.items if isinstance(value, Sequence) else () if _is_bare(value) else (value,)
        arguments.append(_Argument(key, None, entry))
        arguments += [_word(node) for node in values if isinstance(node, Scalar)]
    return arguments + later[::-1]


def _word(node: Scalar) -> _Argument:
    value = node.value
    if isinstance(value, Unknown):
        return _Argument(f"${value.ends}" if value.ends else "", node)
    return _Argument(str(value) if isinstance(value, (str, int, float)) else "", node)


def _assignments(argument: _Argument) -> list[Entry]:
    """`NAME=value` among the words of `env`."""
    found, node = _ASSIGNED.match(argument.text), argument.node
    if not found or node is None:
        return []
    value = Scalar(argument.text[found.end() :], node.start, node.end, "plain", False)
    return [Entry(found[1], node.start, node.start, value)]


def _command(
    whole: Command,
    arguments: list[_Argument],
    environment: list[Entry],
    words: int = 0,
    script: _Argument | None = None,
) -> Command:
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
    return Command(
        tuple(named),
        mapping,
        tuple(positionals),
        whole.environment._replace(entries=tuple(environment)),
        start,
        end,
        whole.folder,
    )


def _entry(entry: Entry, values: list[Scalar]) -> Entry:
    """The flag with the values that are left to it."""
    if isinstance(entry.value, Mapping):
        return entry
    if not values:
        return (
            entry._replace(value=Scalar(True, entry.key_start, entry.key_end, "flag"))
            if not _is_bare(entry.value)
            else entry
        )
    if len(values) == 1:
        return entry._replace(value=values[0])
    if isinstance(entry.value, Sequence) and len(values) == len(entry.value.items):
        return entry
    return entry._replace(
        value=Sequence(tuple(values), values[0].start, values[-1].end, all(value.editable for value in values))
    )


def _is_bare(node: Node) -> bool:
    return isinstance(node, Scalar) and node.form == "flag"


def _start(arguments: list[_Argument], otherwise: int) -> int:
    node = arguments[0].node if arguments else None
    return node.start if node is not None else otherwise


def _open_before(command: Command, end: int) -> bool:
    """Whether something unknown stands among the launcher's own arguments."""
    return any(node.form == "unknown" and node.start < end for node in command.positionals)
