"""Offsets and places are two names of one thing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.report.model import Location
from stablint.report.place import line_starts, line_text, locate


@pytest.mark.parametrize(
    ("text", "offset", "line", "column"),
    [
        ("", 0, 1, 1),
        ("a: 1\nb: 2\n", 5, 2, 1),
        ("a: 1\r\nb: 2", 6, 2, 1),
        ("a\rb", 2, 2, 1),
        ("a: 1\n", 5, 2, 1),  # after the last line end: an empty line, as in editors
        ("é𝄞: x", 4, 1, 5),  # code points, neither bytes nor UTF-16
    ],
)
def test_places(text, offset, line, column):
    assert locate(text, offset) == Location(line, column)


@given(st.text(alphabet="ab\r\n\t𝄞"), st.data())
def test_a_place_leads_back_to_its_offset(text, data):
    offset = data.draw(st.integers(0, len(text)))
    place = locate(text, offset)
    assert line_starts(text)[place.line - 1] + place.column - 1 == offset


@given(st.text(alphabet="ab\r\n"))
def test_lines_have_no_ends_and_nothing_is_lost(text):
    lines = [line_text(text, line) for line in range(1, len(line_starts(text)) + 1)]
    assert not any("\n" in line or "\r" in line for line in lines)
    assert "".join(lines) == text.replace("\r", "").replace("\n", "")
