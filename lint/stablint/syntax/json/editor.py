"""Write into JSON text: every verb gives one Edit in the layout of the file, or None where it cannot be done without losing a comment."""

from __future__ import annotations

import json

from stablint.syntax.locate import Place, between, locate, same, value_of
from stablint.syntax.text import newline_of
from stablint.syntax.tree import Document, Edit, Entry, Mapping, Scalar, Unknown, Verbatim

_BREAKS = "\n\r"


def replace(document: Document, place: Place, value: object) -> Edit | None:
    """Put a value in the place of another. Writing what is there changes nothing."""
    found = locate(document, place)
    if found is None:
        return None
    text, old = document.text.text, found.node
    token = text[old.start : old.end]
    if same(value_of(old), value):
        return Edit(old.start, old.end, token)
    if not isinstance(old, Scalar) and _has_comment(between(text, old)):
        return None
    spread = not isinstance(old, Scalar) and any(character in token for character in _BREAKS)
    new = _dump(value, text, old.start, spread)
    return None if new is None else Edit(old.start, old.end, new)


def insert(document: Document, after: Place, key: str, value: object) -> Edit | None:
    """A new entry behind the entry `after`, on a line of its own if that one has its own."""
    found = locate(document, after)
    if found is None or found.entry is None:
        return None
    text, entry, parent = document.text.text, found.entry, found.parents[-1]
    if not isinstance(parent, Mapping) or parent.get(key) is not None:
        return None
    start = _line_start(text, entry.key_start)
    spread = start > parent.start and not text[start : entry.key_start].strip()
    name, new = _dump(key, text, start, False), _dump(value, text, entry.key_start, spread)
    if name is None or new is None:
        return None
    separator = (
        newline_of(text) + text[start : entry.key_start] if spread else " " if " " in between(text, parent) else ""
    )
    colon = text[entry.key_end : entry.value.start]
    return Edit(entry.value.end, entry.value.end, f",{separator}{name}{colon if colon.strip() == ':' else ': '}{new}")


def remove(document: Document, place: Place) -> Edit | None:
    """Delete an entry with the comma that it does not need any more."""
    found = locate(document, place)
    if found is None or found.entry is None:
        return None
    text, entry, parent = document.text.text, found.entry, found.parents[-1]
    assert isinstance(parent, Mapping)
    position = next(n for n, other in enumerate(parent.entries) if other.key_start == entry.key_start)
    before: tuple[Entry, ...] = parent.entries[:position]
    behind = parent.entries[position + 1 :]
    if behind:
        gap, edit = text[entry.value.end : behind[0].key_start], Edit(entry.key_start, behind[0].key_start, "")
    elif before:
        start = before[-1].value.end
        gap, edit = text[start : entry.key_start], Edit(start, entry.value.end, "")
    else:
        gap, edit = between(text, parent), Edit(parent.start, parent.end, "{}")
    return None if _has_comment(gap) else edit


def rename(document: Document, place: Place, key: str) -> Edit | None:
    """Another key for the same value. None if the object has that key already."""
    found = locate(document, place)
    if found is None or found.entry is None:
        return None
    text, entry, parent = document.text.text, found.entry, found.parents[-1]
    if key == entry.key:
        return Edit(entry.key_start, entry.key_end, text[entry.key_start : entry.key_end])
    name = _dump(key, text, entry.key_start, False)
    if not isinstance(parent, Mapping) or parent.get(key) is not None or name is None:
        return None
    return Edit(entry.key_start, entry.key_end, name)


def _dump(value: object, text: str, at: int, spread: bool) -> str | None:
    """A value as JSON, spread over lines below the line of `at` if asked; None for what JSON cannot hold."""
    if isinstance(value, Verbatim):  # JSON has no expressions: `torch.bfloat16` is text there
        value = str(value)
    if isinstance(value, Unknown):
        return None
    start = _line_start(text, at)
    margin = text[start:at][: len(text[start:at]) - len(text[start:at].lstrip())]
    try:
        new = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=_step(text) if spread else None)
        new.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can escape
        new = json.dumps(value, indent=_step(text) if spread else None)
    except (TypeError, ValueError, RecursionError):
        return None
    return new.replace("\n", newline_of(text) + margin)


def _has_comment(gap: str) -> bool:
    return "#" in gap or "/" in gap


def _line_start(text: str, at: int) -> int:
    return max(text.rfind(character, 0, at) for character in _BREAKS) + 1


def _step(text: str) -> str:
    """The indentation of the file: that of its first indented line."""
    for line in text.splitlines():
        if line.strip() and line[0] in " \t":
            return line[: len(line) - len(line.lstrip())]
    return "  "
