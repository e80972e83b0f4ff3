"""knowledge/forward_names.txt → forwards.json: what the `forward` of some model of transformers takes by name."""

from __future__ import annotations

from pathlib import Path

READS = ("forward_names.txt",)


def compile_forwards(root: Path) -> dict[str, object]:
    lines = (root / "forward_names.txt").read_text(encoding="utf-8").splitlines()
    return {"forwards": [name for line in lines if not line.startswith("#") for name in line.split()]}
