"""SVG by hand, for the pictures of `diagnose --plot` and `fit --plot`: a picture needs no library, and an SVG can be looked at in every
browser and pasted into an issue.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

INK, GREY, GRID, BLUE, ORANGE, RED = "#1f2933", "#66727f", "#e4e8ed", "#2563a8", "#d97a1d", "#c62f2f"
_FONT = "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\""


class Axis(NamedTuple):
    low: float
    high: float
    logarithmic: bool

    def share(self, value: float) -> float:
        """0 at the bottom, 1 at the top, where what lies beyond is drawn as well."""
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            powers = math.log10(self.high) - math.log10(self.low)
            return (math.log10(value) - math.log10(self.low)) / powers if powers else 0.5
        across = self.high - self.low
        return (value - self.low) / across if across else 0.5

    def ticks(self) -> list[float]:
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            each = max(1, math.ceil((last - first + 1) / 5))
            return [10.0**power for power in range(first, last + 1, each)]
        across = self.high - self.low
        if not across or not math.isfinite(across):  # numbers so large that one more is the same
            return [self.low]
        step = round_step(across / 5)
        first = math.ceil(self.low / step - 1e-9)
        return [round(n * step, 12) for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def document(width: int, height: int, parts: Iterable[str]) -> str:
    """The whole picture, on white."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" {_FONT} font-size="12">'
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="#ffffff"/>', *parts, "</svg>", ""])


def round_step(step: float) -> float:
    """1, 2 or 5 times a power of ten, not below the step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))


def number(value: float) -> str:
    if value and (abs(value) >= 1e4 or abs(value) < 1e-3):
        whole, power = f"{value:.2e}".split("e")
        return f"{float(whole):g}e{int(power)}"
    return f"{value:g}"


def text(
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
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}"{around}>{escaped(words)}</text>'


def escaped(words: str) -> str:
    kept = "".join(letter if letter.isprintable() else "?" for letter in words)
    return kept.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
