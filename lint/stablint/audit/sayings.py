"""Every source that the knowledge names, with who says it and where that is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stablint.audit.citation import cited

_FACT = re.compile(r"[A-Za-z_][\w.-]*\.[\w*.-]+")
_NAME = re.compile(r"\b(?:[a-z0-9]+_\w+|[A-Za-z0-9]+[a-z][A-Z]\w+)\b")  # as programs write them
_QUOTED = re.compile(r"[`'\"]([^`'\"]+)[`'\"]")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}")
_LETTERS = 3  # of a word that says something
_OF_CONDITIONS = frozenset(
    "not set absent default any all item items integer one enum contains matches type length multiple between true false null "  # noqa: SIM905
    "unknown key exists file training model".split()
)
_OURS = ("derived", "item", "target", "versions", "file", "keys")  # names that no library's source has


class Saying(NamedTuple):
    file: str  # below the knowledge's folder
    line: int
    subject: str  # the hazard, product line or card
    source: str
    versions: dict[str, str]  # the releases that it is said of
    words: frozenset[str] = frozenset()  # some of these should stand at the place


class HazardText(NamedTuple):
    """A hazard file as its author wrote it."""

    file: str
    text: str
    data: dict[str, Any]

    def line_of(self, part: str) -> int:
        return line_of(self.text, part)


def line_of(text: str, part: str) -> int:
    """The first line that holds these words, the first of all where none does."""
    place = text.find(part)
    return text.count("\n", 0, place) + 1 if place >= 0 else 1


def hazard_texts(folder: Path, base: Path) -> Iterator[HazardText]:
    """Every hazard file below a folder; what is no mapping is the compiler's to refuse."""
    for path in sorted(folder.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        data = yaml.load(text, yaml.CSafeLoader)
        if isinstance(data, dict):
            yield HazardText(path.relative_to(base).as_posix(), text, data)


def of_hazards(texts: list[HazardText]) -> Iterator[Saying]:
    for hazard in texts:
        data = hazard.data
        words = _words(data)
        for source in data["evidence"]["sources"]:
            yield Saying(hazard.file, hazard.line_of(source), data["id"], source, data.get("versions") or {}, words)


def _words(hazard: dict[str, Any]) -> frozenset[str]:
    """What a source of this hazard may be expected to speak of: its settings and their values, what its texts quote, its name."""
    facts = _FACT.findall(f"{hazard.get('each', '')} {hazard.get('when', '')} {hazard.get('at', '')}")
    found = {name.rpartition(".")[2] for name in facts if name.partition(".")[0] not in _OURS}
    said = f"{hazard['title']} {hazard['message']} {hazard['why']} {hazard['evidence'].get('note', '')} {hazard.get('when', '')}"
    found.update(_NAME.findall(said))
    for quoted in _QUOTED.findall(said):
        found.update(_IDENTIFIER.findall(quoted))
    found.update(word for word in hazard["id"].split("-") if len(word) > _LETTERS)
    return frozenset(word for word in found if _IDENTIFIER.fullmatch(word)) - _OF_CONDITIONS


def of_data(root: Path) -> Iterator[Saying]:
    """Sources of models and cards, and the places that frameworks' defaults were read at."""
    for path in sorted([*(root / "models").glob("*.yaml"), *(root / "gpus").glob("*.yaml")]):
        text, file = path.read_text(encoding="utf-8"), path.relative_to(root).as_posix()
        for subject, source in _sources(yaml.load(text, yaml.CSafeLoader), ""):
            yield Saying(file, line_of(text, source), subject, source, {})
    for path in sorted((root / "frameworks").glob("*.yaml")):
        text, file = path.read_text(encoding="utf-8"), path.relative_to(root).as_posix()
        framework = yaml.load(text, yaml.CSafeLoader)
        last = framework.get("read", [])[-1:]
        for fact, rows in framework.get("defaults", {}).items():
            for at in (row["at"] for row in rows if "at" in row):
                source = at if at.startswith("https://") else framework["source"] + at
                yield Saying(file, line_of(text, at), f"{path.stem} {fact}", source, _up_to(source, last))


def _sources(node: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, list):
        for item in node:
            yield from _sources(item, name)
    elif isinstance(node, dict):
        name = str(node.get("name") or node.get("arch") or name)
        for key, value in node.items():
            if key in ("source", "sources"):
                yield from ((name, source) for source in ([value] if isinstance(value, str) else value))
            else:
                yield from _sources(value, name)


def _up_to(source: str, last: list[object]) -> dict[str, str]:
    """A framework's default is said of the releases that were read, in the library that the place belongs to."""
    place = cited(source)
    return {place.library: f"<={last[0]}"} if place is not None and last else {}
