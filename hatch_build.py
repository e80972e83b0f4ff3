"""Build hook: compile knowledge/ into the wheel, so that an installed stablint parses no YAML of its own."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KnowledgeHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds `stablint/_compiled` and `stablint/schemas` to a wheel. An editable install reads both from the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root / "lint"))
        from stablint.compiling.compile import compile_all

        self._folder = tempfile.TemporaryDirectory(prefix="stablint-compiled-")
        compiled = str(Path(self._folder.name, "_compiled"))
        compile_all(str(root / "knowledge"), compiled, incremental=False)
        build_data["force_include"][compiled] = "stablint/_compiled"
        for schema in (root / "schemas").glob("*.json"):
            build_data["force_include"][str(schema)] = f"stablint/schemas/{schema.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()
