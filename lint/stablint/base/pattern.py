"""Patterns that are compiled when they are first used: many a check needs none of them."""

from __future__ import annotations

import re

from stablint.base.typed import Any, cast


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """As re.compile does, whose work begins with the first call of a method."""
    return cast("re.Pattern[str]", _Late(text, flags))


class _Late:
    def __init__(self, text: str, flags: int) -> None:
        self._said = text, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._said)
        for method in ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"):
            setattr(self, method, getattr(compiled, method))  # from then on the pattern's own
        return getattr(compiled, name)
