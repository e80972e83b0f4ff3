"""A group of cases is tried whole, and its failure names the cases that do not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.grouped import by, each

NUMBERS = by(lambda number: "even" if number % 2 == 0 else "odd", str, range(6))


def test_cases_are_grouped() -> None:
    assert {group: [case.name for case in cases] for group, cases in NUMBERS.items()} == {
        "even": ["0", "2", "4"],
        "odd": ["1", "3", "5"],
    }


def test_all_cases_are_tried_and_those_that_fail_are_named(tmp_path: Path) -> None:
    tried = []

    @each(NUMBERS)
    def law(number: int, tmp_path: Path) -> None:
        tried.append((number, tmp_path.name))
        assert number < 3, "too large"

    told = ""
    try:
        law(NUMBERS["even"], tmp_path=tmp_path)
    except AssertionError as error:
        told = str(error)
    assert tried == [(0, "0"), (2, "1"), (4, "2")]
    assert told.startswith("1 of 3\n4: AssertionError: too large")


@each(NUMBERS)
def test_fixtures_come_behind_the_values(number: int, tmp_path: Path, monkeypatch) -> None:
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mark").touch()
    monkeypatch.chdir(tmp_path)


def test_of_a_sample_the_rest_is_slow() -> None:
    def law(number: int) -> None:
        assert number >= 0

    (mark,) = each(NUMBERS, 2)(law).pytestmark
    tests = {one.id: ([case.name for case in one.values[0]], [m.name for m in one.marks]) for one in mark.args[1]}
    assert sorted(name for names, _ in tests.values() for name in names) == list("012345")
    assert {bool(marks) is key.endswith(", more") for key, (_, marks) in tests.items()} == {True}


def test_a_group_is_skipped_where_all_of_it_is() -> None:
    tried = []

    @each(NUMBERS)
    def law(number: int) -> None:
        tried.append(number)
        if number < 4:
            pytest.skip("small")

    law(NUMBERS["even"])
    with pytest.raises(pytest.skip.Exception, match="small"):
        law(NUMBERS["even"][:2])
    assert tried == [0, 2, 4, 0, 2]
