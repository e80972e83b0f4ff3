"""What a command, a file or the options of a program say under a name, where a file is shown."""

from __future__ import annotations

import os
from collections.abc import Mapping as Table

from stablint.base.light import NamedTuple
from stablint.frameworks.fragment import Fragment, plain_value
from stablint.repository.worth import UNCLEAR, UNKNOWN
from stablint.run.fact import OWN, Explicit, Place, Statement
from stablint.syntax.tree import Document, Entry, Mapping, Unknown


class Given(NamedTuple):
    """What a command or a file says under a name, or a program declares."""

    document: Document
    entry: Entry


def given_by(fragments: list[Fragment]) -> dict[str, Given]:
    """What flags and files say, with what their sections say; what two of them say differently is left out."""
    found: dict[str, Given] = {}
    twice: set[str] = set()
    for fragment in fragments:
        if fragment.layer not in ("flags", "file"):
            continue
        pending = [fragment.block.mapping]
        while pending:
            for entry in pending.pop().entries:
                name = entry.key.replace("-", "_")
                if isinstance(entry.value, Mapping):
                    pending.append(entry.value)
                elif name not in found:
                    found[name] = Given(fragment.block.document, entry)
                elif fragment.layer == "file" and plain_value(found[name].entry.value) != plain_value(entry.value):
                    twice.add(name)
    return {name: one for name, one in found.items() if name not in twice}


def said_by(name: str, *several: Table[str, Given]) -> object:
    """What the first of them says that has the name."""
    found = next((one[name] for one in several if name in one), None)
    value = plain_value(found.entry.value) if found is not None else UNKNOWN
    return (UNCLEAR if name in several[0] else UNKNOWN) if isinstance(value, Unknown) else value


def stated(fact: str, value: object, document: Document, entry: Entry | None, at: int = 0) -> Statement:
    """Where an option stands that says it, or a whole program."""
    place = (
        Place(document, entry.key, entry.value.start, entry.value.end, entry, (entry.key,))
        if entry is not None
        else Place(document, os.path.basename(document.text.path), at, at)
    )
    return Statement(fact, value, value, Explicit(place, "script-default", 0, OWN))


def truth(entry: Entry) -> object:
    value = plain_value(entry.value)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return None if isinstance(value, Unknown) else value
