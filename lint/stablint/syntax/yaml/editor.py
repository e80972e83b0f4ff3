"""Write into YAML text: every verb gives one Edit that touches nothing but its place, or None where that cannot be done safely.

Not into anchors, aliases, merges or tagged values (others may depend on them), and never over somebody's comment.
"""

from __future__ import annotations

import re

from stablint.syntax.locate import Found, Place, between, locate, same, value_of, walk, wholly_editable
from stablint.syntax.text import newline_of
from stablint.syntax.tree import Document, Edit, Entry, Mapping, Node, Scalar, Sequence
from stablint.syntax.yaml.token import flow

_BREAKS = "\n\r\x85\u2028\u2029"  # what ends a line, and a comment, in YAML 1.1
_LINE_END = re.compile(f"\r\n|[{_BREAKS}]|\\Z")
_INDENT = re.compile(r"(?:^|[\n\r])( +)(?=[^\s#-])")


def replace(document: Document, place: Place, value: object) -> Edit | None:
    """Put a value in the place of another; quotes and the spelling of booleans stay. Writing what is there changes nothing."""
    found = locate(document, place)
    if found is None or not wholly_editable(found.node):
        return None
    text, old = document.text.text, found.node
    if same(value_of(old), value):
        return Edit(old.start, old.end, text[old.start : old.end])
    if isinstance(old, Scalar):
        return _replace_scalar(text, old, value)
    in_flow = text[old.start] in "[{" or _in_flow(text, found.parents)
    if not in_flow:
        appended = _append(text, old, value)
        if appended is not None:
            return appended
    if "#" in between(text, old) or (not in_flow and "#" in _rest_of_line(text, old.end)):
        return None
    if in_flow:
        token = _flow_like(text, old, value)
        return None if token is None else Edit(old.start, old.end, token)
    lines = _block_like(text, old, value)
    if lines:
        return Edit(old.start, old.end, (newline_of(text) + " " * _column(text, old.start)).join(lines))
    return _pull_up(text, found, value, old.end)


def insert(document: Document, after: Place, key: str, value: object) -> Edit | None:
    """A new entry behind the entry `after`, in its mapping. A dict becomes a nested mapping: so a path is made that was not there."""
    found = locate(document, after)
    if found is None or found.entry is None:
        return None
    text, entry, parent = document.text.text, found.entry, found.parents[-1]
    style, name, token = _style(text, found), flow(key), flow(value)
    if (
        not isinstance(parent, Mapping)
        or style is None
        or name is None
        or token is None
        or _explicit(text, parent, key)
    ):
        return None
    if style == "flow":
        at = entry.value.end
        return None if text[at - 1] == ":" else Edit(at, at, f", {name}: {token}")
    prefix = text[_line_start(text, entry.key_start) : entry.key_start]
    line_end = _after_line(text, entry.value.end)
    if prefix.strip(" -\t") or line_end is None:
        return None
    pad = " " * len(prefix)
    newline = newline_of(text)
    lines = (newline + pad).join(_nested(name, value, " " * _step(text)))
    if line_end == len(text) and text[-1] not in _BREAKS:
        return None if _ends_in_block_scalar(entry.value) else Edit(line_end, line_end, newline + pad + lines)
    return Edit(line_end, line_end, pad + lines + newline)


