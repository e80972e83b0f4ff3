"""What each release of a library accepts: the fields of its configuration classes, with defaults, types, choices and bounds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cache

from stablint.base.knowledge import load
from stablint.base.light import Any, NamedTuple
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.releases.allowed import known_keys, meant_keys, oldest_meant, place, written
from stablint.run.releases.pep440 import Key, release_key, text_of
from stablint.syntax.tree import Unknown


class FieldSpans:
    """One field of one class over the releases: where it exists, and with which default, type, choices and bounds."""

    __slots__ = ("_change_points", "_spans", "library", "library_class", "name")

    def __init__(self, library_class: str, library: str, name: str, spans: list[list[Any]]) -> None:
        self.library_class, self.library, self.name, self._spans = library_class, library, name, spans
        self._change_points: frozenset[Key] | None = None

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
    def change_points(self) -> frozenset[Key]:
        """The releases from which the field exists, no longer exists, has another default, or null becomes something else. Only those count
        between which a run is left that states no single one (`meant_keys`)."""
        if self._change_points is None:
            self._change_points = self._changes()
        return self._change_points

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
        oldest = bisect_left(keys, oldest_meant(self.library))
        return frozenset(keys[index] for index in starts if oldest < index < len(keys))

    def releases_with(self, key: Key) -> str:
        """The known releases that have the same default as this one, as a specifier; empty where all that count unstated have."""
        index = place(self.library, key)
        span = None if index is None else _at(self._spans, index)
        if span is None:
            return ""
        keys = known_keys(self.library)
        begins = span[0] > bisect_left(keys, oldest_meant(self.library))
        parts = [f">={written(self.library, keys[span[0]])}"] if begins else []
        return ",".join(parts + ([f"<={written(self.library, keys[span[1]])}"] if span[1] >= 0 else []))

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

    def gone_by(self, key: Key) -> Key | None:
        """The first release without the field behind the last span of releases that ended before this one; None where none did."""
        ends = [span[1] + 1 for span in self._spans if span[1] >= 0]
        return max((end for n in ends if (end := known_keys(self.library)[n]) <= key), default=None)

    def next_after(self, key: Key) -> Key | None:
        """The first release after this one from which the field exists (again)."""
        return next((start for span in self._spans if (start := known_keys(self.library)[span[0]]) > key), None)

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


@cache
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


class Steady(NamedTuple):
    value: Any


class Profile(NamedTuple):
    """`change_points` are the releases at which existence or default changes; `spans` the spellings that the class has had, canonical first."""

    library: str
    change_points: frozenset[tuple[str, Key]]
    spans: tuple[FieldSpans, ...]

    def at(self, release: Key) -> FieldSpans | None:
        """The spelling that this release has."""
        for one in self.spans:
            if one.exists_at(release):
                return one
        return None

    def steady(self, release: Key) -> Steady | None:
        """For a release older than all that were read: the default that the field has had in every one of them, if there is one."""
        if self.change_points or place(self.library, release) is not None:
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
        return Profile(library, frozenset((library, key) for key in spans[0].change_points), spans)
    change_points, last = set(), None
    for number, release in enumerate(meant_keys(library)):
        state = _state(spans, release)
        if number and state != last:
            change_points.add((library, release))
        last = state
    return Profile(library, frozenset(change_points), spans)


def _state(spans: tuple[FieldSpans, ...], release: Key) -> Any:
    for one in spans:
        found, value = one.default_at(release)
        if found:
            return True, repr(value), repr(one.settled_at(release))
    return False
