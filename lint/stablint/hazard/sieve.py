"""Which hazards a run must be asked about. Every fact is looked at once, and takes away the hazards whose conditions it makes false.

A hazard ends with one false condition that no release changes; one about a setting (`each`) with one that is false at the newest releases.
Most conditions compare one fact with a literal, so that fact by fact, instead of hazard by hazard, nearly all of the hazards are gone after
one look at what the run states. Sets of hazards are whole numbers: bit n is hazard n.

What a statement takes away depends on its value alone, and what absence takes away on the run's context (framework, scopes, classes,
releases): both are worked out once a process.
"""

from __future__ import annotations

from typing import Any

from stablint.base.light import NamedTuple
from stablint.hazard import literal
from stablint.hazard.checked import Checked
from stablint.hazard.condition import Condition, Verdict, facts_read
from stablint.hazard.model import Hazard, asks_about_change, patterns_of
from stablint.hazard.plan import DEAR, Plan, only_fact
from stablint.hazard.reference import Look, Reference, bits
from stablint.hazard.rules import needs_of
from stablint.run.fact import ABSENT, OPEN, Explicit, Fact, is_unknown
from stablint.run.releases.pep440 import matcher
from stablint.run.world import ANY, NO_CHANGE_POINTS, Facts, Run
from stablint.syntax.tree import Unknown

Conditions = list[tuple[Condition, int]]  # each with the hazards that end where it is false
Tests = list[tuple[literal.Test, int]]

# Words about an `item` that follow from its class, its releases and its place: neither its value nor the settings beside it change them.
_OF_CLASS = frozenset(
    f"item.{word}"
    for word in [
        "name", "key", "block", "layer", "type", "default", "choices", "minimum", "maximum", "above", "below",
        "renamed_to", "moved_to", "removed_in", "deprecated_in", "changed_by", "added_in", "formerly", "library", "stated", "plugin", "since",
        "misfit", "always", "sure", "callee",
    ]
)  # fmt: skip


# Whose hazards are half of all, and which follows from the context alone.
_FIRST = ("derived.framework",)


class Left(NamedTuple):
    """What a statement leaves of all hazards, and the hazards about a setting that it may fire itself."""

    run: int
    item: int


class Absent:
    """What the absence of facts rules out that rest on no other fact."""

    def __init__(self) -> None:
        self.ended: dict[str, int] = {}
        self._once = self._twice = 0  # the hazards that at least one of them rules out, and at least two
        self._by: dict[int, list[str]] | None = None

    def add(self, name: str, ended: int) -> None:
        self.ended[name] = ended
        self._twice |= self._once & ended
        self._once |= ended
        self._by = None

    def ruled_out(self, run: Run) -> int:
        """By those of the facts of which the run says nothing."""
        ended, said = self.ended, 0
        for stated in (run.explicit, run.supplied):
            for name in stated:
                said |= ended.get(name, 0)
        spared = said & ~self._twice
        if several := said & self._twice:
            by = self._index()
            for number in bits(several):
                if all(name in run.explicit or name in run.supplied for name in by[number]):
                    spared |= 1 << number
        return self._once & ~spared

    def _index(self) -> dict[int, list[str]]:
        if self._by is None:
            self._by = {}
            for name, ended in self.ended.items():
                for number in bits(ended & self._twice):
                    self._by.setdefault(number, []).append(name)
        return self._by


