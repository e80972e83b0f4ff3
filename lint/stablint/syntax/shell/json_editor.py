"""Write into JSON that stands in quotes behind a flag: `--gradient_checkpointing_kwargs '{"use_reentrant": false}'`."""

from __future__ import annotations

from typing import NamedTuple

from stablint.syntax.json import editor as json_edit
from stablint.syntax.tree import Document, Edit, Entry, Mapping, Node, Script


class Quoted(NamedTuple):
    """The JSON as a document of its own at its place in the script, and the quote around it. None where that quote would end."""

    document: Document
    quote: str

    def replace(self, entry: Entry, value: object) -> Edit | None:
        return self._safe(json_edit.replace(self.document, entry, value))

    def insert(self, after: Entry, key: str, value: object) -> Edit | None:
        return self._safe(json_edit.insert(self.document, after, key, value))

    def remove(self, entry: Entry) -> Edit | None:
        return self._safe(json_edit.remove(self.document, entry))

    def rename(self, entry: Entry, key: str) -> Edit | None:
        return self._safe(json_edit.rename(self.document, entry, key))

    def _safe(self, edit: Edit | None) -> Edit | None:
        if edit is None or self.quote != "'":
            return None  # in double quotes every quote of JSON is escaped
        return None if "'" in edit.new_text else edit


def within(document: Document, entry: Entry) -> Quoted | None:
    """The JSON that an entry stands in; None for a flag itself."""
    root = document.root
    for command in root.commands if isinstance(root, Script) else ():
        for flag in command.flags.entries:
            value = flag.value
            if isinstance(value, Mapping) and value.start < entry.key_start < value.end and _holds(value, entry):
                text = document.text.text
                return Quoted(document._replace(format="json", root=value), text[value.start - 1 : value.start])
    return None


def _holds(node: Node, entry: Entry) -> bool:
    pending: list[Node] = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping):
            if any(own is entry or own == entry for own in current.entries):
                return True
            pending += [own.value for own in current.entries]
    return False
