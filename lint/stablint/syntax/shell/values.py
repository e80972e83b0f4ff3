"""What the words of a shell script come to: variables that the file itself sets, with the place where each value is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Union

from stablint.syntax import limits
from stablint.syntax.shell.arithmetic import NoNumber, compute
from stablint.syntax.shell.pieces import GIVEN
from stablint.syntax.shell.tokens import Array, Piece, Word
from stablint.syntax.tree import Scalar, Unknown

_MOST_DIGITS = 100
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_NUMERIC = frozenset("+-.0123456789")
_WORDS: dict[str, object] = {"True": True, "true": True, "False": False, "false": False}
_BLANKS = " \t\n\r"
_RUNS = re.compile(r"[ \t\n\r]+|[^ \t\n\r]+")
_UNSET = " is not set in this file"
_CALLED = "what the script is called with"


class Chunk(NamedTuple):
    """Part of an expanded word. `source` is plain, quoted or name (it came from a variable); `many`: it may stand for several words."""

    value: Union[str, Unknown]
    start: int
    end: int
    source: str = "plain"
    exact: bool = True
    many: bool = False
    presumed: bool = False  # the caller may say otherwise: `${NAME:-default}`


class Field(NamedTuple):
    """One argument as the program gets it; start and end are those of the word in the text."""

    chunks: tuple[Chunk, ...]
    start: int
    end: int


class Definition(NamedTuple):
    """What a variable holds; start and end are those of its value in the text, quotes included. `foreign`: another file says it."""

    chunks: tuple[Chunk, ...]
    start: int
    end: int
    editable: bool
    presumed: bool = False
    foreign: bool = False


class Items(NamedTuple):
    """What an array holds."""

    fields: tuple[Field, ...]


Held = Union[Definition, Items, Unknown]


def typed(text: str) -> object:
    """A word as argparse would convert it: numbers of strict syntax and truth values; all else stays text."""
    if text[:1] in _NUMERIC and len(text) <= _MOST_DIGITS:
        if _INTEGER.match(text):
            return int(text)
        if _FLOAT.match(text):
            return float(text)
    return _WORDS.get(text, text)


def scalar(field: Field) -> Scalar:
    """A field as a value; its span is the variable's definition where the whole word is one variable."""
    first = field.chunks[0] if field.chunks else None
    if first is not None and len(field.chunks) == 1 and isinstance(first.value, str):
        if first.source == "name":
            form = "default" if first.presumed else "name"
            return Scalar(typed(first.value), first.start, first.end, form, first.exact)
        return Scalar(typed(first.value), field.start, field.end, first.source)
    chunks = field.chunks
    if (unknown := unknown_in(chunks)) is not None:
        last = chunks[-1].value
        if isinstance(last, str) and last[:1] == "/" and last.endswith(".py"):
            unknown = unknown._replace(ends=last)
        return Scalar(unknown, field.start, field.end, "unknown", False)
    text = "".join(str(chunk.value) for chunk in chunks)
    form = "quoted" if any(chunk.source == "quoted" for chunk in chunks) else "plain"
    if any(chunk.presumed for chunk in chunks):
        form = "default"
    return Scalar(typed(text), field.start, field.end, form, all(chunk.source != "name" for chunk in chunks))


def unknown_in(chunks: tuple[Chunk, ...]) -> Unknown | None:
    """Why a value is not known, if some part of it is not."""
    return next((chunk.value for chunk in chunks if isinstance(chunk.value, Unknown)), None)


def text_of(held: Held | None) -> str | None:
    """What a variable holds, if that is known text."""
    if not isinstance(held, Definition) or unknown_in(held.chunks) is not None:
        return None
    return "".join(str(chunk.value) for chunk in held.chunks)


def as_text(held: Held, start: int, end: int) -> Scalar:
    """What a variable holds as a value, which is text whatever it looks like."""
    if not isinstance(held, Definition):
        return Scalar(held if isinstance(held, Unknown) else Unknown("a list"), start, end, "unknown", False)
    unknown = unknown_in(held.chunks)
    if unknown is not None:
        return Scalar(unknown, start, end, "unknown", False)
    value = "".join(str(chunk.value) for chunk in held.chunks)
    quoted = any(chunk.source == "quoted" for chunk in held.chunks)
    form = "default" if held.presumed else "quoted" if quoted else "plain"
    return Scalar(value, start, end, form, held.editable)


def one_field(field: Field) -> Definition:
    """A variable that is set to one argument: of a function, of a loop."""
    editable = all(chunk.source != "name" for chunk in field.chunks)
    return Definition(field.chunks, field.start, field.end, editable, any(chunk.presumed for chunk in field.chunks))


