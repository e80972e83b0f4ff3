"""Of many cases of one law the default run takes some; `-m slow` takes the others, as CI does. Cases by the thousand: grouped.py."""

import zlib
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def is_sampled(name: str, one_in: int) -> bool:
    """Decided by the name, so that a case that is added moves no other in or out."""
    return zlib.crc32(name.encode()) % one_in == 0


def sampled(cases: Iterable[Any], one_in: int, name: Callable[[Any], str] | None = None) -> list[Any]:
    """The cases as parameters (one or a plain tuple of several each), all but one in so many marked `slow`."""
    chosen = []
    for case in cases:
        values = case if type(case) is tuple else (case,)
        word = name(case) if name else "-".join(map(str, values))
        marks = () if is_sampled(word, one_in) else pytest.mark.slow
        chosen.append(pytest.param(*values, marks=marks, id=word))
    return chosen
