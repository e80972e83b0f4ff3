"""Text inside a shell script that is read as something else: a configuration in a here-document, JSON in quotes, the command of `bash -c`.

What stands there is put together as the shell would, read by its own reader, and every place is mapped back to the script.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from stablint.source.shell_tokens import Array, Operator, Piece, Redirection, Token, Word
from stablint.source.shell_values import Chunk
from stablint.source.tree import Call, Document, Entry, Mapping, Node, Problem, Scalar, Sequence, Text, Unknown

_STANDS_FOR_UNKNOWN = "0"  # a number and a part of a word in every format


class Segment(NamedTuple):
    """A stretch of the inner text and where it comes from. `exact`: it stands there character by character."""

    text: str
    start: int
    end: int
    exact: bool
    unknown: Unknown | None = None


class View:
    """The inner text, and the way back."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self.segments = [segment for segment in segments if segment.text]
        self.text = "".join(segment.text for segment in self.segments)
        self._starts: list[int] = []
        at = 0
        for segment in self.segments:
            self._starts.append(at)
            at += len(segment.text)

    def place(self, start: int, end: int) -> tuple[int, int, bool]:
        """Where a span stands in the script, and whether it is all there as it is read."""
        if not self.segments:
            return 0, 0, False
        first, last = self._segment(start), self._segment(max(start, end - 1))
        exact = all(segment.exact for segment in self.segments[first : last + 1])
        # the segments must follow one another in the script, or the span holds what is none of its text
        inner = self.segments[first : last + 1]
        exact = exact and all(one.end == other.start for one, other in pairwise(inner))
        return self._back(first, start, False), self._back(last, end, True), exact

    def unknown(self, start: int, end: int) -> Unknown | None:
        if not self.segments or start >= end:
            return None
        spanned = self.segments[self._segment(start) : self._segment(end - 1) + 1]
        return next((segment.unknown for segment in spanned if segment.unknown is not None), None)

    def _segment(self, at: int) -> int:
        return max(0, bisect.bisect_right(self._starts, at) - 1)

    def _back(self, number: int, at: int, is_end: bool) -> int:
        segment = self.segments[number]
        if segment.exact:
            return min(segment.start + at - self._starts[number], segment.end)
        return segment.end if is_end else segment.start


def segments_of(chunks: Iterable[Chunk]) -> list[Segment]:
    found = []
    for chunk in chunks:
        if isinstance(chunk.value, Unknown):
            found.append(Segment(_STANDS_FOR_UNKNOWN, chunk.start, chunk.end, False, chunk.value))
            continue
        around = (chunk.end - chunk.start - len(chunk.value)) // 2 if chunk.source == "name" else 0
        fits = chunk.end - chunk.start == len(chunk.value) + 2 * around and around in (0, 1)
        found.append(Segment(chunk.value, chunk.start + around, chunk.end - around, chunk.exact and fits))
    return found


def without_tabs(segments: list[Segment]) -> list[Segment]:
    """The lines of a `<<-` document, which may be indented by tabs."""
    found: list[Segment] = []
    fresh = True
    for segment in segments:
        at = segment.start
        for line in segment.text.splitlines(True):
            kept = line.lstrip("\t") if fresh else line
            skipped = len(line) - len(kept)
            start, end = (at + skipped, at + len(line)) if segment.exact else (segment.start, segment.end)
            found.append(segment._replace(text=kept, start=start, end=end))
            at += len(line)
            fresh = line.endswith("\n")
    return found


def read(view: View, format: str, text: Text) -> tuple[Document, ...]:
    """The inner text as JSON or YAML; the documents are those of the script's text."""
    inner = text._replace(text=view.text, bom=False)
    if format == "json":
        from stablint.source import json

        documents: tuple[Document, ...] = (json.document(inner),)
    else:
        from stablint.source import yaml

        documents = yaml.documents(inner)
    mapped = []
    for document in documents:
        root = document.root
        problems = tuple(_problem(view, problem) for problem in document.problems)
        node = Placed(view).node(root) if isinstance(root, (Mapping, Sequence, Scalar)) else None
        assert not isinstance(node, Call)
        mapped.append(document._replace(text=text, root=node, problems=problems))
    return tuple(mapped)


def _problem(view: View, problem: Problem) -> Problem:
    start, end, _ = view.place(problem.start, problem.end)
    return problem._replace(start=start, end=max(start, end))


class Placed:
    """Nodes with their places in the script. A node that stands in several places (a YAML alias) is done once."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.done: dict[int, tuple[Node, Node]] = {}  # the old node is kept, so that its id stays its own

    def node(self, node: Node) -> Node:
        known = self.done.get(id(node))
        if known is None:
            known = self.done[id(node)] = (node, self._node(node))
        return known[1]

    def _node(self, node: Node) -> Node:
        start, end, exact = self.view.place(node.start, node.end)
        if isinstance(node, Scalar):
            unknown = self.view.unknown(node.start, node.end)
            if unknown is not None:
                return Scalar(unknown, start, end, "unknown", False)
            return node._replace(start=start, end=end, editable=node.editable and exact)
        if isinstance(node, Sequence):
            items = tuple(self.node(item) for item in node.items)
            return node._replace(items=items, start=start, end=end)
        if isinstance(node, Mapping):
            entries = tuple(self._entry(entry) for entry in node.entries)
            return node._replace(entries=entries, start=start, end=end)
        return node

    def _entry(self, entry: Entry) -> Entry:
        start, end, _ = self.view.place(entry.key_start, entry.key_end)
        return Entry(entry.key, start, end, self.node(entry.value))


def placed_tokens(view: View, tokens: list[Token]) -> list[Token]:
    """The words of an inner script, at their places in the outer one."""
    return [_token(view, token) for token in tokens]


def _token(view: View, token: Token) -> Token:
    start, end, _ = view.place(token.start, token.end)
    if isinstance(token, Word):
        return Word(tuple(_piece(view, piece) for piece in token.pieces), start, end)
    if isinstance(token, Array):
        words = tuple(
            Word(tuple(_piece(view, p) for p in w.pieces), *view.place(w.start, w.end)[:2]) for w in token.words
        )
        return token._replace(words=words, start=start, end=end)
    if isinstance(token, Redirection):
        word = _token(view, token.word)
        assert isinstance(word, Word)
        return token._replace(word=word, start=start, end=end)
    return Operator(token.text, start, end)


def _piece(view: View, piece: Piece) -> Piece:
    start, end, exact = view.place(piece.start, piece.end)
    unknown = view.unknown(piece.start, piece.end)
    if unknown is not None and piece.kind == "text":
        return Piece("opaque", unknown.reason, start, end, piece.quoted)
    default = _piece(view, piece.default) if piece.default is not None else None
    parts = tuple(_piece(view, part) for part in piece.parts)
    return piece._replace(start=start, end=end, exact=piece.exact and exact, default=default, parts=parts)


def json_object(chunks: tuple[Chunk, ...]) -> Mapping | None:
    """`'{"use_reentrant": false}'` as what it means; None for all else that begins with a brace."""
    from stablint.source import json

    view = View(segments_of(chunks))
    root = json.document(Text("", "", view.text)).root
    node = Placed(view).node(root) if isinstance(root, Mapping) else None
    return node if isinstance(node, Mapping) else None
