"""Workflow commands: what a runner reads of them is what was meant, whatever a file's keys are called."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from stablint.report import github
from tests.report.hostile import EMPTY, SECRETS, TEXTS, YAML, diagnostic, hostile

COMMAND = re.compile(r"::(?P<command>error|warning|notice) (?P<properties>[^:]*)::(?P<data>.*)")
EVIL = [
    "::set-env name=PATH::/tmp",
    "a,line=999",
    "100%0A",
    "a\r\n::error::b",
    "key: value",
    "%25",
    "\u2028::warning::x",
]


def read(line: str) -> tuple[str, dict[str, str], str]:
    """A command as the runner of actions/toolkit takes it apart."""
    found = COMMAND.fullmatch(line)
    assert found, line
    words = dict(word.split("=", 1) for word in found["properties"].split(","))
    return found["command"], {name: unescaped(value) for name, value in words.items()}, unescaped(found["data"])


def unescaped(text: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_is_as_stored(snapshot):
    snapshot("report/github.txt", github.render(hostile(), TEXTS, secrets=SECRETS))


def test_nothing_found_says_nothing():
    assert github.render(EMPTY, {}) == ""


def test_columns_only_where_one_line_holds_the_span():
    commands = [read(line) for line in github.render(hostile(), TEXTS).splitlines()]
    for _, properties, _ in commands:
        one_line = "line" in properties and properties["line"] == properties["endLine"]
        assert ("col" in properties) == one_line
    assert any("line" in p and "col" not in p for _, p, _ in commands), "the report has a span of several lines"


@given(st.text() | st.sampled_from(EVIL), st.text(min_size=1) | st.sampled_from(EVIL))
def test_no_text_of_a_file_makes_a_command_or_a_property(message, name):
    one = diagnostic(YAML._replace(name=name), 0, 5, message=message)
    output = github.render(EMPTY._replace(diagnostics=(one,)), {})
    (line,) = output.splitlines()
    command, properties, data = read(line)
    assert command == "error"
    assert list(properties) == ["file", "line", "endLine", "col", "endColumn", "title"]
    assert properties["line"] == "1" and properties["title"] == "P101 fp16-overflow-prone-model"
    if message.isprintable() and name.isprintable():
        assert (data.partition("\n")[0], properties["file"]) == (message, name)


def test_suppressed_findings_are_left_out():
    assert "silenced" not in github.render(hostile(), TEXTS)
