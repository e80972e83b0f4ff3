"""Words of a text that lead somewhere: the file that a setting names, the page of a model."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from urllib.parse import quote

from lsprotocol.types import DocumentLink

from stablint.frameworks import llamafactory_data
from stablint.frameworks.fragment import Fragment
from stablint.run.fact import Explicit, Place
from stablint.server.findings import uri_of
from stablint.server.places import span
from stablint.server.session import Checked, statements
from stablint.syntax.text import is_inside

_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*\Z")
_ON_THE_HUB = ("model.name_or_path", "data.dataset")


def _named(fragment: Fragment) -> Iterator[tuple[str, str, Place]]:
    """Files that a block names: those that make the run with it, and the rows of a table of data sets."""
    for link in fragment.links:
        yield link.folder, link.path, link.place
    if fragment.dialect == "llamafactory-data":
        yield from (("", name, place) for name, place in llamafactory_data.files(fragment.block))


def links(checked: Checked, path: str) -> list[DocumentLink]:
    """Files below the repository alone, and pages of the Hub for what is named as one is."""
    found: dict[tuple[int, int], DocumentLink] = {}
    files = checked.inspection.files
    for fragment in files.fragments(path):
        for folder, name, place in _named(fragment):
            target = os.path.normpath(os.path.join(os.path.dirname(path), folder, name))
            there = place.document.text.path == path and os.path.isfile(target) and is_inside(target, files.reach(path))
            if there:
                found[place.start, place.end] = DocumentLink(
                    span(place.document.text.text, place.start, place.end), uri_of(target)
                )
    for _, one in statements(checked, path):
        assert isinstance(one.origin, Explicit)
        place = one.origin.place
        value = one.value
        if one.fact in _ON_THE_HUB and isinstance(value, str) and _HUB.match(value):
            if not os.path.exists(os.path.join(os.path.dirname(path), value)):
                where = "datasets/" if one.fact == "data.dataset" else ""
                target = f"https://huggingface.co/{where}{quote(value)}"
                found.setdefault(
                    (place.start, place.end),
                    DocumentLink(span(place.document.text.text, place.start, place.end), target),
                )
    return [link for _, link in sorted(found.items(), key=lambda item: item[0])]
