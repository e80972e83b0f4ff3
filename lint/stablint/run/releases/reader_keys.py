"""Which keys a framework's own reader takes, release by release: its argument classes, its input model, the flags of its parser.

Every tagged release was read (knowledge/keys/, tools/read_keys.py), and where a repository is ahead of its newest release that state too:
a key that only it has is known, unless a release was stated.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import islice, takewhile

from stablint.base.knowledge import load
from stablint.base.light import Any
from stablint.run.releases.allowed import known_keys, oldest_meant
from stablint.run.releases.pep440 import Key, minor_of, text_of


class Reader:
    """One reader: `llamafactory.train`, `axolotl.config`, `openrlhf.train_sft`."""

    __slots__ = (
        "_ahead",
        "_asked",
        "_closed",
        "_keys",
        "_named",
        "_offered",
        "_present",
        "_releases",
        "_since",
        "_sorted",
        "_texts",
        "_within",
        "always",
        "bases",
        "library",
        "name",
    )

    def __init__(self, name: str, content: dict[str, Any]) -> None:
        self.name = name
        self.library: str = content["library"]
        self.bases: tuple[str, ...] = tuple(content["bases"])  # config classes whose fields it takes besides
        self.always: frozenset[str] = frozenset(
            content["always"]
        )  # taken by every release that counts where none is stated
        self._offered: str = content.get(
            "offered", ""
        )  # every name that a package offered in some release, a line each
        self._closed: bool = content.get("closed", False)  # no section of it takes what it does not have
        self._keys: dict[str, list[list[Any]]] = content["keys"]
        # What old releases without a schema may have asked their mapping for, by everything that they ask for anywhere.
        self._asked = frozenset(content.get("asked", ()))
        self._present: list[list[int]] = content["present"]
        self._releases: list[Key] = [tuple(key) for key, _ in content["releases"]]
        self._texts: list[str] = [text or text_of(tuple(key)) for key, text in content["releases"]]
        self._ahead: list[int] = content["ahead"]
        self._since: dict[str, int] | None = None
        self._sorted: list[str] | None = None
        self._named: dict[int, tuple[str, ...]] = {}
        self._within: dict[str, list[list[list[Any]]]] | None = None

    def ever(self, key: str) -> bool:
        """Did any release take it, and not only ask for something of that name?"""
        return key in self._keys and key not in self._asked

    def was_offered(self, name: str) -> bool:
        """Did any release of the package offer the name?"""
        return f"\n{name}\n" in self._offered

    def names_offered(self) -> list[str]:
        return self._offered.split()

    def ever_taken(self) -> tuple[str, ...]:
        return tuple(self._keys)

    def longer(self, beginning: str) -> tuple[str, ...]:
        """Of these the names that begin so and go on."""
        if self._sorted is None:
            self._sorted = sorted(self._keys)
        first = bisect_right(self._sorted, beginning)
        return tuple(takewhile(lambda name: name.startswith(beginning), islice(self._sorted, first, None)))

    def has_below(self, section: str) -> bool:
        """Are the keys of a nested section known?"""
        return section in self._sections()

    def as_long_as_its_section(self, key: str) -> bool:
        """Does every release that knows the section take the key in it?"""
        spans = self._keys.get(key, ())
        first = self._sections().get(key.rpartition(".")[0], -1)
        return len(spans) == 1 and spans[0][1] < 0 and spans[0][0] <= first

    def _sections(self) -> dict[str, int]:
        """Every section of which keys are known, with the first release that knows one."""
        if self._since is None:
            self._since = {}
            for key, spans in self._keys.items():
                first = spans[0][0]
                section = key.rpartition(".")[0]
                while section:
                    self._since[section] = min(first, self._since.get(section, first))
                    section = section.rpartition(".")[0]
        return self._since

    def owned(self, key: str, active: tuple[str, ...]) -> bool:
        """Does one of these plugins read it?"""
        return any(
            len(span) > 2 and any(name.startswith(span[2]) for name in active) for span in self._keys.get(key, ())
        )

    def is_before(self, release: Key) -> bool:
        """Whether it is older than all that were read: nothing is known of what it takes."""
        return self._place(release) is None

    def takes(self, key: str, release: Key, stated: bool) -> bool | None:
        """Does that release take it by itself? None for a release older than those that were read. Unstated, what the next release
        will take counts as taken: files of the repository's newest state are no older than it."""
        spans = self._keys.get(key, ())
        ahead = () if stated else self._ahead
        if any(_takes_by_itself(spans, index) for index in ahead):
            return True
        index = self._place(release)
        if index is None or _at(self._present, index) is None:
            return None
        if _takes_by_itself(spans, index):
            return True
        section = "" if self._closed else key.rpartition(".")[0]
        return bool(section) and not any(_at(below, index) is not None for below in self._below(section))

    def _below(self, section: str) -> list[list[list[Any]]]:
        """The spans of what a section holds; where a release has none, the section is a plain mapping to it that takes anything."""
        if self._within is None:
            self._within = {}
            for key, spans in self._keys.items():
                outer = key.rpartition(".")[0]
                while outer:
                    self._within.setdefault(outer, []).append(spans)
                    outer = outer.rpartition(".")[0]
        return self._within.get(section, [])

    def plugin(self, key: str, release: Key) -> str | None:
        """The plugin without which the release drops the key."""
        index = self._place(release)
        return None if index is None else _plugin(self._keys.get(key, ()), index)

    def names(self, release: Key) -> tuple[str, ...]:
        """What that release takes without a plugin."""
        index = self._place(release)
        if index is None:
            return ()
        if index not in self._named:
            self._named[index] = tuple(k for k, spans in self._keys.items() if _takes_by_itself(spans, index))
        return self._named[index]

    def change_points(self, key: str) -> frozenset[tuple[str, Key]]:
        """The releases at which the answer may change."""
        section = key.rpartition(".")[0]
        spans = [*self._keys.get(key, ()), *(span for below in self._below(section) for span in below if section)]
        boundaries = {span[0] for span in spans} | {span[1] + 1 for span in spans if span[1] >= 0}
        oldest = bisect_left(self._releases, oldest_meant(self.library))
        return frozenset(
            (self.library, self._releases[cut]) for cut in boundaries if oldest < cut < len(self._releases)
        )

    @property
    def releases(self) -> list[Key]:
        """Those that were read."""
        return self._releases

    def since(self, key: str, release: Key) -> str | None:
        """The first later release that takes it, where this one does not."""
        index, spans = self._place(release), self._keys.get(key, ())
        if index is None or _takes_by_itself(spans, index):
            return None
        later = [span[0] for span in spans if span[0] > index]
        return self._texts[min(later)] if later else None

    def removed_in(self, key: str, release: Key) -> str | None:
        """The first release up to this one that took it no longer, where this one does not."""
        index, spans = self._place(release), self._keys.get(key, ())
        if index is None or _takes_by_itself(spans, index):
            return None
        gone = [span[1] + 1 for span in spans if 0 <= span[1] < index]
        return self._texts[max(gone)] if gone else None

    def _place(self, release: Key) -> int | None:
        """The newest that is no newer; of a library of which one release a minor was read, that of its minor."""
        index = bisect_right(self._releases, release) - 1
        own = index >= 0 and minor_of(self._releases[index]) == minor_of(release)
        if not own and index + 1 < len(self._releases) and minor_of(self._releases[index + 1]) == minor_of(release):
            return index + 1
        return index if index >= 0 else None


