"""knowledge/precedence.yaml → the layers in order."""

from __future__ import annotations

from pathlib import Path

from stablint.compiling.reading import read_yaml

READS = ("precedence.yaml",)


def compile_precedence(root: Path) -> dict[str, object]:
    rows = read_yaml(root / "precedence.yaml")["layers"]
    return {"precedence": [row["layer"] for row in rows]}
