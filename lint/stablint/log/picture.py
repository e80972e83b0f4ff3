"""The numbers of a run as an SVG: a panel each for loss, gradient norm, rate, loss scale and reward, with the steps of the causes marked.

Written by hand: a picture needs no library, and an SVG can be looked at in every browser and pasted into an issue.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stablint.log.cause import POSSIBLE, Cause
from stablint.log.series import Curve, Point, Series

_PANELS = (
    ("loss", "loss", ("eval_loss",)), ("grad_norm", "gradient norm", ()), ("learning_rate", "learning rate", ()),
    ("loss_scale", "loss scale", ()), ("reward", "reward", ()),
)  # fmt: skip
_WIDTH, _LEFT, _RIGHT, _TOP, _FOOT = 960, 84, 24, 64, 44
_HEIGHT, _GAP = 150, 30  # of a panel, and below it
_INK, _GREY, _GRID, _BLUE, _ORANGE, _RED = "#1f2933", "#66727f", "#e4e8ed", "#2563a8", "#d97a1d", "#c62f2f"
_DECADES = 50.0  # of the largest to the smallest value, from which on an axis is logarithmic
_LABEL = 34  # letters of a mark's label
_FONT = "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\""


class _Axis(NamedTuple):
    low: float
    high: float
    logarithmic: bool

    def share(self, value: float) -> float:
        """0 at the bottom, 1 at the top."""
        if self.logarithmic:
            return (math.log10(max(value, self.low)) - math.log10(self.low)) / (
                math.log10(self.high) - math.log10(self.low)
            )
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            each = max(1, math.ceil((last - first + 1) / 5))
            return [10.0**power for power in range(first, last + 1, each)]
        step = _round((self.high - self.low) / 5)
        first = math.ceil(self.low / step - 1e-9)
        return [round(n * step, 12) for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


class _Mark(NamedTuple):
    x: float
    label: str
    sure: bool


def draw(log: str, series: Series, causes: Sequence[Cause]) -> str | None:
    """None where the log has no numbers."""
    panels = [panel for panel in _PANELS if _has(series, panel[0]) or any(_has(series, name) for name in panel[2])]
    points = [point for curve in series.curves.values() for point in curve.points]
    if not panels:
        return None
    first, last = min(point.x for point in points), max(point.x for point in points)
    across = _Axis(first, last if last > first else first + 1, False)
    marks = list(_marks(series, causes))
    height = _TOP + len(panels) * (_HEIGHT + _GAP) + _FOOT - _GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" {_FONT} font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(_LEFT, 26, log, 15, _INK, weight="600"),
        _text(_LEFT, 44, _subtitle(causes), 12, _GREY),
    ]
    for number, (name, title, others) in enumerate(panels):
        top = _TOP + number * (_HEIGHT + _GAP)
        parts += _panel(series, name, title, others, top, across, marks, labelled=number == 0)
    bottom = height - _FOOT
    for tick in across.ticks():
        parts.append(_text(_at(across, tick), bottom + 18, _number(tick), 11, _GREY, anchor="middle"))
    parts.append(
        _text(
            (_LEFT + _WIDTH - _RIGHT) / 2,
            bottom + 36,
            "step" if series.by_step else "row of the log",
            12,
            _GREY,
            anchor="middle",
        )
    )
    return "\n".join([*parts, "</svg>", ""])


def _panel(
    series: Series,
    name: str,
    title: str,
    others: Sequence[str],
    top: float,
    across: _Axis,
    marks: Sequence[_Mark],
    *,
    labelled: bool,
) -> Iterator[str]:
    curves = [(one, series.curves[one]) for one in (name, *others) if one in series.curves]
    axis = _axis([point for _, curve in curves for point in curve.points], linear=name == "learning_rate")
    right, bottom = _WIDTH - _RIGHT, top + _HEIGHT
    for tick in axis.ticks():
        y = bottom - axis.share(tick) * _HEIGHT
        yield f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_GRID}"/>'
        yield _text(_LEFT - 8, y + 4, _number(tick), 11, _GREY, anchor="end")
    yield f'<line x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="{_GREY}"/>'
    yield f'<text transform="translate(18 {top + _HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle" fill="{_INK}">{title}</text>'
    for one, curve in curves:
        dotted = one != name
        yield from _curve(curve, axis, across, top, _ORANGE if dotted else _BLUE, dots=dotted, held=one == "loss_scale")
        yield from _lost(curve, across, top)
    if len(curves) > 1:
        yield _text(right - 4, top + 14, "● evaluation", 11, _ORANGE, anchor="end")
    for number, mark in enumerate(marks):
        x = _at(across, mark.x)
        dash = "" if mark.sure else ' stroke-dasharray="4 4"'
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 4}" y2="{bottom}" stroke="{_RED}" stroke-width="1.5"{dash}/>'
        if labelled and number < 3:
            to_left = x > _WIDTH * 0.62
            yield _text(
                x + (-6 if to_left else 6),
                top + 12 + 15 * number,
                mark.label,
                12,
                _RED,
                anchor="end" if to_left else "start",
                weight="600",
                halo=True,
            )


def _curve(
    curve: Curve, axis: _Axis, across: _Axis, top: float, colour: str, *, dots: bool, held: bool
) -> Iterator[str]:
    def y(value: float) -> float:
        return top + _HEIGHT - axis.share(value) * _HEIGHT

    for run in _runs(curve.points):
        if dots or (len(run) == 1 and not held):
            yield from (
                f'<circle cx="{_at(across, one.x):.1f}" cy="{y(one.last):.1f}" r="2.6" fill="{colour}"/>' for one in run
            )
            continue
        if not held and any(one.high > one.low for one in run):
            upper = [f"{_at(across, one.x):.1f},{y(one.high):.1f}" for one in run]
            lower = [f"{_at(across, one.x):.1f},{y(one.low):.1f}" for one in reversed(run)]
            yield f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" fill-opacity="0.18"/>'
        places = [(_at(across, one.x), y(one.last)) for one in run]
        if held:  # it stays until it is told anew
            ends = [*(x for x, _ in places[1:]), _WIDTH - _RIGHT]
            places = [
                place for (x, height), end in zip(places, ends, strict=True) for place in ((x, height), (end, height))
            ]
        line = " ".join(f"{x:.1f},{height:.1f}" for x, height in places)
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.6" stroke-linejoin="round"/>'


def _lost(curve: Curve, across: _Axis, top: float) -> Iterator[str]:
    """Where values were no numbers: a red band at the head of the panel."""
    points = curve.points
    for number, point in enumerate(points):
        if point.bad:
            x = _at(across, point.x)
            after = _at(across, points[number + 1].x) if number + 1 < len(points) else min(x + 3, _WIDTH - _RIGHT)
            yield f'<rect x="{x:.1f}" y="{top}" width="{max(2.0, after - x):.1f}" height="7" fill="{_RED}"><title>not a number</title></rect>'


def _runs(points: Sequence[Point]) -> Iterator[list[Point]]:
    """Points without a gap: where a value is no number, the line breaks."""
    run: list[Point] = []
    for point in points:
        if math.isnan(point.last):
            if run:
                yield run
            run = []
        else:
            run.append(point)
    if run:
        yield run


def _axis(points: Sequence[Point], *, linear: bool = False) -> _Axis:
    values = [value for point in points for value in (point.low, point.high) if not math.isnan(value)]
    if not values:
        return _Axis(0.0, 1.0, False)
    low, high = min(values), max(values)
    if not linear and low > 0 and high / low >= _DECADES:
        return _Axis(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high) + 1e-9), True)
    if high == low:
        return _Axis(low - (abs(low) or 1) * 0.5, high + (abs(high) or 1) * 0.5, False)
    step = _round((high - low) / 4)
    low = 0.0 if 0 <= low < (high - low) else math.floor(low / step) * step
    return _Axis(low, math.ceil(high / step) * step, False)


def _marks(series: Series, causes: Sequence[Cause]) -> Iterator[_Mark]:
    """The surest first; what is only possible has a place of its own or none."""
    seen: set[float] = set()
    for cause in causes:
        x = series.at(cause.at)
        if x is None or (cause.confidence == POSSIBLE and seen):
            continue
        seen.add(x)
        label = f"{cause.code or ''} {cause.rule.removeprefix('symptom:')}".strip()
        yield _Mark(x, label if len(label) <= _LABEL else label[: _LABEL - 1] + "…", cause.confidence != POSSIBLE)


def _subtitle(causes: Sequence[Cause]) -> str:
    sure = [cause for cause in causes if cause.confidence != POSSIBLE]
    if not sure:
        return "stablint diagnose: nothing known shows"
    return f"stablint diagnose: {sure[0].confidence} {sure[0].rule}, first at line {sure[0].at}"


def _has(series: Series, name: str) -> bool:
    return name in series.curves


def _at(across: _Axis, x: float) -> float:
    return _LEFT + across.share(x) * (_WIDTH - _RIGHT - _LEFT)


def _round(step: float) -> float:
    """1, 2 or 5 times a power of ten, not below the step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))


def _number(value: float) -> str:
    if value and (abs(value) >= 1e4 or abs(value) < 1e-3):
        whole, power = f"{value:.2e}".split("e")
        return f"{float(whole):g}e{int(power)}"
    return f"{value:g}"


def _text(
    x: float,
    y: float,
    words: str,
    size: int,
    colour: str,
    *,
    anchor: str = "start",
    weight: str = "400",
    halo: bool = False,
) -> str:
    around = ' stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}"{around}>{_escaped(words)}</text>'


def _escaped(words: str) -> str:
    kept = "".join(letter if letter.isprintable() else "?" for letter in words)
    return kept.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
