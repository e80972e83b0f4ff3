"""The last lines of a report for people: how many findings, what can be repaired, what could not be judged and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from stablint.base.language import closed_up, gettext, listed, ngettext, told
from stablint.base.light import Any
from stablint.report import block
from stablint.report.model import SEVERITIES, Diagnostic, Report
from stablint.report.place import header
from stablint.report.plain import Style, named, plain
from stablint.report.words import WIDTH

_PLACES = 6  # of findings that say the same, by name
_NAMED = 3  # files that are not there, and checks that wait for a release, by name
_COUNTED = {
    "error": ("{number} error", "{number} errors"),
    "warning": ("{number} warning", "{number} warnings"),
    "info": ("{number} info", "{number} infos"),
}
_Supplier = tuple[str, str, str]  # what it is called, the option that says it, and the library whose release it is
# What supplies a fact that no file states, by the start of the fact's name.
_SUPPLIERS = (
    ("target", "the GPU", "--gpu NAME"),
    ("model.config", "more of the model than is known by its name, which its config.json says", "--model FOLDER"),
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
        yield ngettext("Fixed {number} finding.", "Fixed {number} findings.", fixed).format(number=f"{fixed:,}")
        yield from _fixed(report)
    checked = sum(file.status == "checked" for file in report.files)
    hidden = len(report.diagnostics) - len(active(report))
    accepted = gettext("; {number} accepted").format(number=f"{hidden:,}") if hidden else ""
    if active(report):
        counts = gettext(", ").join(
            _severity(n, severity) for severity in reversed(SEVERITIES) if (n := count(report, severity))
        )
        yield gettext("Found {counts} in {where}{accepted}.").format(
            counts=counts, where=_where(report, checked), accepted=accepted
        )
        yield from _repairs(report)
    elif not checked and not report.runs:
        yield gettext("No training configuration found: nothing was checked.")
    else:
        none = (
            gettext("No new findings in {where}{accepted}.")
            if accepted
            else gettext("No findings in {where}{accepted}.")
        )
        yield none.format(where=_where(report, checked), accepted=accepted)
    yield from _undetermined(report, named)
    yield from (plain(note) for note in notes(report, _NAMED))


_MOST_FIXED = 20  # repairs that are named


def _fixed(report: Report) -> Iterator[str]:
    """Which; the same one of a file once, with how often."""
    counted = Counter(report.fixed)
    for (code, file, title), number in list(counted.items())[:_MOST_FIXED]:
        times = f" ({number} ×)" if number > 1 else ""
        yield f"  {code} {named(plain(file))}: {plain(title)}{times}"
    if (more := len(counted) - _MOST_FIXED) > 0:
        yield "  " + gettext("… and {number} more.").format(number=more)


def closing(report: Report, tail: str, *, fixed: int = 0) -> Iterator[str]:
    """The last lines of a report for people by its `tail`: `none` (--quiet), `short`, or `long` (--verbose), which names every check that waits."""
    if tail != "none":
        yield from summary(report, fixed=fixed, named=tail == "long")


def notes(report: Report, most: int | None = None) -> Iterator[str]:
    """What was not checked, and why; of the files that are not there up to `most` by name."""
    if report.not_found:
        named = report.not_found[:most]
        names = _with_more(gettext(", ").join(named), len(report.not_found) - len(named))
        yield gettext("Not found, so not checked: {names}").format(names=names)
    yield from map(told, report.notes)


def _with_more(names: str, more: int) -> str:
    return gettext("{names} and {number} more").format(names=names, number=more) if more else names


def _where(report: Report, checked: int) -> str:
    """Live objects are a run without a file."""
    runs = _some("{number} run", "{number} runs", len(report.runs))
    files = checked or len(report.files)
    if not files and report.runs:
        return runs
    return gettext("{files} ({runs})").format(files=_some("{number} file", "{number} files", files), runs=runs)


def _repairs(report: Report) -> Iterator[str]:
    safe, unsafe = fixable(report, "safe"), fixable(report, "unsafe")
    if safe and unsafe:
        said = gettext("{safe} fixable with --fix, {unsafe} more with --fix --unsafe-fixes; --diff shows the changes.")
    elif safe:
        said = gettext("{safe} fixable with --fix; --diff shows the changes.")
    elif unsafe:
        said = gettext("{unsafe} fixable with --fix --unsafe-fixes; --diff --unsafe-fixes shows the changes.")
    else:
        return
    yield said.format(safe=safe, unsafe=unsafe)


def _undetermined(report: Report, named: bool) -> Iterator[str]:
    """What the checks that could not be judged wait for: one line for people, one for each set of options where all are `named`."""
    waiting: dict[tuple[_Supplier, ...], set[str]] = {}
    for item in report.undetermined:
        waiting.setdefault(tuple(dict.fromkeys(map(_supplier, item.needs))), set()).add(item.rule)
    if len(waiting) > 1 and not named:
        yield _in_one(waiting)
        return
    for needs, rules in sorted(waiting.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        what, options = _wanted(needs), " ".join(option for _, option, _ in needs)
        # A fault of some releases only has a name: who runs such a release can look it up.
        first = sorted(rules)[: None if named else _NAMED if all(library for _, _, library in needs) else 0]
        told = _unnamed(", ".join(first), len(rules) - len(first))
        names = gettext("{words} ({notes})").format(words="", notes=told) if first else ""
        said = _some(
            "{number} check{names} needs {what}: pass {options}",
            "{number} checks{names} need {what}: pass {options}",
            len(rules),
        )
        yield closed_up(said.format(names=names, what=what, options=options))


def _in_one(waiting: dict[tuple[_Supplier, ...], set[str]]) -> str:
    """The options, and the libraries whose releases would be read: `12 checks wait for …: --gpu NAME, --with "LIBRARY==VERSION" (torch, trl)`."""
    suppliers = sorted({one for needs in waiting for one in needs})
    options = list(dict.fromkeys(option for _, option, library in suppliers if not library))
    if libraries := [library for _, _, library in suppliers if library]:
        option = '--with "LIBRARY==VERSION"'
        options.append(gettext("{words} ({notes})").format(words=option, notes=gettext(", ").join(sorted(libraries))))
    rules = {rule for several in waiting.values() for rule in several}
    said = _some(
        "{number} check waits for what no file says: {options}; --verbose names it.",
        "{number} checks wait for what no file says: {options}; --verbose names them.",
        len(rules),
    )
    return closed_up(said.format(options=gettext(", ").join(options)))


def _unnamed(names: str, more: int) -> str:
    return (
        gettext("{names} and {number} more, which --verbose names").format(names=names, number=more) if more else names
    )


def _wanted(needs: tuple[_Supplier, ...]) -> str:
    """All that is needed; of several libraries the releases in one."""
    libraries = [library for _, _, library in needs if library]
    if len(libraries) < 2:
        return listed([what for what, _, _ in needs])
    releases = gettext("the releases of {names}").format(names=listed(libraries))
    return listed([*(what for what, _, library in needs if not library), releases])


def _supplier(need: str) -> _Supplier:
    """What it is called, the option that says it, and the library whose release it is."""
    for start, what, option in _SUPPLIERS:
        if need.startswith(start):
            name = need[len(start) :]
            return gettext(what).format(name), option.format(name), name if start == "versions." else ""
    return f"`{need}`", f"--set {need}=VALUE", ""


def _severity(number: int, severity: str) -> str:
    return _some(*_COUNTED[severity], number)


def _some(one: str, several: str, number: int) -> str:
    """The sentence with its number; other holes stay."""
    return ngettext(one, several, number).replace("{number}", f"{number:,}")


def _alike(findings: list[Diagnostic]) -> Iterable[list[Diagnostic]]:
    """Findings of the same words, repair included, together: the first is told whole, of the others where they stand."""
    groups: dict[tuple[Any, ...], list[Diagnostic]] = {}
    for one in findings:
        said = one.fix and (one.fix.title, one.fix.applicability, one.fix.because, one.fix.by_name)
        groups.setdefault((one.code, one.severity, one.message, one.notes, said), []).append(one)
    return groups.values()


def render(
    report: Report,
    texts: Mapping[str, Mapping[str, Any]],
    *,
    color: bool = False,
    secrets: frozenset[str] = frozenset(),
    fixed: int = 0,
    tail: str = "short",
    width: int = WIDTH,
) -> str:
    """`texts` are the hazards' texts by rule; `secrets` are masked before long lines are cut; `tail`: the last lines, see `closing`; `width` in columns."""
    blocks: list[str] = []
    style, explained = Style(color), set[str]()
    for first, *others in _alike(active(report)):
        # Said once: twenty findings of one rule have one reason.
        text = {} if first.rule in explained else texts.get(first.rule, {})
        explained.add(first.rule)
        also = list(map(header, others if tail == "long" else others[:_PLACES]))
        blocks.append(block.block(first, text, style, secrets, width, also, len(others) - len(also)))
    if last := "\n".join(closing(report, tail, fixed=fixed)):
        blocks.append(last)
    return "\n\n".join(blocks) + "\n" if blocks else ""
