"""Findings → diagnostics: one for each (code, place, decisive values), however many runs and targets draw it."""

from __future__ import annotations

from stablint.base.language import gettext
from stablint.base.libraries import hashlib
from stablint.base.light import TYPE_CHECKING, Any
from stablint.files.faults import Fault, Faults
from stablint.fix import change
from stablint.frameworks import vocabulary
from stablint.hazard import wording
from stablint.hazard.model import Finding, Hazard, asks_about_change
from stablint.report import place as report_place
from stablint.report.model import Diagnostic, Fix, Related, ReportedFact
from stablint.run.fact import ABSENT, HIDDEN, LIVE, Default, Derived, Explicit, Fact, Place, Supplied, is_unknown
from stablint.run.framework import framework
from stablint.secrets import veil
from stablint.secrets.keys import conceal
from stablint.syntax import embedded, limits
from stablint.syntax.tree import Module, Seen, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stablint.report.progress import Watch
    from stablint.run.world import Run

_BITES = {"parse": 0, "start": 1, "save": 2, "hours": 3, "never-visibly": 4}
_RANK = {"error": 0, "warning": 1, "info": 2}


REPORTING, REPAIRING = "the words of its finding", "the repair of its finding"


Told = dict[tuple[int, ...], tuple[list[Finding], Diagnostic]]


