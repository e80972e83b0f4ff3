"""Write into Python source: every verb gives one Edit of the argument or dict entry itself, or None where that cannot be done safely.

An argument's value may stand elsewhere (`learning_rate=LR`): it is then changed where it is written, but removed where it is used.
"""

from __future__ import annotations

import ast
import keyword
import re
from functools import lru_cache
from typing import NamedTuple, Union

from stablint.syntax.python import parse
from stablint.syntax.python.places import Places
from stablint.syntax.tree import Call, Document, Edit, Entry, Mapping, Module, Node, Scalar, Sequence, Verbatim

_LITERAL = re.compile(r"[rRbBuU]{0,2}('''|\"\"\"|'|\")")
_LINE_END = re.compile(r"\r?\n|\r|\Z")
_REST = re.compile(r"[ \t\f]*(#[^\r\n]*)?(?=\r|\n|\Z)")
_COMMA = re.compile(r"\s*,")
_BLANKS = " \t\f"
_MOST_BITS = 1024


class _Slot(NamedTuple):
    """An argument or dict entry in the source: `start` of its key to `end` of its value, parentheses included.

    `comma` is behind its comma, -1 if none follows; `before` is behind the argument in front of it, -1 if it is the first.
    """

    start: int
    end: int
    comma: int
    before: int
    keys: frozenset[str]  # of the same call or dict
    is_dict: bool
    spread: bool  # the call or dict also takes `**something`


def replace(document: Document, entry: Entry, value: object) -> Edit | None:
    """Put a value in the place of another, in the quotes of the old one. Writing what is there changes nothing."""
    node, source = entry.value, document.text.text
    if isinstance(node, Call) or (entry.key_start, entry.key_end) == (node.start, node.end):
        return None
    if _same(_value_of(node), value):
        return Edit(node.start, node.end, source[node.start : node.end])
    if not node.editable or "#" in _between(source, node):
        return None
    token = source[node.start : node.end]
    if (
        isinstance(node, Scalar) and "#" in token and "\n" in token
    ):  # a text in several parts, perhaps with comments between them
        return None
    if isinstance(node, Scalar) and node.form == "attribute" and isinstance(value, str) and value.isidentifier():
        return Edit(node.start, node.end, value)
    quote = _quote(source, node.start) or _neighbours_quote(document, entry)
    new = literal(tuple(value) if isinstance(value, list) and token[:1] == "(" else value, quote)
    return None if new is None else Edit(node.start, node.end, new)


def insert(document: Document, after: Entry, key: str, value: object) -> Edit | None:
    """A new argument (or dict entry) behind another one: on a line of its own if that one has its own."""
    slot, source = _slot(document, after), document.text.text
    if slot is None or slot.spread or key in slot.keys or not (slot.is_dict or _is_keyword(key)):
        return None
    quote = _neighbours_quote(document, after)
    new = literal(value, quote)
    if new is None:
        return None
    name = literal(key, _quote(source, slot.start) or '"') if slot.is_dict else key
    written = f"{name}: {new}" if slot.is_dict else f"{name}={new}"
    line_start = _line_start(source, slot.start)
    indent = source[line_start : slot.start]
    newline = "\r\n" if "\r\n" in source else "\n"
    if indent.strip(_BLANKS):
        return Edit(slot.end, slot.end, f", {written}")
    if slot.comma < 0:
        rest = _rest(source, slot.end)
        if (
            rest is not None and "#" in source[slot.end : rest]
        ):  # the comma goes in front of the comment, the line behind it
            return Edit(slot.end, rest, f",{source[slot.end : rest]}{newline}{indent}{written}")
        return Edit(slot.end, slot.end, f",{newline}{indent}{written}")
    rest = _rest(source, slot.comma)
    if rest is None:
        return Edit(slot.end, slot.end, f", {written}")
    return Edit(rest, rest, f"{newline}{indent}{written},")


