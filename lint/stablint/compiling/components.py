"""knowledge/components.yaml → where torchtune's components have gone."""

from __future__ import annotations

from pathlib import Path

from stablint.compiling.reading import read_yaml

READS = ("components.yaml",)


def compile_components(root: Path) -> dict[str, object]:
    moved: dict[str, dict[str, str]] = read_yaml(root / "components.yaml")["moved"]
    return {"components": moved}
