"""Which format goes where, and the text of each. Only the renderers that are asked for are imported."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from importlib import import_module

from stablint.base import consulted, language
from stablint.base.language import gettext, ngettext
from stablint.base.light import Any, NamedTuple
from stablint.commands import rooted
from stablint.config.options import Wrong
from stablint.engine.inspect import Inspection, told
from stablint.files.discover import leads_out
from stablint.files.faults import Faults, attempt
from stablint.report import concise, full, json, once, words
from stablint.report.model import Report
from stablint.report.plain import plain
from stablint.secrets import exit

FORMATS = ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "rdjson")
FOR_PEOPLE = ("full", "concise")
ON_A_HOST = ("sarif", "github", "gitlab")  # shown beside the code: these name a file from the top of its repository
A_LINK = "a link leads it out of the repository, to {}: nothing is written there; name that file itself if it is meant"


class Output(NamedTuple):
    format: str
    file: str | None  # None is standard output


def outputs(said: list[tuple[str, str]]) -> tuple[Output, ...]:
    """What `--output-format` and `--output-file` mean in the order in which they were said.

    Formats and files pair in order; where a group of formats is followed by fewer files, the first of the group go to standard output:
    `--output-format full,sarif --output-file out.sarif` prints the one and writes the other. Raises Wrong if two would be printed.
    """
    groups: list[tuple[list[str], list[str]]] = []
    for kind, word in said:
        if kind == "format":
            if not groups or (groups[-1][1] and groups[-1][0]):
                groups.append(([], []))
            groups[-1][0].append(word)
        else:
            if not groups:
                groups.append(([], []))
            groups[-1][1].append(word)
    pairs = [pair for formats, files in groups or [(["full"], [])] for pair in _paired(formats or ["full"], files)]
    printed = [pair.format for pair in pairs if pair.file is None]
    if len(printed) > 1:
        raise Wrong(
            gettext("only one format can go to standard output, not {names}: give the others an --output-file").format(
                names=" and ".join(printed)
            )
        )
    files = [os.path.abspath(pair.file) for pair in pairs if pair.file is not None]
    if len(set(files)) < len(files):
        raise Wrong(gettext("two formats would be written to the same --output-file"))
    return tuple(pairs)


def _paired(formats: list[str], files: list[str]) -> list[Output]:
    if len(files) > len(formats):
        raise Wrong(
            gettext("--output-file {files} has no --output-format of its own").format(files=files[len(formats)])
        )
    free = len(formats) - len(files)
    return [
        *(Output(format, None) for format in formats[:free]),
        *(Output(format, None if file == "-" else file) for format, file in zip(formats[free:], files, strict=True)),
    ]


def emit(
    where: tuple[Output, ...],
    found: Inspection,
    house_texts: dict[str, Any],
    *,
    color: str,
    fixed: int = 0,
    statistics: bool = False,
    hide_suppressed: bool = False,
    tail: str = "short",
) -> Inspection:
    """Write every output, masked. Raises Wrong for a file that cannot be written, or that is read. What comes back
    is what was told: a finding that a format fails on is told as a fault. Formats for programs hold what is accepted as well, unless `hide_suppressed`.
    """
    if any(one.once for one in found.report.diagnostics):
        found = found._replace(report=once.joined(found.report))
    secrets = found.secrets if found.report.diagnostics else frozenset[str]()
    exit.learn(secrets)
    table = _statistics(found) if statistics else ""
    for output in where:
        if table and output.file is None and output.format in FOR_PEOPLE:
            continue
        few = hide_suppressed and output.format not in FOR_PEOPLE
        report = _active(found.report) if few else found.report
        rendered, error = attempt(_render, output, report, house_texts, color, fixed, secrets, tail)
        if rendered is None and error is not None:
            found = _without_what_fails(output, found, house_texts, color, error, secrets)
            report = _active(found.report) if few else found.report
            rendered = _render(output, report, house_texts, color, fixed, secrets, tail)
        text = rendered or ""
        if output.file is None:
            (exit.say if output.format in FOR_PEOPLE else exit.hand_over)(text)
            continue
        _write("--output-file", output.file, text, skipped(found))
    if table:
        exit.say(table, error=not any(output.file is None and output.format in FOR_PEOPLE for output in where))
    tell_faults(found)
    return found


def skipped(found: Inspection) -> list[str]:
    """What was found to be no configuration; an older report is one of these."""
    return [one.file for one in found.report.files if one.status == "skipped"]


def _active(report: Report) -> Report:
    return report._replace(diagnostics=tuple(one for one in report.diagnostics if one.suppressed is None))


def _without_what_fails(
    output: Output,
    found: Inspection,
    house_texts: dict[str, Any],
    color: str,
    error: Exception,
    secrets: frozenset[str],
) -> Inspection:
    """A format raised: each finding alone shows which it fails on. Raises what was raised where it is none of them."""
    faults, kept = Faults(), []
    for diagnostic in found.report.diagnostics:
        alone = found.report._replace(diagnostics=(diagnostic,))
        _, why = attempt(_render, output, alone, house_texts, color, 0, secrets, "short")
        if why is None or diagnostic.text is None:
            kept.append(diagnostic)
        else:
            faults.add(diagnostic.text, f"{diagnostic.code} as {output.format}", why)
    if not faults.found:
        raise error
    return found._replace(report=told(found.report._replace(diagnostics=tuple(kept)), faults.found))


def tell_faults(found: Inspection) -> None:
    """A line for each thing that stablint itself failed at: in a report that goes elsewhere, or filters it, nobody would see them."""
    for line in found.report.broken:
        exit.tell(plain(line))
    if found.report.internal_errors:
        exit.learn(found.secrets)
    for line in found.report.internal_errors:
        exit.tell(
            plain(
                gettext("internal error: {error} (please report it; STABLINT_DEBUG=1 prints where)").format(
                    error=exit.masked(line)
                )
            )
        )


def tell_untried(found: Inspection) -> None:
    """A line for each file of which not every change was tried that might be offered."""
    purse = found.files.kept.changed
    for path in purse.reached():
        exit.tell(plain(f"{found.files.name(path)}: {purse.limit.problem(0, 0).message}"))


def why_none(found: Inspection) -> str:
    """Why there is no run: files that could not be read, or none that is a training configuration."""
    unread = [
        f"{plain(one.file)}: {plain(one.reason or '')}" for one in found.report.files if one.status == "unreadable"
    ]
    return "; ".join(unread[:5]) if unread else gettext("no training configuration")


def _render(
    output: Output,
    report: Report,
    house_texts: dict[str, Any],
    color: str,
    fixed: int,
    secrets: frozenset[str],
    tail: str,
) -> str:
    colored = output.file is None and wants_color(color)
    if output.format == "json":
        return json.render(report)
    if output.format == "concise":
        return concise.render(report, color=colored, fixed=fixed, tail=tail)
    texts = language.texts(house_texts) if report.diagnostics else {}
    if output.format == "full":
        width = words.WIDTH if output.file is not None else exit.columns(words.WIDTH)
        return full.render(report, texts, color=colored, secrets=secrets, fixed=fixed, tail=tail, width=width)
    if output.format in ON_A_HOST and report.diagnostics:
        report = rooted.rooted(report, os.getcwd())
    text: str = import_module(f"stablint.report.{output.format}").render(report, texts, secrets=secrets)
    return text


def _statistics(found: Inspection) -> str:
    """How often each rule is found, the most frequent first."""
    counted = Counter((d.code, d.severity, d.rule) for d in found.report.diagnostics if d.suppressed is None)
    fixable = Counter(
        d.code for d in found.report.diagnostics if d.suppressed is None and d.fix is not None and d.fix.files
    )
    accepted = sum(d.suppressed is not None for d in found.report.diagnostics)
    rows = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
    lines = [
        f"{count:>6}  {code}  {gettext(severity):<7}  {rule}"
        + ("  " + gettext("({number} fixable)").format(number=fixable[code]) if fixable[code] else "")
        for (code, severity, rule), count in rows
    ]
    checked = sum(status.status == "checked" for status in found.report.files)
    if accepted:
        total = ngettext("in {checked} file, {accepted} accepted", "in {checked} files, {accepted} accepted", checked)
    else:
        total = ngettext("in {checked} file", "in {checked} files", checked)
    lines.append(f"{sum(counted.values()):>6}  {total.format(checked=checked, accepted=accepted)}")
    return "\n".join(lines) + "\n"


def wants_color(choice: str, *, error: bool = False) -> bool:
    """Of `--color`: `auto` is a terminal that knows the escapes, unless the environment says otherwise: NO_COLOR (https://no-color.org) and
    FORCE_COLOR (https://force-color.org), whatever is not empty, and TERM=dumb."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return exit.is_terminal(error=error) and os.environ.get("TERM") != "dumb" and _knows()


def _knows() -> bool:
    """The old console of Windows prints escapes as letters; newer terminals there say who they are."""
    return os.name != "nt" or any(name in os.environ for name in ("WT_SESSION", "ANSICON", "TERM", "TERM_PROGRAM"))


def write_picture(path: str, picture: str, no_configurations: Iterable[str], logs: Iterable[str] = ()) -> None:
    """What `--plot` asks for. Raises Wrong where the file cannot be written."""
    _write("--plot", path, picture, no_configurations, logs)


def stays(option: str, path: str, no_configurations: Iterable[str] = (), logs: Iterable[str] = ()) -> None:
    """Raises Wrong where a link of the repository leads what an option writes out of it, or where it would be written over what was read."""
    if (target := leads_out(path, os.getcwd())) is not None:
        raise Wrong(f"{option} {path}: {A_LINK.format(target)}")
    if any(_are_one(path, other) for other in (*logs, *consulted.paths(no_configurations))):
        raise Wrong(
            gettext("{option} {path}: this command reads that file, and nothing is written over it").format(
                option=option, path=path
            )
        )


def _are_one(path: str, other: str) -> bool:
    try:  # as it is written, whether the folders before `..` are there or not
        return os.path.samefile(os.path.realpath(path), other)
    except (OSError, ValueError):  # one of them is not there, or no possible path
        return False


def _write(option: str, path: str, text: str, no_configurations: Iterable[str], logs: Iterable[str] = ()) -> None:
    stays(option, path, no_configurations, logs)
    try:
        exit.write_report(path, text)
    except OSError as error:
        raise Wrong(f"{option} {path}: {error.strerror or error}") from error
