"""Which advices hold in a run, and what each would change: a guess, or what only some of the releases take, proposes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from stablint.advising.model import Advice, Effect, load
from stablint.advising.recipes import counted, with_count
from stablint.base.language import gettext, listed, of_hazard
from stablint.fitting.answer import FITS, Told
from stablint.fix.change import changes_of, propose
from stablint.fix.editors import Impossible
from stablint.hazard.condition import facts_read
from stablint.hazard.model import Finding, Hazard, Remedy
from stablint.hazard.model import load as hazards
from stablint.hazard.plan import DEAR
from stablint.hazard.verdict import check
from stablint.report.model import FileEdits
from stablint.run.fact import ABSENT
from stablint.run.world import Run, World
from stablint.syntax import limits

_GAINS = {
    "M": "memory",
    "K": "speed",
}  # by the letter of a hazard that `check` leaves out; the rest is about a run that goes well


class Idea(NamedTuple):
    """One way of following one advice. `facts`: what would be set, ABSENT where something is taken out."""

    id: str
    gain: str
    title: str
    why: str
    facts: dict[str, Any]
    files: tuple[FileEdits, ...]
    by_hand: str
    effect: Effect
    grade: str
    sources: tuple[str, ...]
    not_when: str


def ideas(run: Run, world: World, told: Told, said: frozenset[str]) -> Iterator[list[Idea]]:
    """For each advice that holds the ways of following it, the best first. `said` are the facts that `check` wants changed: it speaks of those."""
    by_id = {advice.hazard.id: advice for advice in _asked(world, told)}
    found, _ = check(run, tuple(advice.hazard for advice in by_id.values()))
    for finding in filter(_is_sure, found):
        advice = by_id[finding.hazard.id]
        yield [
            one for remedy in finding.remedies for one in _idea(finding, remedy, advice) if said.isdisjoint(one.facts)
        ]
    for finding in filter(_is_sure, check(run, _left_out())[0]):
        yield [one for remedy in finding.remedies for one in _of_hazard(finding, remedy) if said.isdisjoint(one.facts)]


def _is_sure(finding: Finding) -> bool:
    """Whether it rests on nothing that is presumed, of the run or of its releases. One that only holds from some release on says so."""
    releases = finding.run.releases
    return not finding.notes and not any(releases.presumed(library) for library in finding.releases)


def _but_for(finding: Finding) -> str:
    """Releases in which it is no advice, as a reason against it."""
    told = [f"{library} {releases}" for library, releases in finding.releases.items()]
    return gettext("; the release is another than {releases}").format(releases=listed(told)) if told else ""


def _asked(world: World, told: Told) -> Iterator[Advice]:
    for advice in map(_spoken, load()):
        if advice.effect.short and told.verdict in (FITS, "unknown"):
            continue
        if advice.recipes is None:
            yield advice
        elif (count := counted(world, advice.recipes["column"], advice.recipes.get("least", 10))) is not None:
            yield with_count(advice, count)


def _spoken(advice: Advice) -> Advice:
    """In the language that is spoken; the title and the edits are told as a hazard's are."""
    name, effect = advice.hazard.id, advice.effect
    return advice._replace(
        why=of_hazard(name, advice.why),
        not_when=of_hazard(name, advice.not_when),
        effect=effect._replace(words=of_hazard(name, effect.words)),
    )


def _left_out() -> tuple[Hazard, ...]:
    """What `check` does not tell unless it is asked to; estimates of the memory are the memory model's here."""
    return tuple(
        hazard
        for hazard in hazards()
        if (hazard.quiet or hazard.grade == "folklore")
        and not any(name.startswith(DEAR) for name in facts_read(hazard.when))
    )


def _idea(finding: Finding, remedy: Remedy, advice: Advice) -> Iterator[Idea]:
    written = _written(finding, remedy)
    if written is not None:
        facts, files, by_hand = written
        evidence = finding.hazard.evidence
        yield Idea(
            finding.hazard.id, advice.gain, finding.message, advice.why, facts, files, by_hand, advice.effect,
            "counted" if advice.recipes is not None else evidence["grade"], tuple(evidence["sources"]),
            advice.not_when + _but_for(finding),
        )  # fmt: skip


def _of_hazard(finding: Finding, remedy: Remedy) -> Iterator[Idea]:
    written = _written(finding, remedy) if remedy.safety != "manual" else None
    if written is not None and written[1]:
        hazard = finding.hazard
        yield Idea(
            hazard.id, _GAINS.get(hazard.code.rstrip("0123456789"), "stability"), remedy.title, finding.message, written[0], written[1], "",
            Effect("", "", False, "", [], []), hazard.grade, tuple(hazard.evidence["sources"]), remedy.because or gettext("it is meant as it stands"),
        )  # fmt: skip


def _written(finding: Finding, remedy: Remedy) -> tuple[dict[str, Any], tuple[FileEdits, ...], str] | None:
    """What of the run changes, the edits, and why there are none; None where the values cannot be known."""
    try:
        facts: dict[str, Any] = {}
        for change in changes_of(finding, remedy):
            if change.to:
                old = finding.run.explicit.get(change.fact)
                facts[change.fact] = ABSENT
                facts[change.to if "." in change.to else f"{change.fact.partition('.')[0]}.{change.to}"] = (
                    old.value if old else True
                )
            else:
                facts[change.fact] = change.value
    except Impossible:
        return None
    fix = propose(finding._replace(remedies=(remedy,)), limits.Purse(limits.REREAD))
    if not facts or fix is None:
        return None
    return facts, fix.files, "" if fix.files else fix.because or gettext("it is done outside these files")


def changed_by(findings: Iterable[Finding], run: Run) -> frozenset[str]:
    """The facts that the repairs of these findings would change, and those that they are about."""
    names: set[str] = set()
    for finding in findings:
        if finding.run is not run or finding.hazard.quiet:
            continue
        names.add(finding.fact)
        for remedy in finding.remedies:
            names |= {*remedy.set, *remedy.unset, *(one for pair in remedy.swap for one in pair)}
            written = None if remedy.mend or remedy.move else _changes(finding, remedy)
            names |= written or set()
    return frozenset(names)


def _changes(finding: Finding, remedy: Remedy) -> set[str]:
    try:
        return {change.fact for change in changes_of(finding, remedy)}
    except Impossible:
        return set()