def _at(spans: Any, index: int) -> Any:
    return next((span for span in spans if span[0] <= index and (span[1] < 0 or index <= span[1])), None)


def _plugin(spans: Any, index: int) -> str | None:
    span = _at(spans, index)
    return span[2] if span is not None and len(span) > 2 else None


def _takes_by_itself(spans: Any, index: int) -> bool:
    """Whether the release has the key, and needs no plugin for it."""
    return _at(spans, index) is not None and not _plugin(spans, index)


class FieldsReader(Reader):
    """A config class of a library that was read field by field (`accelerate.ClusterConfig`), seen as a reader."""

    __slots__ = ()

    def __init__(self, name: str, content: dict[str, Any]) -> None:
        library: str = content["library"]
        keys = {key: [span[:2] for span in spans] for key, spans in content["fields"].items()}
        releases = [[key, ""] for key in known_keys(library)]
        first = bisect_left(known_keys(library), oldest_meant(library))
        always = [key for key, spans in keys.items() if spans[-1][0] <= first and spans[-1][1] < 0]
        super().__init__(
            name,
            {
                "library": library,
                "bases": (),
                "always": always,
                "keys": keys,
                "present": content["present"],
                "releases": releases,
                "ahead": (),
            },
        )


_readers: dict[str, Reader | None] = {}


def reader(name: str) -> Reader | None:
    """The reader of that name, if its keys were read."""
    if name not in _readers:
        own, fields = load(f"accepted/{name}"), load(f"fields/{name}")
        _readers[name] = (
            Reader(name, own) if own is not None else FieldsReader(name, fields) if fields is not None else None
        )
    return _readers[name]


def _differ(said: list[str], own: bool) -> bool:
    return said == ["always"] or (bool(said) and not own)


def synonyms(key: str, library: str, alike: bool = False) -> tuple[str, ...]:
    """What other frameworks call so, by the names of this one; first what it called so itself. `alike`: only where both take the same values."""
    groups: list[dict[str, list[str]]] = load("synonyms").get(key, [])
    groups = sorted(groups, key=lambda group: key not in group.get(library, ()))
    if alike:
        groups = [
            group for group in groups if not _differ(group.get("values-differ", []), key in group.get(library, ()))
        ]
    return tuple(dict.fromkeys(name for group in groups for name in group.get(library, ()) if name != key))
