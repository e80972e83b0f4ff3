"""Conditions on one fact and literals, compiled once: each operator with its operand is a function of the fact.

What the kind of the operand decides (truth value, number, text, a set of texts) is decided here, and not for every fact that is asked.
The answers are those of `condition.evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import ge, gt, le, lt
from typing import Any

from stablint.hazard.condition import GROUPS, OPERATORS, TESTS, Condition, Verdict
from stablint.run.fact import ABSENT, Fact
from stablint.run.world import Facts
from stablint.syntax.tree import Unknown

Test = Callable[[Fact, Facts], Verdict]


def compiled(condition: Condition, part: Callable[[Condition], Test] | None = None) -> Test:
    """The condition as a function of the one fact that it reads; `part` compiles what no group holds together, of conditions that read several."""
    operator, name = condition[0], condition[1]
    if operator in GROUPS:
        parts = [compiled(inner, part) for inner in name]
        joined = parts[0] if len(parts) == 1 else _joined(parts, operator == "any")
        return _not(joined) if operator == "not" else joined
    if part is not None:
        return part(condition)
    operand = condition[3]
    if condition[2] == 1 and operand is not None and not name.startswith("versions."):
        maker = _MAKERS.get(operator)
        made = maker(operand) if maker is not None else None
        if made is not None:
            return made
        if operator in TESTS:
            return _plain(operand, *TESTS[operator])
    operate = OPERATORS[operator]
    return lambda fact, world: operate(fact, condition, world)


def _joined(parts: list[Test], settling: bool) -> Test:
    """`any`, which a true part settles, or `all`, which a false one does."""
    unsettled = not settling

    def together(fact: Fact, world: Facts) -> Verdict:
        verdict: Verdict = unsettled
        for part in parts:
            found = part(fact, world)
            if found is settling:
                return settling
            if found is None:
                verdict = None
        return verdict

    return together


def _not(part: Test) -> Test:
    def other(fact: Fact, world: Facts) -> Verdict:
        found = part(fact, world)
        return None if found is None else not found

    return other


def _plain(operand: Any, test: Callable[[Any, Any], Verdict], when_absent: Verdict) -> Test:
    def compare(fact: Fact, world: Facts) -> Verdict:
        value = fact.value
        if type(value) is Unknown:
            return None
        return when_absent if value is ABSENT else test(value, operand)

    return compare


def _is(operand: Any) -> Test | None:
    if isinstance(operand, bool):

        def is_same(fact: Fact, world: Facts) -> Verdict:
            value = fact.value
            return None if type(value) is Unknown else value is operand

        return is_same
    if isinstance(operand, (str, int, float)):

        def equals(fact: Fact, world: Facts) -> Verdict:
            value = fact.value
            return None if type(value) is Unknown else value == operand and type(value) is not bool

        return equals
    return None


def _is_not(operand: Any) -> Test | None:
    same = _is(operand)
    return _not(same) if same is not None else None


def _in(operand: Any) -> Test | None:
    if not (isinstance(operand, list) and all(type(one) is str for one in operand)):
        return None
    texts = frozenset(operand)

    def is_one(fact: Fact, world: Facts) -> Verdict:
        value = fact.value
        if isinstance(value, str):
            return value in texts
        return None if type(value) is Unknown else False

    return is_one


def _not_in(operand: Any) -> Test | None:
    inside = _in(operand)
    return _not(inside) if inside is not None else None


def _ordered(order: Callable[[Any, Any], bool], operator: str) -> Callable[[Any], Test | None]:
    def made(operand: Any) -> Test | None:
        if type(operand) not in (int, float):
            return None
        slow = _plain(operand, *TESTS[operator])

        def compare(fact: Fact, world: Facts) -> Verdict:
            value = fact.value
            if type(value) is int or type(value) is float:
                return order(value, operand)  # NaN is in no order
            return slow(fact, world)

        return compare

    return made


_MAKERS: dict[str, Callable[[Any], Test | None]] = {
    "is": _is, "is-not": _is_not, "in": _in, "not-in": _not_in,
    ">": _ordered(gt, ">"), ">=": _ordered(ge, ">="), "<": _ordered(lt, "<"), "<=": _ordered(le, "<="),
}  # fmt: skip
