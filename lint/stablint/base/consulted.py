"""The files that a report rests on: configurations, and settings, lists of releases, rules of what git ignores, hazards, baselines, sourced scripts.
Nothing that a command writes takes the place of one of them."""

from __future__ import annotations

import os
from collections.abc import Iterable

_surely: set[str] = set()
_perhaps: set[str] = set()  # looked into for a configuration


def note(path: str, *, perhaps: bool = False) -> None:
    """That a file of this path was read; `perhaps`, to see whether it is a configuration."""
    (_perhaps if perhaps else _surely).add(os.path.abspath(path))


def noted() -> tuple[frozenset[str], frozenset[str]]:
    """For another process, which takes them in with `add`."""
    return frozenset(_surely), frozenset(_perhaps)


def add(others: tuple[frozenset[str], frozenset[str]]) -> None:
    _surely.update(others[0])
    _perhaps.update(others[1])


def paths(skipped: Iterable[str] = ()) -> set[str]:
    """All of them, but for what was `skipped`, since it is no configuration."""
    return _surely | (_perhaps - {os.path.abspath(path) for path in skipped})
