"""What shell text is cut into: words of pieces, arrays, operators."""

from __future__ import annotations

from typing import NamedTuple, Union


class Piece(NamedTuple):
    """A part of a word. `kind` is text, variable (`text` is its name), array (all its items), arguments (`$@`) or opaque (`text` says why)."""

    kind: str
    text: str
    start: int
    end: int
    quoted: bool = False
    exact: bool = True  # the text stands in the source as it is, without escapes
    default: "Union[Piece, None]" = None  # of `${NAME:-default}`


class Word(NamedTuple):
    pieces: tuple[Piece, ...]
    start: int
    end: int

    def plain(self) -> str:
        """The text of a word without quotes and expansions; empty for any other."""
        return (
            self.pieces[0].text
            if len(self.pieces) == 1 and self.pieces[0][0] == "text" and not self.pieces[0].quoted
            else ""
        )


class Array(NamedTuple):
    """`NAME=(word word)`; `adds` for `+=`."""

    name: str
    adds: bool
    words: tuple[Word, ...]
    start: int
    end: int


class Operator(NamedTuple):
    """`;`, `&&`, `(` … and the line end, which is "\\n" whatever it is in the text."""

    text: str
    start: int
    end: int


Token = Union[Word, Array, Operator]
