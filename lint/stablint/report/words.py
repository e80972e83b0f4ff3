"""Sentences of a finding that several formats share."""

from __future__ import annotations

from collections.abc import Iterator

from stablint.base.language import gettext, told
from stablint.base.libraries import unicodedata
from stablint.base.light import Pattern
from stablint.report.model import Diagnostic
from stablint.secrets import exit

WIDTH = 108  # columns of a finding that goes to no terminal
_SENTENCE_END = Pattern(r"(?<=[.!?])\s+(?=[A-Z`0-9])|(?<=[。！？])")
# What stays with the word before it, and what with the word behind it.
_CLOSING, _OPENING = frozenset("，。：；！？、）》」』】”’"), frozenset("（《「『【“‘")


def severity(word: str) -> str:
    """`error`, as people read it in their language; programs get the word itself."""
    said = {"error": gettext("error"), "warning": gettext("warning"), "info": gettext("info")}
    return said.get(word, word)


def grade(word: str) -> str:
    """How a rule is known, in one word of the reader's language."""
    said = {
        "proven-in-source": gettext("proven-in-source"),
        "reproduced": gettext("reproduced"),
        "maintainer-confirmed": gettext("maintainer-confirmed"),
        "reported": gettext("reported"),
        "folklore": gettext("folklore"),
    }
    return said.get(word, word)


def message(diagnostic: Diagnostic) -> str:
    """The message with what else must be known to read it rightly: "unless set elsewhere", the releases concerned."""
    words = told(diagnostic.message)
    if not diagnostic.notes:
        return words
    return gettext("{words} ({notes})").format(words=words, notes="; ".join(diagnostic.notes))


def first_sentences(text: str, longest: int = 240) -> str:
    """As many whole sentences of a paragraph as fit into `longest` columns; at least one."""
    sentences = [one for one in _SENTENCE_END.split(" ".join(text.split())) if one] or [""]
    kept = sentences[0]
    for sentence in sentences[1:]:
        if columns(kept) + columns(sentence) + 1 > longest:
            break
        kept = f"{kept}{'' if kept[-1] in _CLOSING else ' '}{sentence}"
    return kept


def wrapped(text: str, width: int) -> list[str]:
    """The paragraph broken at blanks, and between Chinese characters; `width` in columns. `textwrap` does more and costs more."""
    if not text.isascii():
        return _wrapped(text, width)
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


def screen(most: int) -> int:
    """How wide a line on standard output may be."""
    return exit.columns(most)


def columns(text: str) -> int:
    """How wide a terminal shows it: Chinese characters take two columns (Unicode Standard Annex 11)."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _wrapped(text: str, width: int) -> list[str]:
    lines, line, used = [], "", 0
    for blank, piece in _pieces(text):
        wide = columns(piece)
        if line and used + blank + wide > width:
            lines.append(line)
            line, used = piece, wide
        else:
            line, used = f"{line}{' ' if blank and line else ''}{piece}", used + (blank if line else 0) + wide
    return [*lines, line] if line else lines


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """What a line can be broken before, each with whether a blank stands there: words, and single wide characters with their punctuation."""
    for word in text.split():
        blank, piece = 1, ""
        for character in word:
            breaks = piece and character not in _CLOSING and piece[-1] not in _OPENING
            if breaks and (columns(character) == 2 or columns(piece[-1]) == 2):
                yield blank, piece
                blank, piece = 0, ""
            piece += character
        yield blank, piece
