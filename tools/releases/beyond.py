"""Checks that no hazard is owed for, because no configuration file decides them: knowledge/checks/beyond.yaml."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import yaml

from .checks import Check


class Beyond(NamedTuple):
    library: str
    about: str
    where: str  # pattern of FILE:OWNER
    has: tuple[str, ...]  # pieces of the condition, any of which settles it; none: every condition there


def entries(path: Path) -> list[Beyond]:
    if not path.exists():
        return []
    return [
        Beyond(row["library"], row["about"], row.get("in", "*"), tuple(row.get("has", ())))
        for row in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


def about(check: Check, library: str, known: list[Beyond]) -> str:
    """What decides the check instead of a configuration; empty where a configuration may."""
    place = f"{check.file}:{check.owner}"
    for one in known:
        settled = not one.has or any(piece in check.when for piece in one.has)
        if one.library == library and settled and fnmatch(place, one.where):
            return one.about
    return ""
