"""One change at the level of facts, and who writes it into a text."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from stablint.run.fact import Place
from stablint.source.tree import Document, Edit

WRITERS = {
    "yaml": "stablint.source.yaml_edit",
    "json": "stablint.source.json_edit",
    "python": "stablint.source.python_edit",
    "shell": "stablint.source.shell_edit",
}
Made = Iterator[tuple[Document, Edit]]


class Impossible(Exception):
    """A change that cannot be written into the text; the fix becomes advice."""


class Change(NamedTuple):
    """`value` is ABSENT to remove the setting; `to` renames it."""

    fact: str
    value: Any = None
    to: str = ""
    respell: bool = False


def writer(place: Place, module: str = "") -> Any:
    """The verbs of the place's format; `module` has other ones than those for settings."""
    if place.document.format not in WRITERS:
        raise Impossible("it is set in a running program: change it where the object is built")
    verbs = import_module(module or WRITERS[place.document.format])
    if place.document.view is not None:
        from stablint.fix.within import Within

        return Within(verbs)
    return verbs


def required(edit: Edit | None, why: str) -> Edit:
    if edit is None:
        raise Impossible(why)
    return edit
