"""A log beside the settings: what the log shows selects a rule, and what the files state decides it (DIAGNOSE §4).

*certain*: the message of a raise, and the rule's condition holds in the settings. *likely*: the message alone, or a sickness with a rule that holds
and can bring it about. *possible*: a message that many things print, and what else could bring it about.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from stablint.base import knowledge, language
from stablint.base.language import gettext
from stablint.engine.inspect import Inspection, effective
from stablint.fitting import answer
from stablint.hazard import model as hazards
from stablint.hazard.condition import facts_read
from stablint.log.cause import CERTAIN, LIKELY, ORDER, POSSIBLE, Cause
from stablint.log.reading import Match, Reading
from stablint.log.template import Known, Symptom, Template
from stablint.report.model import Diagnostic, Fix
from stablint.report.place import locate
from stablint.run.fact import Explicit, Place
from stablint.run.releases.signatures import differs
from stablint.run.world import Run
from stablint.syntax.embedded import seen

SURE = 3  # causes above `possible` at most: whoever names more names none
_ECHO = 40  # lines behind the first exception's message from which on another is its echo
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_WORD = re.compile(r"[A-Za-z_]\w*")
# What a program does, under names of ours that nobody writes.
_DONE = re.compile(
    r"launch\.(?:shows|done|optimizer|loop|functions|calls|engine|trainer_methods|late|alone|own_trainer)(?:\.|\Z)"
)
# Namespaces of what nobody writes into a file.
_UNWRITTEN = frozenset({"derived", "data", "target", "versions", "file", "item", "keys"})
_MEMORY = ("out-of-memory", "out-of-memory-in-evaluation")


class Settings(NamedTuple):
    """What the files say: findings of the rules that the log speaks of, and the runs."""

    diagnostics: tuple[Diagnostic, ...]
    undetermined: frozenset[str]
    runs: tuple[Run, ...]


def wanted(reading: Reading, known: Known) -> frozenset[str]:
    """The ids of the rules that this log can speak of."""
    names = {rule for match in reading.matches for rule in match.template.causes(match.gaps)}
    symptoms = {match.template.symptom for match in reading.matches} | {sick.symptom for sick in reading.sick}
    return frozenset(names | {rule for name in symptoms if name for rule in known.symptoms[name].hazards})


def settings_of(found: Inspection | None) -> Settings:
    if found is None:
        return Settings((), frozenset(), ())
    report = found.report
    told = tuple(one for one in report.diagnostics if one.suppressed is None)
    return Settings(told, frozenset(item.rule for item in report.undetermined), found.runs)


class Join:
    def __init__(self, log: str, reading: Reading, known: Known, settings: Settings) -> None:
        self._log, self._reading, self._known, self._settings = log, reading, known, settings
        self._rules = {hazard.id: hazard for hazard in hazards.load()}

    def causes(self) -> list[Cause]:
        raised = [match for match in self._reading.matches if match.template.kind != "warning"]
        # Of rules that share a sentence those of one framework, of which no frame stands there, come after the others.
        specific = sorted(
            _without_heads(raised),
            key=lambda match: (match.line, not match.framed and self._of_a_framework(match.template)),
        )
        found: list[Cause] = []
        for match in specific:
            ranks = tuple(sorted(match.ranks))
            found += [cause._replace(ranks=ranks) for cause in self._of_match(match)]
        symptoms = [sick.symptom for sick in self._reading.sick] + [one.template.symptom for one in specific]
        explained = {name for symptom in symptoms if symptom for name in self._known.symptoms[symptom].brings}
        found = [cause for cause in found if cause.rule.removeprefix("symptom:") not in explained]
        others = [cause for cause in found if not self._is_last(cause.rule)]
        if any(cause.confidence != POSSIBLE for cause in others):
            found = others
        for sick in self._reading.sick:
            if sick.symptom in explained:
                continue
            sure = POSSIBLE if sick.last else LIKELY
            shown = self._of_sickness(self._known.symptoms[sick.symptom], sick.line, sick.text, sick.times, sure)
            found += [cause._replace(numbers=True) for cause in shown]
        if not any(cause.confidence != POSSIBLE for cause in found):
            for match in self._reading.matches:
                if match.template.kind == "warning":
                    found += self._of_warning(match)
        return _ordered(found)

    def _of_a_framework(self, template: Template) -> bool:
        """Whether each of its rules asks for one framework."""
        asked = [
            any(c[1] == "derived.framework" and c[0] in ("is", "in") for c in self._rules[rule].when)
            for rule in template.hazards
        ]
        return bool(asked) and all(asked)

    def _is_last(self, rule: str) -> bool:
        symptom = self._known.symptoms.get(rule.removeprefix("symptom:"))
        return symptom is not None and symptom.last

    def _of_match(self, match: Match) -> Iterator[Cause]:
        template = match.template
        if template.symptom:
            least = POSSIBLE if template.several else LIKELY
            listed = match.gaps.get(template.about, "")
            chosen = list(template.settings) or _in_order(_names(listed), listed)[:1]
            for cause in self._of_sickness(
                self._known.symptoms[template.symptom], match.line, match.text, match.times, least
            ):
                setting, file, line = self._named(chosen) if chosen else (cause.setting, cause.file, cause.line)
                yield cause._replace(setting=setting, file=file, line=line)
            return
        rules = self._undenied(template.causes(match.gaps), match.gaps)
        names = _names(match.gaps.get(template.about, "")) if template.about else None
        drawn = self._drawn(rules, names)
        for number, diagnostic in enumerate(drawn):
            named = number == 0 or bool(template.decides) or names is not None
            # A rule whose finding is graded down rests on something presumed; what a list of values says of itself is not.
            # Where nothing but the release was open, the message has said that it is one of those that print it.
            by_release = bool(diagnostic.releases) and not diagnostic.notes
            said = self._rules[diagnostic.rule]
            whole = diagnostic.severity == said.severity or (bool(said.error_when) and not diagnostic.notes)
            known = bool(template.decides) or whole or by_release
            confidence = (CERTAIN if known else LIKELY) if named else LIKELY if number == 1 else POSSIBLE
            yield self._finding(
                diagnostic,
                confidence,
                match.line,
                match.text,
                match.times,
                gettext("its message, and the settings have what it asks for"),
            )
        if drawn or not rules:
            return
        # The files may be others, or no files at all: what the rules leave open goes before what they deny.
        likeliest = _fate(match, names)
        by_files = sorted(
            rules,
            key=lambda rule: (
                bool(self._settings.runs) and rule not in self._settings.undetermined,
                likeliest in rules and rule != likeliest,
            ),
        )
        for number, rule in enumerate(by_files):
            confidence = POSSIBLE if number or template.several else LIKELY
            because = (
                gettext("its message; the settings at hand do not show it")
                if self._settings.runs
                else gettext("its message; no settings were named")
            )
            cause = self._unproven(rule, confidence, match.line, match.text, match.times, because)
            if names:
                listed = match.gaps[template.about]
                setting, file, line = self._named(_in_order(names, listed))
                cause = cause._replace(setting=setting, file=file or cause.file, line=line or cause.line)
            yield cause

    def _undenied(self, rules: tuple[str, ...], gaps: dict[str, str]) -> tuple[str, ...]:
        """Those that ask for no other number than the message itself tells; all where it denies each."""
        told = {_last(name): int(text) for name, text in gaps.items() if text.strip().isdigit()}
        left = tuple(rule for rule in rules if not _denied(self._rules[rule].when, told)) if told else rules
        return left or rules

    def _of_warning(self, match: Match) -> Iterator[Cause]:
        """A warning is a cause only where the settings have what it warns of, and nothing else was found."""
        for diagnostic in self._drawn(match.template.causes(match.gaps), None)[:1]:
            if diagnostic.severity != "info":
                yield self._finding(
                    diagnostic,
                    POSSIBLE,
                    match.line,
                    match.text,
                    match.times,
                    gettext("a warning, and the settings have what it warns of"),
                )

    def _of_sickness(self, symptom: Symptom, line: int, text: str, count: int, confidence: str) -> Iterator[Cause]:
        drawn = self._drawn(symptom.hazards, None)
        for number, diagnostic in enumerate(drawn):
            said = LIKELY if number < 2 and confidence == LIKELY else POSSIBLE
            yield self._finding(
                diagnostic,
                said,
                line,
                text,
                count,
                gettext("the log shows it ({sickness}), and this can bring it about").format(sickness=symptom.title),
            )
        if drawn:
            return
        if symptom.alone:
            yield self._unproven(
                symptom.hazards[0], confidence, line, text, count, gettext("only this brings it about")
            )
            return
        shown = [
            rule for rule in symptom.hazards if rule in self._settings.undetermined and self._rests_on(rule, symptom)
        ]
        if shown:
            because = gettext(
                "the log shows it ({sickness}), and the settings speak for it; what else it asks for is not known"
            ).format(sickness=symptom.title)
            yield self._unproven(shown[0], confidence, line, text, count, because)
            return
        fit = self._beyond(symptom)
        place = self._place(symptom.settings)
        yield Cause(
            f"symptom:{symptom.name}", "", CERTAIN if fit else confidence, self._log, line, text, symptom.title, *place,
            Fix("manual", symptom.advice, ()), (), count, fit or symptom.why,
        )  # fmt: skip

    def _rests_on(self, rule: str, symptom: Symptom) -> bool:
        """Whether the rule asks for what the log has shown."""
        return not symptom.observes.keys().isdisjoint(facts_read(self._rules[rule].when))

    def _beyond(self, symptom: Symptom) -> str:
        """Whether the memory model agrees that the card is too small; empty where it does not or cannot say."""
        if symptom.name not in _MEMORY:
            return ""
        for run in self._settings.runs:
            if run.target:
                told = answer.answer(effective(run), run.target)
                if told.verdict == answer.NOT and told.estimate is not None:
                    return gettext("`stablint fit` says so too: about {size} GiB on {card}").format(
                        size=f"{told.peak[1]:.1f}", card=run.target
                    )
        return ""

    def _drawn(self, rules: Iterable[str], names: frozenset[str] | None) -> list[Diagnostic]:
        """The findings of these rules, in their order."""
        order = {rule: number for number, rule in enumerate(rules)}
        found = [one for one in self._settings.diagnostics if one.rule in order]
        if names is not None:
            found = [one for one in found if _last(one.setting) in names]
        return sorted(found, key=lambda one: (one.severity == "info", order[one.rule], one.start))

    def _finding(self, one: Diagnostic, confidence: str, line: int, text: str, count: int, because: str) -> Cause:
        where = one.text
        place: tuple[str | None, str | None, int | None] = (one.setting, None, None)
        if where is not None:
            shown = locate(one.seen.source, one.seen.start) if one.seen else locate(where.text, one.start)
            place = (one.setting, where.name, shown.line)
        sources = tuple(one.evidence.get("sources", ()))
        return Cause(
            one.rule, one.code, confidence, self._log, line, text, one.message, *place, one.fix, sources, count, because
        )

    def _unproven(self, rule: str, confidence: str, line: int, text: str, times: int, because: str) -> Cause:
        hazard = self._rules[rule]
        advice = next((remedy.title for remedy in hazard.remedies), "")
        return Cause(
            rule, hazard.code, confidence, self._log, line, text, self._title(rule), *self._place(_settings(hazard), text),
            Fix("manual", advice, ()) if advice else None, tuple(hazard.evidence.get("sources", ())), times, because,
        )  # fmt: skip

    def _named(self, names: list[str]) -> tuple[str, str | None, int | None]:
        """Where the first of these settings stands, however it is called inside."""
        for name in names:
            for run in self._settings.runs:
                for fact in run.explicit.values():
                    for statement in fact.sources:
                        origin = statement.origin
                        if isinstance(origin, Explicit) and _last(origin.place.setting) == name:
                            return origin.place.setting, *_point(origin.place)
        return names[0], None, None

    def _title(self, rule: str) -> str:
        return language.of_hazard(rule, str(knowledge.rows("texts")[rule]["title"]))

    def _place(self, facts: tuple[str, ...], text: str = "") -> tuple[str | None, str | None, int | None]:
        """Where the first of these facts is stated; else the usual name of one that is a setting, of such as the message names itself first, beside
        the run where it would stand."""
        for name in facts:
            for run in self._settings.runs:
                for statement in run.explicit[name].sources if name in run.explicit else ():
                    origin = statement.origin
                    if isinstance(origin, Explicit):
                        return origin.place.setting, *_point(origin.place)
        said = frozenset(_WORD.findall(text))
        usual = min(
            (name.rpartition(".")[2] for name in facts if _DONE.match(name) is None),
            key=lambda name: name not in said,
            default=None,
        )
        if self._settings.runs and usual is not None:
            return usual, *_point(self._settings.runs[0].anchor)
        return usual, None, None


def _point(place: Place) -> tuple[str, int]:
    """The file and the line of a place, in a notebook the line in its cell."""
    document = place.document
    cell = seen(document, place.start, place.start) if document.view is not None else None
    if cell is not None:
        return document.text.name, locate(cell.source, cell.start).line
    return document.text.name, locate(document.text.text, place.start).line


_ORDERS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.eq,
    "is-not": operator.ne,
}


def _denied(when: list[list[Any]], told: dict[str, int]) -> bool:
    """Whether one of the conditions compares a number that is told with another one, and does not hold of it."""
    return any(
        condition[0] in _ORDERS
        and condition[1].rpartition(".")[2] in told
        and isinstance(condition[3], int)
        and not isinstance(condition[3], bool)
        and condition[2] != 2
        and not _ORDERS[condition[0]](told[condition[1].rpartition(".")[2]], condition[3])
        for condition in when
        if len(condition) > 3
    )


def _settings(hazard: hazards.Hazard) -> tuple[str, ...]:
    """The facts of a rule that somebody writes down, the one that it points at first."""
    changed = (name for remedy in hazard.remedies for name in (*remedy.set, *remedy.unset))
    asked = (name for remedy in hazard.remedies for name in facts_read(remedy.when))
    names = dict.fromkeys((hazard.at, *changed, *hazard.each, *facts_read(hazard.when), *asked))
    return tuple(name for name in names if "." in name and "*" not in name and name.partition(".")[0] not in _UNWRITTEN)


def _without_heads(matches: list[Match]) -> list[Match]:
    """Where a list below a message names each value, the message above it says nothing more; of two texts in one line the longer speaks."""
    decided = {rule for match in matches if match.template.decides for rule in match.template.causes(match.gaps)}
    kept: list[Match] = []
    for match in matches:
        if not match.template.decides and decided and decided & set(match.template.hazards):
            continue
        longer = [
            other
            for other in matches
            if other is not match
            and abs(other.line - match.line) <= 1
            and other.template.length > match.template.length
            and not other.template.settings  # of which nothing is known but what it says itself
            and (match.template.several or not other.template.several)  # many things print the longer one
            and _covers(other.template, match.template)
        ]
        # Of libraries that print the same sentence the one speaks whose frames stand there.
        longer += [
            other
            for other in matches
            if other.line == match.line and other.template.runs == match.template.runs and other.framed > match.framed
        ]
        if not longer:
            kept.append(match)
    first = next((match.line for match in kept if not match.template.several), None)
    return [match for match in kept if first is None or match.line <= first + _ECHO or match.template.kind == "warning"]


_FATES = {"renamed": "setting-renamed", "moved": "setting-replaced", "removed": "setting-removed"}


def _fate(match: Match, names: frozenset[str] | None) -> str:
    """Of an argument that a call does not take: the rule for what became of it in that class, or in any; else it was never one."""
    if match.template.about != "argument" or not names:
        return ""
    name, table = next(iter(names)), knowledge.load("renames")
    said = match.gaps.get("class", "").rstrip(".").rpartition(".")[2]
    owners = sorted(table, key=lambda owner: owner.rpartition(".")[2] != said)
    kinds = [table[owner][name]["kind"] for owner in owners if name in table[owner]]
    # A name that the class has in other releases, and that never went, has come since.
    new = "setting-not-there-yet" if differs(said, name) else "argument-unknown"
    return next((_FATES[kind] for kind in kinds if kind in _FATES), new)


def _covers(longer: Template, shorter: Template) -> bool:
    """Whether every word of the shorter one stands in the longer one, or both speak of one exception."""
    text = " ".join(longer.runs)
    return all(run.strip() in text for run in shorter.runs)


def _ordered(found: list[Cause]) -> list[Cause]:
    """Once each, the surest first, then in the order of the log; not more than SURE above `possible`."""
    once: dict[tuple[str, str | None, str | None, int | None], Cause] = {}
    for cause in sorted(
        found, key=lambda cause: (ORDER[cause.confidence], not cause.numbers, "Error: " not in cause.text, cause.at)
    ):
        once.setdefault((cause.rule, cause.setting, cause.file, cause.line), cause)
    sure = [cause for cause in once.values() if cause.confidence != POSSIBLE]
    late = {id(cause) for cause in sure[SURE:]}
    return sorted(
        (cause._replace(confidence=POSSIBLE) if id(cause) in late else cause for cause in once.values()),
        key=lambda cause: (ORDER[cause.confidence], cause.at),
    )


def _names(text: str) -> frozenset[str]:
    """The settings that a gap lists: `['--train_type', 'sft']`, `loss_scale Extra inputs are not permitted`."""
    return frozenset(_last(name) for name in _NAME.findall(text))


def _in_order(names: frozenset[str], listed: str) -> list[str]:
    """Of two that begin at one place the longer."""
    return sorted(names, key=lambda name: (listed.find(name), -len(name)))


def _last(setting: str) -> str:
    return setting.strip().lstrip("-").replace("-", "_").rpartition(".")[2]