class Context:
    """What is the same in all runs of one framework, with the same scopes, classes and releases."""

    def __init__(self, run: Run, sieve: Sieve) -> None:
        self.runs = 0  # what is learnt pays from the second on
        out = sieve.out_of_range(run)
        self.left = sieve.all & ~(out & ~sieve.news if run.by_spelling else out)
        self.each = sieve.each
        self.references: dict[tuple[Any, ...], list[Reference]] = {}
        self.outside: dict[str, int] = {}
        self.all_outside = 0
        for head, reads in sieve.reads.items():
            if run.scopes.get(head, OPEN) == OPEN:
                for name, mask in reads.items():
                    self.outside[name] = self.outside.get(name, 0) | mask
                    self.all_outside |= mask
        self.supplied: dict[tuple[Any, ...], int] = {}
        self.absent = Absent()
        self.tables = sieve.tables(run)
        for table in self.tables.values():
            for name, ended in table.items():
                self.absent.add(name, ended)
        self.unstated: dict[str, tuple[int, frozenset[str]]] = {}
        self.unstated_of: dict[str, tuple[int, frozenset[str]]] = {}  # the same of derived facts
        self.stated_of: set[str] = set()
        self.open = {name: sieve.uses[name] for name in sieve.plain if name not in self.absent.ended}
        self.silent: dict[
            int, frozenset[str]
        ] = {}  # hazards (as sets) that say nothing where none of these facts is stated
        self.tried: set[int] = set()
        doubtful = frozenset(owner for owners in run.classes.values() for owner in owners if owner.startswith("?"))
        self.words = sieve.words_of.setdefault((run.framework, run.releases.token(), run.by_spelling, doubtful), {})
        self.about: dict[tuple[Any, ...], list[int | None]] = {}


