"""A run judged with a record of what every answer rests on: of a run that states the same but for a few settings only those hazards are
asked again whose answer may differ.

Working out a fact or a condition reads other facts, and is the same wherever all of these are: the first one that could differ would be
among them. So an answer holds for each run of the same context whose differing settings are none that it read. A finding is always made
afresh, and so is what looks at files or at the names beside a setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from stablint.base.light import NamedTuple
from stablint.hazard.checked import Checked
from stablint.hazard.condition import GROUPS, Condition, facts_read, reads_files
from stablint.hazard.model import Finding, Hazard, Undecided
from stablint.run.fact import Derived, Explicit, Fact

if TYPE_CHECKING:
    from stablint.hazard.plan import Plan
    from stablint.hazard.sieve import Context

Outcome = Finding | Undecided | None
Statement = tuple[Any, ...]
# Words about a framework's key that depend on the settings beside it (hazard/key_subject.py).
_NEIGHBOURS = frozenset(f"item.{word}" for word in ["suggestion", "belongs", "company", "others", "hint", "meant"])


class Look(NamedTuple):
    """One fact, with the hazards that it ruled out."""

    fact: str
    ended: int


class Step(NamedTuple):
    """A question to ask again, or (`needs`) an undetermined answer to take over."""

    number: int
    position: int  # of the setting among those that are stated
    item: str
    needs: tuple[str, ...] | None


class Difference(NamedTuple):
    """What is left to do for runs that differ from a reference in the same settings."""

    left: int  # the hazards that nothing rules out which both have
    spared: int
    steps: tuple[Step, ...]
    facts: tuple[str, ...]  # those that may rule out others than they did
    stated: tuple[
        str, ...
    ]  # the same of what both state alike: null, which means what a default means that rests on the others


class Reference:
    """`statements` are those of the run, in its order; `stated` the hazards that each of them leaves, and those about a setting that it may fire."""

    def __init__(
        self,
        statements: list[Statement],
        context: Context,
        awake: int,
        checked: Checked,
        looks: list[Look],
        outcomes: list[tuple[Plan, str, Outcome]],
        stated: list[tuple[str, int, int]],
    ) -> None:
        self.statements = statements
        self._context = context
        self._awake = awake
        self._run = checked.run
        self._looks = looks
        self._stated = stated
        self._reads = _reads(checked)
        self._closures: dict[str, frozenset[str]] = {}
        self._outcomes = {(plan.number, item): (outcome, plan.hazard) for plan, item, outcome in outcomes}
        self._differences: dict[tuple[str, ...], Difference] = {}

    def difference(self, names: tuple[str, ...], news: int) -> Difference:
        """For a run that states other than this one what these settings are."""
        found = self._differences.get(names)
        if found is None:
            found = self._differences[names] = self._made(frozenset(names), news)
        return found

    def _made(self, names: frozenset[str], news: int) -> Difference:
        left = self._context.left & self._awake
        also = tuple(
            name for name, _, _ in self._stated if name not in names and not self._rests_on(name).isdisjoint(names)
        )
        alike = [
            (position, name, kept, about)
            for position, (name, kept, about) in enumerate(self._stated)
            if name not in names and name not in also
        ]
        for _, _, kept, _ in alike:
            left &= kept
        for name, mask in self._context.outside.items():
            if name not in self._run.explicit:
                left &= ~mask
        spared = left & news if self._run.by_spelling else 0
        facts = []
        for look in self._looks:
            if self._rests_on(look.fact).isdisjoint(names):
                left &= ~look.ended
            else:
                facts.append(look.fact)
        steps = []
        asked = left | spared
        for number in bits(asked & ~self._context.each):
            step = self._step(number, 0, "", names)
            if step is not None:
                steps.append(step)
        for position, name, _, about in alike:
            for number in bits(about & asked):
                step = self._step(number, position, name, names)
                if step is not None:
                    steps.append(step)
        steps.sort()
        return Difference(left, spared, tuple(steps), tuple(facts), also)

    def _step(self, number: int, position: int, item: str, names: frozenset[str]) -> Step | None:
        known = self._outcomes.get((number, item))
        if known is None:
            return Step(number, position, item, None)
        outcome, hazard = known
        if type(outcome) is Finding or not self._holds(hazard, item, names):
            return Step(number, position, item, None)
        return Step(number, position, item, outcome.needs) if isinstance(outcome, Undecided) else None

    def _holds(self, hazard: Hazard, item: str, names: frozenset[str]) -> bool:
        """Does an answer hold where these settings are others? The item itself is none of them."""
        if reads_files(hazard.when) or (
            item.startswith("keys.") and not _NEIGHBOURS.isdisjoint(facts_read(hazard.when))
        ):
            return False
        explicit = self._run.explicit
        for name, of_value in _read(hazard.when):
            if not of_value and name in explicit:
                if kind_of(name) in names:
                    return False
            elif not self._rests_on(name).isdisjoint(names):
                return False
        return True

    def _rests_on(self, name: str) -> frozenset[str]:
        found = self._closures.get(name)
        if found is None:
            seen: set[str] = set()
            pending = [name]
            while pending:
                one = pending.pop()
                if one not in seen:
                    seen.add(one)
                    pending += self._reads.get(one, ())
            found = self._closures[name] = frozenset(seen)
        return found


def _read(conditions: list[Condition]) -> Iterator[tuple[str, bool]]:
    """Every fact that the conditions name, and whether they look at more than whether it is set."""
    for condition in conditions:
        if condition[0] in GROUPS:
            yield from _read(condition[1])
        else:
            for name in facts_read([condition]):
                yield name, condition[0] not in ("is-set", "is-absent", "is-default")


def kind_of(name: str) -> str:
    """Stands among the settings that differ for one whose value is of another type: null, unknown."""
    return "?" + name


def differing(one: list[Statement], other: list[Statement], names: tuple[str, ...]) -> tuple[str, ...]:
    """The settings of which two runs that state the same settings say different things."""
    found = []
    for name, here, there in zip(names, one, other, strict=True):
        if here != there:
            found.append(name)
            if here[2] is not there[2]:
                found.append(kind_of(name))
    return tuple(found)


def _reads(checked: Checked) -> dict[str, set[str]]:
    """What every fact that was worked out rests on, in whatever world."""
    found: dict[str, set[str]] = {}
    for world in checked.all_worlds():
        for name, read in world.reads():
            found.setdefault(name, set()).update(read)
        for fact in world.facts.values():
            if isinstance(fact.origin, Derived):
                found.setdefault(fact.name, set()).update(fact.origin.facts)
    return found


def statement(fact: Fact) -> Statement:
    """All that an answer can depend on of what is stated of a fact."""
    sources = fact.sources
    value = fact.value
    kind = type(value)
    if kind not in _PLAIN:
        value = repr(value)
    if len(sources) == 1:
        _, _, raw, origin = sources[0]
        written = type(raw)
        if written not in _PLAIN:
            raw = repr(raw)
        if type(origin) is Explicit:
            return (
                fact.presumed,
                value,
                kind,
                raw,
                written,
                origin[1],
                origin[0][5],
                origin[3],
                _passed(origin),
            )  # layer, path, reader
        return (fact.presumed, value, kind, raw, written, repr(origin))
    return (fact.presumed, value, kind, *[_source(one) for one in sources])


def _source(one: Any) -> Any:
    origin = one.origin
    if isinstance(origin, Explicit):
        return (repr(one.raw), repr(one.value), origin.layer, origin.place.path, origin.reader, _passed(origin))
    return (repr(one.raw), repr(one.value), repr(origin))


def _passed(origin: Explicit) -> tuple[str, ...]:
    return origin.key.path if origin.key is not None else ()


_PLAIN = frozenset({str, int, float, bool, type(None)})


def bits(mask: int) -> Iterable[int]:
    """The numbers of a set, smallest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