def remove(document: Document, entry: Entry) -> Edit | None:
    """Delete an argument with its comma; with its line and the comment behind it where it stands alone."""
    slot, source = _slot(document, entry), document.text.text
    if slot is None:
        return None
    line_start = _line_start(source, slot.start)
    alone = not source[line_start : slot.start].strip(_BLANKS)
    end = slot.end if slot.comma < 0 else slot.comma
    rest = _rest(source, end)
    if alone and rest is not None:
        found = _LINE_END.match(source, rest)
        return Edit(line_start, found.end() if found else rest, "")
    if slot.comma >= 0 and rest is None:
        while source[end : end + 1] in (" ", "\t"):
            end += 1
        return Edit(slot.start, end, "")
    if slot.comma < 0 and slot.before >= 0 and (comma := _COMMA.match(source, slot.before)):
        if not source[comma.end() : slot.start].strip():
            return Edit(slot.before, slot.end, "")
    start = slot.start
    while slot.comma >= 0 and start > line_start and source[start - 1] in _BLANKS:
        start -= 1
    return Edit(start, end, "")


def rename(document: Document, entry: Entry, key: str) -> Edit | None:
    """Another key for the same value. None if the call has that argument already."""
    slot, source = _slot(document, entry), document.text.text
    old = source[entry.key_start : entry.key_end]
    if slot is None or (key != entry.key and key in slot.keys) or not (slot.is_dict or _is_keyword(key)):
        return None
    new = old if key == entry.key else literal(key, _quote(source, entry.key_start)) if slot.is_dict else key
    return None if new is None else Edit(entry.key_start, entry.key_end, new)


def literal(value: object, quote: str = '"') -> str | None:
    """A value as Python source; None for what has no literal."""
    if isinstance(value, Verbatim):
        return str(value)
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if value.bit_length() <= _MOST_BITS else None
    if isinstance(value, float):
        return repr(value) if value - value == 0 else f'float("{value}")'
    if isinstance(value, str):
        text = repr(value)
        return (
            f"{quote}{text[1:-1]}{quote}"
            if text[0] == "'" and quote == '"' and '"' not in value and "\\'" not in text
            else text
        )
    if isinstance(value, (list, tuple)):
        items = [literal(item, quote) for item in value]
        if None in items:
            return None
        written = ", ".join(item for item in items if item is not None)
        return f"[{written}]" if isinstance(value, list) else f"({written}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        pairs = [(literal(key, quote), literal(item, quote)) for key, item in value.items()]
        if any(None in pair for pair in pairs):
            return None
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    return None


def _slot(document: Document, entry: Entry) -> _Slot | None:
    """Where an entry is in the source, found by its key's place. None for what is no argument: a positional, the call's own name."""
    source = document.text.text
    if entry.key_start == entry.key_end or not isinstance(document.root, Module):
        return None
    places, holders = _holders(source)
    holder = holders.get(entry.key_start)
    if holder is None:
        return None
    if isinstance(holder, ast.Call):
        values = [*holder.args, *(argument.value for argument in holder.keywords)]
        keys = frozenset(argument.arg for argument in holder.keywords if argument.arg is not None)
        spread = any(argument.arg is None for argument in holder.keywords)
        return _placed(source, places, entry.key_start, values, keys, False, spread)
    keys = frozenset(
        str(key.value) for key in holder.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
    )
    return _placed(source, places, entry.key_start, holder.values, keys, True, None in holder.keys)


@lru_cache(maxsize=1)
def _holders(source: str) -> tuple[Places, dict[int, ast.Call | ast.Dict]]:
    """The call or dict that each key of a source stands in, by the key's place. Every repair of a file asks for it."""
    tree, places = parse.parse(source), Places(source)
    found: dict[int, ast.Call | ast.Dict] = {}
    for node in ast.walk(tree) if isinstance(tree, ast.Module) else ():
        if isinstance(node, ast.Call):
            for argument in node.keywords:
                if argument.arg is not None:
                    found.setdefault(places.start(argument), node)
        elif isinstance(node, ast.Dict):
            for key in node.keys:
                if key is not None:
                    found.setdefault(places.start(key), node)
    return places, found