class Sieve:
    """For one choice of hazards; shared by all runs that are checked against it."""

    def __init__(self, hazards: tuple[Hazard, ...]) -> None:
        self.hazards = hazards
        self._wakes = _layers(needs_of(hazards))
        self.all = (1 << len(hazards)) - 1
        self.each = self.news = 0
        self.uses: dict[str, int] = {}  # fact → the hazards with a condition on it alone
        self._raw: dict[str, Conditions] = {}
        self._mixed: Conditions = []  # on words of the class, and others
        self._tests: dict[str, Tests] = {}
        self.words_of: dict[tuple[Any, ...], dict[tuple[Any, ...], int]] = {}
        self._unsaid: dict[tuple[Any, ...], int] = {}
        self._of_name: dict[tuple[str, bool], Tests] = {}
        self._out: dict[tuple[Any, ...], int] = {}
        self._of_item: dict[str, tuple[int, Tests]] = {}
        self.ranges: dict[str, dict[str, int]] = {}  # library → range → the hazards with that range
        self.reads: dict[str, dict[str, int]] = {}
        self._patterns: dict[str, int] = {}
        self._covered: dict[str, int] = {}
        self._tokens: dict[tuple[Any, ...], Left] = {}
        self._contexts: dict[tuple[Any, ...], Context] = {}
        self._supplied: tuple[Any, Any] = (None, None)
        self._plans: dict[int, Plan] = {}
        for number, hazard in enumerate(hazards):
            self._add(hazard, 1 << number)
        every = list(self._raw)
        self.items = [(literal.compiled(condition), mask) for condition, mask in _merged(self._raw.pop("item", []))]
        words = [pair for name in every if name in _OF_CLASS for pair in _merged(self._raw.pop(name))]
        self.words = [(literal.compiled(condition, _of_class), mask) for condition, mask in words]
        self.mixed = [(literal.compiled(condition, _of_class), mask) for condition, mask in _merged(self._mixed)]
        shown = [name for name in every if not name.startswith(("item", *DEAR))]
        # Facts that many hazards read come first: what they rule out asks for no other fact.
        shown.sort(key=lambda name: -self.uses[name].bit_count())
        self.plain = [name for name in shown if not name.startswith("derived.")]
        self.derived = [name for name in shown if name.startswith("derived.")]
        self._heads = list(dict.fromkeys(name.partition(".")[0] for name in self.plain))
        self._tables: dict[tuple[Any, ...], dict[str, int]] = {}

    def _add(self, hazard: Hazard, bit: int) -> None:
        if hazard.each:
            self.each |= bit
            for pattern in hazard.each:
                self._patterns[pattern] = self._patterns.get(pattern, 0) | bit
            if asks_about_change(hazard):
                self.news |= bit
        uses, raw = self.uses, self._raw
        for condition in hazard.when:
            name = only_fact(condition)
            if name is not None:
                if name in raw:
                    raw[name].append((condition, bit))
                    uses[name] |= bit
                else:
                    raw[name] = [(condition, bit)]
                    uses[name] = bit
            elif hazard.each and not _OF_CLASS.isdisjoint(facts_read([condition])):
                self._mixed.append((condition, bit))
        for library, specifier in hazard.versions.items():
            masks = self.ranges.setdefault(library, {})
            masks[specifier] = masks.get(specifier, 0) | bit
        for head, name in hazard.reads:
            names = self.reads.setdefault(head, {})
            names[name] = names.get(name, 0) | bit

    def tests(self, name: str) -> Tests:
        """The conditions on that fact alone, equal ones of several hazards once."""
        found = self._tests.get(name)
        if found is None:
            conditions = [] if name.startswith(DEAR) else _merged(self._raw.get(name, []))
            found = self._tests[name] = [(literal.compiled(condition), mask) for condition, mask in conditions]
        return found

    def plan(self, number: int) -> Plan:
        found = self._plans.get(number)
        if found is None:
            found = self._plans[number] = Plan(number, self.hazards[number])
        return found

    def asleep(self, run: Run) -> int:
        """The hazards that say nothing of a run which states these facts and no others, whatever their values are."""
        found = 0
        for wakes in self._wakes:
            woken = 0
            for stated in (run.explicit, run.supplied):
                for name in stated:
                    if name in wakes:
                        woken |= wakes[name]
            found |= wakes[""] & ~woken
        return found

    def candidates(
        self, context: Context, checked: Checked, asleep: int, looks: list[Look] | None = None
    ) -> list[tuple[Plan, str]]:
        """Of the hazards that are not asleep those that no single fact rules out, each with the setting that `item` stands for, in their order."""
        run = checked.run
        explicit, tokens = run.explicit, self._tokens
        left, items = context.left & ~asleep, []
        for name, fact in explicit.items():
            known = tokens.get(_token(name, fact)) or self.statement(name, fact, checked)
            left &= known.run
            if known.item:
                items.append((name, fact, known.item))
        if context.outside.keys().isdisjoint(explicit):
            left &= ~context.all_outside
        else:
            for name, mask in context.outside.items():
                if name not in explicit:
                    left &= ~mask
        spared = left & self.news if run.by_spelling else 0  # they are judged at other releases
        left = self._without_supplied(run, context, checked, left, looks)
        for name in _FIRST:
            if name in self.uses:
                left = self._without_derived(name, context, checked, left, looks)
        left = self._without_unstated(run, context, checked, left, looks)
        for name in self.derived:
            left = self._without_derived(name, context, checked, left, looks)
        for bit, read in context.silent.items():
            if left & bit and _is_silent_of(run, read):
                left &= ~bit
                if looks is not None:
                    looks.append(Look("", bit))
        left |= spared
        asked = [(number, "") for number in bits(left & ~self.each)]
        about = left & self.each
        for name, fact, mask in items:
            mask &= about
            if mask:
                asked += [(number, name) for number in bits(self.about(name, fact, mask, context, checked))]
        asked.sort(key=_number)
        return [(self.plan(number), name) for number, name in asked]

    def _without_derived(
        self, name: str, context: Context, checked: Checked, left: int, looks: list[Look] | None
    ) -> int:
        if left & self.uses[name]:
            ended = self._of_derived(name, context, checked)
            left &= ~ended
            if looks is not None:
                looks.append(Look(name, ended))
        return left

    def _of_derived(self, name: str, context: Context, checked: Checked) -> int:
        """What a derived fact rules out: where it rests on nothing that is stated, the same as in the runs before."""
        run = checked.run
        known = context.unstated_of.get(name)
        if known is not None and _is_silent_of(run, known[1]):
            return known[0]
        ended = self._ended(name, checked)
        if known is None and context.runs > 1 and name not in context.stated_of:
            read = frozenset(checked.newest.rests_on([name]))
            if _may_learn(run, read) and not checked.newest.fact(name).change_points:
                context.unstated_of[name] = (ended, read)
            else:
                context.stated_of.add(name)
        return ended

    def learn(self, plan: Plan, context: Context, checked: Checked, names: tuple[str, ...]) -> None:
        """These facts have ended a hazard: where they rest on nothing that is stated, they do so in every run that states nothing of it."""
        if context.runs < 2 or plan.number in context.tried:
            return
        context.tried.add(plan.number)
        newest = checked.newest
        turning = NO_CHANGE_POINTS.union(*(newest.fact(name).change_points for name in names))
        worlds = [newest, *(world for _, world in checked.others(turning))] if turning else [newest]
        read: frozenset[str] = frozenset().union(*(world.rests_on(list(names)) for world in worlds))
        if _may_learn(checked.run, read):
            context.silent[1 << plan.number] = read

    def statement(self, name: str, fact: Fact, checked: Checked) -> Left:
        """What the statement of a fact leaves of all hazards."""
        token = _token(name, fact)
        known = self._tokens.get(token)
        if known is None:
            known = self._of_statement(name, fact, checked)
            if fact.value is not None:  # what null means follows from the class, and from what its default rests on
                self._tokens[token] = known
        return known

    def about(self, name: str, fact: Fact, mask: int, context: Context, checked: Checked) -> int:
        """Those of the hazards about a setting that its class does not rule out."""
        place = (name, *_place(fact), checked.newest.fact("derived.framework").value)
        ended = context.about.get(place)
        if ended is None:
            ended = context.about[place] = [None, None]  # of those about what is new, of all others
        if mask & self.news:
            if (out := ended[0]) is None:
                news = checked.has_change(name)
                out = ended[0] = self._by_class(fact, place, context, checked, True) if news else self.news
            mask &= ~out
        if mask & ~self.news:
            if (out := ended[1]) is None:
                out = ended[1] = self._by_class(fact, place, context, checked, False)
            mask &= ~out
        return mask

    def rules_out(self, name: str, left: int, checked: Checked) -> int:
        """The hazards that a fact ends, of which some are left."""
        return self._ended(name, checked) if left & self.uses[name] else 0

    def _of_statement(self, name: str, fact: Fact, checked: Checked) -> Left:
        about = self._of_item.get(name)
        if about is None:
            covered = self._covers(name)
            about = self._of_item[name] = covered, [(test, mask) for test, mask in self.items if mask & covered]
        item, tests = about
        if not fact.sources:
            return Left(self.all, item)
        world, unknown = checked.newest, is_unknown(fact.value)
        for test, mask in tests:
            if item & mask and ((held := test(fact, world)) is False or (unknown and held is None)):
                item &= ~mask
        return Left(self.all & ~self._ended(name, checked), item)

    def _without_supplied(
        self, run: Run, context: Context, checked: Checked, left: int, looks: list[Look] | None
    ) -> int:
        for name, fact in run.supplied.items():
            uses = self.uses.get(name, 0)
            if left & uses and name not in run.explicit:
                key = _token(name, fact)
                ended = context.supplied.get(key)
                if ended is None:
                    ended = context.supplied[key] = self._ended(name, checked)
                left &= ~ended
                if looks is not None:
                    looks.append(Look(name, ended))
        return left

    def _without_unstated(
        self, run: Run, context: Context, checked: Checked, left: int, looks: list[Look] | None
    ) -> int:
        """What absence rules out, where no fact that a default rests on is stated."""
        explicit, supplied, world = run.explicit, run.supplied, checked.newest
        left &= ~context.absent.ruled_out(run)
        if looks is not None:
            for name, ended in context.absent.ended.items():
                if name not in explicit and name not in supplied:
                    looks.append(Look(name, ended))
        for name, (ended, others) in context.unstated.items():
            if name not in explicit and name not in supplied:
                if not _is_silent_of(run, others):
                    ended = self._ended(name, checked)
                left &= ~ended
                if looks is not None:
                    looks.append(Look(name, ended))
        for name in [name for name, uses in context.open.items() if left & uses]:
            if name in explicit or name in supplied:
                continue
            ended = self._ended(name, checked)
            left &= ~ended
            if looks is not None:
                looks.append(Look(name, ended))
            if world.is_alone(name):
                context.tables[name.partition(".")[0]][name] = ended
                context.absent.add(name, ended)
                del context.open[name]
            elif context.runs > 1:
                others = frozenset(world.rests_on([name]) - {name})
                if _may_learn(run, others):
                    if ended:
                        context.unstated[name] = (ended, others)
                    del context.open[name]
        return left

    def tables(self, run: Run) -> dict[str, dict[str, int]]:
        """For each namespace what the absence of its facts rules out, where they rest on no other: the same in all runs that read the
        namespace alike."""
        found = {}
        releases = tuple(run.releases.newest_of_all().items())
        for head in self._heads:
            scope = run.scopes.get(head, OPEN)
            alike = (head,) if scope == OPEN else (head, scope, run.classes.get(head), run.framework, releases)
            found[head] = self._tables.setdefault(alike, {})
        return found

    def _ended(self, name: str, checked: Checked) -> int:
        """The hazards that the fact rules out: at every release a condition on it is false, or nothing can ever make it known."""
        newest = checked.newest
        fact = newest.facts.get(name) or newest.fact(name)
        if fact.change_points:
            return self._ended_everywhere(name, checked)
        value = fact.value
        hopeless = is_unknown(value) and newest.needs(name) is None
        kind = type(value)
        if fact.sources or (kind not in _PLAIN and kind is not Unknown and value is not ABSENT):
            return _ended_at(fact, self.tests(name), newest, hopeless)
        # What nobody states is told apart by its value, and by whether it may stand elsewhere.
        known = value if kind is not Unknown else (hopeless, value.there)
        key = (name, kind, known, newest.scope(name) == OPEN)
        found = self._unsaid.get(key)
        if found is None:
            found = self._unsaid[key] = _ended_at(fact, self.tests(name), newest, hopeless)
        return found

    def _ended_everywhere(self, name: str, checked: Checked) -> int:
        """The same of a fact that changes with a release; a hazard about a setting ends where it is false at the newest."""
        newest, ended, worlds = checked.newest, 0, checked.at_all_values(name)
        fact = newest.fact(name)
        facts = [(world.fact(name), world) for world in worlds]
        hopeless = [is_unknown(other.value) and world.needs(name) is None for other, world in facts]
        for test, mask in self.tests(name):
            held = test(fact, newest)
            if held is True:
                continue
            if facts and all(
                (found := test(other, world)) is False or (found is None and without)
                for (other, world), without in zip(facts, hopeless, strict=True)
            ):
                ended |= mask
            elif held is False:
                ended |= mask & self.each
        return ended

    def _by_class(self, fact: Fact, place: tuple[Any, ...], context: Context, checked: Checked, news: bool) -> int:
        """Of the hazards about what is new of a setting, or of all others, those that its class rules out."""
        name = fact.name
        head, _, more = name.partition(".")
        scopes, classes = checked.run.scopes, checked.run.classes
        owners = classes.get(head if head != "keys" else f"keys.{more.partition('.')[0]}")
        key = (news, place, scopes.get(head), owners)
        ended = context.words.get(key)
        if ended is None:
            ended = 0
            asked = checked.certain() if news and checked.run.by_spelling else checked
            view = asked.view(asked.newest, name)
            for test, mask in self._class_tests(name, news):
                if mask & ~ended and test(fact, view) is False:
                    ended |= mask
            context.words[key] = ended
        return ended

    def _class_tests(self, name: str, news: bool) -> Tests:
        """The conditions on words of a class, alone and with others, each with the hazards about such a setting that end with it."""
        found = self._of_name.get((name, news))
        if found is None:
            about = self._covers(name) & (self.news if news else ~self.news)
            tests = self.words if news else [*self.words, *self.mixed]
            found = self._of_name[name, news] = [(test, mask & about) for test, mask in tests if mask & about]
        return found

    def _covers(self, name: str) -> int:
        """The hazards about such a setting."""
        found = self._covered.get(name)
        if found is None:
            found = 0
            for kind in patterns_of(name):
                found |= self._patterns.get(kind, 0)
            self._covered[name] = found
        return found

    def out_of_range(self, run: Run) -> int:
        """The hazards of other releases than those that the run may use."""
        out = 0
        for library, masks in self.ranges.items():
            allowed = run.releases.allowed(library)
            key = library, allowed
            found = self._out.get(key)
            if found is None:
                found = 0
                for specifier, mask in masks.items() if allowed else ():
                    if not any(map(matcher(specifier), reversed(allowed))):  # most ranges hold the newest
                        found |= mask
                self._out[key] = found
            out |= found
        return out

    def supplied(self, run: Run) -> Any:
        """What options and the model's name supply, as far as an answer can tell."""
        last, key = self._supplied
        if last is not run.supplied:
            key = tuple([_token(name, fact) for name, fact in run.supplied.items()])
            self._supplied = run.supplied, key
        return key

    def context(self, run: Run) -> Context:
        key = (
            run.framework, run.linked, run.dialects, run.target, run.releases.token(),
            tuple(run.scopes.items()), tuple(run.classes.items()), run.by_spelling,
        )  # fmt: skip
        found = self._contexts.get(key)
        if found is None:
            found = self._contexts[key] = Context(run, self)
        found.runs += 1
        return found


