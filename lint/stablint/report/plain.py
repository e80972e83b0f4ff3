"""Text from files made fit for a terminal: nothing that moves the cursor, reorders a line or breaks the output's encoding."""

from __future__ import annotations

import json
import math

from stablint.base.light import Any, Pattern
from stablint.run.fact import ABSENT
from stablint.secrets.exit import cut
from stablint.syntax.tree import Unknown

_NODES = 500  # of one value: an anchor used a thousand times over need not be written out a thousand times
_LONGEST = 100
_BITS = 1000


# Azure Pipelines, TeamCity and older runners of GitHub obey `##vso[…]`, `##teamcity[…]` and `##[…]` wherever they stand in a line of a log.
_COMMAND = Pattern(r"##(?=\w{0,40}\[)")


def plain(text: str) -> str:
    """One line of `text` with every control, bidirectional or invisible character in a visible form: `\\x1b`, `\\u202e`.

    What Unicode calls not printable: controls, format characters, half surrogates, unassigned ones, and all separators but the blank. So is the
    beginning of what a CI system would obey in its log: `#\\x23vso[`.
    """
    text = text if text.isprintable() else "".join(map(_visible, text))
    return _COMMAND.sub(r"#\\x23", text) if "##" in text else text


def commands(text: str) -> list[int]:
    """The offsets of the characters that `plain` shows in another form for that."""
    return [found.start() + 1 for found in _COMMAND.finditer(text)] if "##" in text else []


def named(name: str) -> str:
    """A file name as it stands at the beginning of a line: `./::warning::x.yaml` is the same file, and no workflow command."""
    return f"./{name}" if name.lstrip().startswith("::") else name


def _visible(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]


def shown(value: Any, longest: int = _LONGEST) -> str:
    """A value in a line of text, as YAML would have it, cut at `longest` characters."""
    known = jsonable(value)
    text = known if isinstance(known, str) and known else json.dumps(known, ensure_ascii=False)
    return plain(clipped(text, longest))


def clipped(text: str, longest: int = _LONGEST) -> str:
    return cut(text, longest)


def to_json(data: Any) -> str:
    """Indented JSON, printable letters of all scripts kept, everything else as `\\uXXXX`."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    # Outside strings JSON has no such character but its own line feeds, so every other one may be escaped where it stands.
    text = "\n".join(line if line.isprintable() else "".join(map(_escaped, line)) for line in text.split("\n")) + "\n"
    return in_json(text)


def in_json(text: str) -> str:
    """A JSON text of the same meaning without the beginnings of commands; outside strings JSON has no `#`."""
    return _COMMAND.sub(r"#\\u0023", text) if "##" in text else text


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def jsonable(value: Any) -> Any:
    """What JSON can hold of a value: null for what is unknown or absent, text for dates, infinities and endless integers."""
    left = _NODES

    def convert(value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            return "…"
        if value is None or value is ABSENT or isinstance(value, Unknown):
            return None
        if isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            # Python refuses to write integers of more than 4,300 digits.
            return value if value.bit_length() < _BITS else f"an integer of {value.bit_length()} bits"
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, dict):
            return {str(convert(key)): convert(child) for key, child in value.items() if left > 0}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [convert(child) for child in value if left > 0]
        return str(value)

    return convert(value)


_CODES = {"error": "1;31", "warning": "1;33", "info": "1;36", "bold": "1", "dim": "2", "added": "32", "removed": "31"}


class Style:
    """`paint(name, text)` colours text; without colour it gives it back."""

    def __init__(self, color: bool) -> None:
        self.color = color

    def paint(self, name: str, text: str) -> str:
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.color and text else text
