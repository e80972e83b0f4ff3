"""Releases that did not exist together are not assumed: what is stated of one library dates the others.

A run is installed on some day. On that day every stated release was out, so it lies behind the day of the latest of them; and whoever states
an old release of a library that moves every month does so because it was the newest then, so it lies within half a year of the next one, as
long as nothing that is stated says otherwise. A library of which nothing is said came as the newest of that day. This is a presumption:
findings that rest on it are warnings at most, and nothing is rewritten for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping as Table
from functools import cache, lru_cache

from stablint.base.knowledge import load
from stablint.run.fact import Explicit, Fact
from stablint.run.framework import framework as record_of
from stablint.run.releases.allowed import Releases, known_keys, listed_keys, meant_keys
from stablint.run.releases.fields import field
from stablint.run.releases.pep440 import Key, matcher, minor_of, release_key

WINDOW = 183
"""Days after the newest stated release within which a run was installed: half a year."""

# Libraries of which an old release is stated because the run is old. torch, DeepSpeed and kernels are held back for drivers and compilers.
_MOVING = ("transformers", "trl", "peft", "accelerate", "unsloth", "llamafactory", "axolotl", "ms-swift", "openrlhf")
# Of these a release of the last year is taken to run; of the others older ones are in use as well.
_IN_USE = ("transformers", "trl", "peft", "accelerate")
_dated: dict[str, Releases] = {}
_days: dict[str, tuple[list[Key], list[int]]] = {}


@cache
def in_use(library: str) -> tuple[Key, ...]:
    """The releases of the last twelve months, and the one that was newest before them: what is taken to run where none is stated."""
    keys = known_keys(library) if library in _IN_USE else ()
    begins = day(library, keys[-1]) - 365 if keys else 0
    return keys[max([place for place, key in enumerate(keys) if day(library, key) <= begins], default=0) :]


def dated(releases: Releases) -> Releases:
    """The releases with those of unstated libraries that were not yet, or no longer, the newest when the stated ones were in use."""
    if releases.is_known():
        return releases
    name = repr(releases)
    if name not in _dated:
        _dated[name] = _of_the_time(_fitting(releases))
    return _dated[name]


def _of_the_time(releases: Releases) -> Releases:
    first, last = _window(releases)
    if not first:
        return releases
    for library in load("releases"):
        if releases.stated(library) or releases.presumed(library) or releases.is_unread(library):
            continue
        keys = meant_keys(library)
        if day(library, keys[0]) > last:  # so old that the ones before them were in use
            keys = known_keys(library)
        days = [day(library, key) for key in keys]
        kept = tuple(
            key
            for place, key in enumerate(keys)
            if days[place] <= last and (place + 1 == len(keys) or days[place + 1] > first)
        )
        kept = _installable(library, kept, releases) or kept
        if kept and len(kept) < len(keys):
            releases = releases.presume_only(library, kept)
        elif days[0] > last:
            releases = releases.unread(library)  # of that time none is known
    return releases


def _fitting(releases: Releases) -> Releases:
    """Of several releases of a framework that are stated (`trl>=0.7.4`), those that take some release of each other library that is stated
    (`transformers<4.35`): an installer resolves both together. Where none does, nothing is left out."""
    for framework in load("release-bounds"):
        allowed = releases.allowed(framework) if releases.stated(framework) else ()
        left = _installable(framework, allowed, releases) if len(allowed) > 1 else ()
        if left and len(left) < len(allowed):
            releases = releases.narrow(framework, left)
    return releases


def _installable(framework: str, keys: tuple[Key, ...], releases: Releases) -> tuple[Key, ...]:
    """Those that take some release of each other library that is stated."""
    rows = load("release-bounds").get(framework)
    if not rows:
        return keys
    read, taken = [release_key(release) for release in rows], list(rows.values())
    # what is newer than all that was read asks for nothing older than the last of these
    least = {
        library: ",".join(part for part in specifier.split(",") if part.strip()[:1] == ">")
        for library, specifier in taken[-1].items()
    }
    return tuple(
        key
        for key in keys
        if all(
            _takes(library, specifier, releases)
            for library, specifier in (least if minor_of(key) > minor_of(read[-1]) else taken[_row(read, key)]).items()
            if specifier
        )
    )


def _takes(library: str, specifier: str, releases: Releases) -> bool:
    """Whether some release that is left of a library satisfies what is asked of it; patch releases are not told apart."""
    if not releases.stated(library):
        return True
    minors, test = _minors(library, specifier), matcher(specifier)
    return any(minor_of(key) in minors or test(key) for key in releases.allowed(library))


def bounded(releases: Releases, framework: str) -> Releases:
    """The releases that the framework itself takes; those that it would refuse run nowhere. So does every other one that is stated beside it,
    whether this run starts it or not: an installer brings all of a list together. TRL bounds what it is built on as well, where its own
    releases are known."""
    key = framework, releases.token()
    found = _bounded.get(key)
    if found is None:
        found = _bounded_by(framework, releases)
        for other in load("release-bounds"):
            found = _bounded_by(other, found) if other != framework and releases.stated(other) else found
        found = found if found.is_known() else _bounded_by("trl", found)
        _bounded[key] = found
    return found


_bounded: dict[tuple[str, int], Releases] = {}


def _bounded_by(framework: str, releases: Releases) -> Releases:
    """What a release asks for that is not listed itself is what the one before it asks for; of one newer than all nothing is known, and older
    ones took what is older. Which of several releases it is nobody knows: what lies between their bounds is left."""
    rows = load(f"bounds/{framework}") if framework else None
    if rows and record_of(framework).own_names and not releases.stated(framework):
        return releases
    newest = releases.newest(framework) if rows else None
    if not rows or newest is None:
        return releases
    read, taken = [tuple(key) for key in rows["releases"]], rows["taken"]
    if newest > read[-1] or releases.is_unread(framework):
        return releases
    places = {_row(read, own) for own in releases.allowed(framework)}
    older = minor_of(releases.allowed(framework)[0]) < minor_of(read[0])
    for library in taken[-1]:
        allowed = releases.allowed(library)
        if not allowed or releases.is_unread(library) or not all(library in taken[number] for number in places):
            continue
        bounds = [taken[number][library] for number in sorted(places)]
        if bounds[-1] is None:
            continue
        last = tuple(bounds[-1][1])  # an older release of the framework takes nothing newer, whether it says so or not
        first = min(tuple((bound or bounds[-1])[0]) for bound in bounds)
        left = tuple(key for key in allowed if (older or first <= minor_of(key)) and minor_of(key) <= last)
        if not left and releases.presumed(library):
            # None of the newest of its time is among those that it takes: an installer then brings the newest that is.
            left = tuple(key for key in known_keys(library) if first <= minor_of(key) <= last)[-1:]
        if left and left != allowed:
            releases = releases.narrow(library, left)
    return releases


def _row(read: list[Key], own: Key) -> int:
    """The place of the release whose bounds count for another one: the last up to it, or the first of its minor release that was read."""
    place = bisect_right(read, own) - 1
    if (
        place + 1 < len(read)
        and minor_of(read[place + 1]) == minor_of(own)
        and (place < 0 or minor_of(read[place]) != minor_of(own))
    ):
        place += 1
    return max(place, 0)


def may_take(starter: str, library: str, specifier: str) -> bool:
    """Whether a release of the framework that is given such files as these runs with what is said of a library. Where no release of the
    library is said, or no bound is known, nothing speaks against it."""
    since, rows = record_of(starter).files_since, load(f"bounds/{starter}")
    releases = Releases.known().presume(library, specifier)
    if not since or not rows or not releases.presumed(library):
        return True
    first = _row([tuple(key) for key in rows["releases"]], release_key(since))
    bounds = [taken.get(library) for taken in rows["taken"][first:]]
    if None in bounds:
        return True
    return minor_of(releases.allowed(library)[-1]) >= min(tuple(bound[0]) for bound in bounds)


_satisfying: dict[tuple[str, str], list[Key]] = {}


def _minors(library: str, specifier: str) -> list[Key]:
    """The minor releases of which some listed release satisfies it."""
    found = _satisfying.get((library, specifier))
    if found is None:
        test = matcher(specifier)
        found = _satisfying[library, specifier] = sorted({minor_of(key) for key in listed_keys(library) if test(key)})
    return found


def spelled(explicit: Table[str, Fact], classes: Table[str, tuple[str, ...]]) -> Releases:
    """The releases that have every argument as it is spelled, where one of them is gone by now: the run is older than that. Nothing is
    presumed of a library whose releases cannot all be meant at once."""
    since: dict[str, Key] = {}
    gone: dict[str, Key] = {}
    for name, fact in explicit.items():
        owners = classes.get(name.partition(".")[0], ()) if name.startswith(("training.", "trainer.")) else ()
        if not owners or not isinstance(fact.origin, Explicit) or len(fact.origin.place.path) != 1:
            continue
        found = _span(owners, fact.origin.place.path[0])
        if found is None:
            continue
        library, first, end = found
        if end is not None:
            gone[library] = min(end, gone.get(library, end))
        if first is not None:
            since[library] = max(first, since.get(library, first))
    releases = Releases.known()
    for library, end in gone.items():
        first = since.get(library)
        kept = tuple(key for key in meant_keys(library) if key < end and (first is None or key >= first))
        if kept:
            releases = releases.presume_only(library, kept)
    return dated(releases)


@lru_cache(maxsize=4_096)
def _span(owners: tuple[str, ...], key: str) -> tuple[str, Key | None, Key | None] | None:
    """The library whose classes have the argument, the release since which one of them has it, and the one from which none has; None where none
    ever had, or those of two libraries have."""
    found = [one for owner in owners if (one := field(owner.removeprefix("?"), key))]
    if not found or any(one.library != found[0].library for one in found):
        return None
    begins = [one.since for one in found if one.since is not None]
    ends = [one.removed_in for one in found if one.removed_in is not None]
    first = min(begins) if len(begins) == len(found) else None
    return found[0].library, first, max(ends) if len(ends) == len(found) else None


def _window(releases: Releases) -> tuple[int, float]:
    """The days on which the run may have been installed; 0 where nothing that is stated has a date."""
    first, last = 0, float("inf")
    for library in load("releases"):
        if releases.stated(library) or releases.presumed(library):
            allowed = releases.allowed(library)
            known, oldest = known_keys(library)[0], meant_keys(library)[0]
            if allowed[0] >= known and (allowed[0] != oldest or len(allowed) == 1):
                first = max(first, day(library, allowed[0]))
            if library in _MOVING and releases.closed(library):
                last = min(last, day(library, allowed[-1]) + WINDOW)
    if not first and last == float("inf"):
        return 0, last
    return max(first, 1), max(last, first + WINDOW)


def day(library: str, key: Key) -> int:
    """The day (proleptic ordinal) on which the newest listed release up to `key` came, that of the oldest for one before it."""
    if library not in _days:
        texts, numbers = load("releases-all")[library], load("release-days")[library]
        rows = [(release_key(text), number) for text, number in zip(texts, numbers, strict=True) if number]
        _days[library] = ([key for key, _ in rows], [number for _, number in rows])
    keys, days = _days[library]
    return days[max(bisect_right(keys, key) - 1, 0)] if days else 0