def _layers(needs: list[tuple[frozenset[str], int]]) -> list[dict[str, int]]:
    """The same by the facts, so that a run is asked for what it states and not for all that hazards need: the hazards that each fact wakes, and under no
    name all of them. A hazard with several needs has each in another layer, and sleeps where one of them is not met."""
    layers: list[dict[str, int]] = []
    for names, mask in needs:
        place = 0
        while mask:
            if place == len(layers):
                layers.append({"": 0})
            layer, place = layers[place], place + 1
            free = mask & ~layer[""]
            layer[""] |= free
            mask &= ~free
            for name in names if free else ():
                layer[name] = layer.get(name, 0) | free
    return layers


def _is_silent_of(run: Run, read: frozenset[str]) -> bool:
    """Whether the run says none of these."""
    return read.isdisjoint(run.explicit) and read.isdisjoint(run.supplied)


def _may_learn(run: Run, read: frozenset[str]) -> bool:
    """Whether what rests on these is the same in every run that says none of them: not where it rests on all that may be said in a namespace."""
    return _is_silent_of(run, read) and not any(name.endswith(ANY) for name in read)


def _token(name: str, fact: Fact) -> tuple[Any, ...]:
    """A statement as far as a condition on it alone can tell."""
    sources = fact.sources
    value, raw = fact.value, sources[0].raw if sources else fact.value
    kind, written = type(value), type(raw)
    if kind not in _PLAIN:  # of what is unknown, its layer may tell that it is not null
        origin = fact.origin
        value = (repr(value), origin.layer) if isinstance(origin, Explicit) else repr(value)
    if written not in _PLAIN:
        raw = repr(raw)
    return (name, bool(sources), kind, value, written, raw)


