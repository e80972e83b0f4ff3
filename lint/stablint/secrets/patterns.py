"""Patterns that are compiled when they are first used: most runs meet few of them, and compiling all takes as long as checking a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from stablint.base.typed import Any

Match = re.Match[str]


class Pattern:
    """What `re.compile` gives, a little later."""

    match: Callable[..., Match | None]
    search: Callable[..., Match | None]
    finditer: Callable[..., Iterator[Match]]
    sub: Callable[..., str]
    findall: Callable[..., list[str]]

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self.flags)
        self.match, self.search, self.finditer = compiled.match, compiled.search, compiled.finditer
        self.sub, self.findall = compiled.sub, compiled.findall
        return getattr(compiled, name)


_WORD = re.compile(r"\w+")


@lru_cache(maxsize=2)
def words_of(text: str) -> frozenset[str]:
    """The different words of a text, several times shorter than the text: what stands in none of them need not be looked for."""
    return frozenset(_WORD.findall(text))


@lru_cache(maxsize=2)
def vocabulary(text: str) -> str:
    """The same in small letters, one a line. What holds signs between its letters is looked for in the text itself."""
    return "\n".join(words_of(text)).lower()
