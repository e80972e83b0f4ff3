"""The table for pull requests: text from files is never markup."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.report import markdown
from tests.report.hostile import CLEAN, EMPTY, PLANTED, SECRETS, SHAPED, TEXTS, YAML, diagnostic, hostile

EVIL = [
    "a | b",
    "</details><script>",
    "![x](http://evil/p.png)",
    "`a|b`",
    "``",
    "`",
    "a\\|b",
    "**x**",
    "@everyone",
    "see #1",
    "`` ` ``",
]


def test_is_as_stored(snapshot):
    snapshot("report/markdown.md", markdown.render(hostile(), TEXTS, secrets=SECRETS))


@pytest.mark.parametrize("report", [EMPTY, CLEAN], ids=["nothing to check", "nothing found"])
def test_without_findings_there_is_no_table(report):
    assert "|" not in markdown.render(report, {})


@given(st.text() | st.sampled_from(EVIL))
def test_a_row_has_four_cells_whatever_is_in_it(message):
    one = diagnostic(YAML, 0, 5, message=message)
    (row,) = [
        line for line in markdown.render(EMPTY._replace(diagnostics=(one,)), {}).split("\n") if line[:4] == "| **"
    ]
    assert row.count("|") == 5


@given(st.text(st.characters(exclude_categories=["C", "Z"])) | st.sampled_from(EVIL))
def test_prose_reads_as_it_was_written(text):
    """Without the tags and backticks that stand around code, the text is left."""
    bare = re.sub(r"</?code>|<!-- -->|`", "", markdown.prose(text))
    assert html.unescape(bare).replace("`", "") == html.unescape(text.replace("`", "").replace("&", "&amp;"))


@pytest.mark.parametrize("text", EVIL)
def test_no_markup_of_a_file_survives(text):
    outside = re.sub(r"`[^`]*`|</?code>|<!-- -->", "", markdown.prose(text))
    assert not set("<>[]|*`") & set(outside)


def test_mentions_and_references_are_none():
    assert markdown.prose("@everyone #1") == "@<!-- -->everyone &#35;<!-- -->1"


def test_a_long_report_is_cut():
    many = EMPTY._replace(diagnostics=(diagnostic(YAML, 0, 5),) * 101)
    output = markdown.render(many, {})
    assert output.count("**error**") == 100
    assert "and 1 more" in output


def test_no_secret_and_nothing_suppressed():
    output = markdown.render(hostile(), TEXTS, secrets=SECRETS)
    assert PLANTED not in output and SHAPED not in output and "S106" not in output
