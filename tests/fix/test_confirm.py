"""A reader that is not ours has the last word on a rewrite."""

from __future__ import annotations

import json

import pytest

from stablint.fix.confirm import objection
from stablint.syntax.tree import Edit, Text

YAML = "a: 1  # why\nb: [1, 2]\nc: x\nd: y\ne: z\n"
JSON = '{"a": 1, "b": [1, 2], "c": {"d": "x", "e": "y", "f": "z"}}'
ONE = [Edit(3, 4, "2")]

REWRITES = [
    ("t.yaml", YAML, YAML.replace("1  #", "2  #"), True),
    ("t.yaml", YAML, YAML.replace("  # why", ""), False),  # a comment is lost
    ("t.yaml", YAML, "a: 2  # why\n", False),  # more than the edit says
    ("t.yaml", YAML, "a: [1  # why\n", False),  # no YAML any more
    ("t.yaml", "a: [p, q, r, s, t]\nb: 1\n", "a: all\nb: 1\n", True),  # a list is one setting
    ("t.yaml", "? {k: 1}\n: 2\na: 1\n", "? {k: 1}\n: 2\na: 2\n", True),  # a mapping as a key
    ("t.yaml", "? {k: [{x: 1}, 1]}\n: {p: 1, q: 1, r: 1}\na: 1\n", "? {k: [{x: 2}, 2]}\n: 2\na: 2\n", False),
    (
        "t.yaml",
        "a: 1\nb: !!python/name:os.system {}\n",
        "a: 2\nb: !!python/name:os.system {}\n",
        True,
    ),  # read, never built
    ("t.yaml", "a: 1\nb: !own {p: 1, q: 2, r: 3}\n", "a: 2\nb: !other [1]\n", False),
    ("t.yaml", "a: &a [1, *a]\nb: 1\n", "a: &a [1, *a]\nb: 2\n", True),  # a cycle
    (
        "t.yaml",
        "a: {p: 1, q: 2, r: 3, s: 4}\nb: 1\na: 1\n",
        "b: 1\na: 1\n",
        True,
    ),  # of a key that is there twice the last counts
    ("t.json", JSON, JSON.replace('"a": 1', '"a": 2'), True),
    ("t.json", JSON, JSON[:-1], False),
    ("t.json", JSON, "{}", False),
    ("t.json", "{not json", "{still not", True),  # nothing to compare with
    ("t.py", "x = 1\n", "x = 2\n", True),  # ruamel.yaml and json have no say
]


def test_a_block_may_go_with_all_its_keys_and_no_others() -> None:
    block = '"c": {"d": "x", "e": "y", "f": "z"}'
    removal = [Edit(JSON.index(", " + block), JSON.index(block) + len(block), "")]
    assert not objection(Text("t.json", "t.json", JSON), JSON.replace(", " + block, ""), removal)
    assert objection(Text("t.json", "t.json", JSON), "{}", [Edit(1, 8, "")])


# A key with all that stands below it; the edit exchanges the key alone.
RENAMED = {
    "another name": ('"c": {', '"C": {', True),
    "another name and another value": ('"c": {"d": "x"', '"C": {"d": "w"', False),
    "somewhere else": ('"b": [1, 2], "c": {', '"b": {"c": {', False),
}


@pytest.mark.parametrize(("old", "new", "fine"), RENAMED.values(), ids=RENAMED)
def test_a_block_may_be_renamed_whole(old: str, new: str, fine: bool) -> None:
    after = JSON.replace(old, new) + "}" * (new.count("{") - old.count("{"))
    key = [Edit(JSON.index('"c"'), JSON.index('"c"') + 3, '"C"')]
    assert (objection(Text("t.json", "t.json", JSON), after, key) == "") is fine


def test_the_comments_of_a_block_go_with_it() -> None:
    text = "a:  # one\n  # two\n  b: 1  # three\nc: 1  # four\n"
    block = [Edit(0, text.index("c:"), "")]
    assert not objection(Text("t.yaml", "t.yaml", text), "c: 1  # four\n", block)
    assert objection(Text("t.yaml", "t.yaml", text), "c: 1\n", [Edit(0, 9, "")])


@pytest.mark.parametrize(("name", "before", "after", "fine"), REWRITES)
def test_only_what_was_edited_may_differ(name: str, before: str, after: str, fine: bool) -> None:
    assert (objection(Text(name, name, before), after, ONE) == "") is fine


CALL = "f(a=1, b=2)\n"


@pytest.mark.parametrize(
    ("before", "after", "fine"),
    [
        (CALL, "f(a=1, a=2)\n", False),  # told by the compiler only, not by the parser
        (CALL, "f(a=1, c=2)\n", True),
        (CALL, "f(a=1, b=2\n", False),
        (CALL, "f(a=1, 2)\n", False),
        ("f(a=1, b=2\n", "f(a=1, c=2\n", True),  # it was none before
        ("%pip install x\nf(a=1)\n", "%pip install x\nf(a=1, a=2)\n", True),
    ],
)
def test_a_program_stays_one(before: str, after: str, fine: bool) -> None:
    assert (objection(Text("t.py", "t.py", before), after, []) == "") is fine
    as_cells = [json.dumps({"cells": [{"cell_type": "code", "source": [text]}]}) for text in (before, after)]
    assert (objection(Text("t.ipynb", "t.ipynb", as_cells[0]), as_cells[1], []) == "") is fine
