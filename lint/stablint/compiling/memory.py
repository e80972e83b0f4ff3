"""knowledge/memory/*.yaml → what tools/trace_memory.py counted, one small file a model type, and the frameworks' kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml

READS = ("memory",)

_ROW = {
    "library", "from", "before", "framework", "objectives", "when", "loss", "rows", "checkpoints", "outside", "shifted",
    "narrow", "rank", "types", "source",
}  # fmt: skip
_LOSSES = {"full", "chunked", "piecewise", "fused", "elastic", "none"}
_OUTSIDE = {"float32", "half"}


def compile_memory(root: Path) -> dict[str, object]:
    """`memory/<type>`: heads and variants; `memory/kernels`: rows; `memory/types`: the types that were traced. The points that the formulas
    are held against stay in the checkout."""
    compiled: dict[str, object] = {}
    types = []
    for path in sorted((root / "memory").glob("*.yaml")):
        content = read_yaml(path)
        if path.stem == "kernels":
            compiled["memory/kernels"] = {part: [_row(part, row) for row in rows] for part, rows in content.items()}
            continue
        if content["type"] != path.stem:
            raise ValueError(f"{path}: it says that it is of {content['type']}")
        types.append(path.stem)
        compiled[f"memory/{path.stem}"] = {part: content[part] for part in ("traced", "heads", "variants")}
    return {**compiled, "memory/types": types}


def _row(part: str, row: dict[str, Any]) -> dict[str, Any]:
    if not row.keys() <= _ROW or part not in row or not row.get("source"):
        raise ValueError(f"kernels.yaml, {part}: a row says {part} and its source, and nothing unknown: {row}")
    if part == "loss" and (row["loss"] not in _LOSSES or ("rows" in row) is not (row["loss"] == "chunked")):
        raise ValueError(f"kernels.yaml: {row['loss']}: one of {', '.join(sorted(_LOSSES))}, rows where it is chunked")
    if part == "outside" and row["outside"] not in _OUTSIDE:
        raise ValueError(f"kernels.yaml: {row['outside']}: one of {', '.join(sorted(_OUTSIDE))}")
    return {key: value for key, value in row.items() if key != "source"}
