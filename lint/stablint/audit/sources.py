"""What can be told of a source without opening it: is it one, does it stay, is it of a release that is still near."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from stablint.audit.citation import Cited, cited, is_well_formed
from stablint.audit.doubt import ERROR, WARNING, Doubt
from stablint.audit.sayings import Saying
from stablint.base import knowledge
from stablint.run.releases.pep440 import Key, matcher, minor_of, release_key, text_of

BEHIND = 6
"""Minor releases that the newest source of a statement may lie behind the newest release that it is said of."""


@cache
def listed(library: str) -> tuple[Key, ...]:
    """Every final release that is known of a library, oldest first."""
    return tuple(release_key(str(version)) for version in knowledge.load("releases-all").get(library, ()))


def minors_between(library: str, older: Key, newer: Key) -> int:
    """How many minor releases came after the one and up to the other."""
    return len({minor_of(key) for key in listed(library) if minor_of(older) < minor_of(key) <= minor_of(newer)})


def said_of(library: str, versions: dict[str, str]) -> list[Key]:
    """The known releases of a library that a statement is about."""
    test = matcher(versions.get(library, ">=0"))
    return [key for key in listed(library) if test(key)]


def of_sources(sayings: Iterable[Saying], behind: int = BEHIND) -> Iterator[Doubt]:
    by_subject: dict[tuple[str, str], list[tuple[Saying, Cited]]] = {}
    seen: set[tuple[str, str]] = set()
    for saying in sayings:
        place = cited(saying.source)
        if (saying.file, saying.source) not in seen:
            seen.add((saying.file, saying.source))
            found = _of_place(place) if place is not None else _of_page(saying.source)
            if found is not None:
                yield _doubt(*found, saying)
        if place is not None:
            by_subject.setdefault((saying.subject, place.library), []).append((saying, place))
    for (_, library), places in by_subject.items():
        if all(place.release for _, place in places):  # a commit may be newer than any release
            yield from _stale(library, places, behind)


def _of_page(source: str) -> tuple[str, str, str] | None:
    if is_well_formed(source):
        return None
    wanted = "an address, owner/repository#number, or `library release file.py:line`"
    return "malformed", ERROR, f"nobody else can open it: {wanted}"


def _of_place(place: Cited) -> tuple[str, str, str] | None:
    if place.moves:
        text = f"`{place.ref}` is a branch: what stands there changes; name a release or a commit, and the line"
        return "branch", WARNING, text
    every = listed(place.library)
    # Repositories have tags that were never released, and older ones than those that are listed.
    if place.release and not place.repository and every and every[0] <= release_key(place.release) not in every:
        return "no-release", ERROR, f"{place.library} {place.release} is no release that the index lists"
    if place.path.endswith(".py") and not place.path.endswith("__init__.py") and not place.line:  # those list names
        return "no-line", WARNING, "a file without a line: what in it says so?"
    return None


def _stale(library: str, places: list[tuple[Saying, Cited]], behind: int) -> Iterator[Doubt]:
    """The newest source counts; older ones beside it show how long it has been so."""
    saying, place = max(places, key=lambda pair: release_key(pair[1].release))
    about = said_of(library, saying.versions)
    distance = minors_between(library, release_key(place.release), about[-1]) if about else 0
    if distance > behind:
        newest = text_of(about[-1])
        text = f"its newest source in {library} is {distance} minor releases older than {newest}, of which it is said as well"
        yield _doubt("stale", WARNING, text, saying)


def _doubt(kind: str, severity: str, text: str, saying: Saying) -> Doubt:
    return Doubt(kind, severity, saying.file, saying.line, saying.subject, f"`{saying.source}`: {text}")
