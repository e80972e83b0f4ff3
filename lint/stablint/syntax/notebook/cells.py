"""The cells of a notebook file, each with the places of its text in the file. Outputs are stepped over without being looked at.

The format is that of nbformat 4: a JSON object with a list `cells`; a cell's `source` is one string or a list of lines. In nbformat 2 and 3 the
lists stand in `worksheets`, and a code cell's text is its `input`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from stablint.syntax.embedded import Builder
from stablint.syntax.tree import Piece, View

_skip: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_string: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
_SPACE = re.compile(r"[ \t\n\r]*")
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
)  # a pair of surrogates is one character


class NoNotebook(ValueError):
    """JSON, but no notebook."""


class Cell(NamedTuple):
    """`number` counts all cells from one; `source` is the text as the user sees it, `pieces` where it stands in the file."""

    number: int
    kind: str  # code | markdown | raw
    source: str
    pieces: tuple[Piece, ...]


class Notebook(NamedTuple):
    language: str  # of the kernel, in small letters; empty where the file does not say
    cells: tuple[Cell, ...]  # those of code
    host: str = "notebook"  # how the file writes the cells down (syntax/tree.py, View)


def notebook(text: str) -> Notebook:
    """Raises ValueError for what is no JSON, NoNotebook for what is no notebook, RecursionError for what is nested too deeply."""
    walker = _Walker(text)
    cells: tuple[Cell, ...] | None = None
    language = ""
    if walker.space() != "{":
        walker.value()
        raise NoNotebook("not a JSON object")
    for key in walker.members():
        if key == "cells" and walker.space() == "[":
            cells = tuple(cell for cell in walker.cells() if cell.kind == "code")
        elif key == "worksheets" and walker.space() == "[":
            cells = tuple(cell for cell in walker.worksheets() if cell.kind == "code")
        else:
            value = walker.value()
            if key == "metadata":
                language = _language(value)
    if walker.space():
        raise ValueError("text behind the end")
    if cells is None:
        raise NoNotebook("JSON without a list of `cells`")
    return Notebook(language, cells)


def _language(metadata: Any) -> str:
    for section, key in (("language_info", "name"), ("kernelspec", "language")):
        inner = metadata.get(section) if isinstance(metadata, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get(key), str):
            return str(inner[key]).lower()
    return ""


class _Walker:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def space(self) -> str:
        """The next character that is no white space; empty at the end."""
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def value(self) -> Any:
        self.space()
        try:
            value, self.at = _skip(self.text, self.at)
        except StopIteration:
            raise ValueError("a value is missing") from None
        return value

    def members(self) -> Iterator[str]:
        """The keys of the object that begins here; whoever asks reads the value before the next."""
        self.at += 1
        if self.space() == "}":
            self.at += 1
            return
        while True:
            if self.space() != '"':
                raise ValueError("a key should stand here")
            key, self.at = _string(self.text, self.at + 1, True)
            if self.space() != ":":
                raise ValueError("a colon should stand here")
            self.at += 1
            yield key
            if self.goes_on("}"):
                return

    def goes_on(self, bracket: str) -> bool:
        """Whether the object or list ends here; behind the comma where it does not."""
        character = self.space()
        self.at += 1
        if character not in (",", bracket):
            raise ValueError("a comma or a closing bracket should stand here")
        return character == bracket

    def items(self) -> Iterator[None]:
        self.at += 1
        if self.space() == "]":
            self.at += 1
            return
        while True:
            yield
            if self.goes_on("]"):
                return

    def worksheets(self) -> Iterator[Cell]:
        """The cells of all worksheets, counted through."""
        before = 0
        for _ in self.items():
            if self.space() != "{":
                self.value()
                continue
            for key in self.members():
                if key != "cells" or self.space() != "[":
                    self.value()
                    continue
                for cell in self.cells(before):
                    before = cell.number
                    yield cell

    def cells(self, before: int = 0) -> Iterator[Cell]:
        for index, _ in enumerate(self.items(), before):
            if self.space() != "{":
                self.value()
                continue
            kind, strings = "", []
            for key in self.members():
                if key in ("source", "input"):
                    strings = list(self.strings())
                else:
                    value = self.value()
                    kind = value if key == "cell_type" and isinstance(value, str) else kind
            view = self.decoded(strings) if kind == "code" else View("", (), "notebook")
            yield Cell(index + 1, kind, view.source, view.pieces)

    def strings(self) -> Iterator[tuple[str, int, int]]:
        """The parts of a source: text, and where it begins and ends between its quotes."""
        if self.space() == '"':
            yield self.string()
        elif self.space() == "[":
            for _ in self.items():
                if self.space() != '"':
                    raise NoNotebook("a cell whose source is no text")
                yield self.string()
        else:
            raise NoNotebook("a cell whose source is no text")

    def string(self) -> tuple[str, int, int]:
        start = self.at + 1
        value, self.at = _string(self.text, start, True)
        return value, start, self.at - 1

    def decoded(self, strings: list[tuple[str, int, int]]) -> View:
        builder = Builder()
        for value, start, end in strings:
            if len(value) == end - start:
                builder.keep(value, start)
            else:
                builder.escaped(value, start, end, (found.span() for found in _ESCAPE.finditer(self.text, start, end)))
        return builder.view("notebook")