def _placed(
    source: str, places: Places, start: int, values: list[ast.expr], keys: frozenset[str], is_dict: bool, spread: bool
) -> _Slot | None:
    ordered = sorted(values, key=places.start)
    index = next((number for number, value in enumerate(ordered) if places.start(value) > start), None)
    if index is None:
        return None
    value = ordered[index]
    end = _behind_parentheses(
        source, places.end(value), source.count("(", _key_end(source, start), places.start(value))
    )
    behind = _without_comments(source, end)
    comma = _COMMA.match(source, behind)
    if comma and behind > end:  # a comma below a comment belongs to a layout that we leave alone
        return None
    before = -1
    if index:
        opened = places.start(ordered[index - 1])
        before = _before(source, places.end(ordered[index - 1]), start, opened)
    return _Slot(start, end, comma.end() if comma else -1, before, keys, is_dict, spread)


def _key_end(source: str, start: int) -> int:
    """Behind the key, so that a bracket in a dict's key is none around its value."""
    string = _LITERAL.match(source, start)
    if not string:
        return start
    end = source.find(string[1], string.end())
    return end if end >= 0 else start


def _before(source: str, end: int, limit: int, opened: int) -> int:
    """Behind the argument in front, with the parentheses that stand around it."""
    at = end
    while (found := re.compile(r"\s*\)").match(source, at)) and found.end() <= limit:
        at = found.end()
    return at


def _behind_parentheses(source: str, end: int, count: int) -> int:
    for _ in range(count):
        closing = source.find(")", _without_comments(source, end))
        if closing < 0:
            return end
        end = closing + 1
    return end


def _without_comments(source: str, at: int) -> int:
    """Behind white space and comments."""
    while True:
        found = re.compile(r"\s*(#[^\r\n]*)?").match(source, at)
        if not found or not found[1]:
            return at
        at = found.end()


def _rest(source: str, at: int) -> int | None:
    """The end of the line if only a comment comes there."""
    found = _REST.match(source, at)
    return found.end() if found else None


def _line_start(source: str, at: int) -> int:
    return max(source.rfind("\n", 0, at), source.rfind("\r", 0, at)) + 1


def _is_keyword(key: str) -> bool:
    return key.isidentifier() and not keyword.iskeyword(key)


def _quote(source: str, at: int) -> str:
    found = _LITERAL.match(source, at)
    return found[1][0] if found else ""


def _neighbours_quote(document: Document, entry: Entry) -> str:
    """The quote of the strings beside an entry, of the file's others where there are none."""
    source, root = document.text.text, document.root
    calls = root.calls if isinstance(root, Module) else ()
    near = next(
        (call for call in calls if any(other.key_start == entry.key_start for other in call.arguments.entries)), None
    )
    for call in (near, *calls) if near else calls:
        for other in call.arguments.entries:
            if (
                isinstance(other.value, Scalar)
                and other.value.form == "quoted"
                and (quote := _quote(source, other.value.start))
            ):
                return quote
    return '"'


def _between(source: str, node: Node) -> str:
    """What of a collection is neither key nor value."""
    if isinstance(node, (Scalar, Call)):
        return ""
    inner = [(item.start, item.end) for item in node.items] if isinstance(node, Sequence) else []
    if isinstance(node, Mapping):
        inner = [
            span
            for entry in node.entries
            for span in ((entry.key_start, entry.key_end), (entry.value.start, entry.value.end))
        ]
    parts, at = [], node.start
    for start, end in sorted(inner):
        if start >= at and end <= node.end:
            parts.append(source[at:start])
            at = end
    return "".join((*parts, source[at : node.end]))


def _value_of(node: Union[Node, Entry]) -> object:
    if isinstance(node, Sequence):
        return [_value_of(item) for item in node.items]
    if isinstance(node, Mapping):
        return {entry.key: _value_of(entry.value) for entry in node.entries}
    return node.value if isinstance(node, Scalar) else node


def _same(one: object, other: object) -> bool:
    if isinstance(other, Verbatim) and isinstance(one, str):
        return str(one) == str(other)
    return one == other and repr(one) == repr(other)
