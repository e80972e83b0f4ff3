"""The source line with carets under a span: tabs, wide characters, endless lines and spans of several lines included."""

from __future__ import annotations

from stablint.base.libraries import unicodedata
from stablint.base.light import NamedTuple
from stablint.report.place import line_starts, line_text, locate
from stablint.report.plain import commands, plain
from stablint.secrets.masking import covered, mask
from stablint.secrets.veil import veiled_line

EXCERPT = 110  # of source shown where the screen is wide
_TAB = 4


class Snippet(NamedTuple):
    """`line` counts from one; `before` are the blank columns in front of the `carets`; `last_line` is where the span ends."""

    line: int
    source: str
    before: int
    carets: int
    last_line: int


def snippet(
    text: str,
    start: int,
    end: int,
    secrets: frozenset[str] = frozenset(),
    language: str = "",
    most: int = EXCERPT,
) -> Snippet:
    """The first line of `text[start:end]`, cut to at most `most` columns around the span. `language`: how bare words in it are read."""
    line, column = locate(text, start)
    first = line_starts(text)[line - 1]
    behind = first + len(line_text(text, line))
    # Masked before it is cut: half a token has lost the shape by which it is known.
    source = mask(veiled_line(covered(text, language), first, behind, language), secrets, same_length=True)
    from_, to = min(column - 1, len(source)), min(max(end - first, column), max(len(source), column))
    left = max(0, from_ - most * 6 // 11)
    right = min(len(source), left + most)
    cells = [_cell(character) for character in source[left:right]]
    for offset in commands(source[left:right]):
        cells[offset] = (r"\x23", 4)
    before = sum(width for _, width in cells[: from_ - left])
    carets = sum(width for _, width in cells[from_ - left : to - left])
    head, tail = "…" if left else "", "…" if right < len(source) else ""
    shown = head + "".join(drawn for drawn, _ in cells) + tail
    last = locate(text, max(start, end - 1)).line
    return Snippet(line, shown.rstrip(), before + len(head), max(carets, 1), last)


def _cell(character: str) -> tuple[str, int]:
    """A character as it is drawn, and how many columns that takes."""
    if character == "\t":
        return " " * _TAB, _TAB
    if " " <= character <= "~":
        return character, 1
    drawn = plain(character)
    return drawn, len(drawn) if drawn != character else _width(character)


def _width(character: str) -> int:
    """Columns of a printable character: none for combining marks, two for East Asian wide ones (UAX #11)."""
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
