"""YAML text → tree. libyaml says what is YAML, this module builds the nodes from its events, each event once and without recursion.

libyaml's composer recurses in C and dies without an exception on deep nesting; its event parser keeps its own stack, so reading stops
at `DEEPEST` levels whatever follows. Nothing is constructed: a tag that would make an object is Unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Union

from yaml import SafeLoader
from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from stablint.source.text import LARGEST, Lines
from stablint.source.tree import Document, Entry, Mapping, Node, Problem, Scalar, Sequence, Text, Unknown
from stablint.source.yaml_scalar import LONGEST_NUMBER, construct, key_text, resolve

try:
    from yaml.cyaml import CParser as _Parser  # type: ignore[attr-defined]
except ImportError:  # PyYAML built without libyaml: slower, the same events
    _Parser = SafeLoader  # type: ignore[misc, assignment]

DEEPEST = 200
"""Levels of nesting that are read; real configurations have fewer than ten."""
_Data = Union[Mapping, Sequence, Scalar]
_MOST_EXPANDED = 100_000  # nodes that aliases and merges may stand for in one document
_MOST_DOCUMENTS = 1000

_DIGITS = re.compile(r"[-+]?[0-9_]+\Z")
_COLLECTIONS = frozenset({None, "!", *(f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "set", "omap", "pairs"))})
_BLOCK_HEADER = re.compile(r"[|>][-+0-9]{0,2}(?=[ \t]*(?:#|[\r\n]|\Z))")


def documents(text: Text) -> tuple[Document, ...]:
    """Every document of a YAML text, at least one. Reading ends at the first that cannot be read, whose `root` is None with its problem.

    An empty document has no root and no problem. `text[start:end]` of a node is its token, with tag and anchor where it has them.
    """
    source = text.text
    found: list[Document] = []
    problem = None
    try:
        if len(source) > LARGEST:
            raise _Refused("too-large", f"larger than {LARGEST // 1_000_000} MB", 0, 0)
        for root, problems in _roots(source):
            if len(found) == _MOST_DOCUMENTS:
                raise _Refused("too-large", f"more than {_MOST_DOCUMENTS} documents in one file", 0, 0)
            found.append(Document(text, "yaml", len(found), root, problems))
    except _Refused as refused:
        problem = refused.problem
    except YAMLError as error:
        from stablint.source.yaml_error import syntax_error  # only then: most files are YAML

        problem = syntax_error(source, error)
    except UnicodeEncodeError as error:
        problem = Problem("syntax-error", "half of a surrogate pair is no character", error.start, error.end)
    if problem or not found:
        found.append(Document(text, "yaml", len(found), None, (problem,) if problem else ()))
    return tuple(found)


class _Refused(Exception):
    """This document is not read."""

    def __init__(self, kind: str, message: str, start: int, end: int) -> None:
        self.problem = Problem(kind, message, start, end)


class _Frame:
    """A collection whose end has not come yet."""

    __slots__ = (
        "anchor",
        "editable",
        "end",
        "entries",
        "flow",
        "height",
        "items",
        "key",
        "merged",
        "open",
        "seen",
        "size",
        "start",
        "tag",
    )

    def __init__(self, event: Any, start: int, mapping: bool, editable: bool) -> None:
        self.start, self.end, self.flow, self.tag, self.anchor = start, start, event.flow_style, event.tag, event.anchor
        self.items: list[Node] | None = None if mapping else []
        self.entries: list[Entry] = []
        self.merged: dict[str, Entry] = {}
        self.seen: dict[str, int] = {}
        self.key: _Data | None = None
        self.open, self.size, self.height = False, 1, 0
        self.editable = editable and self.anchor is None and self.tag is None


def _roots(source: str) -> Iterator[tuple[_Data | None, tuple[Problem, ...]]]:
    # libyaml does not count a byte order mark that the text still begins with (the file's own is gone by now).
    shift = 1 if source.startswith("\ufeff") else 0
    next_event: Callable[[], Any] = _Parser(source).get_event
    while (event := next_event()) is not None:
        if type(event) is DocumentStartEvent:
            yield _Builder(source, shift).document(next_event)


class _Builder:
    """One document, event by event."""

    def __init__(self, source: str, shift: int) -> None:
        self.source, self.shift, self.lines = source, shift, Lines(source)
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[_Data, int, int]] = {}
        self.problems: list[Problem] = []
        self.expanded = 0

    def document(self, next_event: Callable[[], Any]) -> tuple[_Data | None, tuple[Problem, ...]]:
        source, shift, stack = self.source, self.shift, self.stack
        root: _Data | None = None
        while True:
            event = next_event()
            kind = type(event)
            if kind is DocumentEndEvent or event is None:
                empty = isinstance(root, Scalar) and root.start == root.end and root.form == "plain"
                return None if empty else root, tuple(self.problems)
            start = event.start_mark.index + shift
            node: _Data
            size, height, anchor = 1, 0, None
            if kind is ScalarEvent:
                end, anchor, token, tag, style = (
                    event.end_mark.index + shift,
                    event.anchor,
                    event.value,
                    event.tag,
                    event.style,
                )
                editable = anchor is None and tag is None and (not stack or stack[-1].editable)
                if style:
                    form = "quoted" if style in "'\"" else "block"
                    if form == "block":
                        end = _block_end(source, start, end)
                    node = Scalar(token if tag is None else construct(tag, token), start, end, form, editable)
                else:
                    if start == end and editable:  # what has no colon or dash before it cannot simply be filled in
                        editable = bool(stack) and source[start - 1 : start] == (
                            ":" if stack[-1].items is None else "-"
                        )
                    elif end - start > LONGEST_NUMBER and _DIGITS.match(token):
                        self.problems.append(Problem("syntax-error", f"a number of {len(token)} digits", start, end))
                    node = Scalar(
                        resolve(token) if tag is None else construct(tag, token), start, end, "plain", editable
                    )
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                if len(stack) >= DEEPEST:
                    raise _Refused("too-deep", f"nested deeper than {DEEPEST} levels", start, start)
                stack.append(_Frame(event, start, kind is MappingStartEvent, not stack or stack[-1].editable))
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                frame = stack.pop()
                node, size, height, anchor = (
                    self.close(frame, event.end_mark.index + shift),
                    frame.size,
                    frame.height,
                    frame.anchor,
                )
            elif kind is AliasEvent:
                node, size, height = self.alias(event.anchor, start, event.end_mark.index + shift)
            if anchor is not None:
                if anchor in self.anchors:
                    raise _Refused(
                        "syntax-error", f"the anchor `&{anchor}` is defined twice", start, start + len(anchor) + 1
                    )
                self.anchors[anchor] = node, size, height
            if not stack:
                root = node
                continue
            frame = stack[-1]
            frame.size += size
            frame.end = node.end
            if height >= frame.height:
                frame.height = height + 1
            if frame.items is not None:
                frame.items.append(node)
            elif frame.key is None:
                frame.key = node
            else:
                self.pair(frame, frame.key, node)
                frame.key = None

    def pair(self, frame: _Frame, key: _Data, value: _Data) -> None:
        if type(key) is not Scalar or isinstance(key.value, Unknown):
            frame.open = True
            return
        name = key.value
        if type(name) is not str:
            name = key_text(name)
        elif name == "<<" and key.form == "plain":
            self.merge(frame, key, value)
            return
        if name in frame.seen:
            message = f"`{name}` is set in line {self.lines.position(frame.seen[name])[0]} already; the last one counts"
            self.problems.append(Problem("duplicate-key", message, key.start, key.end))
        else:
            frame.seen[name] = key.start
        frame.entries.append(Entry(name, key.start, key.end, value))

    def merge(self, frame: _Frame, key: Scalar, value: _Data) -> None:
        """`<<: *base` or `<<: [*a, *b]`, of which the first wins."""
        for base in reversed(value.items) if isinstance(value, Sequence) else (value,):
            if not isinstance(base, Mapping):
                self.problems.append(Problem("syntax-error", "`<<` merges mappings only", value.start, value.end))
                frame.open = True
                continue
            frame.open |= base.open
            self.expand(len(base.entries), value.start, value.end)
            for entry in base.entries:
                inherited = entry.value._replace(start=value.start, end=value.end, editable=False)  # type: ignore[call-arg]
                frame.merged[entry.key] = Entry(entry.key, key.start, key.end, inherited)

    def alias(self, name: str, start: int, end: int) -> tuple[_Data, int, int]:
        if name not in self.anchors:
            if any(frame.anchor == name for frame in self.stack):
                raise _Refused("alias-bomb", f"`*{name}` stands inside what it names, without end", start, end)
            raise _Refused("syntax-error", f"no anchor `&{name}` stands before this", start, end)
        node, size, height = self.anchors[name]
        self.expand(size, start, end)
        if len(self.stack) + height > DEEPEST:
            raise _Refused("too-deep", f"nested deeper than {DEEPEST} levels", start, end)
        return node._replace(start=start, end=end, editable=False), size, height

    def expand(self, size: int, start: int, end: int) -> None:
        self.expanded += size
        if self.expanded > _MOST_EXPANDED:
            raise _Refused("alias-bomb", f"aliases stand for more than {_MOST_EXPANDED} values", start, end)

    def close(self, frame: _Frame, end: int) -> _Data:
        """The finished collection. One in block style ends with its last leaf, not (as libyaml has it) where the next token begins."""
        if not frame.flow:
            end = frame.end
        if frame.tag not in _COLLECTIONS:
            return Scalar(construct(frame.tag, ""), frame.start, end, "plain", False)
        if frame.items is not None:
            return Sequence(tuple(frame.items), frame.start, end, frame.editable)
        if frame.open and not frame.entries and self.source.startswith("{{", frame.start):
            return Scalar(self.source[frame.start : end], frame.start, end, "plain", False)  # a template's `{{ name }}`
        return Mapping((*frame.merged.values(), *frame.entries), frame.start, end, frame.open, frame.editable)


def _block_end(source: str, start: int, end: int) -> int:
    """Where a block scalar's last line ends. Under `+` the empty lines behind it are its own."""
    header = _BLOCK_HEADER.search(source, start, end)
    if header and "+" in header.group():
        return end
    while source[end - 1] in "\r\n\x85\u2028\u2029":
        end -= 1
    return end
