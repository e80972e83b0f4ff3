"""One change at the level of facts, and who writes it into a text."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from stablint.base.light import Any, NamedTuple
from stablint.fix import embedded
from stablint.run.fact import Place, Secret
from stablint.syntax.tree import Document, Edit, Entry, Unknown

WRITERS = {
    "yaml": "stablint.syntax.yaml.editor",
    "json": "stablint.syntax.json.editor",
    "python": "stablint.syntax.python.editor",
    "shell": "stablint.syntax.shell.editor",
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
    """The verbs of the place's format; `module` has other ones than those for settings. They write nothing but plain values."""
    if place.document.format not in WRITERS:
        raise Impossible("it is set in a running program: change it where the object is built")
    verbs = import_module(module or WRITERS[place.document.format])
    if place.document.view is not None:
        return _Plain(embedded.Within(verbs))
    return _Plain(verbs)


class _Plain:
    """Verbs that refuse what no text can say: a value, however deep, that is not known, is a secret, or is no plain value at all."""

    def __init__(self, verbs: Any) -> None:
        self.verbs = verbs

    def __getattr__(self, verb: str) -> Any:
        return getattr(self.verbs, verb)

    def replace(self, document: Document, entry: Entry | None, value: object) -> Edit | None:
        edit: Edit | None = self.verbs.replace(document, entry, plain(value))
        return edit

    def insert(self, document: Document, after: Entry | None, key: str, value: object) -> Edit | None:
        edit: Edit | None = self.verbs.insert(document, after, key, plain(value))
        return edit


def plain(value: object) -> object:
    """The value, which is one that a text can say. Raises Impossible."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, Unknown):
            raise Impossible("its value is known only where it stands now")
        if isinstance(one, Secret):
            raise Impossible("it is a secret, whose value is not kept")
        if isinstance(one, (list, tuple, set, frozenset)):
            pending += one
        elif isinstance(one, dict):
            pending += [inner for pair in one.items() for inner in pair]
        elif not isinstance(one, (bool, int, float, str, type(None))):
            raise Impossible(f"{type(one).__name__} is no plain value")
    return value


def required(edit: Edit | None, why: str) -> Edit:
    if edit is None:
        raise Impossible(why)
    return edit
