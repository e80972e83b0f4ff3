"""Write into Python text: the four verbs on keyword arguments and dict entries. Nothing outside the entry is touched."""

from __future__ import annotations

import re

from stablint.source.tree import Document, Edit, Entry, Scalar, Verbatim

_REST = re.compile(r"[ \t]*(,?)[ \t]*(#[^\r\n]*)?(?=[\r\n]|\Z)")
_BREAK = re.compile(r"\r\n|\r|\n|\Z")


def replace(document: Document, entry: Entry, value: object) -> Edit | None:
    """Put a value in the place of the old one: where a name was given, at the name's own definition."""
    old = entry.value
    token = _token(value, _quote(document.text.text, entry))
    if token is None or (isinstance(old, Scalar) and not old.editable):
        return None
    if isinstance(old, Scalar) and old.value == value and type(old.value) is type(value):
        token = document.text.text[old.start : old.end]
    return Edit(old.start, old.end, token)


def insert(document: Document, after: Entry, key: str, value: object) -> Edit | None:
    """A keyword (in a dict literal: a key) behind `after`; on a line of its own if that one has its own."""
    text = document.text.text
    token = _token(value, _quote(text, after))
    end = _end(text, after)
    if token is None or end is None or not (key.isidentifier() or _is_dict_key(text, after)):
        return None
    new = f'"{key}": {token}' if _is_dict_key(text, after) else f"{key}={token}"
    rest = _REST.match(text, end)
    indent = text[_line_start(text, after.key_start) : after.key_start]
    if indent.strip() or rest is None:
        return Edit(end, end, f", {new}")
    newline = "\r\n" if "\r\n" in text else "\n"
    tail = text[end : rest.end()]
    if rest[1]:
        return Edit(rest.end(), rest.end(), f"{newline}{indent}{new},")
    return Edit(end, rest.end(), f",{tail}{newline}{indent}{new}")


def remove(document: Document, entry: Entry) -> Edit | None:
    """The entry goes with its comma, and with its line and trailing comment where it has a line of its own."""
    text = document.text.text
    end = _end(text, entry)
    if end is None:
        return None
    start = _line_start(text, entry.key_start)
    rest = _REST.match(text, end)
    if not text[start : entry.key_start].strip() and rest is not None:
        found = _BREAK.search(text, rest.end())
        return Edit(start, found.end() if found is not None else rest.end(), "")
    behind = re.compile(r"\s*,[ \t]*").match(text, end)
    if behind is not None:
        return Edit(entry.key_start, behind.end(), "")
    before = re.compile(r",\s*\Z").search(text[max(0, entry.key_start - 200) : entry.key_start])
    begin = entry.key_start - len(before[0]) if before is not None else entry.key_start
    return Edit(begin, end, "")


def rename(document: Document, entry: Entry, key: str) -> Edit | None:
    text = document.text.text
    if _is_dict_key(text, entry):
        quote = text[entry.key_start]
        return Edit(entry.key_start, entry.key_end, f"{quote}{key}{quote}")
    if not key.isidentifier() or text[entry.key_start : entry.key_end] != entry.key:
        return None
    return Edit(entry.key_start, entry.key_end, key)


def _is_dict_key(text: str, entry: Entry) -> bool:
    return text[entry.key_start : entry.key_start + 1] in "\"'"


def _end(text: str, entry: Entry) -> int | None:
    """Where the entry ends at its own place; None for one whose value stands elsewhere and is more than a name."""
    if entry.key_end <= entry.value.start and not text[entry.key_end : entry.value.start].strip(" \t\r\n=:\"'("):
        return entry.value.end
    name = re.compile(r"\s*[=:]\s*[\w.]+").match(text, entry.key_end)
    return name.end() if name is not None else None


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _quote(text: str, entry: Entry) -> str:
    token = text[entry.value.start : entry.value.start + 1]
    return "'" if token == "'" else '"'


def _token(value: object, quote: str) -> str | None:
    if isinstance(value, Verbatim):
        return str(value)
    if isinstance(value, str):
        if any(ord(c) < 32 for c in value):
            return None
        return quote + value.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, list):
        parts = [_token(item, quote) for item in value]
        return None if None in parts else "[" + ", ".join(str(part) for part in parts) + "]"
    if isinstance(value, dict):
        pairs = [(_token(str(key), quote), _token(item, quote)) for key, item in value.items()]
        return None if any(item is None for _, item in pairs) else "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    return None
