"""What functions, classes and methods of libraries may be called with, release by release (knowledge/signatures/, tools/read_signatures.py)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cache
from typing import Any, NamedTuple

from stablint.base.knowledge import rows
from stablint.run.releases.allowed import oldest_meant
from stablint.run.releases.pep440 import Key


class Signature(NamedTuple):
    places: tuple[str, ...]  # what may be given by its place
    bare: int  # how many of these may not be given by name
    required: tuple[str, ...]
    named: frozenset[str]
    many: bool  # any number of places
    any: bool  # any keyword
    renames: bool  # names of earlier releases are taken besides


class Handed(NamedTuple):
    """What a call hands over: how many arguments by their place, and the names of the others."""

    places: int
    names: tuple[str, ...]


@cache
def parsed(text: str) -> Signature:
    renames = text.startswith("~ ")
    places: list[str] = []
    required: list[str] = []
    named: set[str] = set()
    bare, many, any_, by_name = 0, False, False, False
    for part in filter(None, (word.strip() for word in text.removeprefix("~ ").split(","))):
        name = part.removesuffix("=")
        if part == "/":
            bare = len(places)
            named.clear()
        elif part == "**":
            any_ = True
        elif part.startswith("*"):
            many, by_name = part != "*", True
        else:
            if not by_name:
                places.append(name)
            if name == part:
                required.append(name)
            named.add(name)
    return Signature(tuple(places), bare, tuple(required), frozenset(named), many, any_, renames)


class Misfit(NamedTuple):
    """What is wrong with a call: parameters that must be given and are not, names that nothing takes, arguments for which there is no place, and
    names that a place gives already."""

    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    surplus: int = 0
    twice: tuple[str, ...] = ()


def misfit(signature: Signature, handed: Handed) -> Misfit:
    given = frozenset(handed.names)
    by_place = signature.places[: handed.places]
    unknown = () if signature.any or signature.renames else tuple(n for n in handed.names if n not in signature.named)
    stray = any(name not in signature.named for name in handed.names)
    missing = tuple(
        name
        for name in signature.required
        if name not in by_place and (name not in given or name in signature.places[: signature.bare])
    )
    if stray and signature.renames:
        missing = ()  # one of them may be its earlier name
    surplus = 0 if signature.many else max(0, handed.places - len(signature.places))
    return Misfit(missing, unknown, surplus, tuple(name for name in by_place[signature.bare :] if name in given))


class Callable:
    """One name of a package over its releases."""

    __slots__ = ("_keys", "_oldest", "_spans", "_texts", "library", "name")

    def __init__(self, name: str, package: dict[str, Any], spans: list[list[Any]]) -> None:
        self.name = name
        self.library: str = package["library"]
        self._keys: list[Key] = [tuple(key) for key, _ in package["releases"]]
        self._texts: list[str] = [text for _, text in package["releases"]]
        self._spans = spans
        self._oldest = bisect_left(self._keys, oldest_meant(self.library))

    def at(self, release: Key) -> Signature | None:
        """None where that release has no such name, or it is not known what it takes. Between two releases that were read the earlier one counts,
        if both have the same."""
        index = bisect_right(self._keys, release) - 1
        own = self._at(index)
        if index < 0 or self._keys[index] == release or index + 1 == len(self._keys):
            return own
        return own if own == self._at(index + 1) else None

    def _at(self, index: int) -> Signature | None:
        for first, last, text in self._spans:
            if first <= index and (last < 0 or index <= last):
                return parsed(text)
        return None

    def of_all(self) -> list[Signature | None]:
        """Of every release that counts where none is stated: what it takes, once each; None among them for those without the name."""
        found = [self._at(index) for index in range(self._oldest, len(self._keys))]
        return list(dict.fromkeys(found))

    def newest(self) -> Signature | None:
        return self._at(len(self._keys) - 1)

    def ever(self) -> list[Signature]:
        return [parsed(text) for _, _, text in self._spans]

    def change_points(self) -> frozenset[tuple[str, Key]]:
        """The releases at which the answer may change."""
        boundaries = {span[0] for span in self._spans} | {span[1] + 1 for span in self._spans if span[1] >= 0}
        return frozenset((self.library, self._keys[cut]) for cut in boundaries if self._oldest < cut < len(self._keys))

    def takes_from(self, name: str, release: Key) -> str | None:
        """The first later release that takes the name."""
        later = (s for s in self._spans if self._keys[s[0]] > release and name in parsed(s[2]).named)
        return next((self._texts[span[0]] for span in later), None)

    def took_until(self, name: str, release: Key) -> str | None:
        """The last earlier release that took it."""
        last = [s[1] for s in self._spans if s[1] >= 0 and self._keys[s[1]] < release and name in parsed(s[2]).named]
        return self._texts[max(last)] if last else None


# Folders of a package whose names stand beside others of the same name.
_APART = frozenset(["experimental", "cross_encoder", "sparse_encoder"])


@cache
def callable_of(name: str) -> Callable | None:
    """By its dotted name as a program imports it: the package, and the last word or the class and its method. Modules between them do not count,
    but `experimental` and the kinds of encoders."""
    package, _, inner = name.partition(".")
    table = rows("signatures")
    about = table.get(package)
    if about is None or not inner:
        return None
    words = inner.split(".")
    classes = [word for word in words[:-1] if word[:1].isupper()]
    last = ".".join([*classes[-1:], words[-1]])
    label = f"{words[0]}.{last}" if words[0] in _APART else last
    spans = table.get(f"{package}.{label}")
    return Callable(f"{package}.{label}", about, spans) if spans is not None else None


def differs(function: str, argument: str) -> bool:
    """Whether a library's function of that name takes the argument in some of its releases, and in others not."""
    table = rows("signatures")
    for package in [key for key in table if "." not in key]:
        taken = [parsed(text) for _, _, text in table.get(f"{package}.{function}", ())]
        if len({one.any or argument in one.named for one in taken}) == 2:
            return True
    return False


def is_method_of(package: str, word: str) -> bool:
    """Whether some class of the package has a method of its own of that name."""
    about = rows("signatures").get(package)
    return about is not None and word in about["methods"]
