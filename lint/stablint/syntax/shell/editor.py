"""Write into shell scripts: every verb gives one Edit of a flag or of the variable's value behind it, or None where that is not safe.

Continuations, quotes and the way a script writes its flags (`--a b`, `--a=b`, `True` or `true`, a bare `--bf16`) stay as they are.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from stablint.syntax.shell.json_editor import within
from stablint.syntax.shell.style import bare_switches, explicit_switches, has, like_neighbours, writes_lower
from stablint.syntax.tree import Document, Edit, Entry, Mapping, Node, Scalar, Script, Sequence, Unknown, Verbatim

_SIMPLE = re.compile(r"[\w@%+=:,./-]+\Z", re.ASCII)
_INDENT = re.compile(r"[ \t]*\Z")
_JOIN_BEFORE = re.compile(r"[ \t]{0,80}\\\r?\n[ \t]*\Z")
_REST = re.compile(r"([ \t]*)(\\(?=\r?\n)|#[^\r\n]*)?(?=\r?\n|\Z)")
_LINE_BREAK = re.compile(r"\\?(\r?\n|\Z)")
_DASHES = re.compile(r"--?\Z")
_VARIABLE = re.compile(
    r"(?:=|[ \t]+|[ \t]*\\\r?\n[ \t]*)(\"?)\$(?:\{\w+(?:\[[@*]\]|:?-[^{}\"$`\s]*)?\}|\w+)\1(?=[\s;&|)]|\Z)"
)
_GAP = re.compile(r"(?:=|[ \t]+|[ \t]*\\\r?\n[ \t]*)\Z")
_BEHIND = re.compile(r"[ \t]*(?:[0-9]?[<>]|[;&|)])|[\"']")
_MOST_BITS = 1024


class _Slot(NamedTuple):
    """A flag in the text: from its dashes to the end of its value as it is used there."""

    start: int
    end: int
    dashes: str
    flags: Mapping  # of its command
    direct: bool  # it stands in the command itself, not in a variable that the command uses


def replace(document: Document, entry: Entry, value: object) -> Edit | None:
    """Put a value in the place of another. A bare `--flag` gets `False` where all its neighbours have values like that, else it goes."""
    node, source = entry.value, document.text.text
    if (quoted := within(document, entry)) is not None:
        return quoted.replace(entry, value)
    if isinstance(node, (Scalar, Sequence)) and _same(_value_of(node), value):
        return Edit(node.start, node.end, source[node.start : node.end])
    if isinstance(node, Scalar) and node.form == "flag":
        return _replace_bare(document, entry, value)
    if isinstance(node, Sequence):
        return _replace_words(source, node, value)
    if not isinstance(node, Scalar) or not node.editable or node.start == node.end:
        return None
    if isinstance(value, (list, tuple)):
        return (
            None
            if source[entry.key_end : entry.key_end + 1] == "=" or node.form in ("name", "default")
            else _words(source, node, value)
        )
    new = _token(value, source[node.start : node.end], writes_lower(document, entry))
    return None if new is None or _is_flag(new) else Edit(node.start, node.end, new)


def insert(document: Document, after: Entry, key: str, value: object) -> Edit | None:
    """A new flag behind another one: on a continued line of its own if that one has its own."""
    if (quoted := within(document, after)) is not None:
        return quoted.insert(after, key, value)
    slot, source = _slot(document, after), document.text.text
    key = like_neighbours(key, slot.flags) if slot else key
    if slot is None or has(slot.flags, key) or not re.match(r"[A-Za-z_][\w.\-]*\Z", key):
        return None
    written = f"{'--' if len(key) > 1 else '-'}{key}"
    if value is not True or not bare_switches(slot.flags):
        words = value if isinstance(value, (list, tuple)) else [value]
        tokens = [_token(word, "", writes_lower(document, after)) for word in words]
        if any(token is None or _is_flag(token) for token in tokens) or not tokens:
            return None
        if not slot.direct and not all(token and _SIMPLE.match(token) for token in tokens):
            return None  # perhaps inside somebody's quotes
        joint = "=" if source[after.key_end : after.key_end + 1] == "=" and len(tokens) == 1 else " "
        written += joint + " ".join(token for token in tokens if token is not None)
    indent = source[_line_start(source, slot.start) : slot.start]
    rest = _REST.match(source, slot.end)
    if not _INDENT.match(indent):
        return Edit(slot.end, slot.end, " " + written)
    newline = "\r\n" if "\r\n" in source else "\n"
    if rest is None or rest[2] == "\\":
        if rest is None and (_in_list(source, slot.start) or not _ends_command(source, slot.end)):
            return Edit(slot.end, slot.end, " " + written)
        return Edit(slot.end, slot.end, f" \\{newline}{indent}{written}")
    if _in_list(source, slot.start):
        return Edit(rest.end(), rest.end(), newline + indent + written)
    return Edit(slot.end, slot.end, f" \\{newline}{indent}{written}")


def remove(document: Document, entry: Entry) -> Edit | None:
    """Delete a flag with its values; its whole line where it stands alone. The command above and below stays one."""
    if (quoted := within(document, entry)) is not None:
        return quoted.remove(entry)
    slot, source = _slot(document, entry), document.text.text
    if slot is None:
        return None
    line_start = _line_start(source, slot.start)
    alone = bool(_INDENT.match(source[line_start : slot.start]))
    rest = _REST.match(source, slot.end)
    if alone and rest is not None and (rest[2] == "\\" or _in_list(source, slot.start)):
        line_break = _LINE_BREAK.search(source, rest.end() - (rest[2] == "\\"))
        return Edit(line_start, line_break.end() if line_break else rest.end(), "")
    before = _JOIN_BEFORE.search(source, max(0, line_start - 200), slot.start) if alone else None
    if before and (rest is not None or _ends_command(source, slot.end)):
        return Edit(before.start(), rest.end() if rest is not None else slot.end, "")
    start, end = slot.start, slot.end
    if alone:
        while source[end : end + 1] in (" ", "\t"):
            end += 1
    else:
        while start > line_start and source[start - 1] in " \t":
            start -= 1
    return Edit(start, end, "")


def rename(document: Document, entry: Entry, key: str) -> Edit | None:
    """Another name for the same flag, with `-` or `_` as its command writes them. None if the command has it already."""
    if (quoted := within(document, entry)) is not None:
        return quoted.rename(entry, key)
    slot = _slot(document, entry)
    if slot is None:
        return None
    new = entry.key if key == entry.key else like_neighbours(key, slot.flags)
    if not re.match(r"[A-Za-z_][\w.\-]*\Z", new) or (new != entry.key and has(slot.flags, new)):
        return None
    return Edit(entry.key_start, entry.key_end, new)


def _replace_bare(document: Document, entry: Entry, value: object) -> Edit | None:
    slot = _slot(document, entry)
    if slot is None:
        return None
    said = writes_lower(document, entry)
    others = (one.value for one in slot.flags.entries if one.key_start != entry.key_start)
    if value is False and (
        not explicit_switches(slot.flags) or any(isinstance(one, Scalar) and one.form == "flag" for one in others)
    ):
        return remove(document, entry)
    new = _token(value, "", said)
    return None if new is None or _is_flag(new) else Edit(entry.key_end, entry.key_end, " " + new)


def _replace_words(source: str, node: Sequence, value: object) -> Edit | None:
    """Several values at once: only where all of them stand in the text, one behind the other."""
    if not node.editable or not isinstance(value, (list, tuple)) or not value:
        return None
    at = node.start
    for item in node.items:
        if not isinstance(item, Scalar) or item.start < at or not _gap(source[at : item.start]):
            return None
        at = item.end
    return _words(source, node, value)


def _words(source: str, node: Node, value: list[object] | tuple[object, ...]) -> Edit | None:
    old = {
        item.value: source[item.start : item.end] for item in getattr(node, "items", ()) if isinstance(item.value, str)
    }
    tokens = [old.get(item) if isinstance(item, str) and item in old else _token(item, "", False) for item in value]
    if not tokens or any(token is None or _is_flag(token) for token in tokens):
        return None
    return Edit(node.start, node.end, " ".join(token for token in tokens if token is not None))


def _gap(text: str) -> bool:
    return not text or _GAP.match(text) is not None


def _token(value: object, old: str, lower: bool) -> str | None:
    """A value as one word, in the quotes of the old one; `lower`: truth values are written `true`. None for what cannot be written."""
    if isinstance(value, bool):
        lower = old.strip("'\"")[:1].islower() if old.strip("'\"").lower() in ("true", "false") else lower
        text = str(value).lower() if lower else str(value)
    elif isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            return None
        text = str(value)
    elif isinstance(value, float):
        text = repr(value)
    elif isinstance(value, dict):
        try:
            text = json.dumps(value)
        except (TypeError, ValueError):
            return None
    elif isinstance(value, str) and not isinstance(value, Unknown):
        text = str(value)
    else:
        return None
    if isinstance(value, Verbatim):
        return text
    quote = old[0] if old[:1] in ("'", '"') and old[-1:] == old[:1] and len(old) > 1 else ""
    if _SIMPLE.match(text):
        return f"{quote}{text}{quote}"
    if any(character in text for character in "\0\n\r") or (old and not quote):
        return None  # an unquoted word may stand inside somebody's quotes
    if quote == '"' and not any(character in text for character in '"\\$`!'):
        return f'"{text}"'
    return f"'{text}'" if "'" not in text else None


def _slot(document: Document, entry: Entry) -> _Slot | None:
    """Where a flag is in the text; None for what is none (an environment variable) and for one whose end is not certain."""
    source, root = document.text.text, document.root
    if not isinstance(root, Script) or source[entry.key_start : entry.key_end] != entry.key or not entry.key:
        return None
    dashes = _DASHES.search(source, max(0, entry.key_start - 2), entry.key_start)
    command = next((c for c in root.commands if any(e.key_start == entry.key_start for e in c.flags.entries)), None)
    if command is None or dashes is None:
        return None
    end = _value_end(source, entry)
    direct = command.start <= dashes.start() < command.end
    return None if end is None else _Slot(dashes.start(), end, dashes.group(), command.flags, direct)


def _value_end(source: str, entry: Entry) -> int | None:
    """Behind a flag's value where it is used, which is not where it is written if a variable holds it."""
    value, at = entry.value, entry.key_end
    if isinstance(value, Scalar) and value.form == "flag":
        return at
    items = value.items if isinstance(value, Sequence) else (value,)
    for item in items:
        used = _VARIABLE.match(source, at)
        if item.start >= at and _GAP.match(source[at : item.start]):
            at = item.end
        elif isinstance(item, Mapping) and _GAP.match(source[at : item.start - 1]) and source[item.start - 1] in "'\"":
            at = item.end + 1
        elif used and isinstance(item, Scalar) and item.form in ("name", "default", "unknown"):
            at = used.end()
        else:
            return None
    return at


def _ends_command(source: str, at: int) -> bool:
    """Whether a redirection, a pipe, a closing quote or bracket or another command follows on the line."""
    return _BEHIND.match(source, at) is not None


def _in_list(source: str, at: int) -> bool:
    """Whether a flag on a line of its own is in an array or a quoted text: the line above ends without a backslash."""
    line_start = _line_start(source, at)
    return not source[max(0, line_start - 3) : line_start].rstrip("\r\n").endswith("\\")


def _line_start(source: str, at: int) -> int:
    return source.rfind("\n", 0, at) + 1


def _is_flag(token: str) -> bool:
    """A word that argparse would take for a flag."""
    return re.match(r"-[^0-9.]", token) is not None


def _value_of(node: Node) -> object:
    return (
        [_value_of(item) for item in node.items]
        if isinstance(node, Sequence)
        else node.value
        if isinstance(node, Scalar)
        else node
    )


def _same(one: object, other: object) -> bool:
    return one == other and repr(one) == repr(other)
