"""What a config class makes of a field that is left out, over all releases: one profile a field, built once a process.

A field that was renamed keeps its fact: where a release does not have the canonical name, its older or newer spelling stands in.
"""

from __future__ import annotations

from stablint.base.record import NamedTuple
from stablint.base.typed import Any
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.releases.allowed import known_keys, meant_keys, place
from stablint.run.releases.fields import FieldSpans, field
from stablint.run.releases.names import spellings_of
from stablint.run.releases.pep440 import Key


class Steady(NamedTuple):
    value: Any


class Profile(NamedTuple):
    """`turns` are the releases at which existence or default changes; `spans` the spellings that the class has had, canonical first."""

    library: str
    turns: frozenset[tuple[str, Key]]
    spans: tuple[FieldSpans, ...]

    def at(self, release: Key) -> FieldSpans | None:
        """The spelling that this release has."""
        for one in self.spans:
            if one.exists_at(release):
                return one
        return None

    def steady(self, release: Key) -> Steady | None:
        """For a release older than all that were read: the default that the field has had in every one of them, if there is one."""
        if self.turns or place(self.library, release) is not None:
            return None
        value = self.spans[0].default_at(known_keys(self.library)[0])[1]
        return None if is_unknown(value) or value is ABSENT else Steady(value)


_profiles: dict[tuple[str, str], Profile | None] = {}


def profile(library_class: str, name: str, namespace: str) -> Profile | None:
    """None for a field that the class never had under any spelling."""
    key = (library_class, name)
    if key not in _profiles:
        _profiles[key] = _profile(library_class, name, namespace)
    return _profiles[key]


def _profile(library_class: str, name: str, namespace: str) -> Profile | None:
    spans = tuple(
        s for spelled in (name, *spellings_of(name, namespace)) if (s := field(library_class, spelled)) is not None
    )
    if not spans:
        return None
    library = spans[0].library
    if len(spans) == 1:
        return Profile(library, frozenset((library, key) for key in spans[0].turns), spans)
    turns, last = set(), None
    for number, release in enumerate(meant_keys(library)):
        state = _state(spans, release)
        if number and state != last:
            turns.add((library, release))
        last = state
    return Profile(library, frozenset(turns), spans)


def _state(spans: tuple[FieldSpans, ...], release: Key) -> Any:
    for one in spans:
        found, value = one.default_at(release)
        if found:
            return True, repr(value), repr(one.settled_at(release))
    return False
