"""The format for people: a block a finding, and what it all comes to."""

from __future__ import annotations

from collections.abc import Mapping

from stablint.base.typed import Any
from stablint.report.model import Report
from stablint.report.style import Style
from stablint.report.summary import active, closing
from stablint.report.words import WIDTH


def render(
    report: Report,
    texts: Mapping[str, Mapping[str, Any]],
    *,
    color: bool = False,
    secrets: frozenset[str] = frozenset(),
    fixed: int = 0,
    tail: str = "short",
    width: int = WIDTH,
) -> str:
    """`texts` are the hazards' texts by rule; `secrets` are masked before long lines are cut; `tail`: the last lines, see `closing`; `width` in columns."""
    blocks: list[str] = []
    if findings := active(report):
        from stablint.report.block import block  # not needed for a clean file, which is what most checks are of

        style, explained = Style(color), set[str]()
        for diagnostic in findings:
            # Said once: twenty findings of one rule have one reason.
            text = {} if diagnostic.rule in explained else texts.get(diagnostic.rule, {})
            explained.add(diagnostic.rule)
            blocks.append(block(diagnostic, text, style, secrets, width))
    if last := "\n".join(closing(report, tail, fixed=fixed)):
        blocks.append(last)
    return "\n\n".join(blocks) + "\n" if blocks else ""
