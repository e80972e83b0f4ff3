"""Which hazard tells of which check: one that cites its lines, or one that reads its settings and cites its file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stablint.audit.citation import cited
from stablint.compiling.reading import LOADER

from .checks import Check

_WORD = re.compile(r"[a-z][a-z0-9_]*")


class Cited(NamedTuple):
    library: str
    release: str  # or the commit
    file: str
    line: int


class Known(NamedTuple):
    """One hazard: the words of its conditions, and the places in libraries' sources that it cites."""

    id: str
    words: frozenset[str]
    cited: tuple[Cited, ...]


def hazards(folder: Path) -> list[Known]:
    found = []
    for path in sorted(folder.rglob("*.yaml")):
        raw: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), LOADER)
        words = frozenset(_WORD.findall(str(raw.get("when", "")) + str(raw.get("each", ""))))
        cited = tuple(c for source in raw["evidence"]["sources"] if (c := _cited(source)) is not None)
        found.append(Known(raw["id"], words, cited))
    return found


def _cited(source: str) -> Cited | None:
    place = cited(source)
    if place is None or place.moves:
        return None
    return Cited(place.library, place.release or place.ref, place.path.partition("/")[2], place.line)


def covering(check: Check, library: str, release: str, known: list[Known]) -> list[str]:
    """Ids of the hazards, those that cite the very lines first. A file of the same name counts for checks of several settings:
    the adapters' configs repeat each other's."""
    exact, by_settings = [], []
    name = check.file.rpartition("/")[2]
    for hazard in known:
        here = [c for c in hazard.cited if c.library == library and c.file == check.file]
        alike = [c for c in hazard.cited if c.library == library and c.file.rpartition("/")[2] == name]
        if any(c.release == release and check.first <= c.line <= check.last for c in here):
            exact.append(hazard.id)
        elif (here or (alike and len(check.fields) > 1)) and check.fields and set(check.fields) <= hazard.words:
            by_settings.append(hazard.id)
    return exact + by_settings
