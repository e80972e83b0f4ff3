"""Messages that hazards and settings are known by: does each release in a folder still say them? (`knowledge/messages/raised.json`, `refused.json`)"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from stablint.audit.archives import Shelf
from stablint.audit.doubt import ERROR, Doubt
from stablint.audit.statements import literals, messages
from stablint.run.releases.allowed import Releases
from stablint.run.releases.pep440 import release_key

STORED = "messages/raised.json"
REFUSED = "messages/refused.json"  # of settings that no hazard tells
# Of which a file must have the longest to be read for a message: a line may be broken between two.
_WORDS = re.compile(r"\w+")
_HEAD = 2  # line of the first row: a row a line


def written(rows: list[dict[str, object]]) -> str:
    """The messages as their file keeps them, a row a line, so that a doubt can name the line."""
    lines = ",\n ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{{"messages": [\n {lines}\n]}}\n'


def of_messages(root: Path, shelf: Shelf, hazards: Container[str]) -> Iterator[Doubt]:
    """A row is looked up in the first and the last release that it was read in, as far as they lie in the folder; where the last was the newest known
    one, in a newer one as well: there the words have changed, and nobody finds the hazard by them any more."""
    rows = json.loads((root / STORED).read_text(encoding="utf-8"))["messages"]
    for line, row in enumerate(rows, _HEAD):
        if any(hazard in hazards for hazard in row["hazards"]):
            for release in _asked(row, shelf.releases(row["library"])):
                if not _says(shelf, row, release):
                    words = f"{row['library']} {release} says no more: {row['text'][:80]}; run tools/read_messages.py"
                    yield Doubt("unsaid", ERROR, STORED, line, row["hazards"][0], words)


def of_refusals(root: Path, shelf: Shelf) -> Iterator[Doubt]:
    """The same of the messages that refuse a setting by its name."""
    path = root / REFUSED
    rows = json.loads(path.read_text(encoding="utf-8"))["messages"] if path.exists() else ()
    for line, row in enumerate(rows, _HEAD):
        for release in _asked(row, shelf.releases(row["library"])):
            if not _says(shelf, row, release):
                words = f"{row['library']} {release} says no more: {row['text'][:80]}; run tools/read_refusals.py"
                yield Doubt("unsaid", ERROR, REFUSED, line, row["settings"][0], words)


def _says(shelf: Shelf, row: dict[str, Any], release: str) -> bool:
    """In the file that was cited first, or in another one: several places may say the same, and files move."""
    text = shelf.file(row["library"], release, row["path"])
    if text is not None and _is_in(row["text"], text):
        return True
    word = max(_WORDS.findall(" ".join(literals(row["text"]))), key=len)
    files = shelf.files(row["library"], release)
    return any(word in text and _is_in(row["text"], text) for name, text in files.items() if name.endswith(".py"))


def _is_in(message: str, source: str) -> bool:
    return any(one.text == message for one in messages(source))


def _asked(row: dict[str, Any], releases: list[str]) -> Iterator[str]:
    last = release_key(row["last"])
    ends = (release_key(row["first"]), last)  # between them the file may have been elsewhere, and its words others
    yield from (release for release in releases if release_key(release) in ends)
    known = Releases.known()
    newest = known.newest(row["library"])
    if newest is not None and last >= newest and releases and release_key(releases[-1]) > last:
        yield releases[-1]
