"""knowledge/knobs.yaml → which statements a derived fact is changed by."""

from __future__ import annotations

from pathlib import Path

import yaml


def compile_knobs(root: Path) -> dict[str, object]:
    return {"knobs": yaml.safe_load((root / "knobs.yaml").read_text(encoding="utf-8"))}
