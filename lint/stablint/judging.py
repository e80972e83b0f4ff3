"""Runs and broken files against the rules that count for them. A rule that raises is named, and the others report all the same."""

from __future__ import annotations

import re

from stablint.assemble.asked import Options
from stablint.assemble.files import Files
from stablint.hazard import model as hazards
from stablint.hazard.checker import check
from stablint.hazard.memo import Memo
from stablint.run.fact import CLOSED, Explicit, Fact, Place, Statement
from stablint.run.releases import Releases
from stablint.run.world import Run
from stablint.source.tree import Document, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:  # only loaded where there are settings
    from stablint.rulebook import Rulebook


def judge(
    runs: tuple[Run, ...], problems: list[tuple[Document, Problem]], known: tuple[hazards.Hazard, ...] | Rulebook
) -> tuple[list[hazards.Finding], list[hazards.Open], list[str]]:
    """`known` are the rules, or a book of them where files have different ones."""
    findings: list[hazards.Finding] = []
    undetermined: list[hazards.Open] = []
    internal: list[str] = []
    memos: dict[int, Memo] = {}
    parts: dict[int, tuple[tuple[hazards.Hazard, ...], tuple[hazards.Hazard, ...]]] = {}
    for run, broken in [(_broken(d, p), True) for d, p in problems] + [(run, False) for run in runs]:
        rules = known if isinstance(known, tuple) else known.of(run)
        if id(rules) not in parts:
            of_files = tuple(h for h in rules if h.at.startswith("file."))
            parts[id(rules)] = (of_files, tuple(h for h in rules if not h.at.startswith("file.")))
        which = parts[id(rules)][0 if broken else 1]
        memo = memos.setdefault(id(rules), Memo()) if len(runs) > 1 and not broken else None
        try:
            found, waiting = check(run, which, memo)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            found, waiting = _one_by_one(run, which, internal, error)
        findings += found
        undetermined += waiting
    if isinstance(known, tuple):
        return findings, undetermined, internal
    return known.kept(findings), known.waiting(undetermined), internal


def rules_of(
    options: Options, files: Files, known: tuple[hazards.Hazard, ...] | None
) -> tuple[hazards.Hazard, ...] | Rulebook:
    """Those that were given, those of the policies, or those of the knowledge."""
    if known is not None or options.policies is None:
        return hazards.load() if known is None else known
    from stablint.rulebook import Rulebook

    for path in files.linked:  # they may be under settings of their own
        options.policies.at(path)
    book = Rulebook(options.policies, hazards.load())
    same = book.same_for_all()
    return book if same is None else same


def _one_by_one(
    run: Run, known: tuple[hazards.Hazard, ...], internal: list[str], first: Exception
) -> tuple[list[hazards.Finding], list[hazards.Open]]:
    """A hazard raised: name it, and let the others report."""
    findings: list[hazards.Finding] = []
    undetermined: list[hazards.Open] = []
    for hazard in known:
        try:
            found, waiting = check(run, (hazard,))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            internal.append(f"{hazard.id} in {run.id}: {type(error).__name__}: {error}")
            continue
        findings += found
        undetermined += waiting
    if not internal:
        internal.append(f"{run.id}: {type(first).__name__}: {first}")
    return findings, undetermined


def _broken(document: Document, problem: Problem) -> Run:
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
        for name, value in (("file.problem", problem.kind), ("file.problem_text", problem.message))
    }
    name = document.text.name
    return Run(name, (name,), (), place, explicit, {}, {"file": CLOSED}, {}, Releases.known(), "")
