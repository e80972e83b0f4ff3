"""Writing into a text within a text (syntax/embedded.py): the edit is made there, and told in the words of the file around it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any

from stablint.files import discover
from stablint.syntax.edit import apply
from stablint.syntax.embedded import Remapper, end_in_file, end_in_view, start_in_file, start_in_view
from stablint.syntax.limits import Purse
from stablint.syntax.tree import Document, Edit, Entry, Text, View

_QUOTE = re.compile(r'(?<!\\)(?:\\\\)*"')
_NEXT = re.compile(r'"\s*,\s*"')
_BEFORE = re.compile(r'"\s*,\s*\Z')
_FIRST = re.compile(r"[\[,](\s*)\Z")
_NOTEBOOKS = frozenset(["notebook", "databricks"])


class Within:
    """The verbs of the view's own format. None where the file cannot take the change; whether it reads as meant after all of them says `is_faithful`."""

    def __init__(self, verbs: ModuleType) -> None:
        self.verbs = verbs

    def replace(self, document: Document, entry: Entry, value: object) -> Edit | None:
        return self._through("replace", document, entry, value)

    def insert(self, document: Document, after: Entry, key: str, value: object) -> Edit | None:
        return self._through("insert", document, after, key, value)

    def remove(self, document: Document, entry: Entry) -> Edit | None:
        return self._through("remove", document, entry)

    def rename(self, document: Document, entry: Entry, key: str) -> Edit | None:
        return self._through("rename", document, entry, key)

    def retype(self, document: Document, entry: Entry, old: str, new: str) -> Edit | None:
        return self._through("retype", document, entry, old, new)

    def imported(self, document: Document, entry: Entry, package: str, name: str) -> Edit | None:
        return self._through("imported", document, entry, package, name)

    def _through(self, verb: str, document: Document, entry: Entry, *arguments: Any) -> Edit | None:
        view = document.view
        assert view is not None
        within, there = inner(document, view, entry)
        edit = None if there is None else getattr(self.verbs, verb)(within, there, *arguments)
        if edit is None or _touches_foreign(document.text.text, view, edit):
            return None
        out = _in_notebook(document.text.text, view, edit) if view.host == "notebook" else _plainly(view, edit)
        return None if out is None else out._replace(inside=edit)


class _Outside(Exception):
    """A place that the view does not show."""


def inner(document: Document, view: View, entry: Entry) -> tuple[Document, Entry | None]:
    """The view as a file of its own, and the entry in it."""
    found = _parsed(Text(document.text.path, document.text.name, view.source), document.format)

    def known(offset: int | None) -> int:
        if offset is None:
            raise _Outside
        return offset

    mover = Remapper(lambda at: known(start_in_view(view.pieces, at)), lambda at: known(end_in_view(view.pieces, at)))
    try:
        there = mover.node(entry)
    except _Outside:
        return found[0], None
    around = (d for d in found if getattr(d.root, "start", 0) <= there.key_start <= getattr(d.root, "end", 1 << 60))
    return next(around, found[0]), there


@lru_cache(maxsize=1)  # one repair may change a view in many places
def _parsed(text: Text, format: str) -> tuple[Document, ...]:
    return discover.parse(text, format)


def _touches_foreign(text: str, view: View, edit: Edit) -> bool:
    """Whether it would change what stands otherwise in the file: a name that is filled in, a magic. An escape of JSON is no such thing."""
    return any(
        piece.start < edit.end and edit.start < piece.end and not text.startswith("\\", piece.at)
        for piece in view.pieces
        if piece.end - piece.start != piece.till - piece.at
    )


def is_faithful(document: Document, edits: Sequence[Edit], inside: Sequence[Edit], purse: Purse) -> bool:
    """Whether the file, changed, is read as the document's view, changed."""
    text, view = document.text, document.view
    assert view is not None
    after = text._replace(text=apply(text.text, edits))
    wanted = apply(view.source, inside)
    found = [
        (again.number, again.view)
        for again in discover.parse(after, discover.kind_of(text.path))
        if again.view is not None
    ]
    around = 0 if view.host in _NOTEBOOKS else len(after.text)  # a notebook around its cells is read in no time
    purse.pay(text.path, around + sum(len(there.source) + 2 * len(there.pieces) for _, there in found))
    return any(number == document.number and there.source == wanted for number, there in found)


def _plainly(view: View, edit: Edit) -> Edit:
    start, end = _span(view, edit)
    return Edit(start, end, edit.new_text)


def _span(view: View, edit: Edit) -> tuple[int, int]:
    if edit.start == edit.end:
        begins = 0 < edit.start < len(view.source) and view.source[edit.start - 1] == "\n"
        at = start_in_file(view, edit.start) if begins else end_in_file(view, edit.start)
        return at, at
    return start_in_file(view, edit.start), end_in_file(view, edit.end)


def _in_notebook(text: str, view: View, edit: Edit) -> Edit | None:
    """A cell's source is one JSON string, or a list with one string a line: a new line is a new string there."""
    start, end = _span(view, edit)
    opened = max((found.end() for found in _QUOTE.finditer(text, text.rfind("\n", 0, start) + 1, start)), default=-1)
    closed = _QUOTE.search(text, end)
    if opened < 0 or closed is None:
        return None
    close = closed.end() - 1
    listed = _FIRST.search(text, 0, opened - 1) if text[: opened - 1].rstrip()[-1:] in ("[", ",") else None
    if listed and not edit.new_text and start == opened and end == close:
        return _without_items(text, start, close)
    ascii_only = text.isascii()
    lines = [json.dumps(line, ensure_ascii=ascii_only)[1:-1] for line in edit.new_text.split("\n")]
    separator = f'",{listed[1]}"' if listed else ""
    if len(lines) > 1 and not lines[-1] and end == close:
        return Edit(start, end, f"\\n{separator}".join(lines[:-1]) + "\\n")
    return Edit(start, end, f"\\n{separator}".join(lines))


def _without_items(text: str, start: int, close: int) -> Edit:
    """Whole lines go with their strings, and with the comma behind or in front of them."""
    following = _NEXT.match(text, close)
    if following:
        return Edit(start, following.end(), "")
    before = _BEFORE.search(text, 0, start - 1)
    return Edit(before.start() if before else start, close, "")
