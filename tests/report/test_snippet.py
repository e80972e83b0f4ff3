"""The carets stand under the span, whatever stands in front of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.report.snippet import snippet


def drawn(text: str, part: str) -> tuple[str, str]:
    start = text.index(part)
    found = snippet(text, start, start + len(part))
    return found.source, " " * found.before + "^" * found.carets


@pytest.mark.parametrize(
    ("text", "part", "source", "carets"),
    [
        ("fp16: true\n", "true", "fp16: true", "      ^^^^"),
        ("\tfp16: true\r\n", "true", "    fp16: true", "          ^^^^"),
        ("模型: 通义\n", "通义", "模型: 通义", "      ^^^^"),  # two columns a character
        ("e\u0301: x\n", "x", "e\u0301: x", "   ^"),  # a combining accent takes none
        ("\x1b[2Jk: x\n", "x", "\\x1b[2Jk: x", "          ^"),
        ("a: |\n  one\n  two\n", "|\n  one\n  two", "a: |", "   ^"),
    ],
)
def test_carets(text, part, source, carets):
    assert drawn(text, part) == (source, carets)


def test_a_span_of_several_lines_says_where_it_ends():
    assert snippet("a: [1,\n 2,\n 3]\n", 3, 14).last_line == 3


@given(st.text(alphabet="ab \t模\u0301\x1b\u202e\r\n", max_size=400), st.data())
def test_is_never_longer_than_a_screen_allows(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    found = snippet(text, start, end)
    assert found.carets >= 1
    assert "\n" not in found.source and "\x1b" not in found.source and "\u202e" not in found.source
    assert len(found.source) <= 112 * 6  # every character at most `\u202e`
