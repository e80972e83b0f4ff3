"""Three-valued conditions (Kleene): true, false, or None where a fact that is read is not known. The vocabulary is closed: DESIGN §5."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache

from stablint.base.libraries import fractions
from stablint.base.light import Any
from stablint.hazard import automaton as automata
from stablint.run.fact import ABSENT, OPEN, Explicit, Fact, Secret, is_unknown
from stablint.run.releases.dating import in_use
from stablint.run.releases.pep440 import Key, release_key
from stablint.run.world import NO_CHANGE_POINTS, ChangePoints, Facts
from stablint.syntax.limits import MATCHED, SEARCHED

Verdict = bool | None
Condition = list[Any]


def evaluate(condition: Condition, world: Facts) -> Verdict:
    operator = condition[0]
    group = GROUPS.get(operator)
    if group is not None:
        return group(condition[1], world)
    return OPERATORS[operator](world.fact(condition[1]), condition, world)


def facts_read(conditions: list[Condition]) -> Iterator[str]:
    """Every fact that the conditions name, in order."""
    for condition in conditions:
        if condition[0] in GROUPS:
            yield from facts_read(condition[1])
        else:
            yield condition[1]
            if condition[2] == 2:
                yield condition[3]


def reads_files(conditions: list[Condition]) -> bool:
    return any(reads_files(c[1]) if c[0] in GROUPS else _reads_file(c) for c in conditions)


def _reads_file(condition: Condition) -> bool:
    if condition[0] in ("any-item", "all-items"):
        return _reads_file(condition[3])
    return bool(condition[0] == "exists-file")


def change_points(conditions: list[Condition], world: Facts) -> ChangePoints:
    """The releases at which something that the conditions read changes."""
    found = NO_CHANGE_POINTS
    for condition in conditions:
        if condition[0] in GROUPS:
            more = change_points(condition[1], world)
        else:
            name = condition[1]
            more = world.fact(name).change_points
            if name[:9] == "versions.":
                more |= boundaries(condition, world)
            if condition[2] == 2:
                more |= world.fact(condition[3]).change_points
            if name[:4] == "item" and condition[0] in ("unknown-key", "one-of-enum"):
                more |= world.item_change_points()
        if more:
            found |= more
    return found


_AS_SPECIFIER = {"is": "==", "is-not": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}


def boundaries(condition: Condition, world: Facts) -> ChangePoints:
    """The stated releases of a library between which a comparison with one of its releases changes."""
    releases, library = world.run.releases, condition[1].removeprefix("versions.")
    operator, operand = condition[0], condition[3]
    if condition[2] == 2 or not releases.stated(library):
        return frozenset()
    if operator == "between":
        bounds = [f">={operand[0]},<{operand[1]}"]
    elif operator in ("in", "not-in"):
        bounds = [f"=={one}" for one in operand]
    else:
        bounds = [_AS_SPECIFIER[operator] + str(operand)] if operator in _AS_SPECIFIER else []
    found: ChangePoints = frozenset()
    for specifier in bounds:
        found |= releases.boundaries(library, specifier)
    return found


def deciding(conditions: list[Condition], world: Facts) -> Iterator[str]:
    """The facts that make true conditions true; of an `any` only its first true branch."""
    for condition in conditions:
        if condition[0] == "any":
            branch = next((c for c in condition[1] if evaluate(c, world) is True), None)
            if branch is not None:
                yield from deciding([branch], world)
        elif condition[0] in GROUPS:
            yield from deciding(condition[1], world)
        else:
            yield condition[1]
            if condition[2] == 2:
                yield condition[3]


def rests_on_use(conditions: list[Condition], world: Facts) -> bool:
    """Whether true conditions compare with a release that nobody states, and are answered by those in use."""
    for condition in conditions:
        if condition[0] in GROUPS:
            true = [one for one in condition[1] if condition[0] == "any" and evaluate(one, world) is True]
            if rests_on_use(true[:1] or condition[1], world):
                return True
        elif condition[1][:9] == "versions." and condition[0] != "is-absent":
            if not world.run.releases.stated(condition[1][9:]):
                return True
    return False


def every(conditions: list[Condition], world: Facts) -> Verdict:
    """Kleene's and: one false settles it, else one unknown blurs it."""
    verdict: Verdict = True
    for condition in conditions:
        found = evaluate(condition, world)
        if found is False:
            return False
        if found is None:
            verdict = None
    return verdict


