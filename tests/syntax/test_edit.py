"""Edits: all at once or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.syntax.edit import apply, overlaps
from stablint.syntax.tree import Edit

EDITS = st.builds(
    lambda start, length, new: Edit(start, start + length, new),
    st.integers(0, 9),
    st.integers(0, 4),
    st.text("xy", max_size=2),
)

APPLIED = [
    ([], "abcdef"),
    ([Edit(4, 5, "E"), Edit(0, 1, "A")], "AbcdEf"),
    ([Edit(1, 3, "X"), Edit(3, 3, "+")], "aX+def"),
    ([Edit(3, 3, "+"), Edit(3, 5, "X")], "abc+Xf"),
    ([Edit(2, 2, "1"), Edit(2, 2, "2")], "ab12cdef"),
    ([Edit(0, 6, ""), Edit(6, 6, "!")], "!"),
]


@pytest.mark.parametrize(("edits", "after"), APPLIED)
def test_apply(edits: list[Edit], after: str) -> None:
    assert apply("abcdef", edits) == after


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(0, 3, ""), Edit(2, 4, "")],
        [Edit(0, 3, ""), Edit(1, 1, "x")],
        [Edit(5, 7, "")],
        [Edit(3, 2, "")],
        [Edit(-1, 0, "")],
    ],
)
def test_what_overlaps_or_lies_outside_is_refused(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match="edits"):
        apply("abcdef", edits)


@given(EDITS, EDITS)
def test_two_edits_apply_exactly_if_they_do_not_overlap(a: Edit, b: Edit) -> None:
    assert overlaps(a, b) == overlaps(b, a)
    if overlaps(a, b):
        with pytest.raises(ValueError, match="overlap"):
            apply("abcdefghijklm", [a, b])
    else:
        after = apply("abcdefghijklm", [a, b])
        assert len(after) == 13 + sum(len(edit.new_text) - (edit.end - edit.start) for edit in (a, b))
