"""The known name that a misspelled one resembles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache


def nearest(word: str, known: Sequence[str], cutoff: float) -> str | None:
    """The one that resembles it most; None below the cutoff."""
    return _nearest(word, tuple(known), cutoff)


def close(word: str, known: Sequence[str], cutoff: float) -> tuple[str, ...]:
    """The three that resemble it most, best first; none below the cutoff."""
    return _close(word, tuple(known), cutoff)


@lru_cache(maxsize=256)
def _close(word: str, known: tuple[str, ...], cutoff: float) -> tuple[str, ...]:
    from difflib import get_close_matches

    return tuple(get_close_matches(word, known, 3, cutoff))


@lru_cache(maxsize=256)  # one slip is often made in many places
def _nearest(word: str, known: tuple[str, ...], cutoff: float) -> str | None:
    from difflib import get_close_matches  # only where something is misspelled

    return next(iter(get_close_matches(word, known, 1, cutoff)), None)


def clearly_nearest(word: str, known: Sequence[str], cutoff: float) -> str | None:
    """The same, but None where another one resembles it as much: `bfp16` may be fp16 and bf16."""
    return _clearly_nearest(word, tuple(known), cutoff)


@lru_cache(maxsize=256)
def _clearly_nearest(word: str, known: tuple[str, ...], cutoff: float) -> str | None:
    from difflib import SequenceMatcher

    found = nearest(word, known, cutoff)
    if found is None:
        return None
    ratios = [SequenceMatcher(None, word, one).ratio() for one in known if one != found]
    return found if SequenceMatcher(None, word, found).ratio() > max(ratios, default=0.0) + 0.02 else None
