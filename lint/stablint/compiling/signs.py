"""knowledge/signs.yaml → what a program's text shows by a spelling."""

from __future__ import annotations

from pathlib import Path

from stablint.compiling.reading import read_yaml

READS = ("signs.yaml",)


def compile_signs(root: Path) -> dict[str, object]:
    return {"signs": read_yaml(root / "signs.yaml")}
