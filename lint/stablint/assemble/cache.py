"""What was worked out of files that have not changed since: a repair checks its texts again and again, and most of them are as they were."""

from __future__ import annotations

from stablint.base.light import TYPE_CHECKING, Any, NamedTuple
from stablint.syntax import limits

if TYPE_CHECKING:  # they are what is kept; nothing here makes one
    from stablint.assemble.joining import Followed
    from stablint.assemble.parts import Part
    from stablint.frameworks.fragment import Fragment
    from stablint.run.world import Run


class Joined(NamedTuple):
    parts: list[Part]
    linked: frozenset[str]
    followed: Followed


class Kept:
    """Keys are the identities of what a result was worked out from, which is kept beside it: no other object can take its number."""

    def __init__(self) -> None:
        self.seeds: dict[str, tuple[tuple[Fragment, ...], list[list[Part]]]] = {}
        self.joined: dict[tuple[Any, ...], tuple[list[Part], Joined]] = {}
        self.made: dict[tuple[Any, ...], tuple[list[Part], list[Run]]] = {}
        self.judged: dict[int, tuple[Run, Any]] = {}
        self.told: dict[tuple[int, ...], tuple[list[Any], Any]] = {}
        self.reread = limits.Purse(limits.REREAD)
        self.changed = limits.Purse(limits.CHANGED)

    def without(self, changed: set[str]) -> Kept:
        """What still holds when these files, by absolute path, have changed: fragments of theirs are others, and so are all keys."""
        rest = Kept()
        rest.seeds = {path: value for path, value in self.seeds.items() if path not in changed}
        rest.joined = {
            key: value for key, value in self.joined.items() if changed.isdisjoint(value[1].followed.consulted)
        }
        rest.made, rest.judged, rest.told = self.made, self.judged, self.told
        rest.reread, rest.changed = self.reread, self.changed
        return rest


def identity(parts: list[Part]) -> tuple[Any, ...]:
    return tuple((id(part.fragment), part.presumed) for part in parts)
