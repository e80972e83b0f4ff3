"""Keys of a recipe that no class of TRL or transformers ever had, but that look like a slip of one: `learning_rat`, `learningRate`.

A script may well have arguments of its own, so only a recipe that holds next to nothing else unknown is looked at.
"""

from __future__ import annotations

from functools import cache, lru_cache

from stablint.base.knowledge import load
from stablint.base.light import Any
from stablint.frameworks import huggingface
from stablint.frameworks.fragment import Block, Rows, spelled
from stablint.run.fact import Explicit, Statement
from stablint.run.releases.fields import known_key
from stablint.run.releases.reader_keys import reader

_found: dict[frozenset[str], tuple[str, ...]] = {}
_of_others: dict[frozenset[str], tuple[str, ...]] = {}


def misspelled(keys: frozenset[str]) -> tuple[str, ...]:
    """The keys that resemble a known one; none where more than one other key is nobody's that is known."""
    found = _found.get(keys)
    if found is None:
        near, strangers = [], 0
        for key in keys:
            if key not in huggingface.TRL_ONLY and key not in huggingface.ROWS and not known_key(key):
                if _looks_known(key):
                    near.append(key)
                else:
                    strangers += 1
                    if strangers > 1:
                        break
        found = _found[keys] = tuple(sorted(near)) if strangers <= 1 else ()
    return found


@cache
def _looks_known(key: str) -> bool:
    beginnings, ends = _known()
    return any(resembles(key, name) for name in (*beginnings.get(key[:2], ()), *ends.get(key[-3:], ())))


@cache
def _known() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The known names by their first two letters, and by their last three: one of them must be the same."""
    beginnings: dict[str, list[str]] = {}
    ends: dict[str, list[str]] = {}
    for name in load("keys")["keys"]:
        beginnings.setdefault(name[:2], []).append(name)
        ends.setdefault(name[-3:], []).append(name)
    return beginnings, ends


def of_others(keys: frozenset[str]) -> tuple[str, ...]:
    """Keys of a TRL recipe that other frameworks have for what TRL calls otherwise, where the recipe does not have TRL's name."""
    others = _of_others.get(keys)
    if others is None:
        strangers = [key for key in keys if key not in huggingface.TRL_ONLY and not known_key(key)]
        groups = load("synonyms") if strangers else {}
        found = [key for key in strangers if (own := _by_trl(groups.get(key, ()))) and own.isdisjoint(keys)]
        others = _of_others[keys] = tuple(sorted(found)) if len(strangers) - len(found) <= 1 else ()
    return others


def _by_trl(groups: Any) -> frozenset[str]:
    return frozenset(name for group in groups for name in group.get("trl", ()))


def resembles(key: str, name: str) -> bool:
    """One or two letters wrong, missing, too many or in each other's place; the same letters with other marks between the words."""
    if abs(len(key) - len(name)) > 3 or len(key) < 6 or (key[:2] != name[:2] and key[-3:] != name[-3:]):
        return False
    if _bare(key) == _bare(name):
        return True
    most = 1 if len(key) < 9 else 2
    return abs(len(key) - len(name)) <= most and _distance(key, name, most) <= most


def _bare(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _distance(a: str, b: str, most: int) -> int:
    """Damerau and Levenshtein's, without the transposed letters that others stand between; above `most` any number above it."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        last, row = row, [i]
        for j, other in enumerate(b, 1):
            row.append(min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other)))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                row[j] = min(row[j], before[j - 2] + 1)
        if min(row) > most and min(last) > most:
            break
        before = last
    return row[-1]


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


def is_written_out(one: Statement, text: str) -> bool:
    """Whether the statement is of a key that stands in the text by its beginning alone."""
    entry = one.origin.place.entry if isinstance(one.origin, Explicit) else None
    if entry is None:
        return False
    written, whole = spelled(text[entry.key_start : entry.key_end]), spelled(entry.key)
    return written != whole and whole.startswith(written)


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
