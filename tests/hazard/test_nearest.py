"""A misspelled name resembles a known one, or two of them alike."""

from __future__ import annotations

import pytest

from stablint.hazard.hints import clearly_nearest, nearest

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
