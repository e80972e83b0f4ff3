"""Any YAML text → tree. libyaml says what is YAML, this module builds the nodes from its events, each event once and without recursion.

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
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from stablint.syntax.limits import DEEPEST, DOCUMENTS, TOO_DEEP
from stablint.syntax.text import LARGEST, Lines
from stablint.syntax.tree import Document, Entry, Mapping, Node, Problem, Scalar, Sequence, Text, Unknown
from stablint.syntax.yaml import error as yaml_error
from stablint.syntax.yaml.scalar import LONGEST_NUMBER, construct, is_name, key_text, remembered, resolve

try:
    from yaml.cyaml import CParser as _Parser  # type: ignore[attr-defined]
except ImportError:  # PyYAML built without libyaml: slower, the same events
    _Parser = SafeLoader  # type: ignore[misc, assignment]

_new = tuple.__new__  # a named tuple without its Python frame: there is one for every key and value
_SHORT = 64  # code points of a scalar whose value is remembered
_Data = Union[Mapping, Sequence, Scalar]
_MOST_EXPANDED = 100_000  # nodes that aliases and merges may stand for in one document
_DIGITS = re.compile(r"[-+]?[0-9_]+\Z")
_COLLECTIONS = frozenset({None, "!", *(f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "set", "omap", "pairs"))})
_BLOCK_HEADER = re.compile(r"[|>][-+0-9]{0,2}(?=[ \t]*(?:#|[\r\n]|\Z))")


def documents(text: Text) -> tuple[Document, ...]:
    """Every document of a YAML text, as syntax/yaml/reader.py has it."""
    source = text.text
    found: list[Document] = []
    problem = None
    try:
        if len(source) > LARGEST:
            raise _Refused("too-large", f"larger than {LARGEST // 1_000_000} MB", 0, 0)
        for root, problems in _roots(source):
            if len(found) == DOCUMENTS.most:
                problem = DOCUMENTS.problem(len(source), len(source))
                break
            found.append(Document(text, "yaml", len(found), root, problems))
    except _Refused as refused:
        problem = refused.problem
    except YAMLError as error:
        problem = yaml_error.syntax_error(source, error)
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
        "entries",
        "flow",
        "height",
        "items",
        "key",
        "key_end",
        "key_start",
        "last",
        "merged",
        "open",
        "seen",
        "size",
        "start",
        "tag",
    )

    def __init__(self, event: Any, start: int, mapping: bool, editable: bool) -> None:
        self.start, self.last, self.flow, self.tag, self.anchor = (
            start,
            start,
            event.flow_style,
            event.tag,
            event.anchor,
        )
        self.items: list[Node] | None = None if mapping else []
        self.entries: list[Entry] = []
        self.merged: dict[str, Entry] = {}
        self.seen: dict[str, int] = {}
        self.key: _Data | str | None = None  # text where it is a plain name, which then stands at key_start
        self.key_start = self.key_end = 0
        self.open, self.size, self.height = False, 1, 1
        self.editable = editable and self.anchor is None and self.tag is None

    def grow(self, size: int, height: int) -> None:
        """Something inside is a collection itself, or stands for one. Leaves are counted at the end."""
        self.size += size - 1
        if height >= self.height:
            self.height = height + 1


def _roots(source: str) -> Iterator[tuple[_Data | None, tuple[Problem, ...]]]:
    # libyaml does not count a byte order mark that the text still begins with (the file's own is gone by now).
    shift = 1 if source.startswith("\ufeff") else 0
    next_event: Callable[[], Any] = _Parser(source).get_event
    lines = Lines(source)
    while (event := next_event()) is not None:
        if type(event) is DocumentStartEvent:
            yield _Builder(source, shift, lines).document(next_event)


class _Builder:
    """One document, event by event."""

    def __init__(self, source: str, shift: int, lines: Lines) -> None:
        self.source, self.shift, self.lines = source, shift, lines
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[_Data, int, int]] = {}
        self.problems: list[Problem] = []
        self.expanded = 0

    def document(self, next_event: Callable[[], Any]) -> tuple[_Data | None, tuple[Problem, ...]]:
        shift, stack = self.shift, self.stack
        root: _Data | None = None
        frame: _Frame | None = None
        # Of the innermost collection, kept at hand: this loop is a third of the time of a check of many files.
        items: list[Node] | None = None
        key: _Data | str | None = None
        while True:
            event = next_event()
            kind = type(event)
            if kind is ScalarEvent:
                start, end = event.start_mark.index + shift, event.end_mark.index + shift
                token, anchor, tag, style = event.value, event.anchor, event.tag, event.style
                if anchor is tag is None and not style and frame is not None:  # most values, and nearly all keys
                    if key is None and items is None and is_name(token):
                        key, frame.key_start, frame.key_end = token, start, end
                        continue
                    if start != end and end - start < _SHORT:
                        node: _Data = _new(Scalar, (remembered(token), start, end, "plain", frame.editable))
                    else:
                        node = self.scalar(frame, token, start, end, None, None, True)
                else:
                    node = self.scalar(frame, token, start, end, style, tag, anchor is None)
                if anchor is not None:
                    self.anchored(anchor, node, start, 1, 0)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                start = event.start_mark.index + shift
                if len(stack) >= DEEPEST:
                    raise _Refused(*TOO_DEEP, start, start)
                if frame is not None:
                    frame.key = key
                frame = _Frame(event, start, kind is MappingStartEvent, frame is None or frame.editable)
                stack.append(frame)
                items, key = frame.items, None
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                closed = stack.pop()
                node = self.close(closed, event.end_mark.index + shift)
                if closed.anchor is not None:
                    self.anchored(closed.anchor, node, closed.start, closed.size, closed.height)
                if stack:
                    frame = stack[-1]
                    items, key = frame.items, frame.key
                    frame.grow(closed.size, closed.height)
                else:
                    frame = None
            elif kind is AliasEvent:
                start = event.start_mark.index + shift
                node, size, height = self.alias(event.anchor, start, event.end_mark.index + shift)
                if frame is not None:
                    frame.grow(size, height)
            else:  # the end of the document, or of the text
                empty = isinstance(root, Scalar) and root.start == root.end and root.form == "plain"
                return None if empty else root, tuple(self.problems)
            if frame is None:
                root = node
            elif items is not None:
                items.append(node)
            elif key is None:
                key = node
            else:
                if type(key) is str and key not in frame.seen:
                    frame.seen[key] = frame.key_start
                    frame.entries.append(_new(Entry, (key, frame.key_start, frame.key_end, node)))
                else:
                    self.pair(frame, key, node)
                key = None

    def scalar(
        self, frame: _Frame | None, token: str, start: int, end: int, style: str | None, tag: str | None, bare: bool
    ) -> Scalar:
        editable = bare and tag is None and (frame is None or frame.editable)
        if style:
            form = "quoted" if style in "'\"" else "block"
            if form == "block":
                end = _block_end(self.source, start, end)
            return Scalar(token if tag is None else construct(tag, token), start, end, form, editable)
        if start == end and editable:  # what has no colon or dash before it cannot simply be filled in
            mark = ":" if frame is not None and frame.items is None else "-"
            editable = frame is not None and self.source[start - 1 : start] == mark
        elif end - start > LONGEST_NUMBER and _DIGITS.match(token):
            self.problems.append(Problem("syntax-error", f"a number of {len(token)} digits", start, end))
        return Scalar(resolve(token) if tag is None else construct(tag, token), start, end, "plain", editable)

    def anchored(self, anchor: str, node: _Data, start: int, size: int, height: int) -> None:
        if anchor in self.anchors:
            raise _Refused("syntax-error", f"the anchor `&{anchor}` is defined twice", start, start + len(anchor) + 1)
        self.anchors[anchor] = node, size, height

    def pair(self, frame: _Frame, key: _Data | str, value: _Data) -> None:
        frame.last = value.end
        if type(key) is str:
            name, start, end = key, frame.key_start, frame.key_end
        elif type(key) is not Scalar or isinstance(key.value, Unknown):
            frame.open = True
            return
        else:
            start, end = key.start, key.end
            if type(key.value) is str:
                name = key.value
                if name == "<<" and key.form == "plain":
                    self.merge(frame, key, value)
                    return
            else:
                name = key_text(key.value)
        if name in frame.seen:
            message = f"`{name}` is set in line {self.lines.position(frame.seen[name])[0]} already: the last one counts, or the reader refuses the file"
            self.problems.append(Problem("duplicate-key", message, start, end))
        else:
            frame.seen[name] = start
        frame.entries.append(_new(Entry, (name, start, end, value)))

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
            raise _Refused(*TOO_DEEP, start, end)
        return node._replace(start=start, end=end, editable=False), size, height

    def expand(self, size: int, start: int, end: int) -> None:
        self.expanded += size
        if self.expanded > _MOST_EXPANDED:
            raise _Refused("alias-bomb", f"aliases stand for more than {_MOST_EXPANDED} values", start, end)

    def close(self, frame: _Frame, end: int) -> _Data:
        """The finished collection. One in block style ends with its last leaf, not (as libyaml has it) where the next token begins."""
        leaves = frame.entries if frame.items is None else frame.items
        frame.size += len(leaves) if frame.items is not None else 2 * len(leaves)
        if not frame.flow:
            end = frame.items[-1].end if frame.items else frame.last
            if frame.entries and frame.entries[-1].value.end > end:
                end = frame.entries[-1].value.end
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
