"""One of many runs: only those hazards are asked that no fact rules out, and of a near copy of an earlier run only what may differ."""

from __future__ import annotations

from operator import ne

from stablint.hazard.checked import Checked
from stablint.hazard.ended import answer
from stablint.hazard.model import Finding, Undecided
from stablint.hazard.reference import Look, Reference, Statement, Step, bits, differing, statement
from stablint.hazard.sieve import Context, Sieve
from stablint.hazard.verdict import Told
from stablint.run.world import Run


def check_sifted(run: Run, sieve: Sieve) -> tuple[list[Finding], list[Undecided]]:
    """The findings and the undetermined hazards of one of many runs that share a sieve: the same as the plain way finds."""
    return _sifted(run, sieve).without_yielding()


def _sifted(run: Run, sieve: Sieve) -> Told:
    context, checked = sieve.context(run), Checked(run)
    shape = (tuple(run.explicit), sieve.supplied(run))
    references = context.references.get(shape)
    if references is None:
        context.references[shape] = []
        return _afresh(checked, sieve, context)
    statements = [statement(fact) for fact in run.explicit.values()]
    if references:
        again = _again(checked, sieve, context, _nearest(references, statements), statements, shape[0])
        if again is not None and (again[1] <= _FEW or len(references) >= _REFERENCES):
            return again[0]
        checked = Checked(run)
    return _afresh(checked, sieve, context, statements, references)


_FEW = 2  # questions, above which a run is dear enough to become a reference of its own
_REFERENCES = 24


def _nearest(references: list[Reference], statements: list[Statement]) -> Reference:
    """The reference that differs in the fewest settings."""
    if len(references) == 1:
        return references[0]
    return min(references, key=lambda reference: sum(map(ne, statements, reference.statements)))


def _afresh(
    checked: Checked,
    sieve: Sieve,
    context: Context,
    statements: list[Statement] | None = None,
    references: list[Reference] | None = None,
) -> Told:
    """Every hazard is asked that no single fact rules out; with a list of references the run becomes one."""
    looks: list[Look] | None = None if references is None else []
    outcomes = []
    told = Told()
    asleep = sieve.asleep(checked.run)
    for plan, item in sieve.candidates(context, checked, asleep, looks):
        if told.wants(plan.hazard, item):
            outcome, end = answer(plan, checked, item)
            told.add(outcome)
            outcomes.append((plan, item, outcome))
            if end is not None and not plan.hazard.each:
                sieve.learn(plan, context, checked, end)
    if references is not None and statements is not None and looks is not None and not told.is_full():
        stated = []
        for name, fact in checked.run.explicit.items():
            left = sieve.statement(name, fact, checked)
            stated.append((name, left.run, sieve.about(name, fact, left.item, context, checked)))
        references.append(Reference(statements, context, ~asleep, checked, looks, outcomes, stated))
    return told


def _again(
    checked: Checked,
    sieve: Sieve,
    context: Context,
    reference: Reference,
    statements: list[Statement],
    names: tuple[str, ...],
) -> tuple[Told, int] | None:
    """Only what may be answered otherwise is asked; how many questions that were. None where more is told than a file has room for."""
    others = differing(statements, reference.statements, names)
    known, explicit = reference.difference(others, sieve.news), checked.run.explicit
    changed = [*(name for name in others if name in explicit), *known.stated]
    left, spared = known.left, known.spared
    more: list[Step] = []
    for name in changed:
        kept = sieve.statement(name, explicit[name], checked)
        left &= kept.run
        spared &= kept.run
    for name in known.facts:
        left &= ~sieve.rules_out(name, left, checked)
    left |= spared
    for name in changed:
        about = sieve.statement(name, explicit[name], checked).item & left
        if about:
            position = names.index(name)
            for number in bits(sieve.about(name, explicit[name], about, context, checked)):
                more.append(Step(number, position, name, None))
    told, asked = Told(), 0
    for step in sorted((*known.steps, *more)) if more else known.steps:
        if left >> step.number & 1:
            plan = sieve.plan(step.number)
            if step.needs is not None:
                told.add(Undecided(plan.hazard, checked.run, step.needs))
            elif told.wants(plan.hazard, step.item):
                asked += 1
                told.add(answer(plan, checked, step.item)[0])
    return None if told.is_full() else (told, asked)
