"""What ends a hazard before its verdict is worked out: a condition that no release and no option can make true."""

from __future__ import annotations

from stablint.hazard.checked import ROUNDS, WORLDS, Checked
from stablint.hazard.condition import Condition, evaluate, facts_read, turns
from stablint.hazard.plan import Plan
from stablint.hazard.steady import MOVES
from stablint.run.fact import is_unknown
from stablint.run.world import World


def ended_by(plan: Plan, checked: Checked, item: str) -> Condition | None:
    """A condition of the hazard, none that a single fact decides, that is false or cannot become known, whatever the release."""
    if checked.run.by_spelling and plan.news:
        return None
    newest = checked.view(checked.newest, item)
    moving = []
    for condition, test in plan.rest:
        found = test(newest)
        if found is False or (found is None and _is_hopeless(condition, newest)):
            return condition
        if found is MOVES:
            moving.append(condition)
    for condition in moving:
        if evaluate(condition, newest) is False and (item or _false_everywhere(condition, checked)):
            return condition
    return None


def _is_hopeless(condition: Condition, world: World) -> bool:
    """Does it read a fact that is unknown whatever the release and the options?"""
    for name in facts_read([condition]):
        fact = world.fact(name)
        if is_unknown(fact.value) and not fact.turns and world.needs(name) is None:
            return True
    return False


def _false_everywhere(condition: Condition, checked: Checked) -> bool:
    """Is it false in every world that it tells apart?"""
    at = turns([condition], checked.newest)
    for _ in range(ROUNDS):
        worlds = [world for _, world in checked.others(at)]
        if len(worlds) >= WORLDS or any(evaluate(condition, world) is not False for world in worlds):
            return False
        more = at.union(*(turns([condition], world) for world in worlds))
        if more == at:
            return True
        at = more
    return False
