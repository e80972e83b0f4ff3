"""A cost that is too high is found on every machine, and a machine that is slow or busy is not taken for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests import pace

Clock = Callable[[float], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[float], Clock]]:
    """A machine whose CPU time passes by work alone, by so many times more as it is slow."""
    now, slow = [0.0], [1.0]

    def work(seconds: float) -> None:
        now[0] += seconds * slow[0]

    monkeypatch.setattr(pace.time, "process_time", lambda: now[0])
    monkeypatch.setattr(pace, "ordinary", lambda: work(pace.ORDINARY))
    monkeypatch.setattr(pace.gc, "collect", lambda: 0)
    yield slow, work


# How slow the machine is, what the work takes on a quiet one, and whether that is more than 2 s.
CASES = [(1, 1.9, False), (1, 2.1, True), (2, 1.9, False), (2, 2.1, True), (5, 1.9, False), (5, 2.1, True), (0.5, 3.9, False), (0.5, 4.1, True)]  # fmt: skip


@pytest.mark.parametrize(("times", "seconds", "above"), CASES)
def test_a_machine_s_speed_decides_nothing(times, seconds, above, clock) -> None:
    slow, work = clock
    slow[0] = times
    assert (pace.cost(lambda: work(seconds), 2.0) > 2.0) is above


def test_a_moment_of_bad_luck_is_measured_again(clock) -> None:
    _, work = clock
    took = iter([2.6, 1.5])
    assert pace.cost(lambda: work(next(took)), 2.0) == pytest.approx(1.5)


def test_what_is_always_too_much_stays_too_much(clock) -> None:
    _, work = clock
    took = iter([2.6, 2.5, 2.4])
    assert pace.cost(lambda: work(next(took)), 2.0) == pytest.approx(2.4)


def test_what_is_cheap_is_done_once(clock) -> None:
    _, work = clock
    took = iter([0.1])
    assert pace.cost(lambda: work(next(took)), 2.0) == pytest.approx(0.1)


def test_ordinary_work_takes_what_is_written() -> None:
    """Within a machine's possible speeds: a measure that no longer fits its figure would make every bar wide or narrow."""
    assert pace.ORDINARY / 5 < min(pace.spent(pace.ordinary) for _ in range(5)) < pace.ORDINARY * 8
