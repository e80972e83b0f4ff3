"""A text within a text (notebook cells, here-documents): read as a file of its own, its places moved to those of the file, and back."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import TypeVar, Union

from stablint.syntax.notebook import reader as notebook_reader
from stablint.syntax.tree import (
    Call,
    Command,
    Document,
    Entry,
    Mapping,
    Module,
    Notes,
    Piece,
    Problem,
    Scalar,
    Script,
    Seen,
    Sequence,
    Text,
    View,
)

Parse = Callable[[Text, str], tuple[Document, ...]]
_Part = Union[Entry, Scalar, Sequence, Mapping, Call, Command, Module, Script]
_P = TypeVar("_P", bound=_Part)


class Builder:
    """Puts a view together from parts of the file. Neighbouring pieces that go on become one."""

    def __init__(self) -> None:
        self.length = 0
        self._parts: list[str] = []
        self._pieces: list[Piece] = []

    def keep(self, text: str, at: int) -> None:
        """Text that stands in the file as it is."""
        self._add(text, at, at + len(text))

    def put(self, text: str, at: int, till: int) -> None:
        """Text that stands for `text[at:till]` of the file, whatever that is."""
        self._add(text, at, till)

    def take(self, source: str, pieces: tuple[Piece, ...], start: int, end: int) -> None:
        """A part of another view of the same file."""
        first = _place_of(pieces, start)
        behind = bisect_left(pieces, (end,))
        self._part(source, pieces[first:behind][:1], start, end)
        if behind - first > 2:  # those between are taken whole: an escaped text has one for nearly every character
            shift = self.length - pieces[first + 1].start
            moved = [Piece(p.start + shift, p.end + shift, p.at, p.till) for p in pieces[first + 1 : behind - 1]]
            self._parts.append(source[pieces[first + 1].start : pieces[behind - 2].end])
            self._pieces += moved
            self.length = moved[-1].end
        if behind - first > 1:
            self._part(source, pieces[behind - 1 : behind], start, end)

    def _part(self, source: str, pieces: tuple[Piece, ...], start: int, end: int) -> None:
        for piece in pieces:
            if piece.end <= start:
                continue
            if _is_plain(piece):
                first, last = max(start, piece.start), min(end, piece.end)
                self.keep(source[first:last], piece.at + first - piece.start)
            else:
                self.put(source[piece.start : piece.end], piece.at, piece.till)

    def escaped(self, value: str, start: int, end: int, escapes: Iterable[tuple[int, int]]) -> None:
        """A literal that stands at `text[start:end]`, each of whose escapes stands for one character of its value."""
        length, pieces = self.length, self._pieces
        for first, last in escapes:
            if first > start:
                pieces.append(Piece(length, length + first - start, start, first))
                length += first - start
            pieces.append(Piece(length, length + 1, first, last))
            length, start = length + 1, last
        if end > start:
            pieces.append(Piece(length, length + end - start, start, end))
        self._parts.append(value)
        self.length += len(value)

    def _add(self, text: str, at: int, till: int) -> None:
        if not text:
            return
        piece = Piece(self.length, self.length + len(text), at, till)
        last = self._pieces[-1] if self._pieces else None
        if last is not None and last.till == at and _is_plain(last) and _is_plain(piece):
            self._pieces[-1] = Piece(last.start, piece.end, last.at, till)
        else:
            self._pieces.append(piece)
        self._parts.append(text)
        self.length = piece.end

    def view(self, host: str, name: str = "") -> View:
        return View("".join(self._parts), tuple(self._pieces), host, name)


def _place_of(pieces: tuple[Piece, ...], offset: int) -> int:
    """Which piece an offset lies in or behind; the first one for what lies before all. A piece begins with its start, and tuples compare in C."""
    return max(bisect_left(pieces, (offset + 1,)) - 1, 0)


def _is_plain(piece: Piece) -> bool:
    return piece.end - piece.start == piece.till - piece.at


def documents(text: Text, view: View, format: str, number: int, parse: Parse) -> tuple[Document, ...]:
    """What `parse` makes of a view, at its places in the file; the first of them gets this number."""
    return tuple(
        remapped(document, text, view, number + index)
        for index, document in enumerate(inner(text, view, format, parse))
    )


def inner(text: Text, view: View, format: str, parse: Parse) -> tuple[Document, ...]:
    """The view as a file of its own, with its own places."""
    return parse(Text(text.path, text.name, view.source), format)


def remapped(document: Document, text: Text, view: View, number: int) -> Document:
    """A document that was read from a view's source as one of the file."""
    mover = Remapper(lambda at: start_in_file(view, at), lambda at: end_in_file(view, at))
    problems = tuple(mover.problem(problem) for problem in document.problems)
    root = None if document.root is None else mover.node(document.root)
    inside = view if document.view is None else _nested(view, document.view)
    return Document(text, document.format, number, root, problems, inside)


def _nested(outer: View, view: View) -> View:
    """A view of a view (a here-document in a cell) as one of the file."""
    builder = Builder()
    for piece in view.pieces:
        if _is_plain(piece):
            builder.take(outer.source, outer.pieces, piece.at, piece.till)
        else:
            at = start_in_file(outer, piece.at)
            builder.put(view.source[piece.start : piece.end], at, max(at, end_in_file(outer, piece.till)))
    return builder.view(outer.host, view.name)


