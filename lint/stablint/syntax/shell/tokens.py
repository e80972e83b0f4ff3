"""What shell text is cut into: words of pieces, arrays, redirections, operators."""

from __future__ import annotations

from typing import NamedTuple, Union


class Piece(NamedTuple):
    """A part of a word. `kind` is text, variable (`text` is its name), array (all its items), arguments (`$@`), parts (it is made of `parts`),
    arithmetic (`text` is the expression) or opaque (`text` says why its value is not known)."""

    kind: str
    text: str
    start: int
    end: int
    quoted: bool = False
    exact: bool = True  # the text stands in the source as it is, without escapes
    default: "Union[Piece, None]" = None  # of `${NAME:-default}`; of arithmetic the variable that it is a default of
    parts: "tuple[Piece, ...]" = ()
    assigns: bool = False  # `${NAME:=default}`


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


class Redirection(NamedTuple):
    """`> file`, `<<EOF`. `word` is the file, or the delimiter of a here-document, whose body `Lexer.bodies` has by `start`."""

    text: str
    word: Word
    start: int
    end: int


class Body(NamedTuple):
    """The lines of a here-document. `expands`: variables are put in (the delimiter has no quotes); `tabs`: leading ones are left out."""

    start: int
    end: int
    expands: bool
    tabs: bool


Token = Union[Word, Array, Operator, Redirection]
