"""knowledge/*.yaml → JSON files that a check loads in a millisecond. Runs when a wheel is built, and in a checkout when a YAML is newer."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import shutil
import tempfile
from pathlib import Path

from stablint import compiling


def compile_all(sources: str, target: str) -> None:
    """Write every compiled file into a new folder, then put it in the place of `target`: a check never sees half of it."""
    contents: dict[str, object] = {}
    for module in pkgutil.iter_modules(compiling.__path__):
        compiler = importlib.import_module(f"stablint.compiling.{module.name}")
        contents |= getattr(compiler, f"compile_{module.name}")(Path(sources))
    parent = os.path.dirname(target)
    fresh = tempfile.mkdtemp(prefix="_compiled-", dir=parent)
    for name, content in contents.items():
        path = Path(fresh, name + ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, separators=(",", ":"), ensure_ascii=False, sort_keys=False), encoding="utf-8")
    Path(fresh, "stamp").touch()
    os.chmod(fresh, 0o755)
    shutil.rmtree(target, ignore_errors=True)
    os.replace(fresh, target)