def remove(document: Document, place: Place) -> Edit | None:
    """Delete an entry with its own trailing comment; comments on lines of their own stay. The last entry of a mapping leaves `{}`."""
    found = locate(document, place)
    if found is None or found.entry is None or not wholly_editable(found.node):
        return None
    text, entry, parent = document.text.text, found.entry, found.parents[-1]
    style = _style(text, found)
    if style is None or not isinstance(parent, Mapping) or parent.open or text[entry.key_start] in "&*!":
        return None
    before = [other for other in parent.entries if other.key_start < entry.key_start]
    behind = [other for other in parent.entries if other.key_start > entry.key_start]
    if style == "flow":
        return _remove_from_flow(text, parent, entry, before, behind)
    prefix = text[_line_start(text, entry.key_start) : entry.key_start]
    at = _after_line(text, entry.value.end)
    if prefix.strip(" -\t") or at is None:
        return None
    if not before and not behind:
        end = entry.value.end + len(text[entry.value.end : at].rstrip(_BREAKS))
        return _pull_up(text, Found(parent, found.owners[-1], found.parents[:-1], found.owners[:-1]), {}, end)
    if prefix.strip():  # `- key: value`: the next line moves up behind the dash
        end = at + len(text[at:]) - len(text[at:].lstrip())
        return Edit(entry.key_start, end, "") if behind else None
    if before and _would_join(text, before[-1].value, at, len(prefix)):
        return None
    return Edit(entry.key_start - len(prefix), at, "")


def rename(document: Document, place: Place, key: str) -> Edit | None:
    """Another key for the same value, quoted as the old one was. None if the mapping has that key already."""
    found = locate(document, place)
    if found is None or found.entry is None:
        return None
    text, entry, parent = document.text.text, found.entry, found.parents[-1]
    old = text[entry.key_start : entry.key_end]
    if (
        not isinstance(parent, Mapping)
        or not parent.editable
        or old == "<<"
        or old[:1] in ("", "&", "*", "!", "|", ">")
    ):
        return None
    if key != entry.key and _explicit(text, parent, key):
        return None
    token = old if key == entry.key else flow(key, old if old[0] in "'\"" else "")
    return None if token is None else Edit(entry.key_start, entry.key_end, token)


def _replace_scalar(text: str, old: Scalar, value: object) -> Edit | None:
    start, end, token = old.start, old.end, text[old.start : old.end]
    new = flow(value, token if old.form == "quoted" or isinstance(old.value, bool) else "")
    if new is None:
        return None
    if start == end:
        return Edit(start, end, " " + new)
    if old.form == "block":
        if "#" in _rest_of_line(token, 0):
            return None
        end = start + len(token.rstrip(_BREAKS))
    return Edit(start, end, new)


def _flow_like(text: str, old: Node, value: object) -> str | None:
    """A flow collection whose unchanged items are spelled as before."""
    if isinstance(old, Sequence) and isinstance(value, (list, tuple)):
        items = [_token(text, old, item) for item in value]
        return None if None in items else "[" + ", ".join(item for item in items if item is not None) + "]"
    return flow(value)


def _block_like(text: str, old: Node, value: object) -> list[str] | None:
    """The lines of a block collection of the same kind, without their indentation; None if the kind changes or nothing is left."""
    lines: list[str | None] = []
    if isinstance(old, Sequence) and isinstance(value, (list, tuple)):
        for item in value:
            token = _token(text, old, item)
            lines.append(token and "- " + token)
    elif isinstance(old, Mapping) and isinstance(value, dict) and not old.open:
        kept = {entry.key: entry for entry in old.entries if same(value_of(entry.value), value.get(entry.key))}
        for key, item in value.items():
            name, token = flow(str(key)), flow(item)
            entry = kept.get(key)
            lines.append(text[entry.key_start : entry.value.end] if entry else name and token and f"{name}: {token}")
    return None if None in lines else [line for line in lines if line is not None]


def _token(text: str, old: Sequence, value: object) -> str | None:
    like = next(
        (item for item in old.items if isinstance(item, Scalar) and item.form != "block" and same(item.value, value)),
        None,
    )
    return text[like.start : like.end] if like and like.start < like.end else flow(value)


def _append(text: str, old: Node, value: object) -> Edit | None:
    """New items behind those of a block sequence, if those stay as they are."""
    if not isinstance(old, Sequence) or not isinstance(value, list):
        return None
    count, at = len(old.items), _after_line(text, old.end)
    tokens = [_token(text, old, item) for item in value[count:]]
    if at is None or None in tokens or not same(value_of(old), value[:count]) or _ends_in_block_scalar(old):
        return None
    newline = newline_of(text)
    lines = newline.join(f"{' ' * _column(text, old.start)}- {token}" for token in tokens)
    return Edit(at, at, newline + lines if text[at - 1] not in _BREAKS else lines + newline)


