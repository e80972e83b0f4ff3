"""The question behind a word that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable

from stablint.base.language import gettext


def did_you_mean(names: Iterable[str]) -> str:
    """`: did you mean `a` or `b`?`, with what is near; nothing where nothing is."""
    quoted = gettext(" or ").join(f"`{name}`" for name in names)
    return gettext(": did you mean {names}?").format(names=quoted) if quoted else ""
