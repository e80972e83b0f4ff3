"""Text inside a shell script that is read as something else: a configuration in a here-document, JSON in quotes, the command of `bash -c`.

What stands there is put together as the shell would; syntax/embedded.py has the way back.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from stablint.syntax.embedded import Builder, Parse, Remapper, end_in_file, inner, remapped, start_in_file
from stablint.syntax.json import reader as json_reader
from stablint.syntax.shell.tokens import Array, Operator, Piece, Redirection, Token, Word
from stablint.syntax.shell.values import Chunk
from stablint.syntax.tree import Document, Entry, Mapping, Node, Scalar, Sequence, Text, Unknown, View

_STANDS_FOR_UNKNOWN = "0"  # a number and a part of a word in every format


class Inner:
    """The inner text (`view.source`), and which stretches of it are filled in: what a variable holds, what nobody knows."""

    def __init__(self, chunks: Iterable[Chunk], without_tabs: bool = False, name: str = "") -> None:
        self._builder = Builder()
        self._filled: list[tuple[int, int, Unknown | None]] = []
        self._fresh = True  # at the beginning of a line
        for chunk in chunks:
            self._take(chunk, without_tabs)
        self.view = self._builder.view("shell", name)

    def _take(self, chunk: Chunk, without_tabs: bool) -> None:
        value = _STANDS_FOR_UNKNOWN if isinstance(chunk.value, Unknown) else chunk.value
        around = (chunk.end - chunk.start - len(value)) // 2 if chunk.source == "name" else 0  # its quotes
        start, end = (chunk.start + around, chunk.end - around) if around == 1 else (chunk.start, chunk.end)
        if isinstance(chunk.value, Unknown) or not chunk.exact or end - start != len(value):
            self._put(value, start, end, chunk.value if isinstance(chunk.value, Unknown) else None)
            self._fresh = False
            return
        at = start
        for line in value.splitlines(True) if without_tabs else [value]:
            kept = line.lstrip("\t") if without_tabs and self._fresh else line
            self._builder.keep(kept, at + len(line) - len(kept))
            at += len(line)
            self._fresh = line.endswith("\n")

    def _put(self, text: str, start: int, end: int, unknown: Unknown | None) -> None:
        at = self._builder.length
        if len(text) == end - start and text:  # what has the length of its place would pass for what stands there
            self._builder.put(text[0], start, start)
            text_left = text[1:]
        else:
            text_left = text
        self._builder.put(text_left, start, end)
        self._filled.append((at, self._builder.length, unknown))

    def filled(self, start: int, end: int) -> tuple[bool, Unknown | None]:
        """Whether something in a span is filled in, and what of it is not known."""
        first = bisect_right(self._filled, start, key=_end_of)
        found = False
        for number in range(first, len(self._filled)):
            at, till, unknown = self._filled[number]
            if at >= end:
                break
            found = found or till > start
            if unknown is not None and till > start:
                return True, unknown
        return found, None

    def unknown(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The stretches of a span that are not known."""
        for number in range(bisect_right(self._filled, start, key=_end_of), len(self._filled)):
            at, till, unknown = self._filled[number]
            if at >= end:
                break
            if unknown is not None and till > at:
                yield max(at, start), min(till, end)


def _end_of(stretch: tuple[int, int, Unknown | None]) -> int:
    return stretch[1]


def documents(content: Inner, format: str, text: Text, number: int, parse: Parse) -> tuple[Document, ...]:
    """The inner text as documents of the script, the first of them with this number."""
    found = []
    for index, document in enumerate(inner(text, content.view, format, parse)):
        if isinstance(document.root, (Mapping, Sequence, Scalar)):
            root = _Filled(content).node(document.root)
            assert isinstance(root, (Mapping, Sequence, Scalar))
            document = document._replace(root=root)
        found.append(remapped(document, text, content.view, number + index))
    return tuple(found)


