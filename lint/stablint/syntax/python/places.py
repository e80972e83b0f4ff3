"""Places of `ast` nodes as offsets in the text: `ast` counts lines, and in them UTF-8 bytes; we count code points from the beginning."""

from __future__ import annotations

import ast
import re
from array import array
from typing import cast

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


class Places:
    def __init__(self, source: str) -> None:
        self._source = source
        self._starts = [0]
        for line in _LINE.finditer(source):
            self._starts.append(line.end())
        self._ascii = source.isascii()
        self._columns: dict[int, array[int] | None] = {}

    def offset(self, line: int, column: int) -> int:
        """The offset of a line (from 1) and a column in bytes; what lies behind the text is its end."""
        if line >= len(self._starts):
            return len(self._source)
        if self._ascii:
            return min(self._starts[line - 1] + column, len(self._source))
        if line not in self._columns:
            self._columns[line] = self._table(self._source[self._starts[line - 1] : self._starts[line]])
        table = self._columns[line]
        if table is not None:
            column = table[min(column, len(table) - 1)]
        return min(self._starts[line - 1] + column, len(self._source))

    def start(self, node: ast.AST) -> int:
        place = cast(ast.expr, node)
        return self.offset(place.lineno, place.col_offset)

    def end(self, node: ast.AST) -> int:
        place = cast(ast.expr, node)
        return self.offset(place.end_lineno or place.lineno, place.end_col_offset or place.col_offset)

    @staticmethod
    def _table(line: str) -> array[int] | None:
        """For every byte of a line the code point that it belongs to; None where the two are the same."""
        if line.isascii():
            return None
        table = array("i")
        for column, character in enumerate(line):
            table.extend([column] * len(character.encode("utf-8", "surrogatepass")))
        table.append(len(line))
        return table
