"""knowledge/knobs.yaml → which statements a derived fact is changed by."""

from __future__ import annotations

from pathlib import Path

from stablint.compiling.reading import read_yaml

READS = ("knobs.yaml",)


def compile_knobs(root: Path) -> dict[str, object]:
    return {"knobs": read_yaml(root / "knobs.yaml")}
