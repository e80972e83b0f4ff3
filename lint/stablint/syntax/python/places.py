"""Places of `ast` nodes as offsets in the text: `ast` counts lines, and in them UTF-8 bytes; we count code points from the beginning."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from typing import cast

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_WIDE = re.compile(r"[^\x00-\x7f]")


class Places:
    def __init__(self, source: str) -> None:
        self._source = source
        self._starts = [0]
        for line in _LINE.finditer(source):
            self._starts.append(line.end())
        self._ascii = source.isascii()
        self._wide: dict[int, tuple[list[int], list[int]]] = {}

    def offset(self, line: int, column: int) -> int:
        """The offset of a line (from 1) and a column in bytes; what lies behind the text is its end."""
        if line >= len(self._starts):
            return len(self._source)
        if self._ascii:
            return min(self._starts[line - 1] + column, len(self._source))
        if line not in self._wide:
            self._wide[line] = _wide(self._source[self._starts[line - 1] : self._starts[line]])
        ends, more = self._wide[line]
        column -= more[bisect_right(ends, column)]
        return min(self._starts[line - 1] + column, self._starts[line])

    def position(self, at: int) -> tuple[int, int]:
        """The line and the column of an offset, in code points."""
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1]

    def start(self, node: ast.AST) -> int:
        place = cast(ast.expr, node)
        return self.offset(place.lineno, place.col_offset)

    def end(self, node: ast.AST) -> int:
        place = cast(ast.expr, node)
        return self.offset(place.end_lineno or place.lineno, place.end_col_offset or place.col_offset)


def _wide(line: str) -> tuple[list[int], list[int]]:
    """Behind which bytes of a line its characters of several bytes end, and how many bytes more than characters there are in front of the first of
    them, of the second and so on, and behind the last one."""
    ends, more = [], [0]
    for found in _WIDE.finditer(line):
        surplus = len(found[0].encode("utf-8", "surrogatepass")) - 1
        more.append(more[-1] + surplus)
        ends.append(found.end() + more[-1])
    return ends, more
