"""Find a place in a tree again: by its path, by an entry or by a node of it, with everything that it stands in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Union

from stablint.base.light import NamedTuple
from stablint.syntax.tree import Call, Document, Entry, Mapping, Node, Scalar, Sequence, Unknown

Path = tuple[str | int, ...]
Place = Union[Entry, Node, Path]
"""What the write verbs take: keys and indexes from the root (of duplicate keys the last counts), or the entry or node itself."""


class Found(NamedTuple):
    """`entry` is None for an item of a sequence and for the root. `parents` goes from the root down; `owners` are their entries."""

    node: Node
    entry: Entry | None
    parents: tuple[Node, ...]
    owners: tuple[Entry | None, ...]


def locate(document: Document, place: Place) -> Found | None:
    """Where a place is in a YAML or JSON document; None if it is not there (any more)."""
    if not isinstance(document.root, (Mapping, Sequence, Scalar)):
        return None
    node: Node = document.root
    entry: Entry | None = None
    parents: list[Node] = []
    owners: list[Entry | None] = []
    while True:
        if isinstance(place, (Entry, Scalar, Sequence, Mapping, Call)):
            there = _is(node, entry, place)
            child = None if there else _towards(node, place)
        else:
            there = len(parents) == len(place)
            child = None if there else _child(node, place[len(parents)])
        if there:
            return Found(node, entry, tuple(parents), tuple(owners))
        if child is None:
            return None
        parents.append(node)
        owners.append(entry)
        node, entry = child


def walk(node: Node) -> Iterator[Node | Entry]:
    """A node and all that is in it, entries included, in the order of the text."""
    waiting: list[Node | Entry] = [node]
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, Entry):
            waiting.append(item.value)
        elif isinstance(item, Mapping):
            waiting.extend(reversed(item.entries))
        elif isinstance(item, Sequence):
            waiting.extend(reversed(item.items))


def between(text: str, node: Node) -> str:
    """What of a node's text is neither key nor scalar: punctuation, space and comments."""
    parts, done = [], node.start
    for item in walk(node):
        if isinstance(item, (Entry, Scalar)):
            start, end = (item.key_start, item.key_end) if isinstance(item, Entry) else (item.start, item.end)
            if start >= done:
                parts.append(text[done:start])
                done = end
    parts.append(text[done : node.end])
    return "".join(parts)


def wholly_editable(node: Node) -> bool:
    """Whether no anchor, alias or tag is in it."""
    return all(isinstance(item, Entry) or (not isinstance(item, Call) and item.editable) for item in walk(node))


def value_of(node: Node) -> object:
    """A node as a Python value."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [value_of(item) for item in node.items]
    if isinstance(node, Mapping):
        return {entry.key: value_of(entry.value) for entry in node.entries}
    return Unknown(node.name)


def same(a: object, b: object) -> bool:
    """Equal in value and in type all the way down: `1`, `1.0` and `true` are three values."""
    return a == b and repr(a) == repr(b)


def _is(node: Node, entry: Entry | None, place: Entry | Node) -> bool:
    if isinstance(place, Entry):
        return entry is not None and entry.key_start == place.key_start
    return type(node) is type(place) and (node.start, node.end) == (place.start, place.end)


def _child(node: Node, name: str | int) -> tuple[Node, Entry | None] | None:
    if isinstance(node, Mapping):
        return next(((entry.value, entry) for entry in reversed(node.entries) if entry.key == name), None)
    if isinstance(node, Sequence) and isinstance(name, int) and 0 <= name < len(node.items):
        return node.items[name], None
    return None


def _towards(node: Node, place: Entry | Node) -> tuple[Node, Entry | None] | None:
    """The child that holds a place, by its span."""
    start = place.key_start if isinstance(place, Entry) else place.start
    children: list[tuple[Node, Entry | None]] = []
    if isinstance(node, Mapping):
        children = [(entry.value, entry) for entry in node.entries]
    elif isinstance(node, Sequence):
        children = [(item, None) for item in node.items]
    for child, entry in children:
        beside = isinstance(place, Entry) and entry is not None and entry.key_start == start
        if beside or child.start <= start <= child.end:
            return child, entry
    return None
