"""Secrets behind keys that the dialect's tables do not know, as facts `keys.secret.KEY`: nothing of training rests on them, but they are there to be read."""

from __future__ import annotations

from collections.abc import Iterator

from stablint.frameworks.fragment import Fragment, Row, statement
from stablint.run.fact import Explicit, Secret, Statement
from stablint.secrets.keys import is_secret, names_secret
from stablint.syntax.tree import Entry, Mapping, Scalar


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


def _secrets(mapping: Mapping, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Entry]]:
    for entry in mapping.entries:
        node = entry.value
        if type(node) is Mapping:
            yield from _secrets(node, (*above, entry.key))
        elif type(node) is Scalar and names_secret(entry.key) and is_secret(entry.key, node.value):
            yield (*above, entry.key), entry
