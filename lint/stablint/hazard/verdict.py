"""One hazard in one run, over the releases that the run may meet: found, undetermined, or neither."""

from __future__ import annotations

from stablint.base.light import Any
from stablint.hazard import finding as findings
from stablint.hazard.checked import Checked
from stablint.hazard.condition import Verdict, change_points, evaluate, every, facts_read
from stablint.hazard.model import Finding, Hazard, Undecided, asks_about_change, patterns_of
from stablint.run.fact import OPEN, is_unknown
from stablint.run.releases.pep440 import matcher
from stablint.run.world import NO_CHANGE_POINTS, ChangePoints, Facts, Run, leaves
from stablint.syntax.limits import TOLD


def examine(hazard: Hazard, checked: Checked, item: str) -> Finding | Undecided | None:
    if checked.run.by_spelling and asks_about_change(hazard):
        checked = checked.certain()  # of an old name the news is that it is gone, whatever it says of the run's age
    found = _examine(hazard, checked, item)
    if isinstance(found, Finding) and any(checked.run.releases.presumed(library) for library in found.divided):
        certain = _examine(hazard, checked.certain(), item)
        if isinstance(certain, Finding) and not certain.releases:  # it holds whatever is presumed
            return certain
    return found


def _examine(hazard: Hazard, checked: Checked, item: str) -> Finding | Undecided | None:
    newest = checked.view(checked.newest, item)
    if decided_false(hazard, newest):
        return None
    verdict = verdict_of(hazard, newest)
    if item and verdict is False:
        return None  # a setting that some older release did not have is no news
    at = all_change_points(hazard, newest)
    if not at:
        if verdict is True:
            return findings.finding(hazard, checked, newest, item, {}, False, frozenset(hazard.versions))
        return _open(hazard, newest, ()) if verdict is None else None
    seen: list[tuple[dict[str, Any], Facts, Verdict]] = []
    for _ in range(3):  # another world may turn at releases that the newest one never asked about
        seen = [
            (interval, view := checked.view(world, item), verdict_of(hazard, view))
            for interval, world in checked.others(at)
        ]
        more = at.union(*(all_change_points(hazard, view) for _, view, _ in seen))
        if more == at:
            break
        at = more
    return _over_releases(hazard, checked, item, seen, frozenset([library for library, _ in at]).union(hazard.versions))


def decided_false(hazard: Hazard, world: Facts) -> bool:
    """Is a condition false whatever the release? Most hazards end here, at their first condition."""
    patterns = []
    for condition in hazard.when:
        if condition[0].startswith("matches"):  # the first use of a pattern costs more than all the rest
            patterns.append(condition)
        elif evaluate(condition, world) is False and not change_points([condition], world):
            return True
    return any(evaluate(condition, world) is False and not change_points([condition], world) for condition in patterns)


def all_change_points(hazard: Hazard, world: Facts) -> ChangePoints:
    return change_points(hazard.when, world) | _range_change_points(hazard, world)


def verdict_of(hazard: Hazard, world: Facts) -> Verdict:
    within = in_range(hazard, world)
    if within is False:
        return False
    verdict = every(hazard.when, world)
    return within if verdict is True else verdict


def in_range(hazard: Hazard, world: Facts) -> Verdict:
    """Whether the hazard is one of the release that the world has of each library."""
    verdict: Verdict = True
    for library, specifier in hazard.versions.items():
        chosen = world.choice.get(library)
        if chosen is None:
            verdict = None
        elif not matcher(specifier)(chosen):
            return False
    return verdict


def _range_change_points(hazard: Hazard, world: Facts) -> ChangePoints:
    """The releases at which the hazard's own range begins or ends."""
    found = NO_CHANGE_POINTS
    for library, specifier in hazard.versions.items():
        found |= world.run.releases.boundaries(library, specifier)
    return found


def _over_releases(
    hazard: Hazard,
    checked: Checked,
    item: str,
    seen: list[tuple[dict[str, Any], Facts, Verdict]],
    turning: frozenset[str],
) -> Finding | Undecided | None:
    """True in all: as declared. True in some, the newest among them: at most a warning. True in older ones only: undetermined."""
    true = [(interval, view) for interval, view, verdict in seen if verdict is True]
    if seen and all(verdict is True for _, _, verdict in seen):
        return findings.finding(hazard, checked, seen[0][1], item, {}, False, turning)
    libraries = sorted({library for interval, _, _ in seen for library in interval})
    if true and seen[0][2] is True:
        return findings.finding(
            hazard, checked, seen[0][1], item, _releases(true, seen, libraries, checked), True, turning
        )
    if true:
        unstated = tuple(
            f"versions.{library}" for library in libraries if len(checked.run.releases.allowed(library)) > 1
        )
        return Undecided(hazard, checked.run, unstated) if unstated else None
    unknown = [view for _, view, verdict in seen if verdict is None]
    return _open(hazard, unknown[0], ()) if unknown else None


def _releases(
    true: list[tuple[dict[str, Any], Any]], seen: list[Any], libraries: list[str], checked: Checked
) -> dict[str, str]:
    """The releases in which it holds, as a specifier a library; libraries that make no difference are left out."""
    texts = {}
    for library in libraries:
        intervals = sorted({interval[library] for interval, _ in true})
        if len(intervals) == len({interval[library] for interval, _, _ in seen}):
            continue
        allowed = checked.run.releases.allowed(library)
        first, last = intervals[0][0], intervals[-1][1]
        text = checked.run.releases.text
        parts = ([f">={text(first)}"] if first != allowed[0] else []) + (
            [f"<={text(last)}"] if last != allowed[-1] else []
        )
        texts[library] = ",".join(parts)
    return {library: text for library, text in texts.items() if text}


def _open(hazard: Hazard, world: Facts, extra: tuple[str, ...]) -> Undecided | None:
    """Worth telling: something explicit speaks for it, nothing against it, and all that is unknown could be supplied."""
    needs: set[str] = set(extra)
    spoken = False
    for condition in hazard.when:
        found = evaluate(condition, world)
        if found is True:
            spoken = spoken or any(_rests_on_text(world, name) for name in facts_read([condition]))
            continue
        for name in facts_read([condition]):
            if is_unknown(world.fact(name).value):
                more = world.needs(name)
                if more is None:
                    return None
                needs |= more
    for library in hazard.versions:
        if world.choice.get(library) is None:
            needs.add(f"versions.{library}")
    return Undecided(hazard, world.run, tuple(sorted(needs))) if spoken and needs else None


def _rests_on_text(world: Facts, name: str) -> bool:
    return any(True for _ in leaves(world, name))


class Told:
    """The outcomes of one run."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.undetermined: list[Undecided] = []
        self.many: dict[str, int] = {}

    def wants(self, hazard: Hazard, item: str) -> bool:
        """A hazard about settings is asked until it has been told often enough."""
        return not item or self.many.get(hazard.id, 0) <= TOLD.most

    def add(self, outcome: Finding | Undecided | None) -> None:
        if type(outcome) is Finding:
            self.findings.append(outcome)
            self.many[outcome.hazard.id] = self.many.get(outcome.hazard.id, 0) + 1
        elif type(outcome) is Undecided:
            self.undetermined.append(outcome)

    def without_yielding(self) -> tuple[list[Finding], list[Undecided]]:
        """Without the hazards that yield to another one that was found."""
        fired = {finding.hazard.id for finding in self.findings}
        kept = [f for f in self.findings if not any(other in fired for other in f.hazard.yields_to)]
        return kept, [o for o in self.undetermined if not any(other in fired for other in o.hazard.yields_to)]

    def is_full(self) -> bool:
        return any(count > TOLD.most for count in self.many.values())


def check(run: Run, hazards: tuple[Hazard, ...], alone: bool = False) -> tuple[list[Finding], list[Undecided]]:
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
    if hazard.keys:
        keys = frozenset(hazard.keys)
        found = [name for name in found if checked.spelled(name) in keys]
    return [name for name in found if checked.has_change(name)] if asks_about_change(hazard) else found


def _stated(hazard: Hazard, run: Run) -> list[str]:
    return [name for name in run.explicit if not patterns_of(name).isdisjoint(hazard.each)]


def _may_hold(hazard: Hazard, run: Run) -> bool:
    """Not where a condition reads a fact that nobody stated and that may stand outside the files: it stays unknown, and no option says more."""
    explicit, scopes = run.explicit, run.scopes
    return not any(name not in explicit and scopes.get(head, OPEN) == OPEN for head, name in hazard.reads)
