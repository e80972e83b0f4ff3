"""Edits of a text: spans with their new text, all applied at once or not at all."""

from __future__ import annotations

from collections.abc import Iterable

from stablint.syntax.tree import Edit


def overlaps(a: Edit, b: Edit) -> bool:
    """Whether two edits touch the same text. An insertion at either edge of a replacement does not."""
    return a.start < b.end and b.start < a.end


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text after all edits; insertions at one place come in the order given. Overlapping or misplaced edits raise ValueError."""
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: edit[:2]):
        if not done <= edit.start <= edit.end <= len(text):
            raise ValueError(f"edits overlap or lie outside the text at {edit.start}")
        parts += (text[done : edit.start], edit.new_text)
        done = edit.end
    parts.append(text[done:])
    return "".join(parts)