def _any(conditions: list[Condition], world: Facts) -> Verdict:
    verdict: Verdict = False
    for condition in conditions:
        found = evaluate(condition, world)
        if found is True:
            return True
        if found is None:
            verdict = None
    return verdict


def _not(conditions: list[Condition], world: Facts) -> Verdict:
    verdict = every(conditions, world)
    return None if verdict is None else not verdict


GROUPS: dict[str, Callable[[list[Condition], Facts], Verdict]] = {"all": every, "any": _any, "not": _not}

Test = Callable[[Any, Any], Verdict]
Operator = Callable[[Fact, Condition, Facts], Verdict]


def _compare(test: Test, when_absent: Verdict) -> Operator:
    """Compare a known value with a literal or another fact; what is unknown stays unknown."""

    def operator(fact: Fact, condition: Condition, world: Facts) -> Verdict:
        value = fact.value
        if condition[1].startswith("versions."):
            return _version(condition, world)
        if condition[2] == 2:
            operand = world.fact(condition[3]).value
            if operand is ABSENT:
                return None
            if is_unknown(operand):
                return None
        else:
            operand = condition[3]
        if is_unknown(value):
            return _same_or_not(test, value) if operand is None else None
        if value is ABSENT:
            return (
                True
                if operand is None and test is _same
                else False
                if operand is None and test is _differs
                else when_absent
            )
        return test(value, operand)

    return operator


def _same_or_not(test: Test, value: Any) -> Verdict:
    """Of a value that is not known, whether it is null: an object is not."""
    return test(value, None) if test in (_same, _differs) else None


def _version(condition: Condition, world: Facts) -> Verdict:
    """Releases compare as releases. Where none is stated the answer is known if all that are in use give the same one."""
    releases, library = world.run.releases, condition[1].removeprefix("versions.")
    if releases.stated(library):
        return _compared(world.choice[library], condition, world)
    if releases.presumed(library) or releases.is_unread(library) or condition[2] == 2:
        return None
    operand = condition[3]
    return _of_all_in_use(library, condition[0], tuple(operand) if isinstance(operand, list) else operand)


@cache
def _of_all_in_use(library: str, operator: str, operand: Any) -> Verdict:
    answers = {_related(one, operator, operand) for one in in_use(library)}
    return answers.pop() if len(answers) == 1 else None


def _compared(have: Key, condition: Condition, world: Facts) -> Verdict:
    operand = world.fact(condition[3]).value if condition[2] == 2 else condition[3]
    if condition[2] == 2 and not isinstance(operand, str):
        return None
    return _related(have, condition[0], operand)


def _related(have: Key, operator: str, operand: Any) -> Verdict:
    if operator == "between":
        return release_key(str(operand[0])) <= have < release_key(str(operand[1]))
    if operator in ("in", "not-in"):
        return (have in [release_key(str(o)) for o in operand]) is (operator == "in")
    wanted = release_key(str(operand))
    return {
        "is": have == wanted,
        "is-not": have != wanted,
        ">": have > wanted,
        ">=": have >= wanted,
        "<": have < wanted,
        "<=": have <= wanted,
    }.get(operator)


def _same(value: Any, operand: Any) -> Verdict:
    if type(value) is str:  # most values are words
        return bool(value == operand)
    if isinstance(value, bool) or isinstance(operand, bool):
        return None if is_unknown(value) else value is operand
    if isinstance(value, (int, float)) and isinstance(operand, (int, float)):
        return value == operand
    if is_unknown(value):
        return False if operand is None and value.there else None
    if type(value) is list and type(operand) is list:  # members may be unknown
        return len(value) == len(operand) and _every(map(_same, value, operand))
    return bool(value == operand)


def _differs(value: Any, operand: Any) -> Verdict:
    same = _same(value, operand)
    return None if same is None else not same


