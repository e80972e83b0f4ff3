"""Secrets behind keys that the dialect's tables do not know, and those that a command takes by their place, as facts `keys.secret.KEY`: nothing of
training rests on them, but they are there to be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.fragment import Fragment, Row, statement
from stablint.run.fact import HIDDEN, Explicit, Place, Secret, Statement
from stablint.secrets import commands
from stablint.secrets.keys import is_secret, names_secret
from stablint.syntax.tree import Document, Entry, Mapping, Scalar


def with_secrets(fragment: Fragment) -> Fragment:
    """The fragment with those of its block that no statement of it tells of yet."""
    found = [(path, entry) for path, entry in _secrets(fragment.block.mapping, ())]
    if not found:
        return fragment
    stated = {
        one.origin.place.start
        for one in fragment.statements
        if isinstance(one.value, Secret) and isinstance(one.origin, Explicit)
    }
    more: tuple[Statement, ...] = tuple(
        statement(fragment.block, entry, path, Row(entry.key, "keys.secret." + ".".join(path)), fragment.layer)
        for path, entry in found
        if entry.value.start not in stated
    )
    return fragment._replace(statements=(*fragment.statements, *more)) if more else fragment


def with_commanded(document: Document, fragments: tuple[Fragment, ...]) -> tuple[Fragment, ...]:
    """The fragments of a script, the first one with what its other commands are handed: `wandb login` and the key. The words of its own flags are
    told by their names."""
    if not fragments or document.view is not None:
        return fragments
    first = fragments[0]
    told = {
        one.origin.place.start
        for fragment in fragments
        for one in fragment.statements
        if isinstance(one.value, Secret) and isinstance(one.origin, Explicit)
    }
    text = document.text.text
    more: list[Statement] = []
    for start, end in sorted(set(commands.commanded(text))):
        line = text[text.rfind("\n", 0, start) + 1 : start]
        if start in told or line.lstrip().startswith("#"):
            continue
        name = "-".join(re.findall(r"[A-Za-z]\w{0,30}", line)[:2]) or "command"
        entry = Entry(name, start, start, Scalar(HIDDEN, start, end, "name", False))
        place = Place(document, name.replace("-", " "), start, end, entry, (name,))
        said = Explicit(place, first.layer, first.block.number)
        again = f"-{len(more)}" if any(one.fact == f"keys.secret.{name}" for one in more) else ""
        more.append(Statement(f"keys.secret.{name}{again}", HIDDEN, HIDDEN, said))
    return (first._replace(statements=(*first.statements, *more)), *fragments[1:]) if more else fragments


def _secrets(mapping: Mapping, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Entry]]:
    for entry in mapping.entries:
        node = entry.value
        if type(node) is Mapping:
            yield from _secrets(node, (*above, entry.key))
        elif type(node) is Scalar and names_secret(entry.key) and is_secret(entry.key, node.value):
            yield (*above, entry.key), entry
