"""Conditions compiled once, to functions of a world that say what holds whatever the release: true, false, not known, or `MOVES`.

A condition moves where a fact that decides it changes at some release. Kleene's tables hold with that fourth value as well: a false branch
settles an `all`, however the others move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stablint.hazard import literal
from stablint.hazard.condition import GROUPS, OPERATORS, Condition, boundaries
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.world import Facts

MOVES: Any = "moves"
Steady = Callable[[Facts], Any]


def compiled(condition: Condition) -> Steady:
    """What the condition comes to in every world like this one, or MOVES."""
    operator, name = condition[0], condition[1]
    if operator in GROUPS:
        parts = [compiled(inner) for inner in name]
        joined = _joined(parts, operator == "any")
        return _not(joined) if operator == "not" else joined
    operate = OPERATORS[operator]
    if condition[2] == 2:
        other = condition[3]
        if name.startswith("versions."):
            return lambda world: MOVES

        def compare_two(world: Facts) -> Any:
            operand = world.facts.get(other) or world.fact(other)
            if not operand.change_points and (is_unknown(operand.value) or operand.value is ABSENT):
                return None  # whatever the other one is, which may be dear to work out
            fact = world.facts.get(name) or world.fact(name)
            return MOVES if fact.change_points or operand.change_points else operate(fact, condition, world)

        return compare_two
    if name.startswith("versions."):
        return lambda world: MOVES if boundaries(condition, world) else operate(world.fact(name), condition, world)
    if operator in ("unknown-key", "one-of-enum"):
        return lambda world: (
            MOVES
            if world.item_change_points() or world.fact(name).change_points
            else operate(world.fact(name), condition, world)
        )

    test = literal.compiled(condition)

    def compare(world: Facts) -> Any:
        fact = world.facts.get(name) or world.fact(name)
        return MOVES if fact.change_points else test(fact, world)

    return compare


def _joined(parts: list[Steady], settling: bool) -> Steady:
    """`any`, which a true part settles, or `all`, which a false one does."""
    unsettled = not settling

    def together(world: Facts) -> Any:
        verdict: Any = unsettled
        for part in parts:
            found = part(world)
            if found is settling:
                return settling
            if found is not unsettled and verdict is not MOVES:
                verdict = found
        return verdict

    return together


def _not(part: Steady) -> Steady:
    def other(world: Facts) -> Any:
        found = part(world)
        return not found if found is True or found is False else found

    return other
