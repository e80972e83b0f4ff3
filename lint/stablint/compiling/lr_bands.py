"""knowledge/lr_bands.yaml → lr_bands.json, and knowledge/recipes.yaml → recipes.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml

READS = ("lr_bands.yaml", "recipes.yaml")

_COLUMNS = (
    "url", "model", "objective", "method", "billions", "lr", "batch", "warmup", "scheduler", "clip", "optimizer", "r", "alpha",
)  # fmt: skip


def compile_lr_bands(folder: Path) -> dict[str, object]:
    """The bands as they stand, with each objective's canonical word; the recipes as rows of the columns above behind their project."""
    bands = read_yaml(folder / "lr_bands.yaml")
    words = {word: name for name, synonyms in bands["objectives"].items() for word in (name, *synonyms)}
    recipes: list[list[Any]] = []
    for project in read_yaml(folder / "recipes.yaml")["projects"]:
        for recipe in project["recipes"]:
            row = {**recipe, "url": project.get("base", "") + recipe["at"]}
            odd = row.keys() - {"at", *_COLUMNS}
            if odd or not row["url"].startswith("https://"):
                raise ValueError(f"recipes.yaml: {project['name']}: {sorted(odd) or row['url']}")
            recipes.append([project["name"], *(row.get(column) for column in _COLUMNS)])
    return {
        "lr_bands": {
            "objectives": words,
            "bands": bands["bands"],
            "families": bands["families"],
            "apart": bands["apart"],
            "adapters": bands["adapters"],
        },
        "recipes": {"columns": ["project", *_COLUMNS], "rows": recipes},
    }
