"""Fixes → new texts: all or nothing, checked again after each round, and confirmed by a reader that is not ours."""

from __future__ import annotations

from typing import NamedTuple

from stablint.assemble.asked import Options
from stablint.fix.confirm import objection
from stablint.hazard.model import Hazard
from stablint.inspect import Inspection, inspect
from stablint.report.model import Diagnostic, Fix
from stablint.source.edit import apply
from stablint.source.tree import Text

_ROUNDS = 10


class Repaired(NamedTuple):
    """`texts` are the changed files by absolute path (`before`: as they are on disk); `inspection` is the state after the repair."""

    texts: dict[str, Text]
    before: dict[str, Text]
    inspection: Inspection
    fixed: int
    refused: tuple[str, ...]  # fixes that were not written, and why: each is a fault of ours


def repair(
    paths: list[str],
    options: Options,
    *,
    unsafe: bool,
    base: str | None = None,
    texts: dict[str, Text] | None = None,
    known: tuple[Hazard, ...] | None = None,
) -> Repaired:
    """Apply every applicable fix until nothing is left, in memory. At most ten rounds; what does not help is left out and told."""
    allowed = ("safe", "unsafe") if unsafe else ("safe",)
    current: dict[str, Text] = dict(texts or {})
    before: dict[str, Text] = {}
    refused: dict[str, str] = {}
    fixed = 0
    seen: set[tuple[tuple[str, str], ...]] = set()  # texts that an earlier round began with
    state = inspect(paths, options, base=base, texts=current, known=known)
    for _ in range(_ROUNDS):
        batch = _disjoint(
            [
                d
                for d in state.report.diagnostics
                if d.suppressed is None
                and d.fix is not None
                and d.fix.applicability in allowed
                and d.fix.files
                and d.fingerprint not in refused
            ]
        )
        if not batch:
            break
        seen.add(_stand(current, before))
        done, after, state_after = _try(batch, current, paths, options, base, state, known)
        if done and _stand(after, _originals(batch, before)) not in seen:
            accepted = batch
        else:
            accepted, after, state_after = [], current, state
            for one in batch:
                good, trial, trial_state = _try([one], after, paths, options, base, state_after, known)
                if good and _stand(trial, _originals([one], before)) in seen:
                    refused[one.fingerprint] = ""  # two remedies that undo each other: the first one stands
                elif good:
                    accepted.append(one)
                    after, state_after = trial, trial_state
                else:
                    refused[one.fingerprint] = (
                        f"{one.rule} in {one.text.name if one.text else ''}: the repair did not clear it, and was not written"
                    )
        for diagnostic in accepted:
            for file in diagnostic.fix.files if diagnostic.fix else ():
                before.setdefault(file.text.path, file.text)
        fixed += len(accepted)
        current, state = after, state_after
    changed = {path: text for path, text in current.items() if path in before and text.text != before[path].text}
    return Repaired(changed, before, state, fixed, tuple(filter(None, refused.values())))


def _originals(batch: list[Diagnostic], before: dict[str, Text]) -> dict[str, Text]:
    return {**{path: text for path, (text, _) in _by_file(batch).items()}, **before}


def _stand(current: dict[str, Text], before: dict[str, Text]) -> tuple[tuple[str, str], ...]:
    """The changed texts; a file that is as it was on disk does not count."""
    return tuple(
        sorted((path, text.text) for path, text in current.items() if path in before and text.text != before[path].text)
    )


def _disjoint(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The fixes that touch nothing of one another; the rest waits for the next round."""
    taken: list[tuple[str, int, int]] = []
    chosen = []
    for diagnostic in diagnostics:
        assert diagnostic.fix is not None
        spans = [(file.text.path, edit.start, edit.end) for file in diagnostic.fix.files for edit in file.edits]
        if any(
            path == other and start <= last and first <= end
            for path, start, end in spans
            for other, first, last in taken
        ):
            continue
        taken += spans
        chosen.append(diagnostic)
    return chosen


def _try(
    batch: list[Diagnostic],
    current: dict[str, Text],
    paths: list[str],
    options: Options,
    base: str | None,
    before: Inspection,
    known: tuple[Hazard, ...] | None,
) -> tuple[bool, dict[str, Text], Inspection]:
    """The texts with the fixes in them, if every file still reads, each finding is gone and no new error came."""
    after = dict(current)
    for path, (text, fixes) in _by_file(batch).items():
        new = apply(
            text.text, [edit for fix in fixes for file in fix.files if file.text.path == path for edit in file.edits]
        )
        if objection(
            text, new, [edit for fix in fixes for file in fix.files if file.text.path == path for edit in file.edits]
        ):
            return False, current, before
        after[path] = text._replace(text=new)
    state = inspect(paths, options, base=base, texts=after, known=known)
    left = {(d.rule, d.fingerprint) for d in state.report.diagnostics}
    errors_before = {
        (d.rule, d.text.name if d.text else "") for d in before.report.diagnostics if d.severity == "error"
    }
    errors_after = {(d.rule, d.text.name if d.text else "") for d in state.report.diagnostics if d.severity == "error"}
    good = not any((d.rule, d.fingerprint) in left for d in batch) and errors_after <= errors_before
    return good, after, state


def _by_file(batch: list[Diagnostic]) -> dict[str, tuple[Text, list[Fix]]]:
    files: dict[str, tuple[Text, list[Fix]]] = {}
    for diagnostic in batch:
        assert diagnostic.fix is not None
        for file in diagnostic.fix.files:
            files.setdefault(file.text.path, (file.text, []))[1].append(diagnostic.fix)
    return files