def _number(value: Any) -> int | float | None:
    """Finite or infinite, but a number: neither a truth value nor NaN."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value else None


def _remainder(value: Any, operand: Any) -> Any:
    """Of the numbers as they are written: 0.1 is a tenth, so that 0.1 is a multiple of 0.02. None where there is none."""
    left, right = _number(value), _number(operand)
    if isinstance(left, int) and isinstance(right, int) and right > 0:
        return left % right
    if left is None or right is None or right <= 0 or float("inf") in (left, right) or left == float("-inf"):
        return None
    if left < 1 and right < 1 and (left * 1_000_000) % (right * 1_000_000) == 0:
        return 0  # shares, as the library compares them: a third is a multiple of a sixth (transformers 5.23.0 training_args.py:1772)
    return fractions.Fraction(repr(left)) % fractions.Fraction(repr(right))


def _order(test: Callable[[float, float], bool]) -> Test:
    def compare(value: Any, operand: Any) -> Verdict:
        left, right = _number(value), _number(operand)
        return False if left is None or right is None else test(left, right)

    return compare


def _in(value: Any, operand: Any) -> Verdict:
    if type(value) is str and type(operand) is list:
        return value in operand
    return isinstance(operand, list) and _some(_same(value, one) for one in operand)


def _not_in(value: Any, operand: Any) -> Verdict:
    inside = _in(value, operand)
    return None if inside is None else not inside


def _between(value: Any, operand: Any) -> Verdict:
    number = _number(value)
    return number is not None and bool(operand[0] <= number < operand[1])


def _contains(value: Any, operand: Any) -> Verdict:
    if isinstance(value, str):
        return isinstance(operand, str) and operand in value
    if isinstance(value, dict):
        return not isinstance(operand, (list, dict)) and operand in value
    return isinstance(value, list) and _some(_same(one, operand) for one in value)


def _contains_any(value: Any, operand: Any) -> Verdict:
    return isinstance(operand, list) and _some(_contains(value, one) for one in operand)


def _contains_all(value: Any, operand: Any) -> Verdict:
    return isinstance(operand, list) and _every(_contains(value, one) for one in operand)


def _matches(value: Any, operand: Any) -> Verdict:
    """Of a value that no name, path or list of names comes to, it is not known."""
    if not isinstance(value, str):
        return False
    return None if len(value) > MATCHED.most else re.search(str(operand), value) is not None


def _matches_in_one_pass(value: Any, operand: Any) -> Verdict:
    """The same by an engine that cannot explode, for patterns that come with a repository."""
    if not isinstance(value, str):
        return False
    if len(value) > MATCHED.most or _steps[0] > SEARCHED.most:
        return None
    return _found(str(operand), value)


_steps = [0]  # of all searches in this check


def refill(steps: int = 0) -> None:
    """A check begins, or goes back to where it had taken so many steps."""
    _steps[0] = steps
    if steps:
        _found.cache_clear()


def searched() -> int:
    """The steps of this check so far."""
    return _steps[0]


@lru_cache(maxsize=4_096)
def _found(pattern: str, value: str) -> bool:
    automaton = _automaton(pattern)
    before = automaton.steps
    found = bool(automaton.found_in(value))
    _steps[0] += automaton.steps - before
    return found


@cache
def _automaton(pattern: str) -> Any:
    return automata.Automaton(pattern)


def _multiple(value: Any, operand: Any) -> Verdict:
    return bool(_remainder(value, operand) == 0)


def _not_multiple(value: Any, operand: Any) -> Verdict:
    return _remainder(value, operand) not in (None, 0)


def _length(value: Any, operand: Any) -> Verdict:
    return isinstance(value, (list, dict, str)) and len(value) == operand


_TYPES: dict[str, Callable[[Any], bool]] = {
    "bool": lambda v: isinstance(v, bool),
    "int": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "float": lambda v: isinstance(v, float),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "str": lambda v: isinstance(v, str) and not isinstance(v, Secret),
    "list": lambda v: isinstance(v, list),
    "dict": lambda v: isinstance(v, dict),
    "null": lambda v: v is None,
    "secret": lambda v: type(v) is Secret,
}
_TYPES |= {"boolean": _TYPES["bool"], "integer": _TYPES["int"], "string": _TYPES["str"], "mapping": _TYPES["dict"]}


def _type(fact: Fact, condition: Condition, world: Facts) -> Verdict:
    """Of the value as the reading library gets it: `1e-4` in YAML is a str there."""
    raw = fact.sources[0].raw if fact.sources else fact.value
    if is_unknown(raw) or is_unknown(fact.value):
        return None
    if raw is ABSENT:
        return False
    wanted = condition[3] if isinstance(condition[3], list) else [condition[3]]
    return any(_TYPES["null" if word is None else word](raw) for word in wanted)


def _is_integer(fact: Fact, condition: Condition, world: Facts) -> Verdict:
    if is_unknown(fact.value):
        return None
    number = _number(fact.value)
    return number is not None and (isinstance(number, int) or number.is_integer())


# Layers whose words cannot be null: what a variable holds there is some text.
_WORDS = frozenset({"flags", "extra-flags", "accelerate-flags", "environment"})
# Of what stablint works out or is told, absent means that it is not known.
_OURS = ("target.", "versions.", "derived.", "item")


def _is_set(fact: Fact, condition: Condition, world: Facts) -> Verdict:
    """Stated, and not as null; what is filled in elsewhere may be null, unless it is a word of a command or an object."""
    if fact.sources:
        return _is_there(fact) or None if is_unknown(fact.value) else fact.value is not None
    if fact.name.startswith(_OURS):
        return not is_unknown(fact.value) and fact.value not in (ABSENT, None)
    return None if world.scope(fact.name) == OPEN else False


def _is_absent(fact: Fact, condition: Condition, world: Facts) -> Verdict:
    """Nobody states it, or as a null that means the same to the class that reads it."""
    if fact.sources:
        return _left_out(fact, world)
    if fact.name.startswith("versions.") and world.run.releases.is_unread(fact.name.removeprefix("versions.")):
        return None  # a release is stated, as a branch of somebody's copy, and nobody here can say which it is
    if fact.name.startswith(_OURS):
        return is_unknown(fact.value) or fact.value in (ABSENT, None)
    return None if world.scope(fact.name) == OPEN else True


def _is_default(fact: Fact, condition: Condition, world: Facts) -> Verdict:
    if fact.sources:
        return _left_out(fact, world)
    return None if world.scope(fact.name) == OPEN else True


def _left_out(fact: Fact, world: Facts) -> Verdict:
    """Of what is stated: is it as if it were not?"""
    if is_unknown(fact.value):
        return False if _is_there(fact) else None
    return world.null_is_absence(fact.name) if fact.value is None else False


def _is_there(fact: Fact) -> bool:
    """Of a value that is not known: is it certainly not null?"""
    return fact.value.there or (isinstance(fact.origin, Explicit) and fact.origin.layer in _WORDS)


def _exists_file(fact: Fact, condition: Condition, world: Facts) -> Verdict:
    if is_unknown(fact.value) or not isinstance(fact.value, str):
        return None if is_unknown(fact.value) else False
    if not isinstance(fact.origin, Explicit):
        return None
    folder = os.path.dirname(fact.origin.place.document.text.path)
    return os.path.exists(os.path.join(folder, fact.value))


def _items(combine: Callable[[Iterable[Verdict]], Verdict]) -> Operator:
    def operator(fact: Fact, condition: Condition, world: Facts) -> Verdict:
        if is_unknown(fact.value):
            return None
        if not isinstance(fact.value, list):
            return False
        inner = condition[3]
        item_facts = (Fact("item", None if value is None else value, None) for value in fact.value)
        return combine(OPERATORS[inner[0]](item, inner, world) for item in item_facts)

    return operator


def _some(verdicts: Iterable[Verdict]) -> Verdict:
    found = list(verdicts)
    return True if True in found else None if None in found else False


def _every(verdicts: Iterable[Verdict]) -> Verdict:
    found = list(verdicts)
    return False if False in found else None if None in found else True


def _unknown_key(fact: Fact, condition: Condition, world: Facts) -> Verdict:
    return world.item_unknown()


def _one_of_enum(fact: Fact, condition: Condition, world: Facts) -> Verdict:
    if is_unknown(fact.value):
        return None
    choices = world.item_choices()
    return None if choices is None else any(_same(fact.value, choice) for choice in choices)


# What compares a value with an operand, and what holds where there is no value.
TESTS: dict[str, tuple[Test, Verdict]] = {
    "is": (_same, False), "is-not": (_differs, True), "in": (_in, False), "not-in": (_not_in, True),
    ">": (_order(lambda a, b: a > b), False), ">=": (_order(lambda a, b: a >= b), False),
    "<": (_order(lambda a, b: a < b), False), "<=": (_order(lambda a, b: a <= b), False),
    "between": (_between, False), "contains": (_contains, False), "contains-any": (_contains_any, False), "contains-all": (_contains_all, False),
    "matches": (_matches, False), "matches-in-one-pass": (_matches_in_one_pass, False),
    "multiple-of": (_multiple, False), "not-multiple-of": (_not_multiple, False), "length": (_length, False),
}  # fmt: skip
OPERATORS: dict[str, Operator] = {
    **{name: _compare(test, when_absent) for name, (test, when_absent) in TESTS.items()},
    "type": _type, "is-integer": _is_integer, "one-of-enum": _one_of_enum, "is-set": _is_set, "is-absent": _is_absent, "is-default": _is_default,
    "exists-file": _exists_file, "unknown-key": _unknown_key, "any-item": _items(_some), "all-items": _items(_every),
}  # fmt: skip