def grown(held: Held, why: str, apart: bool = False) -> Held:
    """What a variable holds, with something unknown behind it; `apart`: words of their own."""
    if isinstance(held, Items) and held.fields:
        end = held.fields[-1].end
        return Items((*held.fields, Field((Chunk(Unknown(why), end, end, many=True),), end, end)))
    if isinstance(held, Definition) and held.chunks:
        more = Chunk(Unknown(why), held.end, held.end, many=True)
        blank = (Chunk(" ", held.end, held.end, exact=False),) if apart else ()
        return held._replace(chunks=(*held.chunks, *blank, more), editable=False)
    return held if isinstance(held, Unknown) else Unknown(why)


def from_caller(held: Held | None) -> bool:
    """Whether it is up to the caller alone what a variable holds: `$1`, or nothing in the file sets it."""
    return held is None or (type(held) is Unknown and (held[0].endswith((GIVEN, _UNSET)) or held[0] == _CALLED))


class Variables:
    """The state of a script at one of its places. `held` is read and changed by who goes through the commands."""

    def __init__(self) -> None:
        self.held: dict[str, Held] = {}
        self.work = 0
        self.spent = limits.Spent()

    def define(self, word: Word, start: int) -> Held:
        """The value of `NAME=word`, where the value begins at `start`."""
        if len(word.pieces) == 1 and word.pieces[0].kind == "variable":
            held = self._variable(word.pieces[0])
            if isinstance(held, (Definition, Unknown)):
                return held
        chunks: list[Chunk] = []
        for piece in word.pieces:
            chunks += self._chunks(piece, whole=False)
        if self._too_long(tuple(chunks), start, word.end):
            return Unknown("too long to follow")
        if len(chunks) == 1 and isinstance(chunks[0].value, Unknown):
            return chunks[0].value
        editable = all(chunk.source != "name" for chunk in chunks)
        return Definition(tuple(chunks), start, word.end, editable, any(chunk.presumed for chunk in chunks))

    def longer(self, before: Definition, more: Definition, start: int, end: int) -> Held:
        """The value of `NAME+=more`, which stands at these places."""
        chunks = before.chunks + more.chunks
        if self._too_long(chunks, start, end):
            return Unknown("too long to follow")
        return Definition(chunks, start, end, False)

    def _too_long(self, chunks: tuple[Chunk, ...], start: int, end: int) -> bool:
        """Whether a value is of more parts or characters than are followed; one that is written out may be of any length."""
        if len(chunks) < 2:
            return False
        if len(chunks) > limits.PARTS.most:
            self.spent.reached(limits.PARTS, start, end)
            return True
        if sum(len(chunk.value) for chunk in chunks if isinstance(chunk.value, str)) > limits.VALUE.most:
            self.spent.reached(limits.VALUE, start, end)
            return True
        return False

    def array(self, array: Array) -> Held:
        fields = tuple(field for word in array.words for field in self.fields(word))
        if array.adds:
            before = self.held.get(array.name)
            if not isinstance(before, Items):
                return before if isinstance(before, Unknown) else Unknown(f"`{array.name}` is not a list here")
            fields = before.fields + fields
        if len(fields) > limits.PARTS.most:
            self.spent.reached(limits.PARTS, array.start, array.end)
            return Unknown("too long to follow")
        return Items(fields)

    def fields(self, word: Word) -> Iterator[Field]:
        """The arguments that a word becomes: none, one, or several where a variable holds several."""
        first = word.pieces[0] if len(word.pieces) == 1 else None
        if first and first.kind == "text":
            source = "quoted" if first.quoted else "plain"
            yield Field((Chunk(first.text, first.start, first.end, source, first.exact),), word.start, word.end)
            return
        held = self._list(first) if first else None
        if isinstance(held, Items) and self._spend(len(held.fields), word.start, word.end):
            yield from held.fields
            return
        chunks: list[Chunk] = []
        split = False
        for piece in word.pieces:
            for chunk in self._chunks(piece, whole=True):
                if chunk.source != "name" or piece.quoted or not isinstance(chunk.value, str):
                    chunks.append(chunk)
                    continue
                if not self._spend(len(chunk.value) // 2, word.start, word.end):
                    chunks.append(chunk._replace(value=Unknown("too long to follow"), many=True))
                    continue
                for run in _RUNS.finditer(chunk.value):
                    if run.group()[0] not in _BLANKS:
                        chunks.append(_part(chunk, run))
                    elif chunks:
                        yield _cut(chunks)
                        chunks, split = [], True
        if chunks:  # an empty pair of quotes is an argument, an empty variable is none
            yield _cut(chunks) if split else Field(tuple(chunks), word.start, word.end)

    def _list(self, piece: Piece) -> Held | None:
        """`${LIST[@]}`, and `"$@"` in a function that is called with known words."""
        return self.held.get("@" if piece.kind == "arguments" else piece.text) if piece.kind != "variable" else None

    def _chunks(self, piece: Piece, whole: bool) -> list[Chunk]:
        """What a piece comes to; a variable is one chunk with the span of its definition if it is wanted `whole` and has no blanks."""
        if piece.kind == "text":
            return [Chunk(piece.text, piece.start, piece.end, "quoted" if piece.quoted else "plain", piece.exact)]
        if piece.kind == "parts":
            return [chunk for part in piece.parts for chunk in self._chunks(part, whole)]
        if piece.kind == "arithmetic":
            return [self._computed(piece)]
        if piece.kind not in ("variable", "array", "arguments"):
            return [Chunk(Unknown(piece.text), piece.start, piece.end, many=not piece.quoted)]
        if piece.kind == "arguments" and "@" not in self.held:
            return [Chunk(Unknown(_CALLED), piece.start, piece.end, many=True)]
        held = self._variable(piece) if piece.kind == "variable" else self._list(piece)
        if isinstance(held, Items) and held.fields and piece.kind == "variable":  # `$LIST` is its first item
            field = held.fields[0]
            held = Definition(
                field.chunks, field.start, field.end, all(chunk.source != "name" for chunk in field.chunks)
            )
        if not isinstance(held, Definition) or not self._spend(_cost(held), piece.start, piece.end):
            many = piece.kind != "variable" or not piece.quoted
            return [Chunk(_reason(piece.text, held), piece.start, piece.end, many=many)]
        text = text_of(held)
        if text is not None and whole and (piece.quoted or not any(blank in text for blank in _BLANKS)):
            place = piece if held.foreign else held
            one = Chunk(text, place.start, place.end, "name", held.editable, presumed=held.presumed)
            return [one] if text or piece.quoted else []
        many = not piece.quoted
        return [
            chunk._replace(
                source="name",
                many=many and isinstance(chunk.value, Unknown),
                presumed=chunk.presumed or held.presumed,
            )
            for chunk in held.chunks
        ]

    def _variable(self, piece: Piece) -> Held | None:
        held = self.held.get(piece.text)
        default = piece.default
        if default is None or not (from_caller(held) or text_of(held) == ""):
            return held
        presumed = text_of(held) != ""
        if default.kind == "variable":
            inner = self._variable(default)
            return inner._replace(presumed=True) if presumed and isinstance(inner, Definition) else inner
        if default.kind == "parts" and not default.parts and held is None:
            return Unknown(f"`${piece.text}`{GIVEN}")  # `${EXTRA:-}`: nothing, or whatever somebody gives
        chunks = tuple(self._chunks(default, whole=False))
        unknown = unknown_in(chunks)
        if unknown is not None:
            return unknown
        plain, around = default.kind == "text", int(default.kind == "text" and default.quoted)
        return Definition(chunks, default.start - around, default.end + around, plain and default.exact, presumed)

    def _computed(self, piece: Piece) -> Chunk:
        presumed = False

        def value_of(name: str, default: int | None) -> int:
            nonlocal presumed
            held = self.held.get(name)
            if default is not None and from_caller(held):
                presumed = True
                return default
            text = text_of(held)
            if text is None or not text.isascii() or not text.isdigit() or len(text) > 18 or text[0] == "0" != text:
                raise NoNumber(_reason(name, held).reason if text is None else f"`${name}` is no number here")
            presumed |= isinstance(held, Definition) and held.presumed
            return int(text)

        try:
            value = str(compute(piece.text, value_of))
        except NoNumber as why:
            return Chunk(Unknown(str(why)), piece.start, piece.end, many=False)
        return Chunk(value, piece.start, piece.end, "name", False, presumed=presumed)

    def _spend(self, chunks: int, start: int, end: int) -> bool:
        self.work += chunks
        if self.work > limits.WORK.most:
            self.spent.reached(limits.WORK, start, end)
            return False
        return True


def _cost(held: Definition) -> int:
    """Steps that using a value takes: its parts, and more where it is long."""
    return len(held.chunks) + 1 + sum(len(chunk.value) for chunk in held.chunks if type(chunk.value) is str) // 100


def _part(chunk: Chunk, run: re.Match[str]) -> Chunk:
    if run.span() == (0, len(run.string)):
        return chunk
    if chunk.exact:
        start = chunk.start + run.start()
        return Chunk(run.group(), start, start + len(run.group()), "name", presumed=chunk.presumed)
    return Chunk(run.group(), chunk.start, chunk.end, "name", False, presumed=chunk.presumed)


def _cut(chunks: list[Chunk]) -> Field:
    """An argument cut out of a longer value."""
    return Field(tuple(chunks), chunks[0].start, chunks[-1].end)


def _reason(name: str, held: Held | None) -> Unknown:
    if isinstance(held, Unknown):
        return held
    if isinstance(held, (Definition, Items)):
        return Unknown("too long to follow")
    if name.isdigit() or name == "OPTARG":
        return Unknown(f"`${name}`{GIVEN}")
    return Unknown(f"`${name}`{_UNSET}")
