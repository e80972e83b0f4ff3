"""Findings that somebody has accepted: by a comment in the file, in the settings, or in a baseline. And what is wrong with such words.

`# stablint: ignore[P101, fp16-overflow-prone-model] -- reason` counts for its own line, or, alone on a line, for the one below;
`# stablint: ignore-file[P101]` in the head of a file for all of it. A suppressed diagnostic stays in the report, with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from stablint.base.libraries import fnmatch
from stablint.files.globs import matches
from stablint.hazard.model import Hazard
from stablint.policy import Policies, Policy, means
from stablint.report.model import Diagnostic, Report
from stablint.report.place import line_starts, line_text, locate
from stablint.secrets.masking import mask
from stablint.suppressions import baseline
from stablint.suppressions.comments import Comments, comments
from stablint.suppressions.directives import Directive, directives, texts
from stablint.suppressions.unused import Judge
from stablint.syntax import embedded
from stablint.syntax.limits import TOLD
from stablint.syntax.tree import Document, Problem

_GOES_ON = (":", "=", "(", "[", "{", "-")  # behind these a value begins on the next line
_NO_REASON = "no reason given"


class Outcome(NamedTuple):
    report: Report
    problems: list[tuple[Document, Problem]]  # unused, unknown, without a reason


def settle(
    report: Report,
    files: dict[str, tuple[Document, ...]],
    checked: dict[str, str],
    policies: Policies,
    known: tuple[Hazard, ...] | None,
    every: Iterable[Hazard],
) -> Outcome:
    """`files` are those whose comments are asked, `checked` the names of all that were checked, by path; `known` the rules that were
    checked, if these are not those of the policies, `every` all that there are.
    """
    every = tuple(every)
    report = _without(report, policies, every)
    read = {
        path: [(one, here, comments(one)) for one in texts(documents) if (here := tuple(directives(one)))]
        for path, documents in files.items()
    }
    used: set[tuple[str, int, str]] = set()
    left: dict[int, dict[tuple[str, str, str], int]] = {}  # by baseline
    settled = []
    for diagnostic in report.diagnostics:
        path = diagnostic.text.path if diagnostic.text is not None else ""
        policy = policies.at(path)
        by = "comment"
        reason = _by_comment(diagnostic, read.get(path, ()), used)
        if reason is None:
            reason, by = _by_settings(diagnostic, policy, used), "settings"
        if reason is None and policy.baseline:
            accepted = left.setdefault(id(policy.baseline), dict(policy.baseline))
            reason, by = _by_baseline(diagnostic, accepted), "baseline"
        settled.append(
            diagnostic if reason is None else diagnostic._replace(suppressed={"reason": mask(reason)}, suppressed_by=by)
        )
    report = report._replace(diagnostics=tuple(settled))
    judged = Judge(known, every, report.undetermined, used, policies, checked)
    problems = [
        (documents[0], problem)
        for path, found in read.items()
        for documents, here, _ in found
        for problem in islice(judged.comments(path, documents, here), TOLD.most + 1)  # one more than is told
    ]
    problems += judged.settings()
    return Outcome(report, problems)


def _by_comment(
    diagnostic: Diagnostic,
    found: Sequence[tuple[tuple[Document, ...], tuple[Directive, ...], Comments]],
    used: set[tuple[str, int, str]],
) -> str | None:
    reason = None
    for documents, here, spans in found if diagnostic.text is not None else ():
        place = _place(diagnostic, documents[0])
        if place is None:
            continue
        beside, above = _lines(*place, documents[0].format, spans)
        for directive in here:
            counts = directive.whole_file or directive.line in (above if directive.alone else beside)
            for word in directive.words if counts and not directive.fault else ():
                if means(word, diagnostic.code, diagnostic.rule) and diagnostic.text is not None:
                    used.add((diagnostic.text.path, directive.start, word))
                    reason = directive.reason or _NO_REASON
    return reason


def _place(diagnostic: Diagnostic, document: Document) -> tuple[str, int, int] | None:
    """The text that has the lines, and the place in it: of a notebook its Python, None for what stands elsewhere in that."""
    assert diagnostic.text is not None
    if document.view is None:
        return diagnostic.text.text, diagnostic.start, diagnostic.end
    start = embedded.start_in_view(document.view.pieces, diagnostic.start)
    end = embedded.end_in_view(document.view.pieces, diagnostic.end)
    return None if start is None else (document.view.source, start, start if end is None else end)


def _lines(text: str, start: int, end: int, format: str, found: Comments) -> tuple[set[int], set[int]]:
    """The lines whose comment counts for a finding, beside it and above it."""
    first = locate(text, start).line
    last = locate(text, max(start, end - 1)).line
    beside = {first, last}
    tops = {first}
    if format == "shell":  # within a continued command there is no room for a comment
        while first > 1 and _continued(line_text(text, first - 1)):
            first -= 1
        while _continued(line_text(text, last)) and last < len(line_starts(text)):
            last += 1
        beside, tops = beside | {first, last}, {first}
    elif first > 1 and _code(text, first - 1, found).endswith(_GOES_ON):  # the key stands on the line above its value
        beside.add(first - 1)
        tops.add(first - 1)
    above: set[int] = set()
    for top in tops:
        line = top - 1
        while line >= 1 and line_text(text, line).lstrip().startswith("#"):
            above.add(line)
            line -= 1
    return beside, above


def _continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _code(text: str, line: int, found: Comments) -> str:
    """A line without its comment."""
    start = line_starts(text)[line - 1]
    whole = line_text(text, line)
    cut = next((at - start for at, _ in found.spans if start <= at < start + len(whole)), len(whole))
    return whole[:cut].rstrip()


def _by_settings(diagnostic: Diagnostic, policy: Policy, used: set[tuple[str, int, str]]) -> str | None:
    reason = None
    for row in policy.accepted:
        if row.setting not in (None, diagnostic.setting, diagnostic.fact):
            continue
        if row.file is not None and not (
            diagnostic.text is not None and matches(diagnostic.text.path, policy.folder, (row.file,))
        ):
            continue
        for word in row.rules:
            if means(word, diagnostic.code, diagnostic.rule):
                used.add((row.text.path, row.start, word))
                reason = row.reason or _NO_REASON
    return reason


def _by_baseline(diagnostic: Diagnostic, left: dict[tuple[str, str, str], int]) -> str | None:
    found = baseline.key(diagnostic)
    if left.get(found, 0) <= 0:
        return None
    left[found] -= 1
    return "in the baseline"


def _without(report: Report, policies: Policies, every: tuple[Hazard, ...]) -> Report:
    """Keys of the house are no findings at all."""
    if not any(policy.extra_keys for policy in policies.asked()):
        return report
    about_keys = {hazard.id for hazard in every if _asks_for_unknown_keys(hazard.when)}
    return report._replace(
        diagnostics=tuple(
            d
            for d in report.diagnostics
            if not _of_the_house(d, policies.at(d.text.path if d.text is not None else ""), about_keys)
        )
    )


def _of_the_house(diagnostic: Diagnostic, policy: Policy, about_keys: set[str]) -> bool:
    names = (diagnostic.setting, diagnostic.setting.rpartition(".")[2])
    return diagnostic.rule in about_keys and any(
        fnmatch.fnmatchcase(name, glob) for name in names for glob in policy.extra_keys
    )


def _asks_for_unknown_keys(conditions: Sequence[object]) -> bool:
    """Whether a rule is about keys that nobody knows: it asks for that, or for what such a key was meant to be."""
    return any(
        isinstance(one, list)
        and (one[:1] == ["unknown-key"] or one[1:2] == ["item.suggestion"] or _asks_for_unknown_keys(one))
        for one in conditions
    )