def start_in_file(view: View, offset: int) -> int:
    """Where what begins at an offset of the view begins in the file."""
    pieces = view.pieces
    if not pieces:
        return 0
    piece = pieces[_place_of(pieces, offset)]
    if offset >= piece.end:
        return piece.till
    return piece.at + offset - piece.start if _is_plain(piece) else piece.at


def end_in_file(view: View, offset: int) -> int:
    """Where what ends at an offset of the view ends in the file: behind its last character."""
    pieces = view.pieces
    if not pieces:
        return 0
    if offset <= 0:
        return pieces[0].at
    piece = pieces[_place_of(pieces, offset - 1)]
    return piece.at + offset - piece.start if _is_plain(piece) and offset <= piece.end else piece.till


class _Places:
    """Which piece holds a place of the file: of several the first of the view. Pieces may stand in any order in the file, and over one another."""

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        self.pieces = pieces
        self._edges = sorted({edge for piece in pieces for edge in (piece.at, piece.till)})
        self._first: list[int] = []  # from each edge to the next
        self._ends: dict[int, int] = {}
        waiting = sorted((piece.at, number) for number, piece in enumerate(pieces))
        opened: list[int] = []
        taken = 0
        for edge in self._edges:
            while taken < len(waiting) and waiting[taken][0] <= edge:
                heappush(opened, waiting[taken][1])
                taken += 1
            while opened and pieces[opened[0]].till <= edge:
                heappop(opened)
            self._first.append(opened[0] if opened else -1)
        for number, piece in enumerate(pieces):
            self._ends.setdefault(piece.at, number)
            self._ends.setdefault(piece.till, number)

    def holding(self, offset: int) -> Piece | None:
        """With the place between its beginning and its end."""
        at = bisect_right(self._edges, offset) - 1
        return self.pieces[self._first[at]] if at >= 0 and self._first[at] >= 0 else None

    def ending(self, offset: int) -> Piece | None:
        """That begins or ends there."""
        number = self._ends.get(offset)
        return None if number is None else self.pieces[number]


_asked: list[_Places] = []  # of the views that were asked for last


def _places(pieces: tuple[Piece, ...]) -> _Places:
    for known in _asked:
        if known.pieces is pieces:
            return known
    _asked[:] = [_Places(pieces), *_asked[:7]]
    return _asked[0]


def start_in_view(pieces: tuple[Piece, ...], offset: int) -> int | None:
    """Where in a view a place of the file is; None for one that the view leaves out."""
    places = _places(pieces)
    found = places.holding(offset)
    if found is None:  # an empty place, or the very end of a piece
        found = places.ending(offset)
        if found is None:
            return None
        return found.start if offset == found.at else found.end
    return found.start + offset - found.at if _is_plain(found) else found.start


def end_in_view(pieces: tuple[Piece, ...], offset: int) -> int | None:
    found = _places(pieces).holding(offset - 1)
    if found is None:
        return start_in_view(pieces, offset)
    return found.start + offset - found.at if _is_plain(found) else found.end


def seen(document: Document, start: int, end: int) -> Seen | None:
    """Where in which cell of a notebook a part of the file is; None for all that is no notebook."""
    if document.view is None or document.view.host != "notebook":
        return None
    return notebook_reader.seen(document.text, start, end)


class Remapper:
    """Moves nodes from one text to another. What is shared stays shared."""

    def __init__(self, start: Callable[[int], int], end: Callable[[int], int]) -> None:
        self.start, self.end = start, end
        self._moved: dict[int, tuple[_Part, _Part]] = {}  # by identity, with the original, so that it lives as long

    def problem(self, problem: Problem) -> Problem:
        first = self.start(problem.start)
        return problem._replace(start=first, end=max(first, self.end(problem.end)))

    def node(self, node: _P) -> _P:
        found = self._moved.get(id(node))
        if found is None:
            found = self._moved[id(node)] = (node, self._node(node))
        return found[1]  # type: ignore[return-value]

    def _node(self, node: _Part) -> _Part:
        if isinstance(node, Entry):
            first = self.start(node.key_start)
            last = first if node.key_start == node.key_end else self.end(node.key_end)
            return Entry(node.key, first, last, self.node(node.value))
        if isinstance(node, Module):
            return node._replace(
                calls=tuple(self.node(call) for call in node.calls), names=self.node(node.names), notes=Notes(),
                functions=tuple(f._replace(start=self.start(f.start), end=self.end(f.end)) for f in node.functions),
                alone=tuple((self.start(first), self.end(last)) for first, last in node.alone),
            )  # fmt: skip
        if isinstance(node, Script):
            return Script(tuple(self.node(command) for command in node.commands), self.node(node.names))
        start = self.start(node.start)
        end = start if node.start == node.end else self.end(node.end)
        if isinstance(node, Scalar):
            return Scalar(node.value, start, end, node.form, node.editable)
        if isinstance(node, Sequence):
            return node._replace(items=tuple(self.node(item) for item in node.items), start=start, end=end)
        if isinstance(node, Mapping):
            return node._replace(entries=tuple(self.node(entry) for entry in node.entries), start=start, end=end)
        if isinstance(node, Call):
            return node._replace(
                arguments=self.node(node.arguments), receiver=node.receiver and self.node(node.receiver),
                positional=tuple(self.node(item) for item in node.positional),
                start=start, end=end, name_start=self.start(node.name_start), name_end=self.end(node.name_end),
            )  # fmt: skip
        return node._replace(
            flags=self.node(node.flags), positionals=tuple(self.node(word) for word in node.positionals),
            environment=self.node(node.environment), start=start, end=end,
        )  # fmt: skip