def diagnostics(
    findings: list[Finding],
    faults: Faults,
    kept: Told | None = None,
    purse: limits.Purse | None = None,
    watch: Watch | None = None,
    runs: Sequence[Run] = (),
) -> tuple[Diagnostic, ...]:
    """`runs`: all that there are, those that no finding is of as well."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in findings:
        key = faults.guard(f"{REPORTING} {finding.hazard.code}", finding.place.document.text, None, _key, finding)
        if key is not None:
            groups.setdefault(key, []).append(finding)
    kept = {} if kept is None else kept
    purse = limits.Purse(limits.REREAD) if purse is None else purse
    each = groups.values() if watch is None else watch(groups.values(), len(groups), "findings")
    merged = [(group[0], made) for group in each if (made := _once(group, faults, kept, purse)) is not None]
    return tuple(sorted(_own(_whole(merged), runs), key=order))


def _own(told: list[Diagnostic], runs: Sequence[Run]) -> list[Diagnostic]:
    """What other runs read in the same place, and is right for them, is not rewritten for the sake of one."""
    faulty: dict[tuple[str, str, int], set[str]] = {}
    for one in told:
        faulty.setdefault(_place(one), set()).update(one.runs)
    wanted = {file.text.path for one in told if _is_written(one.fix) and one.fix for file in one.fix.files}
    readers: dict[str, dict[tuple[int, int], set[str]]] = {path: {} for path in wanted}
    for run in runs if wanted and len(runs) > 1 else ():
        for fact in run.explicit.values():
            for statement in fact.sources:
                place = statement.origin.place if isinstance(statement.origin, Explicit) else None
                if place is not None and place.entry is not None and place.document.text.path in readers:
                    span = (place.entry.key_start, max(place.end, place.entry.value.end))
                    readers[place.document.text.path].setdefault(span, set()).add(run.id)
    return [_by_hand(one) if _is_anothers(one, readers, faulty[_place(one)]) else one for one in told]


def _place(one: Diagnostic) -> tuple[str, str, int]:
    return one.code, one.text.path if one.text is not None else "", one.start


def _is_anothers(one: Diagnostic, readers: dict[str, dict[tuple[int, int], set[str]]], faulty: set[str]) -> bool:
    """Whether the repair rewrites what a run reads in which it is no fault. A fault of the text is one of every run."""
    return any(
        start < edit.end and edit.start < end and not named <= faulty
        for file in (
            one.fix.files if one.fix and _is_written(one.fix) and one.runs and not one.fact.startswith("file.") else ()
        )
        for (start, end), named in readers[file.text.path].items()
        for edit in file.edits
    )


def _by_hand(one: Diagnostic) -> Diagnostic:
    assert one.fix is not None
    return one._replace(
        fix=Fix("manual", one.fix.title, (), gettext("other runs read it too, and there it is no fault"))
    )


_BY_HAND = "other names in this text have to be brought to the same release by hand"


def _whole(told: list[tuple[Finding, Diagnostic]]) -> list[Diagnostic]:
    """Where several releases may run, a text is brought to the newest one as a whole or not at all: with some of its names only it fits none.
    So is one call in any case: with one argument that none of the releases takes it fails as it did."""
    outgoing = {id(made): keys for finding, made in told if (keys := _brought_together(finding, made))}
    half = {
        key
        for finding, made in told
        if made.severity != "info" and not _is_written(made.fix)
        for key in outgoing.get(id(made), ())
        if key[1] < 0 or not (finding.releases or any(map(finding.run.releases.presumed, finding.divided)))
    }
    return [_with_others(made, frozenset(outgoing.get(id(made), ())), half) for _, made in told]


def _with_others(made: Diagnostic, keys: frozenset[tuple[str, int]], half: set[tuple[str, int]]) -> Diagnostic:
    if not keys or made.fix is None or not _is_written(made.fix):
        return made
    if keys.isdisjoint(half):
        return made._replace(fix=made.fix._replace(together=keys))
    return made._replace(fix=Fix("manual", made.fix.title, (), gettext(_BY_HAND)))


def _brought_together(finding: Finding, made: Diagnostic) -> list[tuple[str, int]]:
    """The text and the call, by where it begins, that a repair of a name brings to a release with all their names."""
    if not asks_about_change(finding.hazard) or made.text is None:
        return []
    root, path = finding.place.document.root, made.text.path
    calls = root.calls if isinstance(root, Module) else ()
    around = [call.start for call in calls if call.start <= finding.place.start < call.end and not call.parsed]
    return [*([(path, -1)] if finding.releases else []), *([(path, max(around))] if around else [])]


def _is_written(fix: Fix | None) -> bool:
    return fix is not None and fix.applicability != "manual"


def _once(group: list[Finding], faults: Faults, kept: Told, purse: limits.Purse) -> Diagnostic | None:
    """`kept` are the diagnostics of the very same findings."""
    key = tuple(id(finding) for finding in group)
    if key in kept:
        return kept[key][1]
    faults_before = len(faults.found)
    text, code = group[0].place.document.text, group[0].hazard.code
    made = faults.guard(f"{REPORTING} {code}", text, None, _diagnostic, group, faults, purse)
    if made is not None and len(faults.found) == faults_before:
        kept[key] = (group, made)
    return made


def _key(finding: Finding) -> tuple[Any, ...] | None:
    """Findings that have it in common are one diagnostic."""
    place = finding.place
    # that a name is gone is so whatever stands behind it, which may be another value in each run
    of_name = finding.item if asks_about_change(finding.hazard) else None
    decisive = tuple((fact.name, repr(fact.value)) for fact in finding.facts if fact.sources and fact.name != of_name)
    if (
        finding.hazard.each == ["*"] and not finding.absent
    ):  # about the text that stands there, however many settings it is given to
        return finding.hazard.code, place.document.text.path, place.start, place.end
    return (
        finding.hazard.code,
        place.document.text.path,
        place.start,
        place.end,
        finding.absent,
        finding.item,
        finding.message if of_name else None,
        decisive,
    )


def order(diagnostic: Diagnostic) -> tuple[Any, ...]:
    name = diagnostic.text.name if diagnostic.text is not None else ""
    return (
        _RANK[diagnostic.severity],
        _BITES[diagnostic.bites_at],
        name,
        diagnostic.start,
        diagnostic.code,
        diagnostic.fingerprint,
    )


def _diagnostic(group: list[Finding], faults: Faults, purse: limits.Purse) -> Diagnostic | None:
    """The loudest of the group speaks; the others add their runs and targets."""
    head = min(group, key=lambda finding: _RANK[finding.severity])
    place, hazard = head.place, head.hazard
    facts = tuple(reported(fact) for fact in head.facts)
    related = _related(group, head)
    return Diagnostic(
        code=hazard.code,
        rule=hazard.id,
        severity=head.severity,
        message=head.message,
        bites_at=hazard.bites_at,
        text=place.document.text if place.document.format != LIVE else None,
        start=place.start,
        end=place.end,
        setting=place.setting,
        fact=head.fact,
        absent=head.absent,
        facts=facts,
        runs=tuple(dict.fromkeys(f.run.id for f in group)),
        targets=tuple(dict.fromkeys(f.run.target for f in group if f.run.target)),
        releases=head.releases,
        related=related,
        fix=faults.guard(f"{REPAIRING} {hazard.code}", place.document.text, None, _fix, group, purse),
        evidence=_evidence(head),
        fingerprint=_fingerprint(head),
        notes=head.notes,
        once=hazard.once,
        seen=_seen(place, place.end),
    )


def _evidence(finding: Finding) -> dict[str, Any]:
    """What is known of it, with the sources in the library whose setting it is about before the others."""
    evidence = dict(finding.hazard.evidence)
    library = finding.world.value("item.library") if finding.item else None
    if isinstance(library, str):
        sources = sorted(evidence["sources"], key=lambda source: not str(source).startswith(library + " "))
        evidence["sources"] = type(evidence["sources"])(sources)
    return evidence


def of_fault(fault: Fault, words: str, hazard: Hazard) -> Diagnostic:
    """What stablint failed at, at the head of its file. It comes past the rules, which may be what failed."""
    text = Text(fault.path, fault.name, "")
    said = f"{hazard.id}\0{fault.name}\0{fault.stage}".encode("utf-8", "surrogatepass")
    advice = Fix("manual", hazard.remedies[0].title, ())
    return Diagnostic(
        hazard.code, hazard.id, hazard.severity, hazard.message.replace("{file.problem_text:value}", words), hazard.bites_at,
        text, 0, 0, hazard.id, hazard.at, False, (), (), (), {}, (), advice, dict(hazard.evidence), hashlib.sha256(said).hexdigest()[:16],
    )  # fmt: skip


def _related(group: list[Finding], head: Finding) -> tuple[Related, ...]:
    found: dict[tuple[str, int], Related] = {}
    for finding in group:
        for fact in finding.facts:
            if fact.name == head.fact and (fact.name.startswith("keys.") or asks_about_change(head.hazard)):
                continue  # the key itself is at fault, wherever its value is written
            for statement in fact.sources:
                origin = statement.origin
                if not isinstance(origin, Explicit):
                    continue
                place = origin.place
                if place.document.text.path == head.place.document.text.path and place.start == head.place.start:
                    continue
                where = (
                    report_place.locate(place.document.text.text, place.start)
                    if place.document.format != LIVE
                    else None
                )
                found[(place.document.text.path, place.start)] = Related(
                    place.document.text.name, where, place.setting, _seen(place, place.start)
                )
    return tuple(found.values())


def _seen(place: Place, end: int) -> Seen | None:
    if place.document.view is None:
        return None
    return embedded.seen(place.document, place.start, end)


def _fix(group: list[Finding], purse: limits.Purse) -> Fix | None:
    """One fix for all runs and targets, or advice where they would need different ones."""
    fixes = [change.propose(finding, purse) for finding in group]
    first = fixes[0]
    if first is None or any(fix is None for fix in fixes):
        return None
    if any((fix.title, fix.files) != (first.title, first.files) for fix in fixes if fix is not None):
        return Fix("manual", first.title, (), gettext("the targets need different repairs"))
    strictest = max(
        (fix for fix in fixes if fix is not None), key=lambda fix: (fix.applicability == "unsafe", fix.by_name)
    )
    return strictest._replace(by_name=any(fix is not None and fix.by_name for fix in fixes))


def reported(fact: Fact) -> ReportedFact:
    where, raw = fact.origin, fact.sources[0].raw if fact.sources else None
    value, written = (
        None if is_unknown(one) or one is ABSENT else _without_words(fact, conceal(fact.name, one, HIDDEN))
        for one in (fact.value, raw)
    )
    bare = isinstance(where, Explicit) and where.place.document.format != LIVE and _is_bare(where.place, written)
    return ReportedFact(fact.name, value, origin(fact), written, bare)


def _is_bare(place: Place, written: Any) -> bool:
    """Whether a word that stands alone says it: the class of a call, a command."""
    said = place.document.text.text[place.start : place.end].rpartition(".")[2]
    return place.setting in (said, written)


def _own_name(where: Default, name: str) -> str:
    """What the framework that fills it in calls it: `split_dataset_ratio`, which is `val_size` elsewhere."""
    known = vocabulary.words_of(where.library) if framework(where.library).has_reader else None
    names = [row.key for row in vocabulary.rows_for(name, known)] if known else []
    return where.field if where.field in names or not names else names[-1]


def _without_words(fact: Fact, value: Any) -> Any:
    """What a text says behind a key of its own may be anything: `hub_entry="…"`."""
    where = fact.origin
    if not isinstance(where, Explicit) or not isinstance(value, (str, int, list, dict)):
        return value
    return veil.stated_without_words(fact.name, where.place.setting, value, HIDDEN)


def origin(fact: Fact) -> dict[str, Any]:
    if is_unknown(fact.value):
        return {"kind": "unknown", "reason": fact.value.reason}
    where = fact.origin
    if isinstance(where, Explicit):
        place = where.place
        if place.document.format == LIVE:
            return {"kind": "supplied", "option": place.setting}
        seen = _seen(place, place.start)
        line = report_place.locate(
            seen.source if seen else place.document.text.text, seen.start if seen else place.start
        ).line
        cell = {"cell": seen.cell} if seen else {}
        return {"kind": "explicit", "file": place.document.text.name, **cell, "line": line, "setting": place.setting}
    if isinstance(where, Default):
        return {
            "kind": "default",
            "library": where.library,
            "releases": where.releases,
            "field": _own_name(where, fact.name),
        }
    if isinstance(where, Derived):
        return {"kind": "derived", "facts": list(where.facts)}
    if isinstance(where, Supplied):
        return {"kind": "supplied", "option": where.option, **({"is_range": True} if where.is_range else {})}
    return {"kind": "unknown", "reason": "it is not set"}


def _fingerprint(finding: Finding) -> str:
    """Rule, file, setting and decisive values: it survives moved lines, other quoting and comments."""
    values = ";".join(f"{fact.name}={wording.value_text(fact.value)}" for fact in finding.facts if fact.sources)
    text = "\0".join((finding.hazard.id, finding.place.document.text.name, finding.item or finding.fact, values))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
