"""knowledge/launchers.yaml → what starts a run, and what it does with the cards where nobody says a number of processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml

READS = ("launchers.yaml",)

_KEYS = {"command", "processes", "rest", "sharding", "source", "note"}
_WORDS: dict[str, set[str | None]] = {
    "processes": {"visible", "one"},
    "rest": {"split", "replicate", "none", None},
    "sharding": {"file", "launcher"},
}


def compile_launchers(root: Path) -> dict[str, object]:
    """`launchers`: framework or command → processes, rest, sharding, command. Raises ValueError for a word that means nothing."""
    document = read_yaml(root / "launchers.yaml")
    return {
        "launchers": {
            part: {name: _row(name, row) for name, row in document[part].items()} for part in ("frameworks", "commands")
        }
    }


def _row(name: str, row: dict[str, Any]) -> dict[str, Any]:
    odd = [f"{key}: {row.get(key)}" for key, words in _WORDS.items() if row.get(key) not in words]
    if odd or not row.keys() <= _KEYS or not row.get("source"):
        raise ValueError(f"launchers.yaml, {name}: {', '.join(odd) or 'a row has a source and no other keys'}")
    return {key: row[key] for key in ("command", "processes", "rest", "sharding") if key in row}
