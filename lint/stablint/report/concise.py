"""One line a finding, as compilers print them, so that editors can jump there."""

from __future__ import annotations

from stablint.report.full import active, closing
from stablint.report.model import Report
from stablint.report.place import header
from stablint.report.plain import Style, plain
from stablint.report.words import message, severity


def render(report: Report, *, color: bool = False, fixed: int = 0, tail: str = "short") -> str:
    style = Style(color)
    lines = [
        f"{plain(header(d))}: {style.paint(d.severity, severity(d.severity))}[{d.code}] {plain(message(d))}"
        for d in active(report)
    ]
    return "".join(f"{line}\n" for line in (*lines, *closing(report, tail, fixed=fixed)))
