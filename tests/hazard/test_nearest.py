"""A misspelled name resembles a known one, or two of them alike."""

from __future__ import annotations

import pytest

from stablint.hazard.hints import at_latest, clearly_nearest, nearest

KNOWN = ["fp16", "bf16", "gradient_clipping", "steps", "epoch"]


@pytest.mark.parametrize(
    ("word", "found", "clear"),
    [
        ("gradient_cliping", "gradient_clipping", "gradient_clipping"),
        ("step", "steps", "steps"),
        ("bfp16", "fp16", None),  # one letter from either
        ("zero_optimization", None, None),
    ],
)
def test_what_is_meant(word: str, found: str | None, clear: str | None) -> None:
    assert nearest(word, KNOWN, 0.75) == found
    assert clearly_nearest(word, KNOWN, 0.75) == clear


@pytest.mark.parametrize(
    ("library", "first", "told"),
    [
        ("trl", "0.18.2", "0.18.2 at the latest"),  # 0.18.0 and 0.18.1 were not read
        ("transformers", "5.15.1", "5.15.1 at the latest"),
        ("trl", "0.28.0", "0.28.0"),
        ("transformers", "5.0.0", "5.0.0"),
    ],
)
def test_a_release_that_nobody_read_may_be_the_first(library: str, first: str, told: str) -> None:
    assert at_latest(library, first) == told
