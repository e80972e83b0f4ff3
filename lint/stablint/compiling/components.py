"""knowledge/components.yaml → where torchtune's components have gone."""

from __future__ import annotations

from pathlib import Path

import yaml


def compile_components(root: Path) -> dict[str, object]:
    moved: dict[str, dict[str, str]] = yaml.safe_load((root / "components.yaml").read_text(encoding="utf-8"))["moved"]
    return {"components": moved}
