"""YAML text → documents. The plain part is read line by line: block mappings and lists of one-line values, as most training configurations are
written. All other texts are libyaml's (`events`).

libyaml hands every key and value over as three Python objects, a third of the cost of checking a thousand files, and to import PyYAML is a
fifth of the cost of checking one. What this reader does not know for certain it leaves to libyaml (`read` returns None); what it reads is
the same tree, position for position (tests/syntax/test_yaml_plain.py).
"""

from __future__ import annotations

from stablint.base.light import Union
from stablint.syntax.tree import Document, Entry, Mapping, Node, Scalar, Sequence, Text
from stablint.syntax.yaml import events
from stablint.syntax.yaml.scalar import is_name, remembered

_Data = Union[Mapping, Sequence, Scalar]
_new = tuple.__new__  # a named tuple without its Python frame
_DEEPEST = 20
_LONGEST = 63  # code points of a plain value; longer ones may be numbers that must not be converted
_NO_PLAIN = frozenset(
    "!&*|>%@`{}[]#,?:'\"-"
)  # what a plain value does not begin with (a dash may, before a digit or a letter)
_IN_FLOW = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+")


class _Level:
    """A collection that is still open: a mapping with its pending key, or a list."""

    __slots__ = ("colon", "indent", "items", "key", "key_end", "key_start", "names", "start")

    def __init__(self, indent: int, start: int, names: set[str] | None) -> None:
        self.indent, self.start = indent, start
        self.items: list[Entry | Node] = []
        self.names = names  # None for a list
        self.key = ""  # of a mapping, whose value has not come yet
        self.key_start = self.key_end = self.colon = 0


def read(source: str) -> Mapping | None:
    """The one mapping of a text; None for anything that is not plain, right or wrong."""
    if not source.replace("\n", " ").isprintable():
        return None
    levels: list[_Level] = []
    level: _Level | None = None
    marked = False  # by `---`
    offset = 0
    for line in source.split("\n"):
        at, offset = offset, offset + len(line) + 1
        body = line.lstrip(" ")
        if not body or body[0] == "#":
            continue
        indent = len(line) - len(body)
        if level is None:
            if line == "---" and not marked:
                marked = True
                continue
            if indent or body[:2] == "- ":
                return None
            level = _Level(0, at, set())
            levels.append(level)
        elif indent < level.indent:
            while indent < level.indent:
                _close(levels)
                level = levels[-1]
        start = at + indent
        if body[0] == "-" and body[1:2] == " ":
            if level.names is not None and level.key and indent >= level.indent:
                level = _Level(indent, start, None)
                levels.append(level)
                if len(levels) > _DEEPEST:
                    return None
            elif level.names is not None or indent != level.indent:
                return None
            rest = body[2:].lstrip(" ")
            if not rest:
                return None
            inner = indent + len(body) - len(rest)
            start = at + inner
            key, colon, value = rest.partition(":")
            if colon and (not value or value[0] == " ") and key.isidentifier():
                level = _Level(inner, start, set())
                levels.append(level)
            else:
                node = _value(rest, start)
                if node is None:
                    return None
                level.items.append(node)
                continue
        else:
            key, colon, value = body.partition(":")
            if not colon or (value and value[0] != " ") or not key.isidentifier():
                return None
            if level.names is None:  # a list whose dashes stand under the key's own column
                if indent != level.indent or levels[-2].indent != indent:
                    return None
                _close(levels)
                level = levels[-1]
            elif indent > level.indent:
                if not level.key:
                    return None
                level = _Level(indent, start, set())
                levels.append(level)
                if len(levels) > _DEEPEST:
                    return None
            elif level.key:
                _empty(level)
        names = level.names
        if names is None or key in names or not is_name(key):
            return None
        names.add(key)
        end = start + len(key)
        text = value.lstrip(" ")
        if not text or text[0] == "#":
            level.key, level.key_start, level.key_end, level.colon = key, start, end, end + 1
            continue
        node = _value(text, end + 1 + len(value) - len(text))
        if node is None:
            return None
        level.items.append(_new(Entry, (key, start, end, node)))
    if level is None:
        return None
    while len(levels) > 1:
        _close(levels)
    if level.key:
        _empty(levels[0])
    return _mapping(levels[0])


def _value(text: str, start: int) -> _Data | None:
    """A one-line value with what follows it in the line."""
    first = text[0]
    if first in _NO_PLAIN:
        if first == "'" or first == '"':
            cut = text.find(first, 1)
            after = text[cut + 1 :]
            if cut < 0 or after[:1] == first or (first == '"' and "\\" in text[:cut]):
                return None
            if after and after.strip(" ") and (after[0] != " " or after.lstrip(" ")[0] != "#"):
                return None
            return Scalar(text[1:cut], start, start + cut + 1, "quoted")
        if first == "[":
            return _list(text, start)
        if first != "-" or not text[1:2].isalnum():
            return None
    cut = text.find(" #")
    if cut >= 0:
        text = text[:cut]
    token = text.rstrip(" ")
    if ": " in token or token[-1] == ":" or len(token) > _LONGEST:
        return None
    return _new(Scalar, (remembered(token), start, start + len(token), "plain", True))


def _list(text: str, start: int) -> Sequence | None:
    """`[a, 1, 0.5]`, of words and numbers only."""
    cut = text.find("]")
    after = text[cut + 1 :]
    if cut < 0 or (after and after.strip(" ") and (after[0] != " " or after.lstrip(" ")[0] != "#")):
        return None
    items: list[Node] = []
    position = 1
    inner = text[1:cut]
    for part in inner.split(",") if inner.strip(" ") else ():
        token = part.strip(" ")
        if not token or not _IN_FLOW.issuperset(token) or len(token) > _LONGEST:
            return None
        begin = start + position + len(part) - len(part.lstrip(" "))
        items.append(Scalar(remembered(token), begin, begin + len(token)))
        position += len(part) + 1
    return Sequence(tuple(items), start, start + cut + 1)


def _close(levels: list[_Level]) -> None:
    """The innermost collection is complete: it is the value, or the item, that the one around it waits for."""
    done, above = levels.pop(), levels[-1]
    if done.key:
        _empty(done)
    node: Node
    if done.names is None:
        node = Sequence(tuple(done.items), done.start, done.items[-1].end)  # type: ignore[arg-type, union-attr]
    else:
        node = _mapping(done)
    if above.names is None:
        above.items.append(node)
    else:
        above.items.append(Entry(above.key, above.key_start, above.key_end, node))
        above.key = ""


def _empty(level: _Level) -> None:
    """A key without a value."""
    level.items.append(Entry(level.key, level.key_start, level.key_end, Scalar(None, level.colon, level.colon)))
    level.key = ""


def _mapping(level: _Level) -> Mapping:
    entries: tuple[Entry, ...] = tuple(level.items)  # type: ignore[arg-type]
    return Mapping(entries, level.start, entries[-1].value.end)


def documents(text: Text) -> tuple[Document, ...]:
    """Every document of a YAML text, at least one. Reading ends at the first that cannot be read, whose `root` is None with its problem.

    An empty document has no root and no problem. `text[start:end]` of a node is its token, with tag and anchor where it has them.
    """
    root = read(text.text)
    if root is not None:
        return (Document(text, "yaml", 0, root),)
    return events.documents(text)
