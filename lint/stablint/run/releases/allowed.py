"""The releases that a run may use. See DESIGN §2 "Versions are a set".

Of the five libraries whose configuration classes were read (knowledge/releases/) the newest patch of every minor release is known. A
release that was not read itself is taken for the one of its minor release that was; one newer than all for the newest. One older than all
lies below every known one: what its classes have is not known, but ranges begin above it or hold for it.

Where nothing is stated, the releases from `meant.yaml` on count; older ones are those of runs that say so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cache

from stablint.base.knowledge import load
from stablint.run.releases.pep440 import Key, clauses, final_of, matcher, minor_of, release_key, text_of

EITHER = " || "
"""Between specifiers of which one holds: two environments of one project."""

_keys: dict[str, tuple[Key, ...]] = {}  # library → keys of the releases that were read or listed, oldest first
_texts: dict[tuple[str, Key], str] = {}  # versions as that library ("": any) writes them
_places: dict[str, dict[Key, int | None]] = {}
_meant: dict[str, tuple[Key, ...]] = {}


@cache
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


def oldest_meant(library: str) -> Key:
    """The oldest release that counts where none is stated; the least of all keys where every known one does."""
    return tuple(load("releases-meant").get(_name(library), ()))


def meant_keys(library: str) -> tuple[Key, ...]:
    """The known releases that count where none is stated, oldest first."""
    if library not in _meant:
        keys = known_keys(library)
        _meant[library] = keys[bisect_left(keys, oldest_meant(library)) :]
    return _meant[library]


def library_names() -> tuple[str, ...]:
    """The libraries of which releases are known."""
    return tuple(load("releases"))


def written(library: str, key: Key) -> str:
    """A known release as its library writes it: 1.0 or 1.0.0."""
    return _texts[library, key]


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

    __slots__ = (
        "_below",
        "_boundaries",
        "_exact",
        "_intervals",
        "_members",
        "_newest",
        "_presumed",
        "_token",
        "_unread",
    )

    def __init__(
        self,
        members: dict[str, tuple[Key, ...]],
        presumed: frozenset[str] = frozenset(),
        unread: frozenset[str] = frozenset(),
        below: frozenset[str] = frozenset(),
        exact: frozenset[str] = frozenset(),
    ) -> None:
        self._members = members  # of the libraries about which something was said, or is presumed
        self._presumed, self._unread, self._below, self._exact = presumed, unread, below, exact
        self._newest: dict[str, Key] | None = None
        self._boundaries: dict[tuple[str, str], frozenset[tuple[str, Key]]] = {}
        self._token = -1
        self._intervals: dict[tuple[str, frozenset[Key]], tuple[tuple[Key, Key], ...]] = {}

    @staticmethod
    def known() -> "Releases":
        """Nothing was said: every release that counts then."""
        return _KNOWN

    def restrict(self, library: str, specifier: str) -> "Releases":
        """Only the releases that satisfy a PEP 440 specifier (one of several between which `EITHER` stands) or equal a bare version.

        An exact version that is not listed (a development version, a patch release) is the only member from then on; so is the lower
        bound of a range that lies beyond all known releases. Raises ValueError for what is neither, and for a range that leaves nothing.
        """
        library = _name(library)
        if EITHER in specifier:
            return self._either(library, specifier.split(EITHER))
        test, parts = matcher(specifier), clauses(specifier)
        exact = [release_key(v) for op, v in parts if op in ("==", "===") and not v.endswith(".*")]
        before = self._members.get(library)
        below = library in self._below
        single = bool(exact) or library in self._exact
        if exact:
            below = False
            left: tuple[Key, ...] = (_snapshot(library, exact[0]) or (exact[0],)) if test(exact[0]) else ()
            for op, version in parts:
                if op in ("==", "==="):
                    _write_down(library, exact, [version])
        elif before is not None:
            left = tuple(key for key in before if test(key))
            below = below and any(test(key) for key in listed_keys(library) if key < oldest_meant(library))
        else:
            asked = [key for key in listed_keys(library) if test(key)]
            counted = _counting(library, asked)
            left = _newest_of_minors(library, counted)
            below = bool(asked and counted) and asked[0] < counted[0]
            bounds = [release_key(v.removesuffix(".*")) for op, v in parts if op in (">=", "~=", ">", "==")]
            if not left and bounds and (not known_keys(library) or max(bounds) > known_keys(library)[-1]):
                left = (max(bounds),)
            older = [release_key(v) for op, v in parts if op in ("<=", "<")]
            if not left and older and known_keys(library) and min(older) <= meant_keys(library)[0]:
                left = (
                    release_key("0"),
                )  # several old ones, or older than all that is known: which one it is nobody knows
        if not left:
            raise ValueError(f"no known release of {library} satisfies {specifier!r}")
        rest = self._below - {library}
        return Releases(
            {**self._members, library: left},
            self._presumed - {library},
            self._unread - {library},
            rest | {library} if below else rest,
            self._exact | {library} if single else self._exact,
        )

    def presume(self, library: str, specifier: str) -> "Releases":
        """Only those releases, as long as nobody says otherwise: what rests on them is a warning at most, and repairs nothing. The same
        set where something was said, or where no release satisfies the specifier."""
        library = _name(library)
        if self.stated(library) or library in self._unread:
            return self
        try:
            left = self.restrict(library, specifier)
        except ValueError:
            return self
        return Releases(left._members, self._presumed | {library}, self._unread, left._below, left._exact)

    def presume_only(self, library: str, keys: tuple[Key, ...]) -> "Releases":
        """Only these releases of a library of which nothing was said, as a presumption."""
        library = _name(library)
        members = {**self._members, library: keys}
        return Releases(members, self._presumed | {library}, self._unread, self._below, self._exact - {library})

    def narrow(self, library: str, keys: tuple[Key, ...]) -> "Releases":
        """Only these of the releases that are left. What was said of the library stays said; where nothing was, it is a presumption."""
        library = _name(library)
        presumed = self._presumed if self.stated(library) else self._presumed | {library}
        return Releases({**self._members, library: keys}, presumed, self._unread, self._below, self._exact)

    def certain(self) -> "Releases":
        """Without the presumptions."""
        members = {library: keys for library, keys in self._members.items() if library not in self._presumed}
        if not self._presumed:
            return self
        return Releases(members, frozenset(), self._unread, self._below - self._presumed, self._exact - self._presumed)

    def unread(self, library: str) -> "Releases":
        """A release is stated that cannot be read (a commit): it may be any of them."""
        library = _name(library)
        members = {name: keys for name, keys in self._members.items() if name != library}
        rest = self._presumed - {library}, self._unread | {library}, self._below - {library}, self._exact - {library}
        return Releases(members, *rest)

    def _either(self, library: str, specifiers: list[str]) -> "Releases":
        left: set[Key] = set()
        below = self._below - {library}
        for specifier in specifiers:
            one = self.restrict(library, specifier)
            left.update(one.allowed(library))
            below |= one._below
        members = {**self._members, library: tuple(sorted(left))}
        exact = self._exact - {library}
        return Releases(members, self._presumed - {library}, self._unread - {library}, below, exact)

    def allowed(self, library: str) -> tuple[Key, ...]:
        """The releases left, oldest first; empty for a library of which nothing is known and nothing was said."""
        library = _name(library)
        members = self._members.get(library)
        return meant_keys(library) if members is None else members

    def stated(self, library: str) -> bool:
        """Whether something was said about this library."""
        library = _name(library)
        return library in self._members and library not in self._presumed

    def presumed(self, library: str) -> bool:
        """Whether its releases are a presumption."""
        return _name(library) in self._presumed

    def is_unread(self, library: str) -> bool:
        """Whether a release is stated that cannot be read."""
        return _name(library) in self._unread

    def is_exact(self, library: str) -> bool:
        """Whether one release was said by its number, rather than a range of which the newest of every minor release is kept."""
        return _name(library) in self._exact

    def reaches_below(self, library: str) -> bool:
        """Whether the range that was said admits releases older than all that count: what those have is not known."""
        return _name(library) in self._below

    def closed(self, library: str) -> bool:
        """Whether what was said leaves out the newest release."""
        known = known_keys(library)
        return bool(known) and known[-1] not in self.allowed(library)

    def is_known(self) -> bool:
        """Whether nothing was said about any library."""
        return not (self._members or self._unread)

    def shared(self) -> "Releases":
        """The first of the equal sets of a process, so that what is worked out for one run holds for the next."""
        if self._token < 0:
            known = (frozenset(self._members.items()), self._presumed, self._unread, self._below, self._exact)
            first = _shared.setdefault(known, self)
            if first is not self:
                return first
            self._token = len(_shared)
        return self

    def token(self) -> int:
        """The same number for equal sets, another one for each other, within a process."""
        return self.shared()._token

    def __repr__(self) -> str:
        return f"Releases({self._members}, {sorted(self._presumed)}, {sorted(self._unread)})"

    def newest(self, library: str) -> Key | None:
        allowed = self.allowed(library)
        return allowed[-1] if allowed else None

    def newest_of_all(self) -> dict[str, Key]:
        """The newest release of every library; always the same object, so that worlds share what they know."""
        if self._newest is None:
            found = {library: self.newest(library) for library in self.libraries()}
            self._newest = {library: key for library, key in found.items() if key is not None}
        return self._newest

    def libraries(self) -> tuple[str, ...]:
        """The libraries whose releases are known or were stated."""
        return tuple(dict.fromkeys([*load("releases"), *self._members]))

    def boundaries(self, library: str, specifier: str) -> frozenset[tuple[str, Key]]:
        """The releases left at which a range begins, or has ended."""
        found = self._boundaries.get((library, specifier))
        if found is None:
            allowed, inside = self.allowed(library), matcher(specifier)
            held = [inside(release) for release in allowed]
            change_points = [(library, allowed[n]) for n in range(1, len(allowed)) if held[n] != held[n - 1]]
            found = self._boundaries[(library, specifier)] = frozenset(change_points)
        return found

    def intervals(self, library: str, boundaries: frozenset[Key]) -> tuple[tuple[Key, Key], ...]:
        """First and last of the releases left in each interval between the boundaries, newest first."""
        found = self._intervals.get((library, boundaries))
        if found is None:
            allowed, groups, start = self.allowed(library), [], 0
            for cut in sorted(boundaries):
                end = bisect_left(allowed, cut)
                if end > start:
                    groups.append((allowed[start], allowed[end - 1]))
                    start = end
            if start < len(allowed):
                groups.append((allowed[start], allowed[-1]))
            found = self._intervals[library, boundaries] = tuple(reversed(groups))
        return found

    def text(self, key: Key, library: str = "") -> str:
        """The version as that library writes it; without a library as the first that was asked about does (1.0 or 1.0.0)."""
        return _texts.get((_name(library), key)) or text_of(key)


_Said = tuple[frozenset[tuple[str, tuple[Key, ...]]], frozenset[str], frozenset[str], frozenset[str], frozenset[str]]
_shared: dict[_Said, Releases] = {}


def taken_for(library: str, specifier: str) -> tuple[str, str] | None:
    """A version that a specifier asks for and no known release is, and the release that stands for it (empty for one that is older than all). None where
    all is known, and for a development version, which no list has."""
    library = _name(library)
    known, listed = known_keys(library), frozenset(listed_keys(library))
    if not known:
        return None
    for operator, version in clauses(specifier):
        key = release_key(version.removesuffix(".*"))
        exact = operator in ("==", "===") and not version.endswith(".*")
        beyond = operator in (">=", ">", "~=", "==", "===") and minor_of(key) > minor_of(max(known[-1], *listed))
        if beyond or (exact and key not in listed and key not in known and final_of(key) == key):
            index = place(library, key)
            return version, "" if index is None else written(library, known[index])
    return None


_KNOWN = Releases({}).shared()


def listed_keys(library: str) -> list[Key]:
    """Every final release of the library, not only those that were read."""
    found = _listed.get(library)
    if found is None:
        found = _listed[library] = [tuple(key) for key in load("release-keys-all").get(library, ())]
        _write_down(library, found, load("releases-all").get(library, ()))
    return found


_listed: dict[str, list[Key]] = {}


def _snapshot(library: str, key: Key) -> tuple[Key, ...]:
    """A development version lies somewhere between the release before it and its own, where that one came: it may behave like either."""
    final = final_of(key)
    listed = listed_keys(library) if final != key else []
    before = [other for other in listed if other < key]
    return (max(before), final) if before and final in listed else ()


def _counting(library: str, keys: list[Key]) -> list[Key]:
    """Those of a range that count where no single release is stated. An old one only where nothing else of the range is left and all of it
    is one minor release."""
    oldest = oldest_meant(library)
    meant = [key for key in keys if key >= oldest]
    return meant or (keys if len({minor_of(key) for key in keys}) == 1 else [])


def _newest_of_minors(library: str, keys: list[Key]) -> tuple[Key, ...]:
    """For a library that was read, the newest of each minor release; for others all."""
    if library not in load("releases-read"):
        return tuple(keys)
    newest = {minor_of(key): key for key in keys}
    return tuple(newest.values())
