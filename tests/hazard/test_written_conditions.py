"""A condition as a hazard writes it down, and what it is compiled to."""

from __future__ import annotations

import pytest

from stablint.compiling.hazards import condition

RELEASES = [
    ("versions.transformers >= 5.10", "5.10"),  # as a number it would be 5.1
    ("versions.trl < 0.20", "0.20"),
    ('versions.trl < "0.20"', "0.20"),
    ("versions.trl >= 1", "1"),
    ("versions.peft in [0.10, 0.20.0]", ["0.10", "0.20.0"]),
]


@pytest.mark.parametrize(("written", "operand"), RELEASES)
def test_every_figure_of_a_release_counts(written: str, operand: object) -> None:
    assert condition(written)[3] == operand


def test_other_operands_have_the_types_that_yaml_gives_them() -> None:
    assert [condition(f"training.a is {text}")[3] for text in ("1", "0.10", "true", "null", "one")] == [
        1,
        0.1,
        True,
        None,
        "one",
    ]
