"""YAML text → documents: plain texts by lines, all others by libyaml."""

from __future__ import annotations

from stablint.syntax.tree import Document, Text
from stablint.syntax.yaml import plain as yaml_plain


def documents(text: Text) -> tuple[Document, ...]:
    """Every document of a YAML text, at least one. Reading ends at the first that cannot be read, whose `root` is None with its problem.

    An empty document has no root and no problem. `text[start:end]` of a node is its token, with tag and anchor where it has them.
    """
    root = yaml_plain.read(text.text)
    if root is not None:
        return (Document(text, "yaml", 0, root),)
    from stablint.syntax.yaml import events as yaml_events

    return yaml_events.documents(text)
