"""Sentences of a finding that several formats share."""

from __future__ import annotations

import re

from stablint.report.model import Diagnostic

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`0-9])")


def message(diagnostic: Diagnostic) -> str:
    """The message with what else must be known to read it rightly: "unless set elsewhere", the releases concerned."""
    return f"{diagnostic.message} ({'; '.join(diagnostic.notes)})" if diagnostic.notes else diagnostic.message


def first_sentences(text: str, longest: int = 240) -> str:
    """As many whole sentences of a paragraph as fit into `longest` characters; at least one."""
    sentences = _SENTENCE_END.split(" ".join(text.split()))
    kept = sentences[0]
    for sentence in sentences[1:]:
        if len(kept) + len(sentence) + 1 > longest:
            break
        kept = f"{kept} {sentence}"
    return kept


def wrapped(text: str, width: int) -> list[str]:
    """The paragraph broken at blanks; `textwrap` does more and costs more."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines
