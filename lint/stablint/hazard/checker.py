"""Every hazard asked of a run: the plain way, which one run by itself takes and all others are held against (hazard/sifted.py)."""

from __future__ import annotations

from stablint.hazard.checked import Checked
from stablint.hazard.model import Finding, Hazard, Open
from stablint.hazard.news import asks_news, kinds
from stablint.hazard.verdict import examine
from stablint.run.fact import OPEN
from stablint.run.world import Run
from stablint.syntax.limits import TOLD


class Told:
    """The outcomes of one run."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.undetermined: list[Open] = []
        self.many: dict[str, int] = {}

    def wants(self, hazard: Hazard, item: str) -> bool:
        """A hazard about settings is asked until it has been told often enough."""
        return not item or self.many.get(hazard.id, 0) <= TOLD.most

    def add(self, outcome: Finding | Open | None) -> None:
        if type(outcome) is Finding:
            self.findings.append(outcome)
            self.many[outcome.hazard.id] = self.many.get(outcome.hazard.id, 0) + 1
        elif type(outcome) is Open:
            self.undetermined.append(outcome)

    def without_yielding(self) -> tuple[list[Finding], list[Open]]:
        """Without the hazards that yield to another one that was found."""
        fired = {finding.hazard.id for finding in self.findings}
        kept = [f for f in self.findings if not any(other in fired for other in f.hazard.yields_to)]
        return kept, [o for o in self.undetermined if not any(other in fired for other in o.hazard.yields_to)]

    def is_full(self) -> bool:
        return any(count > TOLD.most for count in self.many.values())


def check(run: Run, hazards: tuple[Hazard, ...], alone: bool = False) -> tuple[list[Finding], list[Open]]:
    """Every finding and every undetermined hazard of one run. `alone`: each world works out its own facts."""
    checked, told = Checked(run, alone), Told()
    for hazard in hazards:
        for item in _items(hazard, checked) if _may_hold(hazard, run) else ():
            if told.wants(hazard, item):
                told.add(examine(hazard, checked, item))
    return told.without_yielding()


def _items(hazard: Hazard, checked: Checked) -> list[str]:
    if not hazard.each:
        return [""]
    found = _stated(hazard, checked.run)
    return [name for name in found if checked.is_news(name)] if asks_news(hazard) else found


def _stated(hazard: Hazard, run: Run) -> list[str]:
    return [name for name in run.explicit if not kinds(name).isdisjoint(hazard.each)]


def _may_hold(hazard: Hazard, run: Run) -> bool:
    """Not where a condition reads a fact that nobody stated and that may stand outside the files: it stays unknown, and no option says more."""
    explicit, scopes = run.explicit, run.scopes
    return not any(name not in explicit and scopes.get(head, OPEN) == OPEN for head, name in hazard.reads)
