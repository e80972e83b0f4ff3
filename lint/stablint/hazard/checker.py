"""Every hazard asked of a run. A sieve, where runs share one, says which of them need no asking."""

from __future__ import annotations

from operator import ne

from stablint.hazard.checked import Checked
from stablint.hazard.model import Finding, Hazard, Open
from stablint.hazard.plan import asks_news, covers
from stablint.hazard.reference import Look, Reference, Statement, Step, bits, differing, statement
from stablint.hazard.sieve import Context, Sieve
from stablint.hazard.verdict import ended_by, examine
from stablint.run.fact import OPEN
from stablint.run.world import Run
from stablint.source.limits import TOLD


class _Told:
    """The outcomes of one run."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.undetermined: list[Open] = []
        self.many: dict[str, int] = {}
        self.asked = 0

    def wants(self, hazard: Hazard, item: str) -> bool:
        """A hazard about settings is asked until it has been told often enough."""
        return not item or self.many.get(hazard.id, 0) <= TOLD.most

    def add(self, outcome: Finding | Open | None) -> None:
        if type(outcome) is Finding:
            self.findings.append(outcome)
            self.many[outcome.hazard.id] = self.many.get(outcome.hazard.id, 0) + 1
        elif type(outcome) is Open:
            self.undetermined.append(outcome)

    def is_full(self) -> bool:
        return any(count > TOLD.most for count in self.many.values())


def check(run: Run, hazards: tuple[Hazard, ...], sieve: Sieve | None = None) -> tuple[list[Finding], list[Open]]:
    """Every finding and every undetermined hazard of one run. A sieve of these hazards gives the same answers sooner."""
    told = _plain(run, hazards) if sieve is None else _sifted(run, sieve)
    fired = {finding.hazard.id for finding in told.findings}
    kept = [f for f in told.findings if not any(other in fired for other in f.hazard.yields_to)]
    return kept, [o for o in told.undetermined if not any(other in fired for other in o.hazard.yields_to)]


def _plain(run: Run, hazards: tuple[Hazard, ...]) -> _Told:
    """Every hazard is asked: what the others are held against."""
    checked, told = Checked(run, alone=True), _Told()
    for hazard in hazards:
        for item in _items(hazard, checked) if _may_hold(hazard, run) else ():
            if told.wants(hazard, item):
                told.add(examine(hazard, checked, item))
    return told


def _sifted(run: Run, sieve: Sieve) -> _Told:
    context, checked = sieve.context(run), Checked(run)
    shape = (tuple(run.explicit), sieve.supplied(run))
    references = context.references.get(shape)
    if references is None:
        context.references[shape] = []
        return _afresh(checked, sieve, context)
    statements = [statement(fact) for fact in run.explicit.values()]
    if references:
        told = _again(checked, sieve, context, _nearest(references, statements), statements, shape[0])
        if told is not None and (told.asked <= _FEW or len(references) >= _REFERENCES):
            return told
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
) -> _Told:
    """Every hazard is asked that no single fact rules out; with a list of references the run becomes one."""
    looks: list[Look] | None = None if references is None else []
    outcomes = []
    told = _Told()
    for plan, item in sieve.candidates(context, checked, looks):
        if told.wants(plan.hazard, item):
            end = ended_by(plan, checked, item)
            if end is None:
                outcome = examine(plan.hazard, checked, item)
                told.add(outcome)
                outcomes.append((plan, item, outcome))
            else:
                outcomes.append((plan, item, None))
                if not plan.hazard.each:
                    sieve.learn(plan, context, checked, end)
    if references is not None and statements is not None and looks is not None and not told.is_full():
        stated = []
        for name, fact in checked.run.explicit.items():
            left = sieve.statement(name, fact, checked)
            stated.append((name, left.run, sieve.about(name, fact, left.item, context, checked)))
        references.append(Reference(statements, context, checked, looks, outcomes, stated))
    return told


def _again(
    checked: Checked,
    sieve: Sieve,
    context: Context,
    reference: Reference,
    statements: list[Statement],
    names: tuple[str, ...],
) -> _Told | None:
    """Only what may be answered otherwise is asked. None where more is told than a file has room for."""
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
    told = _Told()
    for step in sorted((*known.steps, *more)) if more else known.steps:
        if left >> step.number & 1:
            plan = sieve.plan(step.number)
            if step.needs is not None:
                told.add(Open(plan.hazard, checked.run, step.needs))
            elif told.wants(plan.hazard, step.item):
                told.asked += 1
                if ended_by(plan, checked, step.item) is None:
                    told.add(examine(plan.hazard, checked, step.item))
    return None if told.is_full() else told


def _items(hazard: Hazard, checked: Checked) -> list[str]:
    if not hazard.each:
        return [""]
    found = _stated(hazard, checked.run)
    return [name for name in found if checked.is_news(name)] if asks_news(hazard) else found


def _stated(hazard: Hazard, run: Run) -> list[str]:
    matching = _matching.setdefault(tuple(hazard.each), {})
    for name in run.explicit:
        if name not in matching:
            matching[name] = any(covers(pattern, name) for pattern in hazard.each)
    return [name for name in run.explicit if matching[name]]


_matching: dict[tuple[str, ...], dict[str, bool]] = {}


def _may_hold(hazard: Hazard, run: Run) -> bool:
    """Not where a condition reads a fact that nobody stated and that may stand outside the files: it stays unknown, and no option says more."""
    explicit, scopes = run.explicit, run.scopes
    return not any(name not in explicit and scopes.get(head, OPEN) == OPEN for head, name in hazard.reads)
