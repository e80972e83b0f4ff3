"""What a configuration class or a framework's own reader takes in a release: each name with its declaration, where one is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stablint.run.releases.allowed import Releases, known_keys
from stablint.run.releases.fields import FieldSpans, bases_at, field, field_names
from stablint.run.releases.pep440 import Key
from stablint.run.releases.reader_keys import Reader


class Taken(NamedTuple):
    """A name, the library that takes it, and the field that declares its type and default."""

    name: str
    library: str
    declared: FieldSpans | None


def release_of(releases: Releases | None, library: str) -> Key | None:
    """The newest release of a library that is allowed, else the newest that is known."""
    newest = releases.newest(library) if releases is not None else None
    return newest or next(reversed(known_keys(library)), None)


def of_class(owner: str, releases: Releases | None) -> Iterator[Taken]:
    """The fields of a class, its own before its bases'; a name that several declare comes from the first of them."""
    release = release_of(releases, owner.partition(".")[0])
    if release is None:
        return
    told: set[str] = set()
    for one in (owner, *bases_at(owner, release)):
        library = one.partition(".")[0]
        own = release_of(releases, library)
        for name in field_names(one, own) if own is not None else ():
            if not name.startswith("_") and name not in told:
                told.add(name)
                yield Taken(name, library, field(one, name))


def of_reader(one: Reader, releases: Releases | None, *, plugins: bool = False) -> Iterator[Taken]:
    """The keys of a reader and the fields of the classes that it takes besides. `plugins`: also what it takes only with a plugin, and what no
    release but the repository's own state takes."""
    release = release_of(releases, one.library)
    if release is None:
        return
    told: set[str] = set()
    for name in _ever(one, release, releases) if plugins else one.names(release):
        told.add(name)
        yield Taken(name, one.library, next((f for base in one.bases if (f := field(base, name)) is not None), None))
    for base in one.bases:
        for taken in of_class(base, releases):
            if taken.name not in told:
                told.add(taken.name)
                yield taken


def _ever(one: Reader, release: Key, releases: Releases | None) -> Iterator[str]:
    stated = releases is not None and releases.stated(one.library)
    for key in one.ever_taken():
        if one.takes(key, release, stated) or one.plugin(key, release):
            yield key
