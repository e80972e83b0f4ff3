"""Write into shell text: the four verbs on flags. A flag keeps its style (`=` or a blank, True or true); the command stays one command."""

from __future__ import annotations

import re

from stablint.source.tree import Document, Edit, Entry, Scalar

_PLAIN = re.compile(r"[A-Za-z0-9_.,:/@%+=-]+\Z")
_NEXT = re.compile(r"[ \t]*(\\(\r\n|\r|\n))?")
_BEFORE = re.compile(r"(\\(\r\n|\r|\n))?[ \t]*\Z")


def replace(document: Document, entry: Entry, value: object) -> Edit | None:
    """Put a value in the place of the old one; where a variable was given, at the variable's own definition."""
    text, old = document.text.text, entry.value
    if isinstance(old, Scalar) and not old.editable:
        return None
    raw = text[old.start : old.end]
    if isinstance(old, Scalar) and old.form == "flag":
        if value is True:
            return Edit(old.start, old.end, raw)
        token = _token(value, "")
        return None if token is None else Edit(old.end, old.end, f" {token}")
    if isinstance(old, Scalar) and old.value == value and type(old.value) is type(value):
        return Edit(old.start, old.end, raw)
    token = _token(value, raw)
    return None if token is None else Edit(old.start, old.end, token)


def insert(document: Document, after: Entry, key: str, value: object) -> Edit | None:
    """A flag behind `after`: on a line of its own if that one has its own."""
    text = document.text.text
    end = _end(text, after)
    token = _token(value, text[after.value.start : after.value.end])
    if end is None or token is None:
        return None
    start = after.key_start - 2
    joint = "=" if text[after.key_end : after.key_end + 1] == "=" else " "
    new = f"--{key}{joint}{token}"
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    indent = text[line:start]
    if indent.strip():
        return Edit(end, end, f" {new}")
    newline = "\r\n" if "\r\n" in text else "\n"
    return Edit(end, end, f" \\{newline}{indent}{new}")


def remove(document: Document, entry: Entry) -> Edit | None:
    """The flag goes with its value; where it had a line of its own, with the line, and the line before it ends the command if it was last."""
    text = document.text.text
    end = _end(text, entry)
    if end is None:
        return None
    start = entry.key_start - 2
    behind = _NEXT.match(text, end)
    before = _BEFORE.search(text, max(0, start - 200), start)
    if behind is None or before is None:
        return None
    if before[1] and behind[1]:  # a line in the middle of the command
        return Edit(start, behind.end() + _indent(text, behind.end()), "")
    if before[1]:  # the last line: the continuation in front of it goes as well
        blanks = len(text[: before.start()]) - len(text[: before.start()].rstrip(" \t"))
        return Edit(before.start() - blanks, end, "")
    return Edit(before.start(), end, "")


def rename(document: Document, entry: Entry, key: str) -> Edit | None:
    text = document.text.text
    written = text[entry.key_start : entry.key_end]
    if written.replace("-", "_") != entry.key.replace("-", "_"):
        return None
    return Edit(entry.key_start, entry.key_end, key.replace("_", "-") if "-" in written and "_" not in written else key)


def _indent(text: str, at: int) -> int:
    """Blanks at the start of the next line, which stands in the place of the one that goes."""
    return len(text[at:]) - len(text[at:].lstrip(" \t"))


def _end(text: str, entry: Entry) -> int | None:
    """Where flag and value end at their own place; the value of a variable stands elsewhere."""
    if isinstance(entry.value, Scalar) and entry.value.form == "flag":
        return entry.key_end
    if 0 <= entry.value.start - entry.key_end and not text[entry.key_end : entry.value.start].strip(" \t=\\\r\n\"'"):
        end = entry.value.end
        quote = text[entry.value.start - 1 : entry.value.start]
        return end + 1 if quote in ("'", '"') and text[end : end + 1] == quote else end
    word = re.compile(r"[= \t]+(\"[^\"]*\"|'[^']*'|[^\s;&|]+)").match(text, entry.key_end)
    return word.end() if word is not None else None


def _token(value: object, old: str) -> str | None:
    """In the words of the old value: `False` for `True`, `false` for `true`."""
    if isinstance(value, bool):
        word = str(value)
        return word.lower() if old.strip("\"'") in ("true", "false") else word
    if value is None:
        return "None"
    if isinstance(value, list):
        parts = [_token(item, "") for item in value]
        return None if None in parts or not parts else (",".join if "," in old else " ".join)([str(part) for part in parts])
    if not isinstance(value, (str, int, float)):
        return None
    text = str(value)
    if old[:1] in ("'", '"') and old[:1] == old[-1:]:
        return old[0] + text + old[0] if not set(text) & set("\"'\\$`\n") else None
    return text if _PLAIN.match(text) else None
