"""The numbers of a run as an SVG: a panel each for loss, gradient norm, rate, loss scale and reward, with the steps of the causes marked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stablint.log.cause import POSSIBLE, Cause
from stablint.log.series import Curve, Point, Series
from stablint.report.svg import BLUE, GREY, GRID, INK, ORANGE, RED, Axis, document, number, round_step, text

_PANELS = (
    ("loss", "loss", ("eval_loss",)), ("grad_norm", "gradient norm", ()), ("learning_rate", "learning rate", ()),
    ("loss_scale", "loss scale", ()), ("reward", "reward", ()),
)  # fmt: skip
_WIDTH, _LEFT, _RIGHT, _TOP, _FOOT = 960, 84, 24, 64, 44
_HEIGHT, _GAP = 150, 30  # of a panel, and below it
_DECADES = 50.0  # of the largest to the smallest value, from which on an axis is logarithmic
_LABEL = 34  # letters of a mark's label


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
    first, last = (_near(end(point.x for point in points)) for end in (min, max))
    across = Axis(first, last if last > first else first + 1, False)
    marks = list(_marks(series, causes))
    height = _TOP + len(panels) * (_HEIGHT + _GAP) + _FOOT - _GAP
    parts = [
        text(_LEFT, 26, log, 15, INK, weight="600"),
        text(_LEFT, 44, _subtitle(causes), 12, GREY),
    ]
    for place, (name, title, others) in enumerate(panels):
        top = _TOP + place * (_HEIGHT + _GAP)
        parts += _panel(series, name, title, others, top, across, marks, labelled=place == 0)
    bottom = height - _FOOT
    for tick in across.ticks():
        parts.append(text(_at(across, tick), bottom + 18, number(tick), 11, GREY, anchor="middle"))
    parts.append(
        text(
            (_LEFT + _WIDTH - _RIGHT) / 2,
            bottom + 36,
            "step" if series.by_step else "row of the log",
            12,
            GREY,
            anchor="middle",
        )
    )
    return document(_WIDTH, height, parts)


def _panel(
    series: Series,
    name: str,
    title: str,
    others: Sequence[str],
    top: float,
    across: Axis,
    marks: Sequence[_Mark],
    *,
    labelled: bool,
) -> Iterator[str]:
    curves = [(one, series.curves[one]) for one in (name, *others) if one in series.curves]
    axis = _axis([point for _, curve in curves for point in curve.points], linear=name == "learning_rate")
    right, bottom = _WIDTH - _RIGHT, top + _HEIGHT
    for tick in axis.ticks():
        y = bottom - axis.share(tick) * _HEIGHT
        yield f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>'
        yield text(_LEFT - 8, y + 4, number(tick), 11, GREY, anchor="end")
    yield f'<line x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="{GREY}"/>'
    yield f'<text transform="translate(18 {top + _HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle" fill="{INK}">{title}</text>'
    for one, curve in curves:
        dotted = one != name
        yield from _curve(curve, axis, across, top, ORANGE if dotted else BLUE, dots=dotted, held=one == "loss_scale")
        yield from _lost(curve, across, top)
    if len(curves) > 1:
        yield text(right - 4, top + 14, "● evaluation", 11, ORANGE, anchor="end")
    for place, mark in enumerate(marks):
        x = _at(across, mark.x)
        dash = "" if mark.sure else ' stroke-dasharray="4 4"'
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 4}" y2="{bottom}" stroke="{RED}" stroke-width="1.5"{dash}/>'
        if labelled and place < 3:
            to_left = x > _WIDTH * 0.62
            yield text(
                x + (-6 if to_left else 6),
                top + 12 + 15 * place,
                mark.label,
                12,
                RED,
                anchor="end" if to_left else "start",
                weight="600",
                halo=True,
            )


def _curve(curve: Curve, axis: Axis, across: Axis, top: float, colour: str, *, dots: bool, held: bool) -> Iterator[str]:
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


def _lost(curve: Curve, across: Axis, top: float) -> Iterator[str]:
    """Where values were no numbers: a red band at the head of the panel."""
    points = curve.points
    for place, point in enumerate(points):
        if point.bad:
            x = _at(across, point.x)
            after = _at(across, points[place + 1].x) if place + 1 < len(points) else min(x + 3, _WIDTH - _RIGHT)
            yield f'<rect x="{x:.1f}" y="{top}" width="{max(2.0, after - x):.1f}" height="7" fill="{RED}"><title>not a number</title></rect>'


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


_NEAREST, _FARTHEST = 1e-290, 1e290
"""Between them a number, and the distance of two, has room in a float: what lies beyond is drawn at the edge."""


def _near(value: float) -> float:
    return 0.0 if abs(value) < _NEAREST else max(-_FARTHEST, min(value, _FARTHEST))


def _axis(points: Sequence[Point], *, linear: bool = False) -> Axis:
    values = [value for point in points for value in (point.low, point.high) if not math.isnan(value)]
    if not values:
        return Axis(0.0, 1.0, False)
    low, high = _near(min(values)), _near(max(values))
    if not linear and low > 0 and high / low >= _DECADES:
        return Axis(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high) + 1e-9), True)
    if high == low:
        return Axis(low - (abs(low) or 1) * 0.5, high + (abs(high) or 1) * 0.5, False)
    step = round_step((high - low) / 4)
    low = 0.0 if 0 <= low < (high - low) else math.floor(low / step) * step
    return Axis(low, math.ceil(high / step) * step, False)


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
    return f"stablint diagnose: {sure[0].sureness} {sure[0].rule}, first at line {sure[0].at}"


def _has(series: Series, name: str) -> bool:
    return name in series.curves


def _at(across: Axis, x: float) -> float:
    return _LEFT + across.share(x) * (_WIDTH - _RIGHT - _LEFT)
