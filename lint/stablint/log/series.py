"""The numbers of a log, kept small enough for a picture: however long the run was, a thousand points a curve."""

from __future__ import annotations

import math
from bisect import bisect_right

from stablint.log.metrics import Row

MOST = 1024  # points of a curve
SHOWN = ("loss", "eval_loss", "grad_norm", "learning_rate", "loss_scale", "reward")


class Point:
    """Some rows running: their range and their last value, and how many of them were no number."""

    def __init__(self, x: float, line: int, value: float) -> None:
        finite = math.isfinite(value)
        self.x, self.line = x, line
        self.low = self.high = self.last = value if finite else math.nan
        self.bad = int(not finite)

    def join(self, other: Point) -> None:
        self.low = _least(self.low, other.low)
        self.high = -_least(-self.high, -other.high)
        self.last = self.last if math.isnan(other.last) else other.last
        self.bad += other.bad


class Curve:
    def __init__(self) -> None:
        self.points: list[Point] = []
        self._each = 1  # rows a point holds
        self._inside = 0  # rows in the last one

    def add(self, x: float, line: int, value: float) -> None:
        point = Point(x, line, value)
        if self.points and self._inside < self._each:
            self.points[-1].join(point)
            self._inside += 1
            return
        self.points.append(point)
        self._inside = 1
        if len(self.points) > MOST:
            for left, right in zip(self.points[::2], self.points[1::2], strict=False):
                left.join(right)
            self.points = self.points[::2]
            self._each *= 2


class Series:
    """By the step where rows tell it, else by their number."""

    def __init__(self) -> None:
        self.curves: dict[str, Curve] = {}
        self.by_step = False
        self._rows = 0
        self._x = 0.0

    def row(self, row: Row) -> None:
        self._rows += 1
        step = row.values.get("step")
        if step is not None and math.isfinite(step):
            self.by_step, self._x = True, step
        elif not self.by_step:
            self._x = float(self._rows)
        for name in SHOWN:
            if name in row.values:
                self.curves.setdefault(name, Curve()).add(self._x, row.line, row.values[name])

    def scale(self, line: int, value: float) -> None:
        self.curves.setdefault("loss_scale", Curve()).add(self._x, line, value)

    def at(self, line: int) -> float | None:
        """Where a line of the log stands on the axis; None where no numbers are before it."""
        longest = max(self.curves.values(), key=lambda curve: len(curve.points), default=None)
        if longest is None or not longest.points:
            return None
        number = bisect_right([point.line for point in longest.points], line)
        return longest.points[max(0, number - 1)].x


def _least(a: float, b: float) -> float:
    return b if math.isnan(a) else a if math.isnan(b) else min(a, b)
