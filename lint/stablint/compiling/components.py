"""knowledge/components.yaml → where torchtune's components have gone, which there have been, and its own configurations by recipe."""

from __future__ import annotations

from pathlib import Path

from stablint.compiling.reading import read_yaml

READS = ("components.yaml",)


def compile_components(root: Path) -> dict[str, object]:
    table: dict[str, dict[str, str]] = read_yaml(root / "components.yaml")
    words = {part: {key: value.split() for key, value in table[part].items()} for part in ("names", "configs")}
    return {"components": table["moved"], "component_names": words["names"], "recipe_configs": words["configs"]}