def json_object(chunks: tuple[Chunk, ...]) -> Mapping | None:
    """`'{"use_reentrant": false}'` as what it means, in place; None for all else that begins with a brace."""
    content = Inner(chunks)
    root = json_reader.document(Text("", "", content.view.source)).root
    if not isinstance(root, Mapping):
        return None
    node = _mover(content.view).node(_Filled(content).node(root))
    return node if isinstance(node, Mapping) else None


def _mover(view: View) -> Remapper:
    return Remapper(lambda at: start_in_file(view, at), lambda at: end_in_file(view, at))


class _Filled:
    """Nodes in which something is filled in are not edited, and not known if that is not. What is shared stays shared."""

    def __init__(self, content: Inner) -> None:
        self.content = content
        self.done: dict[int, tuple[Node, Node]] = {}  # by identity, with the original, so that it lives as long

    def node(self, node: Node) -> Node:
        known = self.done.get(id(node))
        if known is None:
            known = self.done[id(node)] = (node, self._node(node))
        return known[1]

    def _node(self, node: Node) -> Node:
        if isinstance(node, Scalar):
            filled, unknown = self.content.filled(node.start, node.end)
            if unknown is not None:
                return Scalar(unknown, node.start, node.end, "unknown", False)
            return node._replace(editable=False) if filled else node
        if isinstance(node, Sequence):
            return node._replace(items=tuple(self.node(item) for item in node.items))
        if isinstance(node, Mapping):
            return node._replace(entries=tuple(self._entry(entry) for entry in node.entries))
        return node

    def _entry(self, entry: Entry) -> Entry:
        return entry._replace(value=self.node(entry.value))


def placed_tokens(content: Inner, tokens: list[Token]) -> list[Token]:
    """The words of an inner script, at their places in the outer one."""
    return [_token(content, token) for token in tokens]


def _token(content: Inner, token: Token) -> Token:
    start, end = start_in_file(content.view, token.start), end_in_file(content.view, token.end)
    if isinstance(token, Word):
        return Word(tuple(one for piece in token.pieces for one in _pieces(content, piece)), start, end)
    if isinstance(token, Array):
        words = tuple(word for word in (_token(content, inner) for inner in token.words) if isinstance(word, Word))
        return token._replace(words=words, start=start, end=end)
    if isinstance(token, Redirection):
        word = _token(content, token.word)
        assert isinstance(word, Word)
        return token._replace(word=word, start=start, end=end)
    return Operator(token.text, start, end)


def _pieces(content: Inner, piece: Piece) -> Iterator[Piece]:
    """Text in which something is not known comes apart: `--rdzv_id=` is known of `--rdzv_id=$JOB`."""
    if piece.kind == "text" and piece.exact and len(piece.text) == piece.end - piece.start:
        at = piece.start
        for start, end in content.unknown(piece.start, piece.end):
            for first, last in ((at, start), (start, end)):
                if first < last:
                    text = piece.text[first - piece.start : last - piece.start]
                    yield _piece(content, piece._replace(text=text, start=first, end=last))
            at = end
        if at == piece.start:
            yield _piece(content, piece)
        elif at < piece.end:
            yield _piece(content, piece._replace(text=piece.text[at - piece.start :], start=at))
    else:
        yield _piece(content, piece)


def _piece(content: Inner, piece: Piece) -> Piece:
    start, end = start_in_file(content.view, piece.start), end_in_file(content.view, piece.end)
    filled, unknown = content.filled(piece.start, piece.end)
    if unknown is not None and piece.kind == "text":
        return Piece("opaque", unknown.reason, start, end, piece.quoted)
    default = _piece(content, piece.default) if piece.default is not None else None
    parts = tuple(_piece(content, part) for part in piece.parts)
    exact = piece.exact and not filled and end - start == piece.end - piece.start
    return piece._replace(start=start, end=end, exact=exact, default=default, parts=parts)
