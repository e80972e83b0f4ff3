"""Colour for terminals, as ANSI select graphic rendition sequences (ECMA-48 §8.3.117)."""

from __future__ import annotations

_CODES = {"error": "1;31", "warning": "1;33", "info": "1;36", "bold": "1", "dim": "2", "added": "32", "removed": "31"}


class Style:
    """`paint(name, text)` colours text; without colour it gives it back."""

    def __init__(self, color: bool) -> None:
        self.color = color

    def paint(self, name: str, text: str) -> str:
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.color and text else text
