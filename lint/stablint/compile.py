"""knowledge/*.yaml → JSON files that a check loads in a millisecond. Runs when a wheel is built, and in a checkout when a YAML is newer."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from stablint import compiling

_PREFIX = "_compiled-"
_ABANDONED = 600.0  # seconds; a compilation takes some ten


def _sweep(parent: str) -> None:
    """Take away what processes that were killed have left."""
    with os.scandir(parent) as entries:
        left = [entry.path for entry in entries if entry.name.startswith(_PREFIX) and _age(entry) > _ABANDONED]
    for path in left:
        shutil.rmtree(path, ignore_errors=True)


def _age(entry: os.DirEntry[str]) -> float:
    try:
        return time.time() - entry.stat(follow_symlinks=False).st_mtime
    except FileNotFoundError:  # another process sweeps as well
        return 0.0


def rows(table: Mapping[str, object]) -> bytes:
    """A line for each row, as knowledge.Rows reads it."""
    lines = [f"{key}\t{json.dumps(row, separators=(',', ':'))}\n" for key, row in table.items()]
    return "".join(lines).encode()


def compile_all(sources: str, target: str) -> None:
    """Write every compiled file into a new folder, then put it in the place of `target`: a check never sees half of it."""
    began = time.time()
    contents: dict[str, object] = {}
    combined = []
    for module in pkgutil.iter_modules(compiling.__path__):
        compiler = importlib.import_module(f"stablint.compiling.{module.name}")
        if hasattr(compiler, f"combine_{module.name}"):
            combined.append(getattr(compiler, f"combine_{module.name}"))
        else:
            contents |= getattr(compiler, f"compile_{module.name}")(Path(sources))
    for combine in combined:  # what follows from the files of several others
        contents |= combine(contents)
    parent = os.path.dirname(target)
    _sweep(parent)
    fresh = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
    for name, content in contents.items():
        if name.startswith("_"):  # only for what is combined of it
            continue
        path = Path(fresh, name if name.endswith((".rows", ".lines")) else name + ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
            continue
        if name.endswith(".rows"):
            path.write_bytes(rows(cast("dict[str, object]", content)))
            continue
        path.write_text(
            json.dumps(content, separators=(",", ":"), ensure_ascii=False, sort_keys=False), encoding="utf-8"
        )
    Path(fresh, "stamp").touch()
    os.utime(Path(fresh, "stamp"), (began, began))  # what is saved while the sources are read is read next time
    os.chmod(fresh, 0o755)
    old = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
    try:
        if os.path.isdir(target):
            os.replace(target, os.path.join(old, "old"))
        os.replace(fresh, target)
    except OSError:  # another process was faster: its folder is as good as this one
        shutil.rmtree(fresh, ignore_errors=True)
        if not os.path.isdir(target):
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
