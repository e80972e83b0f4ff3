"""knowledge/frameworks.yaml → what each framework fills in, one small file a framework: only runs of that framework load it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml

READS = ("frameworks.yaml",)

_GIVES = ("is", "as", "times", "unknown")
_KEYS = {*_GIVES, "since", "when", "unless", "at"}


def compile_frameworks(root: Path) -> dict[str, object]:
    """`frameworks/<name>`: fact → rows. Raises ValueError for a row that says nothing, too much, or not where it was read."""
    document = read_yaml(root / "frameworks.yaml")
    return {
        f"frameworks/{name}": {
            fact: [_row(name, fact, row) for row in rows] for fact, rows in entry["defaults"].items()
        }
        for name, entry in document.items()
    }


def _row(framework: str, fact: str, row: dict[str, Any]) -> dict[str, Any]:
    said = [key for key in _GIVES if key in row]
    if (
        len(said) != 1
        or not row.keys() <= _KEYS
        or "at" not in row
        or len({**row.get("when", {}), **row.get("unless", {})}) > 1
    ):
        raise ValueError(f"{framework}, {fact}: a row has one of {', '.join(_GIVES)}, and `at`: {row}")
    return {key: row[key] for key in (*said, "since", "when", "unless") if key in row}
