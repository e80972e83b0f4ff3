"""Rows of compiled knowledge: one is read without the others, and nothing that a file may name breaks that."""

from __future__ import annotations

from typing import Any

import pytest

from stablint.base import knowledge
from stablint.base.knowledge import Rows
from stablint.compiling.compile import rows as written
from stablint.hazard import model

TABLE: dict[str, Any] = {"a": [1], "b/c.d": {"x": "two\nlines\tand a tab"}, "é": "ü", "e": False}


def test_rows_come_back_as_they_were_written() -> None:
    rows = Rows(written(TABLE))
    assert dict(rows.items()) == TABLE
    assert (len(rows), list(rows)) == (len(TABLE), list(TABLE))
    assert all(key in rows and rows[key] == row for key, row in TABLE.items())


@pytest.mark.parametrize("key", ["", "x", "[1]", "a\t[1]\n", "a\n", "\na", "c.d", "\ud800", "b"])
def test_what_is_no_row_is_none(key: str) -> None:
    rows = Rows(written(TABLE))
    assert rows.get(key) is None
    assert key not in rows
    with pytest.raises(KeyError):
        rows[key]


def test_every_hazard_has_what_a_finding_tells() -> None:
    assert [hazard.id for hazard in model.load()] == list(knowledge.rows("told"))
