"""Readings of steps and what they mean, without torch: NaN, a scaler's skips, no gradient at all, a spike."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from stablint.integrate.judge import Judge, Reading, Sign

NAN, INF = float("nan"), float("inf")


def signs(
    rows: Iterable[tuple[float | None, float | None]], scale: Iterable[float] | None = None, **chosen
) -> list[Sign]:
    judge = Judge(3, **chosen)
    scales = iter(scale) if scale is not None else None
    found = []
    for step, (norm, loss) in enumerate(rows, 1):
        bad = norm is not None and (norm != norm or norm == INF)
        reading = Reading(
            step, norm, loss, scales is not None, scales is not None and bad, next(scales) if scales else None
        )
        found.append(judge.sign(reading))
    return [sign for sign in found if sign is not None]


def scales(start: float) -> Iterable[float]:
    while True:
        start /= 2
        yield start


HEALTHY = {
    "norms that differ": ([(1.0, 2.0), (0.5, 1.9), (9.0, 1.8)], None),
    "a loss of 0 with a gradient, as a policy has it": ([(0.3, 0.0)] * 9, None),
    "two steps without a gradient": ([(0.0, 0.0), (0.0, 0.0), (1.0, 2.0)] * 3, None),
    "no gradient where the loss is one": ([(0.0, 2.0)] * 9, None),
    "a scaler that skips and settles": ([(INF, 2.0)] * 10 + [(1.0, 2.0)] * 5, scales(65536)),
    "a scaler that skips now and then": ([(NAN, 2.0), (1.0, 2.0)] * 30, iter([1024.0] * 60)),
    "a row that overflows in the forward pass, once": ([(NAN, NAN), (NAN, NAN), (1.0, 2.0)], scales(65536)),
    "nothing that anybody computed": ([(None, 2.0)] * 5, None),
}
SICK = {
    "a norm that is NaN": ([(1.0, 2.0), (NAN, 2.0)], None, "the norm of the gradients is nan"),
    "a norm that is infinite, without a scaler": ([(INF, 2.0)], None, "the norm of the gradients is inf"),
    "a loss that is NaN, where that is all that is known": ([(None, NAN)], None, "the loss is nan"),
    "no gradient and no loss": ([(0.0, 0.0)] * 3, None, "a gradient of 0 in 3 steps running"),
    "all labels masked": ([(0.0, NAN)] * 3, None, "a gradient of 0 in 3 steps running"),
    "a scale that falls below 1": ([(INF, 2.0)] * 17, scales(65536), "fallen to 0.5"),
    "twenty skips of a scale that stays": ([(INF, 2.0)] * 20, iter([4.0] * 20), "skipped 20 steps"),
    "losses that are NaN before any scaling": ([(NAN, NAN)] * 3, scales(65536), "3 steps running, before any scaling"),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy(name):
    rows, scale = HEALTHY[name]
    assert signs(rows, scale) == []


@pytest.mark.parametrize("name", SICK)
def test_sick(name):
    rows, scale, words = SICK[name]
    (sign,) = signs(rows, scale)
    assert sign.fatal and words in sign.words


def test_a_spike_is_told_once_and_stops_nothing():
    (sign,) = signs([(1.0, 2.0)] * 20 + [(150.0, 2.0), (1.0, 2.0), (150.0, 2.0)])
    assert not sign.fatal and "150" in sign.words


def test_a_policy_without_a_gradient_is_warned_of_and_goes_on():
    judge = Judge(3)
    judge.policy = True
    told = [judge.sign(Reading(step, 0.0, 0.0)) for step in range(1, 9)]
    assert [sign.fatal for sign in told if sign is not None] == [False]


def test_other_processes_are_asked_only_where_all_are_led_to_the_question():
    """A question that one process asks alone would wait for ever."""
    asked = []

    def agree(said: bool) -> bool:
        asked.append(said)
        return said

    assert len(signs([(1.0, 2.0), (0.5, 0.0), (NAN, NAN)], agree=agree)) == 1
    assert asked == []
    assert signs([(0.0, 0.0)], agree=agree) == [] and asked == [False]
    assert signs([(0.0, 0.0)] * 5, agree=lambda said: True) == []  # another process has a loss
