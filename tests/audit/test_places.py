"""A place is found again by what stands in it and by its function, wherever the lines above it went."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stablint.audit.places import around, find, has_scope, scope_of, spot

OLD = """\
import torch


class Config:
    def check(self):
        if self.rank <= 0:
            raise ValueError("rank")

    def other(self):
        if self.rank <= 0:
            raise ValueError("rank")
"""


def test_the_function_and_the_line_make_a_spot() -> None:
    here, there = spot(OLD, 6), spot(OLD, 10)
    assert here is not None and there is not None
    assert (here.scope, there.scope) == ("Config.check", "Config.other")
    assert here.mark == there.mark


def test_an_empty_line_or_none_is_no_place() -> None:
    assert spot(OLD, 2) is None
    assert spot(OLD, 0) is None
    assert spot(OLD, 99) is None


def test_of_equal_lines_the_one_in_the_same_function_is_it() -> None:
    wanted = spot(OLD, 10)
    assert wanted is not None
    assert find("# a new head\n" + OLD, wanted, 6) == 11


def test_a_short_line_counts_with_those_below_it() -> None:
    text = "x = [\n  (\n  1000000000000,\n  )\n]\ny = [\n  (\n  2000000000000,\n  )\n]\n"
    first, second = spot(text, 2), spot(text, 7)
    assert first is not None and second is not None
    assert first.mark != second.mark


def test_a_changed_line_is_not_found_and_its_function_is() -> None:
    wanted = spot(OLD, 6)
    assert wanted is not None
    new = OLD.replace("self.rank <= 0", "self.rank < 1")
    assert find(new, wanted, 6) is None
    assert has_scope(new, "Config.check")
    assert not has_scope(new.replace("def check", "def validate"), "Config.check")


def test_blanks_do_not_count() -> None:
    wanted = spot(OLD, 6)
    assert wanted is not None
    assert find(OLD.replace("if self.rank <= 0", "if   self.rank  <= 0"), wanted, 6) == 6


def test_what_is_around_a_line_is_its_function_or_its_neighbours() -> None:
    assert around(OLD, 6).splitlines()[0].strip() == "def check(self):"
    assert around(OLD, 1, beside=0) == "import torch"
    assert scope_of("not python (", 1).name == ""


@given(st.integers(0, 30), st.integers(1, 11).filter(lambda line: OLD.splitlines()[line - 1].strip() != ""))
def test_lines_above_only_shift_it(added: int, line: int) -> None:
    wanted = spot(OLD, line)
    assert wanted is not None
    assert find("#\n" * added + OLD, wanted, line + added) == line + added
