"""The vocabulary of a run: facts, where they come from, and what absence means. See DESIGN §2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stablint.base import knowledge
from stablint.base.light import Any, NamedTuple, Union
from stablint.syntax.tree import Document, Entry, Unknown

Value = Any  # bool, int, float, str, None, list, dict, or Unknown


class _Absent:
    """No statement and no default: nothing is set."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT = _Absent()

CLOSED, PRESUMED, OPEN = "closed", "presumed", "open"

OWN = ":own"  # the reader of a setting whose name is a program's own, and that nobody has seen read
LATE = ":late"  # of one that is set when the object is made already: what its constructor refuses, it has not seen
LIVE = "live"  # the format of the document that stands for live objects, which have no text


class Place(NamedTuple):
    """Where a statement stands. `setting` is the name as spelled: dotted path, flag without dashes, keyword."""

    document: Document
    setting: str
    start: int  # of the value; of the key where there is no value
    end: int
    entry: Entry | None = None
    path: tuple[str, ...] = ()  # keys from the document's root (of the call's or command's mapping) to the entry


class Explicit(NamedTuple):
    place: Place
    layer: str  # which kind of text it stands in, for precedence: flags, file, call …
    block: int  # number of the block of its document (the call, the command)
    reader: str = ""  # the call that the keyword belongs to: `trl.SFTConfig`; `:Name` for a flag that the program's own class declares
    key: Place | None = (
        None  # the keyword of a call that passes the value of a flag on: which names there are is a question about it
    )


class Default(NamedTuple):
    library: str
    field: str
    releases: str  # the releases that have this default, as a specifier: ">=0.19.1"
    presumed: bool = False


class Derived(NamedTuple):
    facts: tuple[str, ...]  # what it was worked out from, the deciding one first


class Supplied(NamedTuple):
    option: str  # --gpu A100, --set …, a settings file
    is_range: bool = False  # it allows other releases as well as the one that was taken


Origin = Union[Explicit, Default, Derived, Supplied, None]


class Fact(NamedTuple):
    """`value` is ABSENT or Unknown where that is the truth. `change_points` are the releases at which the value changes: {(library, key)}."""

    name: str
    value: Value
    origin: Origin
    sources: tuple["Statement", ...] = ()  # every statement of it, winner first
    change_points: frozenset[tuple[str, tuple[int, ...]]] = frozenset()
    presumed: bool = False  # rests on a presumed default


class Statement(NamedTuple):
    """One explicit statement of a fact. `raw` is the value as the reading library gets it, `value` what is meant."""

    fact: str
    value: Value
    raw: Value
    origin: Union[Explicit, Supplied]


class Secret(str):
    """Stands for a secret's value, which is never kept: only where it stands is known."""


class MaybeSecret(Secret):
    """Stands for a value that is hidden like a secret, and may well be none: words in a test, the first letters of a key."""


HIDDEN = Secret("*" * 8)
MAYBE_HIDDEN = MaybeSecret(HIDDEN)


def is_unknown(value: Value) -> bool:
    return type(value) is Unknown


def facts_of(values: Mapping[str, Any], origin: Origin) -> dict[str, Fact]:
    """Facts of one origin, by name; what is None is not known."""
    return {name: Fact(name, value, origin) for name, value in values.items() if value is not None}


NO_CHANGE_POINTS: frozenset[tuple[str, tuple[int, ...]]] = frozenset()


_new = tuple.__new__  # a named tuple without its Python frame: there is one for every setting of every run


def settle(groups: Iterable[tuple[Iterable[Statement], bool]]) -> dict[str, Fact]:
    """Each group of statements comes with whether it belongs to the run only by presumption. Of duplicate keys the last wins."""
    facts: dict[str, Fact] = {}
    several: dict[str, list[tuple[Statement, bool]]] = {}
    for statements, presumed in groups:
        for statement in statements:
            name = statement[0]
            first = facts.get(name)
            if first is None:  # by number, not by name: see frameworks/fragment.py
                facts[name] = _new(Fact, (name, statement[1], statement[3], (statement,), NO_CHANGE_POINTS, presumed))
            else:
                several.setdefault(name, [(first.sources[0], first.presumed)]).append((statement, presumed))
    if several:
        rank = {layer: number for number, layer in enumerate(knowledge.load("precedence"))}
        for name, found in several.items():
            facts[name] = _fact(
                name, [(rank[s.origin.layer] if type(s.origin) is Explicit else 0, s, p) for s, p in found]
            )
    return facts


def _says_otherwise(one: Statement, other: Statement) -> bool:
    """Whether two keys of one text say different things of the same: which of the two spellings counts only their reader knows."""
    if type(one.origin) is not Explicit or type(other.origin) is not Explicit or one.value == other.value:
        return False
    first, second = one.origin.place, other.origin.place
    return first.document is second.document and first.setting != second.setting and first.path[:-1] == second.path[:-1]


def _fact(name: str, found: list[tuple[int, Statement, bool]]) -> Fact:
    best = min(order for order, _, _ in found)
    rivals = [(statement, presumed) for order, statement, presumed in found if order == best]
    winner, presumed = rivals[-1]
    presumed = presumed or any(_says_otherwise(one, winner) for one, _ in rivals)
    others = tuple(statement for _, statement, _ in found if statement is not winner)
    return Fact(name, winner.value, winner.origin, (winner, *others), presumed=presumed)
