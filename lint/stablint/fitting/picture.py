"""What lies on a card at each moment of a step, as an SVG: a column a moment, made of its components, with the card's room and the range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stablint.fitting.answer import FITS, NOT, TIGHT, UNKNOWN, Told, decides
from stablint.fitting.terms import GIB
from stablint.report.svg import GREY, GRID, INK, RED, Axis, document, number, round_step, text

_WIDTH, _LEFT, _RIGHT = 960, 64, 300  # of the picture, the axis' numbers, and the list of components
_TOP, _HEIGHT, _FOOT = 72, 300, 62  # of a panel: its head, its columns, the names of the moments
_MOST = 12  # panels; the answer in words tells of all
_COLUMN = 0.62  # of the room of a moment
_WORDS = {FITS: "fits", TIGHT: "tight", NOT: "does not fit", UNKNOWN: "cannot be said"}
# From the bottom up: what lasts, what comes and goes, what is only lost between. One colour each.
_COLOURS = {
    "weights": "#2563a8", "reference": "#5b8fc9", "quantisation": "#8fb5de", "copies": "#b9d0ea", "adapters": "#0f766e", "optimizer": "#2aa198",
    "gradients": "#7cc4ba", "step": "#b5ddd6", "gathered": "#6d4fa1", "buckets": "#a58fcb", "activations": "#d97a1d", "attention": "#f0ab5f",
    "logits": "#c9a50f", "context": "#66727f", "rollout": "#9a4f96", "judges": "#c48bc0", "vision": "#b5651d", "cache": "#cbd2d9",
}  # fmt: skip


def draw(rows: Sequence[tuple[Sequence[str], Told]]) -> str | None:
    """A panel for each run and card of which something is known; None where that is none."""
    known = [(files, told) for files, told in rows if told.estimate is not None][:_MOST]
    if not known:
        return None
    each = _TOP + _HEIGHT + _FOOT
    parts = [line for place, (files, told) in enumerate(known) for line in _panel(files, told, place * each)]
    return document(_WIDTH, each * len(known), parts)


def _panel(files: Sequence[str], told: Told, above: float) -> Iterator[str]:
    estimate = told.estimate
    assert estimate is not None
    low, usual, high = told.likely
    room = told.usable
    axis = _axis(max(high, room or 0.0))
    left, right, bottom = _LEFT, _WIDTH - _RIGHT, above + _TOP + _HEIGHT
    what = decides(told)
    yield text(left, above + 26, f"{', '.join(files)} on {told.target or 'a card'}", 15, INK, weight="600")
    verdict = f"{_WORDS[told.verdict]}{f': {what}' if what else ''}"
    yield text(
        left, above + 44, f"peak {usual:.1f} GiB ({low:.1f} to {high:.1f}) at: {estimate.moment}; {verdict}", 12, GREY
    )
    for tick in axis.ticks():
        y = bottom - axis.share(tick) * _HEIGHT
        yield f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>'
        yield text(left - 8, y + 4, number(tick), 11, GREY, anchor="end")
    yield text(left - 8, above + _TOP - 8, "GiB", 11, GREY, anchor="end")
    width = (right - left) / len(estimate.parts)
    for place, (moment, parts) in enumerate(estimate.parts.items()):
        x = left + (place + (1 - _COLUMN) / 2) * width
        yield from _column(parts, x, width * _COLUMN, bottom, axis)
        centre = x + width * _COLUMN / 2
        yield from _named(moment, centre, bottom, moment == estimate.moment)
        if moment == estimate.moment:
            yield from _range(low, high, centre, bottom, axis)
    yield f'<line x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="{GREY}"/>'
    if room is not None:
        y = bottom - axis.share(room) * _HEIGHT
        yield f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{RED}" stroke-width="1.5" stroke-dasharray="6 4"/>'
        yield text(right - 2, y - 6, f"usable {room:.1f}", 11, RED, anchor="end", weight="600", halo=True)
    yield from _legend(told, right + 28, above + _TOP + 4)


def _axis(highest: float) -> Axis:
    step = round_step(highest / 5)
    return Axis(0.0, step * -(-highest // step), False)


def _column(parts: dict[str, float], x: float, width: float, bottom: float, axis: Axis) -> Iterator[str]:
    under = 0.0
    for name, colour in _COLOURS.items():
        size = parts.get(name, 0.0) / GIB
        height = (axis.share(under + size) - axis.share(under)) * _HEIGHT
        if height > 0:
            y = bottom - axis.share(under + size) * _HEIGHT
            shape = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"'
            yield f"<rect {shape}><title>{name} {size:.1f} GiB</title></rect>"
        under += size


def _named(moment: str, x: float, bottom: float, is_peak: bool) -> Iterator[str]:
    """The moment below its column, in two lines."""
    words = moment.split()
    half = (len(words) + 1) // 2
    for line, some in enumerate((words[:half], words[half:])):
        yield text(
            x,
            bottom + 18 + 14 * line,
            " ".join(some),
            11,
            INK if is_peak else GREY,
            anchor="middle",
            weight="600" if is_peak else "400",
        )


def _range(low: float, high: float, x: float, bottom: float, axis: Axis) -> Iterator[str]:
    """From the least that the run may need at its peak to the most."""
    y1, y2 = (bottom - axis.share(end) * _HEIGHT for end in (high, low))
    yield f'<path d="M{x - 6:.1f} {y1:.1f}h12M{x:.1f} {y1:.1f}V{y2:.1f}M{x - 6:.1f} {y2:.1f}h12" stroke="{INK}" stroke-width="1.5" fill="none"/>'


def _legend(told: Told, x: float, y: float) -> Iterator[str]:
    """The components of the peak from the top down, as they stand in its column."""
    assert told.estimate is not None
    yield text(x, y, f"at the {told.estimate.moment}", 12, INK, weight="600")
    shown = [(name, size / GIB) for name, size in told.estimate.components.items() if size / GIB >= 0.05]
    order = list(_COLOURS)
    for place, (name, size) in enumerate(sorted(shown, key=lambda item: -order.index(item[0]))):
        line = y + 22 + 19 * place
        yield f'<rect x="{x:.1f}" y="{line - 10:.1f}" width="12" height="12" fill="{_COLOURS[name]}"/>'
        yield text(x + 20, line, name, 12, INK)
        yield text(x + 190, line, f"{size:.1f} GiB", 12, INK, anchor="end")
