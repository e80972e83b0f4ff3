"""What the libraries print where a hazard bites, by release: generates knowledge/messages/raised.json from the places that hazards cite.

    python tools/read_messages.py --archives FOLDER          # write it again from the wheels and source archives in a folder
    python tools/read_messages.py --archives FOLDER --check  # exit 1 where a cited place no longer says what is stored

A hazard cites the line of a raise, an assert or a warning, or of the condition above it. Its text is read there; the same statement in every
other release of the folder gives the other wordings. What is beside a cited place and has nothing to do with the hazard stands in
knowledge/messages/neighbours.yaml. Archives are read with `ast`; nothing in them is installed, imported or run.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from stablint.audit import sayings
from stablint.audit.archives import Shelf
from stablint.audit.citation import Cited, cited
from stablint.audit.messages import written
from stablint.audit.places import Spot, find
from stablint.audit.statements import Message, literals, messages
from stablint.compiling.reading import read_yaml
from stablint.run.releases.pep440 import release_key

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "knowledge" / "messages" / "raised.json"
NEIGHBOURS = ROOT / "knowledge" / "messages" / "neighbours.yaml"
BELOW, ABOVE = 8, 4  # lines from the cited one to the statement: a condition stands above what it raises
ENOUGH = 16  # letters of one run without a gap, as few as tell a message from others
ALIKE = 0.7  # of the same statement in another release, by difflib
BEGINNING = 24  # letters at its head that are enough instead


class Told:
    """One text with the hazards that cite it."""

    def __init__(self, message: Message, place: Cited) -> None:
        self.message, self.place = message, place
        self.hazards: dict[str, frozenset[str]] = {}  # and the words by which each is known
        self.releases: set[str] = set()


class Neighbours:
    """By hazard, how the texts begin that stand beside a cited place and are not about it; and which of them have been met."""

    def __init__(self, told: Mapping[str, Sequence[str]]) -> None:
        self.told = told
        self.unmet = {(hazard, text) for hazard, texts in told.items() for text in texts}

    def is_one(self, hazard: str, text: str) -> bool:
        begins = [one for one in self.told.get(hazard, ()) if text.startswith(one)]
        self.unmet -= {(hazard, one) for one in begins}
        return bool(begins)


def read(
    texts: Iterable[sayings.HazardText], shelf: Shelf, record: dict[str, Spot], neighbours: Neighbours
) -> dict[tuple[str, str], Told]:
    """(library, text) → which of the hazards cite it, and in which releases it stands."""
    found: dict[tuple[str, str], Told] = {}
    for saying in sayings.of_hazards(list(texts)):
        place = cited(saying.source)
        if place is None or not place.line:
            continue
        place, source = _opened(shelf, place, record.get(saying.source))
        message = nearest(messages(source), place.line) if source else None
        if message is None or max(map(len, literals(message.text))) < ENOUGH:
            continue
        for release in shelf.releases(place.library):
            text = shelf.file(place.library, release, place.path)
            if text is None:
                continue
            for other in _same(message, messages(text)):
                if neighbours.is_one(saying.subject, other.text):
                    continue
                told = found.setdefault((place.library, other.text), Told(other, place))
                told.hazards[saying.subject] = saying.words
                told.releases.add(release)
    return found


def _opened(shelf: Shelf, place: Cited, known: Spot | None) -> tuple[Cited, str | None]:
    """The cited release, or the newest that lies there with the very line in it."""
    text = shelf.file(place.library, place.release, place.path) if place.release else None
    if text is not None or known is None:
        return place, text
    for release in reversed(shelf.releases(place.library)):
        text = shelf.file(place.library, release, place.path)
        line = find(text, known, place.line) if text is not None else None
        if text is not None and line is not None:
            return place._replace(release=release, line=line), text
    return place, None


def nearest(found: list[Message], line: int) -> Message | None:
    around = [one for one in found if one.first <= line <= one.last]
    below = [one for one in found if line < one.first <= line + BELOW]
    above = [one for one in found if line - ABOVE <= one.last < line]
    if around:
        return around[0]
    return below[0] if below else above[-1] if above else None


def _same(message: Message, others: list[Message]) -> list[Message]:
    """The statement itself, and where its words differ the one of the same function that is most like it."""
    exact = [other for other in others if other.text == message.text]
    if exact:
        return exact[:1]
    head = message.text[:BEGINNING]
    near = [
        (difflib.SequenceMatcher(None, other.text, message.text).ratio(), other)
        for other in others
        if other.kind == message.kind
        and max(map(len, literals(other.text))) >= ENOUGH
        and (other.scope == message.scope or (other.text.startswith(head) and "{" not in head))
    ]
    best = max(near, key=lambda pair: pair[0], default=None)
    alike = best is not None and (best[0] >= ALIKE or best[1].text.startswith(head))
    return [best[1]] if best is not None and alike else []


def rows(found: dict[tuple[str, str], Told], frameworks: Mapping[str, str]) -> list[dict[str, object]]:
    """`frameworks`: of the hazards that only runs of one framework can have, which one that is."""
    out: list[dict[str, object]] = []
    for (library, text), told in sorted(found.items()):
        by_age = sorted(told.releases, key=release_key)
        out.append(
            {
                "text": text, "kind": told.message.kind, "raises": told.message.raises, "library": library, "path": told.place.path,
                "first": by_age[0], "last": by_age[-1], "hazards": likeliest(text, library, told.hazards, frameworks),
            }
        )  # fmt: skip
    return out


def likeliest(
    text: str, library: str, hazards: Mapping[str, frozenset[str]], frameworks: Mapping[str, str]
) -> list[str]:
    """Those last that are of one framework where the message is another's, since all runs may print it; then those first whose own words the
    message has most of: a place is cited for what is beside it as well."""
    words = set(re.findall(r"[A-Za-z_]\w{2,}", text))

    def place(hazard: str) -> tuple[bool, float, str]:
        return (
            frameworks.get(hazard, library) != library,
            -len(words & hazards[hazard]) / max(1, len(hazards[hazard])),
            hazard,
        )

    return sorted(hazards, key=place)


_OF_ONE = re.compile(r"derived\.framework is ([\w-]+)\Z|derived\.(trl)_trainer is true\Z")


def frameworks_of(texts: Iterable[sayings.HazardText]) -> dict[str, str]:
    """By hazard, the framework without which it says nothing."""
    found = {}
    for one in texts:
        for condition in one.data["when"]:
            named = _OF_ONE.match(condition) if isinstance(condition, str) else None
            if named is not None:
                found[one.data["id"]] = named[1] or named[2]
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=Path, required=True, help="folder with wheels and source archives")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 where a stored text is said no more"
    )
    given = parser.parse_args(arguments)
    record = json.loads((ROOT / "knowledge" / "citations.json").read_text(encoding="utf-8"))
    neighbours = Neighbours(read_yaml(NEIGHBOURS))
    spots = {source: Spot(*spot) for source, spot in record.items()}
    texts = sayings.hazard_texts(ROOT / "knowledge" / "hazards", ROOT / "knowledge")
    found = rows(read(texts, Shelf(given.archives), spots, neighbours), frameworks_of(texts))
    for hazard, text in sorted(neighbours.unmet):
        print(f"{NEIGHBOURS.name}: {hazard}: nothing beside its places begins so any more: {text}", file=sys.stderr)
    if given.check:
        now = {(row["library"], row["text"]) for row in found}
        before = json.loads(STORED.read_text(encoding="utf-8"))["messages"]
        gone = [row for row in before if (row["library"], row["text"]) not in now]
        for row in gone:
            print(f"{row['library']} {row['path']}: says no more: {row['text'][:100]}")
        return 1 if gone or neighbours.unmet else 0
    STORED.write_text(written(found), encoding="utf-8")
    hazards = {hazard for row in found for hazard in row["hazards"]}  # type: ignore[attr-defined]
    print(f"{len(found)} texts of {len(hazards)} hazards in {STORED.relative_to(ROOT)}")
    return 1 if neighbours.unmet else 0


if __name__ == "__main__":
    sys.exit(main())
