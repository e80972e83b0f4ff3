"""`stablint rules`: the table of all hazards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stablint.report.plain import to_json
from stablint.report.words import columns, severity

COLUMNS = ("code", "id", "severity", "title")


def render(rules: Sequence[Mapping[str, Any]]) -> str:
    """`rules` are mappings with the keys of `COLUMNS`, in the order in which they are listed."""
    table = [(str(rule["code"]), str(rule["id"]), severity(rule["severity"])) for rule in rules]
    widths = [max(map(columns, column)) for column in zip(*table, strict=True)]
    heads = [
        "  ".join(cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True))
        for row in table
    ]
    return "".join(f"{head}  {rule['title']}\n" for head, rule in zip(heads, rules, strict=True))


def render_json(rules: Sequence[Mapping[str, Any]]) -> str:
    return to_json({"schema_version": 1, "rules": [{column: rule[column] for column in COLUMNS} for rule in rules]})
