"""Runs and broken files against the rules that count for them. A rule that raises is named, and the others report all the same."""

from __future__ import annotations

import re
from collections.abc import Collection

from stablint.assemble.asked import Options
from stablint.assemble.files import Files
from stablint.base.light import Any
from stablint.files.faults import Faults, attempt
from stablint.hazard import model as hazards
from stablint.hazard import sieve, sifted
from stablint.hazard.rules import Rules
from stablint.hazard.verdict import check
from stablint.policy import Rulebook
from stablint.run.fact import CLOSED, Explicit, Fact, Place, Statement
from stablint.run.releases.allowed import Releases
from stablint.run.world import Run
from stablint.syntax import limits
from stablint.syntax.tree import Document, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stablint.hazard.sieve import Sieve  # only loaded where there are many runs
    from stablint.report.progress import Watch

_FEW = 8  # runs of which each is asked what it wakes: a sieve for all of them costs more than it saves below a dozen
_NAMED = 5  # rules that fail on one run are named one by one, up to so many


def judge(
    runs: tuple[Run, ...],
    problems: list[tuple[Document, Problem]],
    known: Collection[hazards.Hazard] | Rulebook,
    faults: Faults,
    kept: dict[int, tuple[Run, Any]] | None = None,
    alone: Collection[str] = (),
    watch: Watch | None = None,
) -> tuple[list[hazards.Finding], list[hazards.Undecided]]:
    """`known` are the rules, or a book of them where files have different ones; `kept` are verdicts on the same runs under the same rules.
    `alone`: the file that was asked for, where nothing else was.
    """
    kept = {} if kept is None else kept
    findings: list[hazards.Finding] = []
    undetermined: list[hazards.Undecided] = []
    sieves: dict[int, Sieve] = {}
    told = Told()
    parts: dict[tuple[int, bool], tuple[hazards.Hazard, ...]] = {}
    few = len(runs) <= _FEW
    every = [(_broken(d, p, d.text.path in alone), True) for d, p in problems] + [(run, False) for run in runs]
    for run, broken in every if watch is None else watch(every, len(every), "runs"):
        if id(run) in kept:
            findings += told.within(kept[id(run)][1][0])
            undetermined += kept[id(run)][1][1]
            continue
        rules = known.of(run) if isinstance(known, Rulebook) else known
        if few and not broken:
            which = _of_runs(rules, run)
        else:
            key = (id(rules), broken)
            if key not in parts:
                parts[key] = of_files(rules) if broken else _of_runs(rules, None)
            which = parts[key]
        if broken or few:
            judged, error = attempt(check, run, which)
        else:
            judged, error = attempt(_sifted, run, id(rules), which, sieves)
        if judged is not None and not broken:
            kept[id(run)] = (run, judged)
        found, waiting = judged or _one_by_one(run, which, faults, error)
        findings += told.within(found)
        undetermined += waiting
    for place, rule in told.cut:
        problem = limits.told_too_often(rule, place.start, place.end)
        run = _broken(place.document, problem, place.document.text.path in alone)
        rules = known.of(run) if isinstance(known, Rulebook) else known
        findings += check(run, of_files(rules))[0]
    if not isinstance(known, Rulebook):
        return findings, undetermined
    return known.kept(findings), known.waiting(undetermined)


def of_files(rules: Collection[hazards.Hazard]) -> tuple[hazards.Hazard, ...]:
    """Those about what is wrong with a file's text."""
    return rules.of_files() if isinstance(rules, Rules) else tuple(h for h in rules if h.at.startswith("file."))


def _of_runs(rules: Collection[hazards.Hazard], single: Run | None) -> tuple[hazards.Hazard, ...]:
    """Those about what runs say; of a single one those that it may wake."""
    if isinstance(rules, Rules):
        return rules.of_runs() if single is None else rules.woken_by(single)
    return tuple(h for h in rules if not h.at.startswith("file."))


def _sifted(
    run: Run, key: int, rules: tuple[hazards.Hazard, ...], sieves: dict[int, sieve.Sieve]
) -> tuple[list[hazards.Finding], list[hazards.Undecided]]:
    if key not in sieves:
        sieves[key] = sieve.Sieve(rules)
    return sifted.check_sifted(run, sieves[key])


class Told:
    """Counts the findings of each rule in each file."""

    def __init__(self) -> None:
        self.count: dict[tuple[str, str], int] = {}
        self.cut: list[tuple[Place, str]] = []  # the first place that is not told

    def within(self, findings: list[hazards.Finding]) -> list[hazards.Finding]:
        """Those of them that are told."""
        kept = []
        for finding in findings:
            key = (finding.place.document.text.path, finding.hazard.id)
            count = self.count[key] = self.count.get(key, 0) + 1
            if count <= limits.TOLD.most:
                kept.append(finding)
            elif count == limits.TOLD.most + 1:
                self.cut.append((finding.place, finding.hazard.id))
        return kept


def rules_of(
    options: Options, files: Files, known: tuple[hazards.Hazard, ...] | None
) -> Collection[hazards.Hazard] | Rulebook:
    """Those that were given, those of the policies, or those of the knowledge."""
    if known is not None or options.policies is None:
        return Rules() if known is None else known
    for path in files.linked:  # they may be under settings of their own
        options.policies.at(path)
    book = Rulebook(options.policies, Rules())
    same = book.same_for_all()
    return book if same is None else same


def _one_by_one(
    run: Run, known: tuple[hazards.Hazard, ...], faults: Faults, first: Exception | None
) -> tuple[list[hazards.Finding], list[hazards.Undecided]]:
    """A hazard raised: name it, and let the others report."""
    findings: list[hazards.Finding] = []
    undetermined: list[hazards.Undecided] = []
    guilty: list[tuple[hazards.Hazard, Exception]] = []
    for hazard in known:
        judged, error = attempt(check, run, (hazard,))
        if judged is None and error is not None:
            guilty.append((hazard, error))
        elif judged is not None:
            findings += judged[0]
            undetermined += judged[1]
    text = run.anchor.document.text
    for hazard, error in guilty if len(guilty) <= _NAMED else ():
        faults.add(text, f"the rule {hazard.code} ({hazard.id})", error)
    if first is not None and not 0 < len(guilty) <= _NAMED:  # the run itself is what all of them fail on
        faults.add(text, f"{len(guilty)} rules" if guilty else "judging the run", first)
    return findings, undetermined


def _broken(document: Document, problem: Problem, alone: bool) -> Run:
    """A pseudo run whose facts are what is wrong with the text itself."""
    flag = (
        re.match(r"--?([\w-]+)", document.text.text[problem.start : problem.end + 60])
        if document.format == "shell"
        else None
    )
    setting = flag[1] if flag is not None else problem.kind
    place = Place(document, setting, problem.start, max(problem.end, problem.start), None, (setting,))
    origin = Explicit(place, "file", 0)
    explicit = {
        name: Fact(name, value, origin, (Statement(name, value, value, origin),))
        for name, value in (
            ("file.problem", problem.kind),
            ("file.problem_text", problem.message),
            ("file.asked_alone", alone),
        )
    }
    name = document.text.name
    return Run(name, (name,), (), place, explicit, {}, {"file": CLOSED}, {}, Releases.known(), "")
