"""`stablint knowledge audit`: what of the knowledge somebody must look at again."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from stablint.audit import opened
from stablint.audit.archives import Shelf
from stablint.audit.doubt import Doubt
from stablint.audit.examples import of_examples
from stablint.audit.messages import of_messages, of_refusals
from stablint.audit.models import of_cards, of_models
from stablint.audit.ranges import of_ranges
from stablint.audit.sayings import HazardText, Saying, hazard_texts, of_data, of_hazards
from stablint.audit.sources import of_sources
from stablint.base import knowledge
from stablint.config import house
from stablint.config.options import Wrong
from stablint.config.spec import CLEAN, FOUND
from stablint.hazard.model import Hazard, load
from stablint.report.plain import to_json
from stablint.secrets import exit

PARTS = ("sources", "ranges", "models", "examples")
_RANK = {"info": 0, "warning": 1, "error": 2}


class Subject(NamedTuple):
    """What is audited: hazards, and of our own knowledge models, cards and frameworks' defaults as well."""

    texts: list[HazardText]
    hazards: dict[str, Hazard]
    examples: dict[str, list[dict[str, Any]]]
    data: list[Saying]
    base: str  # what files are below
    root: Path | None  # of our own knowledge


def run_audit(given: argparse.Namespace) -> int:
    """0: no doubt at or above `--fail-on` is left; 1: some are. Raises Wrong for a folder or a rule that does not exist."""
    subject = _house(given.folders) if given.folders else _own()
    if given.rules:
        subject = _only(subject, given.rules)
    parts = given.only or PARTS
    reader = _reader(given.wheels, subject) if given.wheels else None
    if given.write and (reader is None or subject.root is None):
        raise Wrong("--write stores what was read of our own knowledge: name the archives with --wheels")
    doubts = sorted(
        _doubts(subject, parts, reader), key=lambda one: (-_RANK[one.severity], one.file, one.line, one.text)
    )
    if given.write and reader is not None and subject.root is not None:
        path = subject.root / opened.RECORD
        opened.store(path, (opened.load(path) if given.rules else {}) | reader.record)
    doubts = [one._replace(file=os.path.relpath(os.path.join(subject.base, one.file))) for one in doubts]
    shown = [one for one in doubts if _RANK[one.severity] >= _RANK[given.show]]
    if given.output_format == "json":
        exit.hand_over(to_json(document(shown, subject, reader)))
    else:
        exit.say(
            "".join(f"{one.file}:{one.line}: {one.severity}[{one.kind}] {one.subject}: {one.text}\n" for one in shown)
        )
        exit.say(_summary(doubts, len(shown), subject, reader) + "\n", error=True)
    return FOUND if any(_RANK[one.severity] >= _RANK[given.fail_on] for one in doubts) else CLEAN


def _own() -> Subject:
    root = Path(knowledge.SOURCES)
    if not (root / "hazards").is_dir():
        raise Wrong(
            "the knowledge is audited where it is written: in a checkout of stablint, or name a folder of hazards"
        )
    texts = list(hazard_texts(root / "hazards", root))
    return Subject(
        texts, {one.id: one for one in load()}, knowledge.load("examples"), list(of_data(root)), str(root), root
    )


def _house(folders: list[str]) -> Subject:
    rules = house.house(folders, house.own_prefix)
    if rules.broken:
        raise Wrong("; ".join(rules.broken))
    base = os.path.commonpath([os.path.realpath(folder) for folder in folders])
    texts = [text for folder in folders for text in hazard_texts(Path(os.path.realpath(folder)), Path(base))]
    return Subject(texts, {one.id: one for one in rules.hazards}, rules.examples, [], base, None)


def _only(subject: Subject, rules: list[str]) -> Subject:
    texts = [text for text in subject.texts if text.data["id"] in rules or text.data["code"] in rules]
    found = {name for text in texts for name in (text.data["id"], text.data["code"])}
    for name in rules:
        if name not in found:
            raise Wrong(f"no rule is called `{name}`")
    return subject._replace(texts=texts, data=[], root=subject.root)


def _reader(folder: str, subject: Subject) -> opened.Reader:
    if not os.path.isdir(folder):
        raise Wrong(f"the folder of archives `{folder}` does not exist")
    return opened.Reader(Shelf(Path(folder)), opened.load(subject.root / opened.RECORD) if subject.root else {})


def _doubts(subject: Subject, parts: tuple[str, ...], reader: opened.Reader | None) -> Iterator[Doubt]:
    sayings = [*of_hazards(subject.texts), *subject.data]
    if "sources" in parts:
        yield from of_sources(sayings)
        if reader is not None:
            yield from reader.doubts(sayings)
            if subject.root is not None:
                yield from of_messages(subject.root, reader.shelf, {text.data["id"] for text in subject.texts})
                if subject.data:  # not where single rules are asked about
                    yield from of_refusals(subject.root, reader.shelf)
    if "ranges" in parts:
        yield from of_ranges(subject.texts)
    if "models" in parts and subject.data and subject.root is not None:
        yield from of_models(subject.root)
        yield from of_cards(subject.root)
    if "examples" in parts:
        yield from of_examples(subject.texts, subject.hazards, subject.examples, _tell)


def _tell(name: str) -> None:
    if exit.is_terminal(error=True):
        exit.say(f"\r\x1b[K{name}", error=True)
        exit.flush()


def document(doubts: list[Doubt], subject: Subject, reader: opened.Reader | None) -> dict[str, Any]:
    """What `--output-format json` prints."""
    counts = {f"{word}s": sum(one.severity == word for one in doubts) for word in ("error", "warning", "info")}
    read = None if reader is None else reader.count._asdict()
    return {
        "schema_version": 1,
        "summary": {"hazards": len(subject.texts), **counts, "places": read},
        "doubts": [one._asdict() for one in doubts],
    }


def _summary(doubts: list[Doubt], shown: int, subject: Subject, reader: opened.Reader | None) -> str:
    numbers = [(sum(one.severity == word for one in doubts), word) for word in ("error", "warning", "info")]
    counts = ", ".join(f"{number} {word}{'' if number == 1 else 's'}" for number, word in numbers)
    hidden = f" ({len(doubts) - shown} of them not shown: --show info)" if shown < len(doubts) else ""
    read = ""
    if reader is not None:
        read = f" Of {reader.count.named} places in libraries' sources {reader.count.opened} were opened, {reader.count.newest} looked up in a newer release."
    return f"{len(subject.texts)} hazard{'' if len(subject.texts) == 1 else 's'}: {counts}{hidden}.{read}"
