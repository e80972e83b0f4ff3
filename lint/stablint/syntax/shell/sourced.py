"""Files that a script reads into itself: `source ./common.sh`, `. "$(dirname "$0")/env.sh"`.

What such a file sets is known from there on. It is written elsewhere, so that it stands where it is used and is not edited.
"""

from __future__ import annotations

from collections.abc import Callable

from stablint.base import consulted
from stablint.syntax.shell.values import Chunk, Definition, Field, Held, Items, text_of
from stablint.syntax.text import Unreadable, read
from stablint.syntax.tree import Text, Unknown

Locate = Callable[[str, str], "str | None"]
"""(the file that is meant, the file that names it) → its path, if there is one that may be read."""

SOURCES = frozenset({"source", "."})


def nowhere(wanted: str, beside: str) -> str | None:
    """For a script that is no file."""
    return None


def sourced(fields: list[Field], script: Text, folder: str, locate: Locate) -> Text | None:
    """The file that `source` names; None where it cannot be told or is not there. Beside the script, if only its folder is unknown."""
    named = _name(fields[1]) if len(fields) > 1 else ""
    if not named or named.startswith("~"):
        return None
    path = locate(f"{folder}/{named}", script.path) if folder and not named.startswith("/") else None
    path = path or locate(named, script.path)
    if path is None or path == script.path:
        return None
    consulted.note(path)
    content = read(path, path)
    return None if isinstance(content, Unreadable) else content


def _name(field: Field) -> str:
    values = [chunk.value for chunk in field.chunks]
    while values and isinstance(values[0], Unknown):
        values.pop(0)
    text = "".join(value for value in values if isinstance(value, str))
    if any(isinstance(value, Unknown) for value in values):
        return ""
    return text if len(values) == len(field.chunks) else text[1:] if text.startswith("/") else ""


def brought(held: Held | None, field: Field) -> Held | None:
    """What a variable of that file holds, as this script has it: its place is the command that reads the file."""
    if isinstance(held, Definition):
        text = text_of(held)
        if text is None:
            return Unknown("the file that sets it does not say")
        chunk = Chunk(text, field.start, field.end, "name", False, presumed=held.presumed)
        return Definition((chunk,), field.start, field.end, False, held.presumed, True)
    if isinstance(held, Items):
        fields = tuple(
            Field(
                tuple(c._replace(start=field.start, end=field.end, source="name", exact=False) for c in one.chunks),
                field.start,
                field.end,
            )
            for one in held.fields
        )
        return Items(fields)
    return held
