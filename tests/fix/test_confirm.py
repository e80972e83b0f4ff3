"""A reader that is not ours has the last word on a rewrite."""

from __future__ import annotations

import pytest

from stablint.fix.confirm import objection
from stablint.source.tree import Edit, Text

YAML = "a: 1  # why\nb: [1, 2]\nc: x\nd: y\ne: z\n"
JSON = '{"a": 1, "b": [1, 2], "c": {"d": "x", "e": "y", "f": "z"}}'
ONE = [Edit(3, 4, "2")]

REWRITES = [
    ("t.yaml", YAML, YAML.replace("1  #", "2  #"), True),
    ("t.yaml", YAML, YAML.replace("  # why", ""), False),  # a comment is lost
    ("t.yaml", YAML, "a: 2  # why\n", False),  # more than the edit says
    ("t.yaml", YAML, "a: [1  # why\n", False),  # no YAML any more
    ("t.yaml", "a: [p, q, r, s, t]\nb: 1\n", "a: all\nb: 1\n", True),  # a list is one setting
    ("t.json", JSON, JSON.replace('"a": 1', '"a": 2'), True),
    ("t.json", JSON, JSON[:-1], False),
    ("t.json", JSON, "{}", False),
    ("t.json", "{not json", "{still not", True),  # nothing to compare with
    ("t.py", "x = 1\n", "x = 2\n", True),  # ruamel.yaml and json have no say
]


@pytest.mark.parametrize(("name", "before", "after", "fine"), REWRITES)
def test_only_what_was_edited_may_differ(name: str, before: str, after: str, fine: bool) -> None:
    assert (objection(Text(name, name, before), after, ONE) == "") is fine
