"""The releases that a run may use, and what each of them accepts. See DESIGN §2 "Versions are a set".

Of the five libraries whose configuration classes were read (knowledge/releases/) the newest patch of every minor release is known. A
release that was not read itself is taken for the one of its minor release that was; one newer than all for the newest; one older than all
is not known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from stablint.knowledge import load
from stablint.run.fact import ABSENT
from stablint.run.names import Rename, canonical, known_key, renamed, spellings_of
from stablint.run.pep440 import Key, clauses, final_of, matcher, minor_of, release_key, text_of
from stablint.source.tree import Unknown

__all__ = [
    "FieldSpans", "Key", "Releases", "Rename", "bases_at", "canonical", "class_exists_at", "field", "field_names", "known_key",
    "known_keys", "known_libraries", "place", "release_key", "renamed", "spellings_of",
]  # fmt: skip

_keys: dict[str, tuple[Key, ...]] = {}  # library → keys of the releases that were read or listed, oldest first
_texts: dict[tuple[str, Key], str] = {}  # versions as that library ("": any) writes them
_places: dict[str, dict[Key, int | None]] = {}


def _name(library: str) -> str:
    return library.lower().replace("_", "-").replace(".", "-")


def _write_down(library: str, keys: Iterable[Key], versions: Iterable[str]) -> None:
    for key, version in zip(keys, versions, strict=False):
        _texts.setdefault((library, key), version)
        _texts.setdefault(("", key), version)


def known_keys(library: str) -> tuple[Key, ...]:
    """All releases of a library that are known, oldest first; empty for a library that is not."""
    if library not in _keys:
        versions: list[str] = load("releases").get(_name(library), [])
        keys = tuple([tuple(key) for key in load("release-keys").get(_name(library), [])])
        _write_down(_name(library), keys, versions)
        _keys[library] = keys
    return _keys[library]


def place(library: str, key: Key) -> int | None:
    """The index among `known_keys` of the release that stands for `key`; None if it is older than all of them."""
    places = _places.get(library)
    if places is None:
        places = _places[library] = {known: index for index, known in enumerate(known_keys(library))}
    if key not in places:
        keys = known_keys(library)
        index = bisect_left(keys, key)
        same_minor = index < len(keys) and minor_of(keys[index]) == minor_of(key)
        places[key] = index if same_minor else index - 1 if index else None
    return places[key]


class Releases:
    """The releases of each library that a run may use. Values are never changed: `restrict` gives a new set."""

    __slots__ = ("_members",)

    def __init__(self, members: dict[str, tuple[Key, ...]]) -> None:
        self._members = members  # of the libraries about which something was said

    @staticmethod
    def known() -> "Releases":
        """Nothing was said: every release that is known."""
        return _KNOWN

    def restrict(self, library: str, specifier: str) -> "Releases":
        """Only the releases that satisfy a PEP 440 specifier or equal a bare version.

        An exact version that is not listed (a development version, a patch release) is the only member from then on; so is the lower
        bound of a range that lies beyond all known releases. Raises ValueError for what is neither, and for a range that leaves nothing.
        """
        library = _name(library)
        test, parts = matcher(specifier), clauses(specifier)
        exact = [release_key(v) for op, v in parts if op in ("==", "===") and not v.endswith(".*")]
        before = self._members.get(library)
        if exact:
            left: tuple[Key, ...] = (_snapshot(library, exact[0]) or (exact[0],)) if test(exact[0]) else ()
            for op, version in parts:
                if op in ("==", "==="):
                    _write_down(library, exact, [version])
        elif before is not None:
            left = tuple(key for key in before if test(key))
        else:
            left = _newest_of_minors(library, [key for key in _all_keys(library) if test(key)])
            bounds = [release_key(v.removesuffix(".*")) for op, v in parts if op in (">=", "~=", ">", "==")]
            if not left and bounds and (not known_keys(library) or max(bounds) > known_keys(library)[-1]):
                left = (max(bounds),)
            older = [release_key(v) for op, v in parts if op in ("<=", "<")]
            if not left and older and known_keys(library) and min(older) <= known_keys(library)[0]:
                left = (release_key("0"),)  # older than all that is known: nothing about it is
        if not left:
            raise ValueError(f"no known release of {library} satisfies {specifier!r}")
        return Releases({**self._members, library: left})

    def allowed(self, library: str) -> tuple[Key, ...]:
        """The releases left, oldest first; empty for a library of which nothing is known and nothing was said."""
        library = _name(library)
        members = self._members.get(library)
        return known_keys(library) if members is None else members

    def stated(self, library: str) -> bool:
        """Whether something was said about this library."""
        return _name(library) in self._members

    def is_known(self) -> bool:
        """Whether nothing was said about any library."""
        return not self._members

    def __repr__(self) -> str:
        return f"Releases({self._members})"

    def newest(self, library: str) -> Key | None:
        allowed = self.allowed(library)
        return allowed[-1] if allowed else None

    def text(self, key: Key, library: str = "") -> str:
        """The version as that library writes it; without a library as the first that was asked about does (1.0 or 1.0.0)."""
        return _texts.get((_name(library), key)) or text_of(key)


_KNOWN = Releases({})


def _all_keys(library: str) -> list[Key]:
    """Every final release of the library, not only those that were read."""
    versions: list[str] = load("releases-all").get(library, [])
    keys = [release_key(version) for version in versions]
    _write_down(library, keys, versions)
    return keys


def _snapshot(library: str, key: Key) -> tuple[Key, ...]:
    """A development version lies somewhere between the release before it and its own, where that one came: it may behave like either."""
    final = final_of(key)
    listed = _all_keys(library) if final != key else []
    before = [other for other in listed if other < key]
    return (max(before), final) if before and final in listed else ()


def _newest_of_minors(library: str, keys: list[Key]) -> tuple[Key, ...]:
    """For a library that was read, the newest of each minor release; for others all."""
    if library not in load("releases-read"):
        return tuple(keys)
    newest = {minor_of(key): key for key in keys}
    return tuple(newest.values())


def known_libraries(releases: Releases) -> tuple[str, ...]:
    """The libraries whose releases are known or were stated."""
    return tuple(dict.fromkeys([*load("releases"), *releases._members]))


class FieldSpans:
    """One field of one class over the releases: where it exists, and with which default, type, choices and bounds."""

    __slots__ = ("_spans", "_turns", "library", "library_class", "name")

    def __init__(self, library_class: str, library: str, name: str, spans: list[list[Any]]) -> None:
        self.library_class, self.library, self.name, self._spans = library_class, library, name, spans
        self._turns: frozenset[Key] | None = None

    def default_at(self, key: Key) -> tuple[bool, Any]:
        """(whether the field exists in that release, its default).

        ABSENT for a field that must be given, and where there is no field; Unknown for a default that is computed, depends on the
        machine, or belongs to a release older than those that were read.
        """
        index = place(self.library, key)
        if index is None:
            return True, Unknown(f"{self.library} {text_of(key)} is older than the releases that are known")
        span = _at(self._spans, index)
        if span is None:
            return False, ABSENT
        return True, _default(span[2]) if len(span) > 2 else ABSENT

    def exists_at(self, key: Key) -> bool:
        return self.default_at(key)[0]

    def over(self, keys: Iterable[Key]) -> tuple[tuple[bool, Any, tuple[Key, ...]], ...]:
        """The same for many releases at once: each (exists, default) with the releases it holds for, the newest first."""
        groups: dict[int, list[Key]] = {}
        for key in keys:
            index = place(self.library, key)
            number = -2 if index is None else next((n for n, s in enumerate(self._spans) if _covers(s, index)), -1)
            groups.setdefault(number, []).append(key)
        alternatives = [(*self.default_at(members[-1]), tuple(members)) for members in groups.values()]
        return tuple(sorted(alternatives, key=lambda alternative: alternative[2][-1], reverse=True))

    @property
    def turns(self) -> frozenset[Key]:
        """The releases from which the field exists, no longer exists, has another default, or null becomes something else."""
        if self._turns is None:
            self._turns = self._changes()
        return self._turns

    def _changes(self) -> frozenset[Key]:
        keys = known_keys(self.library)
        starts = {span[0] for span in self._spans} | {span[1] + 1 for span in self._spans if span[1] >= 0}
        before, end = None, -1
        for first, last, becomes in [*load(f"fields/{self.library_class}").get("settled", []), [len(keys), -1, {}]]:
            if before is not None and end + 1 < first:
                starts.add(end + 1)
                before = None
            if becomes.get(self.name) != before:
                starts.add(first)
            before, end = becomes.get(self.name), last if last >= 0 else len(keys) - 1
        return frozenset(keys[index] for index in starts if 0 < index < len(keys))

    def releases_with(self, key: Key) -> str:
        """The known releases that have the same default as this one, as a specifier; empty where all of them have."""
        index = place(self.library, key)
        span = None if index is None else _at(self._spans, index)
        if span is None:
            return ""
        keys = known_keys(self.library)
        parts = [f">={_texts[self.library, keys[span[0]]]}"] if span[0] > 0 else []
        return ",".join(parts + ([f"<={_texts[self.library, keys[span[1]]]}"] if span[1] >= 0 else []))

    @property
    def since(self) -> Key | None:
        """The first release with the field; None where the oldest known one has it."""
        first = self._spans[0][0]
        return known_keys(self.library)[first] if first else None

    @property
    def removed_in(self) -> Key | None:
        """The first release without the field after the last one with it; None if the newest has it."""
        last = self._spans[-1][1]
        return None if last < 0 else known_keys(self.library)[last + 1]

    def type_at(self, key: Key) -> str | None:
        """The annotation, in one spelling (`str | list[int] | None`); None where the source writes none."""
        span = self._typed(key)
        return span[2] if span else None

    def choices_at(self, key: Key) -> tuple[Any, ...] | None:
        """The values that are allowed; for a field with `words`, the words of its value."""
        span = self._typed(key)
        return tuple(span[3]) if span and span[3] is not None else None

    def extra_at(self, key: Key) -> dict[str, Any]:
        """Whatever else is said: `ge gt le lt` (bounds), `deprecated`, `new_param`, `words` (several choices in one string); of DeepSpeed's
        JSON also `block` (a model of that name, which refuses keys that it does not know) and `refused` (an error if present)."""
        span = self._typed(key)
        return span[4] if span and len(span) > 4 else {}

    def settled_at(self, key: Key) -> dict[str, Any] | None:
        """What `__post_init__` makes of null: `{"value": …}`, `{"field": other}`, `{"not": other}`, `{"expr": code}`, or nothing (None)."""
        index = place(self.library, key)
        span = None if index is None else _at(load(f"fields/{self.library_class}").get("settled", []), index)
        return span[2].get(self.name) if span else None

    def _typed(self, key: Key) -> list[Any] | None:
        index = place(self.library, key)
        types = load(f"types/{self.library_class}")
        return None if index is None or types is None else _at(types.get(self.name, []), index)


def _at(spans: list[list[Any]], index: int) -> list[Any] | None:
    for span in spans:
        if _covers(span, index):
            return span
    return None


def _covers(span: list[Any], index: int) -> bool:
    return bool(span[0] <= index and (span[1] < 0 or index <= span[1]))


def _default(value: Any) -> Any:
    if type(value) is dict and len(value) == 1:
        if "expr" in value:
            return Unknown(f"the library computes it: {value['expr']}")
        if "one_of" in value:
            return Unknown(f"one of {', '.join(map(str, value['one_of']))}, by what is installed")
    return value


def field(library_class: str, name: str) -> FieldSpans | None:
    """A field that the class itself declares in some release (`field("trl.SFTConfig", "bf16")`), not those of its `bases_at`."""
    key = (library_class, name)
    if key not in _fields:
        content = load(f"fields/{library_class}")
        spans = content["fields"].get(name) if content else None
        _fields[key] = FieldSpans(library_class, content["library"], name, spans) if spans else None
    return _fields[key]


_fields: dict[tuple[str, str], FieldSpans | None] = {}


def field_names(library_class: str, key: Key) -> tuple[str, ...]:
    """The names that the class itself takes in a release."""
    content = load(f"fields/{library_class}")
    index = place(content["library"], key) if content else None
    return () if index is None else tuple(name for name, spans in content["fields"].items() if _at(spans, index))


def class_exists_at(library_class: str, key: Key) -> bool:
    content = load(f"fields/{library_class}")
    index = place(content["library"], key) if content else None
    return index is not None and _at(content["present"], index) is not None


def bases_at(library_class: str, key: Key) -> tuple[str, ...]:
    """The classes of other libraries that it extends: `trl.SFTConfig` → (`transformers.TrainingArguments`,)."""
    content = load(f"fields/{library_class}")
    index = place(content["library"], key) if content else None
    span = None if index is None else _at(content["bases"], index)
    return tuple(span[2]) if span else ()