def _pull_up(text: str, found: Found, value: object, end: int) -> Edit | None:
    """A block collection becomes one token, on its key's line unless a comment stands between."""
    old, entry, token = found.node, found.entry, flow(value)
    if token is None:
        return None
    if entry is None:
        return Edit(old.start, end, token)
    if (
        text[entry.key_end : old.start].strip() == ":"
        and "?" not in text[_line_start(text, entry.key_start) : entry.key_start]
    ):
        return Edit(entry.key_end, end, ": " + token)
    return Edit(old.start, end, token) if isinstance(old, Mapping) else None


def _remove_from_flow(
    text: str, parent: Mapping, entry: Entry, before: list[Entry], behind: list[Entry]
) -> Edit | None:
    if behind:
        gap, edit = text[entry.value.end : behind[0].key_start], Edit(entry.key_start, behind[0].key_start, "")
    elif before:
        start = before[-1].value.end
        gap, edit = text[start : entry.key_start] + text[start - 1].replace(":", "?"), Edit(start, entry.value.end, "")
    else:
        gap, edit = between(text, parent), Edit(parent.start, parent.end, "{}")
    return None if "#" in gap or "?" in gap else edit


def _nested(name: str, value: object, step: str) -> list[str]:
    """The lines of `name: value`, dicts as nested block mappings."""
    if not isinstance(value, dict) or not value:
        return [f"{name}: {flow(value)}"]
    return [
        f"{name}:",
        *(step + line for key, item in value.items() for line in _nested(flow(str(key)) or "", item, step)),
    ]


def _style(text: str, found: Found) -> str | None:
    """Whether the mapping that holds a place is in block or flow style; None where it cannot be added to."""
    parent = found.parents[-1]
    if not isinstance(parent, Mapping) or not parent.editable:
        return None
    if text[parent.start] == "{":
        return None if parent.open else "flow"
    return None if _in_flow(text, found.parents[:-1]) else "block"  # `[a: 1]` has a mapping without braces


def _in_flow(text: str, parents: tuple[Node, ...]) -> bool:
    return any(text[node.start] in "[{" for node in parents)


def _explicit(text: str, parent: Mapping, key: str) -> bool:
    """Whether the mapping itself, not what it merges, has a key."""
    return any(entry.key == key and text[entry.key_start : entry.key_end] != "<<" for entry in parent.entries)


def _line_start(text: str, at: int) -> int:
    return max(text.rfind(character, 0, at) for character in _BREAKS) + 1


def _column(text: str, at: int) -> int:
    return at - _line_start(text, at)


def _after_line(text: str, end: int) -> int | None:
    """Where the line behind the one with a value's end begins. None if more than a comment follows on that line."""
    if end and text[end - 1] in _BREAKS:
        return end
    found = _LINE_END.search(text, end)
    return found.end() if found and text[end : found.start()].strip()[:1] in ("", "#") else None


def _rest_of_line(text: str, at: int) -> str:
    found = _LINE_END.search(text, at)
    return text[at : found.start()] if found else ""


def _ends_in_block_scalar(node: Node) -> bool:
    *_, last = walk(node)
    return isinstance(last, Scalar) and last.form == "block"


def _would_join(text: str, before: Node, at: int, column: int) -> bool:
    """Whether what follows would become part of a block scalar in front of it: a deeper comment does, under `+` an empty line, too."""
    if not _ends_in_block_scalar(before):
        return False
    line = text[at:].lstrip(_BREAKS)
    return len(line) - len(line.lstrip(" ")) > column or (
        text[before.end - 1] in _BREAKS and not text.startswith(line, at)
    )


def _step(text: str) -> int:
    """The indentation that the file uses."""
    return min((len(found) for found in _INDENT.findall(text)), default=2) if " " in text else 2
