"""What is asked of a whole program for each of its trainers, and answered once: its calls by name, and where a pattern is found in its text."""

from __future__ import annotations

import re
from functools import lru_cache

from stablint.source.tree import Call, Module

_last: tuple[Module | None, dict[str, list[Call]]] = None, {}


def calls(module: Module, word: str) -> list[Call]:
    """Those whose name ends in the word, in their order."""
    global _last
    if _last[0] is not module:
        by_word: dict[str, list[Call]] = {}
        for call in module.calls:
            by_word.setdefault(call.name.rpartition(".")[2], []).append(call)
        _last = module, by_word
    return _last[1].get(word, [])


@lru_cache(maxsize=256)
def seen_in(expression: str | re.Pattern[str], text: str) -> re.Match[str] | None:
    return re.search(expression, text)
