"""Offsets of a text as lines and columns, counted from one, columns in code points. `\\r\\n`, `\\n` and `\\r` end a line."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from stablint.base.light import Pattern
from stablint.report.model import Diagnostic, Location
from stablint.report.plain import named

_BREAK = Pattern(r"\r\n|\n|\r")


@lru_cache(maxsize=16)
def line_starts(text: str) -> tuple[int, ...]:
    """The offset of the first character of every line."""
    return (0, *(found.end() for found in _BREAK.finditer(text)))


def locate(text: str, offset: int) -> Location:
    starts = line_starts(text)
    line = bisect_right(starts, offset)
    return Location(line, offset - starts[line - 1] + 1)


def line_text(text: str, line: int) -> str:
    """The line without its end; `line` counts from one."""
    starts = line_starts(text)
    end = starts[line] if line < len(starts) else len(text)
    return text[starts[line - 1] : end].rstrip("\r\n")


def begins(diagnostic: Diagnostic) -> Location | None:
    """Where a diagnostic begins; None for live objects, which have no text."""
    return None if diagnostic.text is None else locate(diagnostic.text.text, diagnostic.start)


def header(diagnostic: Diagnostic) -> str:
    """`train.yaml:7:7`, `tune.ipynb:cell 4:7:7`; for a live object the name of its setting."""
    begin = begins(diagnostic)
    seen = diagnostic.seen
    if diagnostic.text is not None and seen is not None:
        line, column = locate(seen.source, seen.start)
        return f"{named(diagnostic.text.name)}:cell {seen.cell}:{line}:{column}"
    if diagnostic.text is None or begin is None:
        return diagnostic.setting or diagnostic.fact
    return f"{named(diagnostic.text.name)}:{begin.line}:{begin.column}"
