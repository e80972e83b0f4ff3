"""A bar for somebody who waits; nothing for a log file."""

from __future__ import annotations

import io

from stablint.report import progress as module
from stablint.report.progress import bar, progress, watching


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Each look at it takes half a second."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 0.5
        return self.now


def test_nothing_is_drawn_where_nobody_looks(monkeypatch):
    monkeypatch.setattr(module, "time", Clock())
    log = io.StringIO()
    assert list(progress(range(9), 9, log)) == list(range(9))
    assert log.getvalue() == ""


def test_nothing_is_drawn_for_a_short_wait():
    terminal = Terminal()
    assert list(progress(range(3), 3, terminal)) == [0, 1, 2]
    assert terminal.getvalue() == ""


def test_a_long_wait_is_shown_and_wiped_off(monkeypatch):
    monkeypatch.setattr(module, "time", Clock())
    terminal = Terminal()
    list(progress(range(9), 9, terminal))
    first, *_, last = terminal.getvalue().split("\r\x1b[K")[1:]
    assert first.endswith("1 of 9 files")
    assert last == ""


def test_stages_of_one_command_share_their_first_second(monkeypatch):
    monkeypatch.setattr(module, "time", Clock())
    terminal = Terminal()
    watch = watching(terminal)
    for noun in ("files", "runs", "findings"):
        assert list(watch(range(2), 2, noun)) == [0, 1]
    said = terminal.getvalue()
    assert "of 2 files" in said and "of 2 runs" in said and "of 2 findings" in said


def test_bar_is_full_at_the_end_only():
    assert bar(0, 10).count("#") == 0
    assert bar(10, 10).count(".") == 0
    assert bar(0, 0).count("#") == 0
