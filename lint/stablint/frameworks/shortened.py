"""Keys that are the beginning of an argument's name: `argparse` takes `--eval_step` for `--eval_steps` where no other name begins so.

Releases are not known yet when a text is read: a beginning counts as the setting where only one name of all releases begins with it.
"""

from __future__ import annotations

from functools import lru_cache

from stablint.base.knowledge import load
from stablint.frameworks.fragment import Block, Rows, spelled
from stablint.run.releases.names import known_key
from stablint.run.releases.reader_keys import reader


def in_full(block: Block, rows: Rows, readers: tuple[str, ...]) -> Block:
    """The block with such keys written out; what stands beside the whole name stays, and is left to argparse."""
    entries = block.mapping.entries
    stated = {spelled(entry.key) for entry in entries}
    known = [one for one in stated if one in rows or known_key(one)]
    if len(known) == len(stated):
        return block
    whole = {one: name for one in stated.difference(known) if (name := _name(one, readers)) and name not in stated}
    if not whole:
        return block
    written = tuple(entry._replace(key=whole.get(spelled(entry.key), entry.key)) for entry in entries)
    return block._replace(mapping=block.mapping._replace(entries=written))


@lru_cache(maxsize=256)
def _name(key: str, readers: tuple[str, ...]) -> str:
    """The only name that begins with the key; empty where the key is one itself, or several do."""
    names = _names(readers)
    if key in names or not key.isidentifier():
        return ""
    found = [name for name in names if name.startswith(key)]
    return found[0] if len(found) == 1 else ""


@lru_cache(maxsize=8)
def _names(readers: tuple[str, ...]) -> frozenset[str]:
    """Every name that a release of one of the readers, or of a class whose fields it takes besides, ever had."""
    taken: set[str] = set()
    bases: set[str] = set()
    for name in readers:
        one = reader(name)
        if one is not None:
            taken.update(one.ever_taken())
            bases.update(one.bases)
    table = load("keys")
    owners = {index for index, owner in enumerate(table["classes"]) if owner in bases}
    taken.update(name for name, held in table["keys"].items() if not owners.isdisjoint(held))
    return frozenset(taken)
