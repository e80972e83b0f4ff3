"""The places that sources name, opened in the releases that lie in a folder: is the line there, and does the newest release still have it?

What stood in a place is kept as a hash in knowledge/citations.json, so that the next audit needs the newest archives only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from stablint.audit.archives import Shelf
from stablint.audit.citation import Cited, cited
from stablint.audit.doubt import ERROR, INFO, WARNING, Doubt
from stablint.audit.places import Spot, around, find, has_scope, spot
from stablint.audit.sayings import Saying
from stablint.audit.sources import said_of
from stablint.run.releases.pep440 import Key, release_key

RECORD = "citations.json"


class Count(NamedTuple):
    """Places in libraries' sources: how many are named with a line, how many of them could be opened, in the newest release as well."""

    named: int = 0
    opened: int = 0
    newest: int = 0


class Reader:
    def __init__(self, shelf: Shelf, record: dict[str, Spot]) -> None:
        self.shelf, self._before = shelf, record
        self.record: dict[str, Spot] = {}
        self.count = Count()

    def doubts(self, sayings: Iterable[Saying]) -> Iterator[Doubt]:
        places = [(saying, place) for saying in sayings if (place := cited(saying.source)) is not None]
        newest: dict[tuple[str, str], Key] = {}
        for saying, place in places:
            key = (saying.subject, place.library)
            newest[key] = max(newest.get(key, release_key("0")), release_key(place.release or "0"))
        seen: set[tuple[str, str]] = set()
        for saying, place in places:
            if place.line and not place.moves and (saying.file, saying.source) not in seen:
                seen.add((saying.file, saying.source))
                self.count = self.count._replace(named=self.count.named + 1)
                # An older place beside a newer one shows since when it is so: it need not be there any more.
                last = place.release != "" and release_key(place.release) == newest[saying.subject, place.library]
                yield from self._opened(saying, place, last)

    def _opened(self, saying: Saying, place: Cited, last: bool) -> Iterator[Doubt]:
        text = self._text(place)
        known = self._before.get(saying.source)
        if text is not None:
            self.count = self.count._replace(opened=self.count.opened + 1)
            known = spot(text, place.line)
            if known is None:
                yield _doubt("no-place", ERROR, saying, "nothing stands in that line")
                return
            said = f"{place.path} {around(text, place.line)}".lower()
            if saying.words and not any(word.lower() in said for word in saying.words):
                yield _doubt("beside", INFO, saying, "nothing around that line speaks of the hazard's settings")
        elif self.shelf.files(place.library, place.release):
            if any(
                name.partition("/")[0] == place.path.partition("/")[0]
                for name in self.shelf.files(place.library, place.release)
            ):
                yield _doubt("no-place", ERROR, saying, "the release has no such file")
            return
        if known is not None:
            self.record[saying.source] = known
            if last:
                yield from self._newest(saying, place, known)

    def _text(self, place: Cited) -> str | None:
        text = self.shelf.file(place.library, place.release, place.path) if place.release else None
        if text is None and place.repository:
            text = self.shelf.at_commit(place.repository, place.ref, place.inside)
        return text

    def _newest(self, saying: Saying, place: Cited, known: Spot) -> Iterator[Doubt]:
        """The newest release on the shelf that the statement is about, if it is newer than the one that is named."""
        about = set(said_of(place.library, saying.versions))
        there = [release for release in self.shelf.releases(place.library) if release_key(release) in about]
        if not there or not place.release or release_key(there[-1]) <= release_key(place.release):
            return
        release = there[-1]
        self.count = self.count._replace(newest=self.count.newest + 1)
        text = self.shelf.file(place.library, release, place.path)
        if text is None:
            yield _doubt(
                "gone",
                WARNING,
                saying,
                f"{place.library} {release} has no {place.path}{self._elsewhere(place, release, known)}",
            )
            return
        line = find(text, known, place.line)
        if line is None:
            what = "its line is another now" if has_scope(text, known.scope) else f"{known.scope} is gone"
            yield _doubt(
                "changed",
                WARNING,
                saying,
                f"{place.library} {release}: {what}{self._elsewhere(place, release, known)}; read it again",
            )
        elif line != place.line:
            yield _doubt("moved", INFO, saying, f"{place.library} {release} has it in line {line}")

    def _elsewhere(self, place: Cited, release: str, known: Spot) -> str:
        folder = place.path.rpartition("/")[0] + "/"
        for name, text in self.shelf.files(place.library, release).items():
            if name.startswith(folder) and "/" not in name[len(folder) :] and name != place.path:
                line = find(text, known, place.line)
                if line is not None:
                    return f"; {name}:{line} has it"
        return ""


def load(path: Path) -> dict[str, Spot]:
    if not path.exists():
        return {}
    return {source: Spot(*row) for source, row in json.loads(path.read_text(encoding="utf-8")).items()}


def store(path: Path, record: dict[str, Spot]) -> None:
    """A line a place, sorted."""
    rows = (f" {json.dumps(source)}: {json.dumps(list(record[source]))}" for source in sorted(record))
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8", newline="\n")


def _doubt(kind: str, severity: str, saying: Saying, text: str) -> Doubt:
    return Doubt(kind, severity, saying.file, saying.line, saying.subject, f"`{saying.source}`: {text}")
