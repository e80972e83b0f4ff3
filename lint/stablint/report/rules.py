"""`stablint rules`: the table of all hazards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stablint.report.plain import to_json

COLUMNS = ("code", "id", "severity", "title")


def render(rules: Sequence[Mapping[str, Any]]) -> str:
    """`rules` are mappings with the keys of `COLUMNS`, in the order in which they are listed."""
    widths = [max((len(rule[column]) for rule in rules), default=0) for column in COLUMNS[:-1]]
    rows = [
        "  ".join(f"{rule[column]:<{width}}" for column, width in zip(COLUMNS, widths, strict=False))
        + f"  {rule['title']}"
        for rule in rules
    ]
    return "".join(f"{row}\n" for row in rows)


def render_json(rules: Sequence[Mapping[str, Any]]) -> str:
    return to_json({"schema_version": 1, "rules": [{column: rule[column] for column in COLUMNS} for rule in rules]})
