"""Fixes → new texts: all or nothing, checked again after each round, and confirmed by a reader that is not ours.

Fixes whose files belong to no common run cannot spoil one another: each such group is judged by itself, while all of them share one check. A
group that is refused is halved until the fix that spoils it is found; what does not change is not worked out again (`earlier` of inspect).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from stablint.assemble.asked import Options
from stablint.assemble.files import Files
from stablint.base.language import gettext
from stablint.engine.inspect import Inspection, inspect, told
from stablint.files.faults import Faults, attempt
from stablint.fix.confirm import objection
from stablint.hazard.model import Hazard
from stablint.report.model import Diagnostic, Fix, Report
from stablint.syntax import limits
from stablint.syntax.edit import apply, overlaps
from stablint.syntax.tree import Edit, Text

if TYPE_CHECKING:
    from stablint.report.progress import Watch

_ROUNDS = 10
Texts = dict[str, Text]
Stand = tuple[tuple[str, str], ...]
T = TypeVar("T")


class Repaired(NamedTuple):
    """`texts` are the changed files by absolute path (`before`: as they are on disk); `inspection` is the state after the repair."""

    texts: Texts
    before: Texts
    inspection: Inspection
    fixed: int
    refused: tuple[str, ...]  # fixes that were not written, and why: each is a fault of ours
    kept_out: tuple[str, ...] = ()  # fixes that were not written because another error would come of them
    repairs: tuple[tuple[str, ...], ...] = ()  # of each fix the files that it changes
    closed: tuple[tuple[str, str], ...] = ()  # files that a fix would have changed and must not, and why
    unwritten: bool = False  # something that was asked for could not be written


class _Group:
    """Fixes of one round whose files some run reads together; `files` are the names of all files that they may concern."""

    def __init__(self, fixes: list[Diagnostic], files: set[str]) -> None:
        self.files = files
        self.queue = [fixes]
        self.accepted: list[Diagnostic] = []
        self.alone = False  # something went wrong that no group answers for: tried with no other at its side
        self.trials = 0

    def trial(self) -> list[Diagnostic]:
        return [*self.accepted, *self.queue[0]]

    def accept(self) -> None:
        self.accepted += self.queue.pop(0)

    def reject(self) -> list[Diagnostic]:
        """What is refused, once it is found: a fix, and those that are written with it or not at all."""
        units = _units(self.queue.pop(0))
        if len(units) == 1:
            return units[0]
        middle = len(units) // 2
        halves = units[:middle], units[middle:]
        self.queue[:0] = [list(itertools.chain.from_iterable(half)) for half in halves]
        return []


class _Repair:
    """What holds for all rounds of one repair."""

    def __init__(
        self, check: Callable[[Texts, Inspection | None], Inspection], texts: Texts, state: Inspection | None
    ) -> None:
        self.check = check
        self.current, self.before = texts, Texts()
        self.refused: dict[str, str] = {}  # fingerprint → why; empty where it is nobody's fault
        self.kept_out: dict[str, str] = {}  # fingerprint → the error that would come of it
        self.repairs: list[tuple[str, ...]] = []
        self.named: list[tuple[str, str, str]] = []  # the same for people
        self.seen: set[Stand] = {()}
        self.faults = Faults()
        self.state = check(texts, None) if state is None else state

    def round(self, offered: list[Diagnostic]) -> None:
        """Accept of these fixes, which touch nothing of one another, all that hold."""
        groups = _grouped(offered, self.state.report)
        errors = _errors(self.state.report)
        start, checked, state = self.current, self.current, self.state
        self.seen |= {self._stand(group.files, start) for group in groups}
        while any(group.queue for group in groups):
            trying = [group for group in groups if group.queue and not group.alone]
            trying = trying or [group for group in groups if group.queue][:1]
            for group in trying:
                if group.trials == limits.TRIED.most:
                    self._leave(group)
            trying = [group for group in trying if group.queue and self._confirmed(group)]
            for group in trying:
                group.trials += 1
            if not trying:
                continue
            texts = _texts(
                start, [fix for group in groups for fix in (group.trial() if group in trying else group.accepted)]
            )
            after = self.check(texts, state)
            checked, state = texts, after
            self._settle(trying, errors, texts, after.report)
        accepted = [fix for group in groups for fix in group.accepted]
        for diagnostic in accepted:
            for file in diagnostic.fix.files if diagnostic.fix else ():
                self.before.setdefault(file.text.path, file.text)
            self.repairs.append(tuple(file.text.path for file in diagnostic.fix.files) if diagnostic.fix else ())
            where = diagnostic.text.name if diagnostic.text is not None else ""
            self.named.append((diagnostic.code, where, diagnostic.fix.title if diagnostic.fix else ""))
        self.current = _texts(start, accepted)
        same = {path: text.text for path, text in checked.items()} == {
            path: text.text for path, text in self.current.items()
        }
        self.state = state if same else self.check(self.current, state)

    def _settle(self, trying: list[_Group], before: set[tuple[str, str]], texts: Texts, report: Report) -> None:
        there = Counter(d.fingerprint for d in self.state.report.diagnostics)
        left = Counter(d.fingerprint for d in report.diagnostics)
        problems = _problems(report) - _problems(self.state.report)
        new = (_errors(report) - before) | {(rule, name) for rule, name, _ in problems}
        warnings = _told(report, ("error", "warning")) - _told(self.state.report, ("error", "warning"))
        known = {name for group in trying for name in group.files}
        if any(name not in known for _, name in new) and len(trying) > 1:
            for group in trying:
                group.alone = True
            return
        for group in trying:
            worse = new if any(one.severity == "error" for one in group.trial()) else new | warnings
            spoilt = sorted(rule for rule, name in worse if name in group.files or name not in known)
            cleared = Counter(d.fingerprint for d in group.trial())
            missed = any(left[one] > there[one] - times for one, times in cleared.items())
            if (spoilt or missed) and group.accepted:
                group.reject()  # it may be for one of those accepted: what is found once they are made, and its repair, is asked anew
            elif spoilt:
                self._refuse(
                    group, "", f"not repaired: `{'`, `'.join(spoilt)}` would come of it; settle that as well, by hand"
                )
            elif missed:
                self._refuse(group, *_not_cleared(group.trial()))
            elif self._stand(group.files, texts, group.trial()) in self.seen:
                self._refuse(group, "")  # two remedies that undo each other: the first one stands
            else:
                group.accept()

    def _refuse(self, group: _Group, why: str, consequence: str = "") -> None:
        for one in group.reject():
            where = f"{one.rule} in {one.text.name if one.text else ''}"
            self.refused[one.fingerprint] = why and f"{where}: {why}"
            if consequence:
                self.kept_out[one.fingerprint] = f"{where}: {consequence}"

    def _leave(self, group: _Group) -> None:
        """Refuse what is left of a group of which many were refused one by one: each trial costs a check of all its files."""
        why = "not tried: too many repairs beside it were refused; settle those by hand and run it again"
        for one in itertools.chain.from_iterable(group.queue):
            self.refused[one.fingerprint] = ""
            self.kept_out[one.fingerprint] = f"{one.rule} in {one.text.name if one.text else ''}: {why}"
        group.queue.clear()

    def _confirmed(self, group: _Group) -> bool:
        """Whether an independent reader has nothing against any file; a group that it has something against is not tried."""
        for text, edits in _edits(group.trial()).values():
            why, error = attempt(_objection, text, edits)
            if error is not None:
                self.faults.add(text, "confirming its repair", error)
            if why and group.accepted:
                group.reject()  # as in `_settle`: two repairs that give two settings one name are one repair
                return False
            if why or error is not None:
                self._refuse(group, "" if error is not None else f"{why}; it was not written")
                return False
        return True

    def _stand(self, files: set[str], texts: Texts, fixes: Iterable[Diagnostic] = ()) -> Stand:
        """The changed texts of these files; one that is as it was on disk does not count."""
        originals = {**{path: text for path, (text, _) in _edits(fixes).items()}, **self.before}
        return tuple(
            sorted(
                (path, text.text)
                for path, text in texts.items()
                if text.name in files and path in originals and text.text != originals[path].text
            )
        )


_IN_PART = "it was checked in part only (over-budget, checked-in-part, read-in-part)"


def repair(
    paths: list[str],
    options: Options,
    *,
    unsafe: bool,
    base: str | None = None,
    texts: dict[str, Text] | None = None,
    known: tuple[Hazard, ...] | None = None,
    closed: Callable[[str], str] = lambda path: "",
    named: Container[str] = (),
    only: Callable[[Diagnostic], bool] | None = None,
    read: Files | None = None,
    watch: Watch | None = None,
    earlier: Inspection | None = None,
) -> Repaired:
    """Apply every applicable fix until nothing is left, in memory. At most ten rounds; what does not help is left out and told.

    `closed` says why a file is not to be changed, or nothing; `named` are codes and ids that somebody has asked for one by one, as all of
    `known` are; `only` leaves out what it does not take; `read` are the files, where somebody has read them; `earlier` is the inspection
    of these very texts with these options, where there is one.
    """
    allowed = ("safe", "unsafe") if unsafe else ("safe",)

    def wanted(d: Diagnostic) -> bool:
        if d.suppressed is not None or d.fix is None or d.fix.applicability not in allowed:
            return False
        if only is not None and not only(d):
            return False
        return not d.fix.by_name or known is not None or d.code in named or d.rule in named

    def check(current: Texts, earlier: Inspection | None) -> Inspection:
        return inspect(paths, options, base=base, texts=current, known=known, earlier=earlier, read=read, watch=watch)

    work = _Repair(check, dict(texts or {}), earlier)
    shut: dict[str, str] = {}
    for _ in range(_ROUNDS):
        offered = []
        over = {
            d.text.path
            for d in work.state.report.diagnostics
            if d.rule in (limits.KIND, limits.IN_PASSING) and d.text is not None
        }
        over |= work.state.files.in_part()
        for d in work.state.report.diagnostics:
            if wanted(d) and d.fix is not None and d.fix.files:
                paths_of = [file.text.path for file in d.fix.files]
                reasons = {
                    path: why for path in paths_of if (why := closed(path) or (_IN_PART if path in over else ""))
                }
                shut |= reasons
                if not reasons and d.fingerprint not in work.refused:
                    offered.append(d)
        if not offered:
            break
        work.round(_disjoint(offered))
    state = work.state
    if work.faults.found:
        state = state._replace(report=told(state.report, work.faults.found))
    if work.kept_out:  # nobody is promised again what was not done
        advised = tuple(_by_hand(d) if d.fingerprint in work.kept_out else d for d in state.report.diagnostics)
        state = state._replace(report=state.report._replace(diagnostics=advised))
    state = state._replace(report=state.report._replace(fixed=tuple(work.named)))
    before, current = work.before, work.current
    changed = {path: text for path, text in current.items() if path in before and text.text != before[path].text}
    return Repaired(
        changed,
        before,
        state,
        len(work.repairs),
        tuple(filter(None, work.refused.values())),
        tuple(work.kept_out.values()),
        tuple(work.repairs),
        tuple(shut.items()),
        bool(shut),
    )


def _by_hand(diagnostic: Diagnostic) -> Diagnostic:
    fix = diagnostic.fix
    return (
        diagnostic
        if fix is None
        else diagnostic._replace(fix=Fix("manual", fix.title, (), gettext("another error would come of it")))
    )


def _objection(text: Text, edits: list[Edit]) -> str:
    return objection(text, apply(text.text, edits), edits)


def _grouped(fixes: list[Diagnostic], report: Report) -> list[_Group]:
    """Those together whose files are chained by common runs."""
    chain = _chained([*(run.files for run in report.runs), *map(_names, fixes)])
    by_chain: dict[int, list[Diagnostic]] = {}
    for diagnostic in fixes:
        by_chain.setdefault(id(chain[_names(diagnostic)[0]]), []).append(diagnostic)
    return [_Group(found, chain[_names(found[0])[0]]) for found in by_chain.values()]


def _units(fixes: list[Diagnostic]) -> list[list[Diagnostic]]:
    """The fixes by what is repaired whole or not at all."""
    chain = _chained(one.fix.together for one in fixes if one.fix is not None)
    units: dict[int, list[Diagnostic]] = {}
    for one in fixes:
        key = next(iter(one.fix.together), None) if one.fix is not None else None
        units.setdefault(id(one if key is None else chain[key]), []).append(one)
    return list(units.values())


def _chained(several: Iterable[Iterable[T]]) -> dict[T, set[T]]:
    """Each name with all that it is together with, in one of them or over others."""
    chain: dict[T, set[T]] = {}
    for names in several:
        whole = set(names)
        for name in tuple(whole):
            whole |= chain.get(name, set())
        chain.update(dict.fromkeys(whole, whole))
    return chain


def _names(diagnostic: Diagnostic) -> list[str]:
    files = [file.text.name for file in diagnostic.fix.files] if diagnostic.fix is not None else []
    return [*files, *([diagnostic.text.name] if diagnostic.text is not None else [])]


def _errors(report: Report) -> set[tuple[str, str]]:
    return _told(report, ("error",))


def _told(report: Report, severities: tuple[str, ...]) -> set[tuple[str, str]]:
    return {(d.rule, d.text.name if d.text else "") for d in report.diagnostics if d.severity in severities}


def _not_cleared(trial: list[Diagnostic]) -> tuple[str, str]:
    """A setting that its repair leaves as it was is a fault of ours; in a text that is broken in several places one of them may hide another."""
    if all(one.fact.startswith("file.") for one in trial):
        return "", "not repaired: the text is broken in other places as well; settle them by hand"
    return "the repair did not clear it, and was not written", ""


def _problems(report: Report) -> Counter[tuple[str, str, str]]:
    """What is wrong with the texts themselves, by the words there: two settings that become one key are worse than what they were, and no error."""
    return Counter(
        (d.rule, d.text.name, d.text.text[d.start : d.end])
        for d in report.diagnostics
        if d.fact.startswith("file.") and d.text is not None
    )


def _disjoint(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The fixes that touch nothing of one another; the rest waits for the next round."""
    taken: dict[str, list[Edit]] = {}
    chosen = []
    for diagnostic in diagnostics:
        assert diagnostic.fix is not None
        edits = [(file.text.path, edit) for file in diagnostic.fix.files for edit in file.edits]
        if any(_touch(edit, other) for path, edit in edits for other in taken.get(path, ())):
            continue
        for path, edit in edits:
            taken.setdefault(path, []).append(edit)
        chosen.append(diagnostic)
    return chosen


def _touch(one: Edit, other: Edit) -> bool:
    """Whether two edits are of the same text; of what is put in at an end of the other it would not be known which comes first."""
    inserts = one.start == one.end or other.start == other.end
    return overlaps(one, other) or (inserts and one.start <= other.end and other.start <= one.end)


def _texts(start: Texts, fixes: list[Diagnostic]) -> Texts:
    """The texts with the fixes in them, which are all of one round."""
    after = dict(start)
    for path, (text, edits) in _edits(fixes).items():
        after[path] = text._replace(text=apply(text.text, edits))
    return after


def _edits(fixes: Iterable[Diagnostic]) -> dict[str, tuple[Text, list[Edit]]]:
    files: dict[str, tuple[Text, list[Edit]]] = {}
    for diagnostic in fixes:
        for file in diagnostic.fix.files if diagnostic.fix is not None else ():
            files.setdefault(file.text.path, (file.text, []))[1].extend(file.edits)
    return files
