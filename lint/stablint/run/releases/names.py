"""Names of settings: which classes know one, how else it is spelled, and what became of it in later releases."""

from __future__ import annotations

from stablint.base.knowledge import load
from stablint.base.record import NamedTuple
from stablint.run.releases.pep440 import Key, release_key

_known: dict[str, tuple[str, ...]] = {}


def known_key(name: str) -> tuple[str, ...]:
    """The training configuration classes that have, or ever had, a field of this name."""
    found = _known.get(name)
    if found is None:
        table = load("keys")
        found = _known[name] = tuple(table["classes"][index] for index in table["keys"].get(name, ()))
    return found


_switches: dict[str, frozenset[str]] = {}


def is_switch(name: str, namespace: str = "training") -> bool:
    """Is it a truth value in every class of the namespace that has it, in every release?"""
    if namespace not in _switches:
        _switches[namespace] = frozenset(load("keys")["switches"][namespace])
    return name in _switches[namespace]


def canonical(name: str, namespace: str = "training") -> str:
    """The fact's word for a spelling: `evaluation_strategy` → `eval_strategy`. A name that is no spelling stays as it is."""
    word: str = load("spellings").get(namespace, {}).get(name, name)
    return word


_spelled: dict[str, dict[str, tuple[str, ...]]] = {}


def spellings_of(name: str, namespace: str = "training") -> tuple[str, ...]:
    """The other spellings of a canonical name."""
    if namespace not in _spelled:
        found: dict[str, tuple[str, ...]] = {}
        for spelling, word in load("spellings").get(namespace, {}).items():
            found[word] = (*found.get(word, ()), spelling)
        _spelled[namespace] = found
    return _spelled[namespace].get(name, ())


class Rename(NamedTuple):
    """What became of a name. `new` is None where nothing takes its place; dotted where it moved (`accelerator_config.split_batches`)."""

    library_class: str
    old: str
    new: str | None
    kind: str  # renamed moved removed deprecated value-renamed value-removed value-changed
    deprecated_in: Key | None  # first known release that warns
    removed_in: Key | None  # first known release without it
    values: dict[str, str]  # old value → what to write instead
    note: str
    source: str


def renamed(library_class: str, old: str) -> Rename | None:
    """What became of a field of that class; bases are not looked at."""
    row = load("renames").get(library_class, {}).get(old)
    if row is None:
        return None
    deprecated, removed = row.get("deprecated_in"), row.get("removed_in")
    return Rename(
        library_class, old, row["new"], row["kind"], release_key(deprecated) if deprecated else None,
        release_key(removed) if removed else None, row.get("values", {}), row.get("note", ""), row["source"],
    )  # fmt: skip