_PLAIN = frozenset({str, int, float, bool, type(None)})


def _of_class(condition: Condition) -> literal.Test:
    """What the condition comes to whatever the value of the setting is, and all else that does not follow from its class."""
    name = condition[1]
    if (name not in _OF_CLASS and name not in _FIRST) or condition[2] == 2:
        return _not_known
    test = literal.compiled(condition)
    return lambda _, view: test(view.fact(name), view)


def _not_known(fact: Fact, world: Facts) -> Verdict:
    return None


def _ended_at(fact: Fact, tests: Tests, world: Facts, hopeless: bool) -> int:
    ended = 0
    for test, mask in tests:
        held = test(fact, world)
        if held is False or (hopeless and held is None):
            ended |= mask
    return ended


def _place(fact: Fact) -> tuple[Any, ...]:
    origin = fact.origin
    if not isinstance(origin, Explicit):
        return ()
    return (origin.place.path, origin.layer, origin.reader, origin.key.path if origin.key is not None else ())


def _merged(tests: Conditions) -> Conditions:
    if len(tests) < 2:
        return tests
    found: dict[str, tuple[Condition, int]] = {}
    for condition, bit in tests:
        key = repr(condition)
        found[key] = (condition, found[key][1] | bit) if key in found else (condition, bit)
    return list(found.values())


def _number(pair: tuple[int, str]) -> int:
    return pair[0]
