"""One hazard in one of many runs: what ends it before its verdict is worked out, and the verdict where no release makes a difference."""

from __future__ import annotations

from typing import Any

from stablint.hazard.checked import ROUNDS, WORLDS, Checked
from stablint.hazard.condition import GROUPS, Condition, change_points, evaluate
from stablint.hazard.model import Finding, Undecided
from stablint.hazard.plan import Plan, Question
from stablint.hazard.steady import MOVES
from stablint.hazard.verdict import examine, in_range
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.world import Facts, leaves

HOLDS: Any = "holds"


def answer(plan: Plan, checked: Checked, item: str) -> tuple[Finding | Undecided | None, tuple[str, ...] | None]:
    """What comes of the hazard, and the facts that ended it: those of one condition that no release and no option can make true, or of all.
    None of those is asked first that a single fact decides: they have not ended it."""
    if checked.run.by_spelling and plan.asks_about_change:
        checked = checked.certain()
    newest = checked.view(checked.newest, item)
    moving = []
    for question in plan.rest:
        found = question.test(newest)
        if found is False:
            return None, question.reads
        if found is None:
            if plan.is_dear and not _may_speak(plan, question, newest):
                return None, plan.reads if len(plan.hazard.when) > 1 else _unknown_by(question, newest)
            if _is_hopeless(question.reads, newest):
                return None, question.reads
        elif found is MOVES:
            moving.append(question)
    for question in moving:
        held = evaluate(question.condition, newest)
        if held is False and item:
            return None, question.reads
        if held is not True and _is_dead_everywhere(question.condition, question.reads, checked, item):
            return None, question.reads
    if not moving and _is_steady(plan, newest):
        if item and in_range(plan.hazard, newest) is False:
            return None, None  # as the verdict has it: what only older releases did with a setting is no news
        waiting = _without_releases(plan, newest)
        if waiting is not HOLDS:
            return waiting, plan.reads if waiting is None else None
    return examine(plan.hazard, checked, item), None


def _may_speak(plan: Plan, silent: Question, world: Facts) -> bool:
    """Where one condition is unknown in all releases: may another one be true of what is written, so that the hazard is undetermined?"""
    for question in plan.questions:
        if question is not silent:
            held = question.test(world)
            if held is MOVES:
                return True
            if held is True:
                for name in question.reads:
                    if world.fact(name).change_points or any(True for _ in leaves(world, name)):
                        return True
    return False


def _unknown_by(question: Question, world: Facts) -> tuple[str, ...]:
    """The facts for which a condition is unknown: where two are compared the second one is enough."""
    condition = question.condition
    if condition[0] not in GROUPS and condition[2] == 2:
        operand = world.fact(condition[3])
        if not operand.change_points and (is_unknown(operand.value) or operand.value is ABSENT):
            return (condition[3],)
    return question.reads


def _is_hopeless(reads: tuple[str, ...], world: Facts) -> bool:
    """Is one of the facts unknown whatever the release and the options?"""
    for name in reads:
        fact = world.facts.get(name) or world.fact(name)
        if is_unknown(fact.value) and not fact.change_points and world.needs(name) is None:
            return True
    return False


def _is_dead_everywhere(condition: Condition, reads: tuple[str, ...], checked: Checked, item: str) -> bool:
    """Is it false, or unknown whatever the options, in every world that it tells apart?"""
    at = change_points([condition], checked.view(checked.newest, item))
    for _ in range(ROUNDS):
        worlds = [checked.view(world, item) for _, world in checked.others(at)]
        if len(worlds) >= WORLDS or not all(_is_dead(condition, reads, world) for world in worlds):
            return False
        more = at.union(*(change_points([condition], world) for world in worlds))
        if more == at:
            return True
        at = more
    return False


def _is_dead(condition: Condition, reads: tuple[str, ...], world: Facts) -> bool:
    found = evaluate(condition, world)
    return found is False or (
        found is None and any(is_unknown(world.fact(name).value) and world.needs(name) is None for name in reads)
    )


def _is_steady(plan: Plan, world: Facts) -> bool:
    """Is everything that the hazard reads the same in all releases that the run may use?"""
    if plan.asks_class and world.item_change_points():
        return False
    if any(world.run.releases.stated(library) for library in plan.libraries):
        return False
    return not any((world.facts.get(name) or world.fact(name)).change_points for name in plan.reads)


def _without_releases(plan: Plan, world: Facts) -> Any:
    """HOLDS where all conditions do; else what is undetermined and worth telling (verdict.py), if anything.

    A hazard of releases that the run may not use is not asked: where it may hold, it may do so in some of them.
    """
    unknown: list[Question] = []
    spoken: list[Question] = []
    for question in plan.questions:
        held = question.test(world)
        if held is False:
            return None
        (spoken if held is True else unknown).append(question)
    if not unknown:
        return HOLDS
    needs: set[str] = set()
    for question in unknown:
        for name in question.reads:
            if is_unknown(world.fact(name).value):
                more = world.needs(name)
                if more is None:
                    return None
                needs |= more
    for library in plan.hazard.versions:
        if world.choice.get(library) is None:
            needs.add(f"versions.{library}")
    if needs and any(True for question in spoken for name in question.reads for _ in leaves(world, name)):
        return Undecided(plan.hazard, world.run, tuple(sorted(needs)))
    return None
