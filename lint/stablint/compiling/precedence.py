"""knowledge/precedence.yaml → the layers in order."""

from __future__ import annotations

from pathlib import Path

import yaml


def compile_precedence(root: Path) -> dict[str, object]:
    rows = yaml.safe_load((root / "precedence.yaml").read_text(encoding="utf-8"))["layers"]
    return {"precedence": [row["layer"] for row in rows]}
