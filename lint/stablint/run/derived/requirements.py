"""What the framework of a run asks for when it is installed, and is not there by what is stated."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from stablint.base.knowledge import load
from stablint.run.fact import ABSENT
from stablint.run.releases.allowed import Releases, known_keys, listed_keys
from stablint.run.releases.pep440 import Key, matcher, minor_of, release_key
from stablint.run.world import Answer, World


def unmet(w: World) -> Answer:
    """The requirements of the framework's stated release that no stated release of their library meets, as its metadata write them. Only
    what is excluded whichever of the stated releases are there counts: a range may have been resolved to any release in it."""
    framework = w.run.framework.removesuffix("-2")  # the second generation of ms-swift, which is the same package
    releases = w.run.releases
    if framework not in load("release-bounds") or not _is_stated(releases, framework):
        return Answer(ABSENT)
    takers = [_asked(framework, key) for key in _may_be(releases, framework)]
    found: dict[str, list[str]] = {}
    for library in takers[0] or {}:
        if not _is_stated(releases, library):
            continue
        keys = _may_be(releases, library)
        asked = [row.get(library) if row is not None else None for row in takers]
        if all(one is not None and not any(map(matcher(one), keys)) for one in asked):
            found[library] = [one for one in dict.fromkeys(asked) if one is not None]
    if not found:
        return Answer(ABSENT)
    names = [f"versions.{name}" for name in (*found, framework)]
    for name in names:
        w.fact(name)
    return Answer(", ".join(f"{library}{ways[-1]}" for library, ways in found.items()), tuple(names))


def _is_stated(releases: Releases, library: str) -> bool:
    return releases.stated(library) and not releases.is_unread(library) and not releases.reaches_below(library)


def _may_be(releases: Releases, library: str) -> list[Key]:
    """The releases that may be there: of a range only the newest of every minor release is kept, and the others of it may be there as well."""
    allowed = releases.allowed(library)
    if releases.is_exact(library):
        return list(allowed)
    return sorted({*_of_minors(library, frozenset(map(minor_of, allowed))), *allowed})


@lru_cache(maxsize=256)
def _of_minors(library: str, minors: frozenset[Key]) -> list[Key]:
    every = {*listed_keys(library), *known_keys(library)}
    return sorted(key for key in every if minor_of(key) in minors)


@lru_cache(maxsize=256)
def _asked(framework: str, key: Key) -> dict[str, str] | None:
    """What a release asks for: what the last one up to it that says something else does. None for one older or newer than all that were read."""
    rows: dict[str, dict[str, str]] = load("release-bounds")[framework]
    read = [release_key(release) for release in rows]
    at = bisect_right(read, key) - 1
    return list(rows.values())[at] if at >= 0 and key <= read[-1] else None
