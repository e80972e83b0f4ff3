"""The last lines of a report for people: how many findings, what can be repaired, what could not be judged and why."""

from __future__ import annotations

from collections.abc import Iterator

from stablint.report.model import SEVERITIES, Diagnostic, Report
from stablint.report.plain import plain

_NAMED = 3  # files that are not there, and checks that wait for a release, by name
# What supplies a fact that no file states, by the start of the fact's name.
_SUPPLIERS = (
    ("target", "the GPU", "--gpu NAME"),
    ("model.config", "more of the model than is known by its name", "--model FOLDER with its config.json"),
    ("model", "the model", "--model ID_OR_FOLDER"),
    ("versions.", "the release of {0}", '--with "{0}==VERSION"'),
)


def active(report: Report) -> list[Diagnostic]:
    """The diagnostics that are not suppressed, in the report's order."""
    return [diagnostic for diagnostic in report.diagnostics if diagnostic.suppressed is None]


def count(report: Report, severity: str) -> int:
    return sum(diagnostic.severity == severity for diagnostic in active(report))


def fixable(report: Report, applicability: str) -> int:
    """How many repairs `--fix` writes of all that are found; those that have to be asked for by name are none of them."""
    return sum(d.fix is not None and d.fix.applicability == applicability and not d.fix.by_name for d in active(report))


def summary(report: Report, *, fixed: int = 0, named: bool = False) -> Iterator[str]:
    """`fixed` is how many findings were repaired in the files before this report was made. `named`: checks that wait are all named."""
    if fixed:
        yield f"Fixed {_some(fixed, 'finding')}."
    checked = sum(file.status == "checked" for file in report.files)
    hidden = len(report.diagnostics) - len(active(report))
    accepted = f"; {hidden:,} accepted" if hidden else ""
    if active(report):
        counts = ", ".join(_some(n, severity) for severity in reversed(SEVERITIES) if (n := count(report, severity)))
        yield f"Found {counts} in {_where(report, checked)}{accepted}."
        yield from _repairs(report)
    elif not checked and not report.runs:
        yield "No training configuration found: nothing was checked."
    else:
        new = "new " if accepted else ""
        yield f"No {new}findings in {_where(report, checked)}{accepted}."
    yield from _undetermined(report, named)
    yield from (plain(note) for note in notes(report, _NAMED))


def closing(report: Report, tail: str, *, fixed: int = 0) -> Iterator[str]:
    """The last lines of a report for people by its `tail`: `none` (--quiet), `short`, or `long` (--verbose), which names every check that waits."""
    if tail != "none":
        yield from summary(report, fixed=fixed, named=tail == "long")


def notes(report: Report, most: int | None = None) -> Iterator[str]:
    """What was not checked, and why; of the files that are not there up to `most` by name."""
    if report.not_found:
        named = report.not_found[:most]
        more = len(report.not_found) - len(named)
        yield f"Not found, so not checked: {', '.join(named)}{f' and {more} more' if more else ''}"
    yield from report.notes


def _where(report: Report, checked: int) -> str:
    """Live objects are a run without a file."""
    runs, files = _some(len(report.runs), "run"), checked or len(report.files)
    return f"{_some(files, 'file')} ({runs})" if files or not report.runs else runs


def _repairs(report: Report) -> Iterator[str]:
    safe, unsafe = fixable(report, "safe"), fixable(report, "unsafe")
    if safe and unsafe:
        yield f"{safe} fixable with --fix, {unsafe} more with --fix --unsafe-fixes; --diff shows the changes."
    elif safe:
        yield f"{safe} fixable with --fix; --diff shows the changes."
    elif unsafe:
        yield f"{unsafe} fixable with --fix --unsafe-fixes; --diff --unsafe-fixes shows the changes."


def _undetermined(report: Report, named: bool) -> Iterator[str]:
    """One line a set of options, the most wanted first: `4 checks need the GPU: pass --gpu NAME`."""
    waiting: dict[tuple[tuple[str, str], ...], set[str]] = {}
    for item in report.undetermined:
        needs = tuple(dict.fromkeys(_supplier(need) for need in item.needs))
        waiting.setdefault(needs, set()).add(item.rule)
    for needs, rules in sorted(waiting.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        what, options = " and ".join(need for need, _ in needs), " ".join(option for _, option in needs)
        # A fault of some releases only has a name: who runs such a release can look it up.
        of_releases = all(what.startswith("the release of ") for what, _ in needs)
        first = sorted(rules)[: None if named else _NAMED if of_releases else 0]
        more = f" and {len(rules) - len(first)} more, which --verbose names" if len(first) < len(rules) else ""
        names = f" ({', '.join(first)}{more})" if first else ""
        yield f"{_some(len(rules), 'check')}{names} {'needs' if len(rules) == 1 else 'need'} {what}: pass {options}"


def _supplier(need: str) -> tuple[str, str]:
    for start, what, option in _SUPPLIERS:
        if need.startswith(start):
            name = need[len(start) :]
            return what.format(name), option.format(name)
    return f"`{need}`", f"--set {need}=VALUE"


def _some(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
