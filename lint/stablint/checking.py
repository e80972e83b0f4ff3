"""`stablint check`: inspect, filter, repair where it is asked for, print, and say by the exit code what is left."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from typing import Any

from stablint.assemble import Options
from stablint.cli import CLEAN, FOUND, WRONG
from stablint.discover import NoSuchPath, root_of
from stablint.hazard.model import Hazard
from stablint.inspect import Inspection, inspect
from stablint.options import Wrong
from stablint.outputs import FOR_PEOPLE, Output, emit, outputs, printable
from stablint.project import baseline_path, house_of, options_for, policy_for, rules_for, settings_for
from stablint.report.masking import mask
from stablint.report.model import Report
from stablint.report.plain import plain
from stablint.settings import Settings
from stablint.source import text as source_text
from stablint.source.tree import Text

_RANK = {"info": 0, "warning": 1, "error": 2}


def run_check(given: argparse.Namespace, extra: list[str]) -> int:
    base = os.getcwd()
    where = outputs(given.outputs)
    settings = settings_for(
        given, [given.stdin_filename or "stdin" if path == "-" else path for path in given.paths], base
    )
    house = house_of(settings)
    hazards = rules_for(given, settings, house)
    texts_of_house = house.texts if house is not None else {}
    policy = policy_for(given, settings)
    options = options_for(given, extra, settings)._replace(policy=policy, skip_unrecognised=given.skip_unrecognised)
    given.fail_on = given.fail_on or (settings.get("fail-on") if settings is not None else None) or "error"
    paths, texts = _stdin(given, base)
    try:
        if given.fix or given.diff:
            return _repair(given, options, paths, texts, base, hazards, where, texts_of_house)
        found = inspect(paths, options, base=base, texts=texts, known=hazards, watch=_watch(given))
    except NoSuchPath as error:
        raise Wrong(f"`{error}` does not exist") from error
    if given.write_baseline:
        return _write_baseline(given, settings, found)
    _tell_stale(options, found, base)
    emit(where, found, texts_of_house, color=given.color, statistics=given.statistics)
    if given.show_facts and any(output.file is None and output.format in FOR_PEOPLE for output in where):
        _show_facts(given, found)
    return _exit_code(given, found)


def _stdin(given: argparse.Namespace, base: str) -> tuple[list[str], dict[str, Text]]:
    if "-" not in given.paths:
        return given.paths, {}
    name = given.stdin_filename or "stdin.yaml"
    path = os.path.normpath(os.path.join(base, name))
    content = source_text.decode(sys.stdin.buffer.read(), path, name.replace(os.sep, "/"))
    if isinstance(content, source_text.Unreadable):
        raise Wrong(f"standard input: {content.problem.message}")
    return [name if word == "-" else word for word in given.paths], {path: content}


def _watch(given: argparse.Namespace) -> Any:
    if given.quiet or not sys.stderr.isatty():
        return None
    from stablint.report.progress import progress

    return lambda listed, total: progress(listed, total, sys.stderr)


def _repair(
    given: argparse.Namespace, options: Options, paths: list[str], texts: dict[str, Text], base: str, hazards: tuple[Hazard, ...],
    where: tuple[Output, ...], house_texts: dict[str, Any],
) -> int:  # fmt: skip
    from stablint.fix.apply import diff, repair
    from stablint.fix.write import write_all

    done = repair(paths, options, unsafe=given.unsafe_fixes, base=base, texts=texts, known=hazards)
    for line in done.refused:
        print(f"stablint: {plain(line)} (this is a bug: please report it)", file=sys.stderr)
    if given.diff:
        patch = diff(done)
        sys.stdout.write(printable(mask(patch, done.inspection.secrets)))
        return CLEAN if given.exit_zero or not (patch or _left(given, done.inspection)) else FOUND
    # A settings file, which comes with the repository, may let files be read outside of it; only the command line lets them be written.
    root = (
        done.inspection.files.root if given.allow_outside else root_of(os.path.normpath(os.path.join(base, paths[0])))
    )
    written = {path: text for path, text in done.texts.items() if path not in texts}
    try:
        write_all(written, done.before, root)
    except (OSError, UnicodeEncodeError) as error:
        raise Wrong(f"nothing was written: {error}") from error
    if texts:  # what came on standard input goes to standard output, changed or not
        for path, text in texts.items():
            sys.stdout.write(done.texts.get(path, text).text)
        return _exit_code(given, done.inspection)
    emit(where, done.inspection, house_texts, color=given.color, fixed=done.fixed, statistics=given.statistics)
    return _exit_code(given, done.inspection)


def _write_baseline(given: argparse.Namespace, settings: Settings | None, found: Inspection) -> int:
    """Accept all that is found now. The file is the one that --baseline or the settings name."""
    from stablint.baseline import DEFAULT, render

    path = baseline_path(given, settings) or DEFAULT
    text = render(found.report.diagnostics, path)
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise Wrong(f"--write-baseline: {path}: {error.strerror}") from error
    count = sum(d.suppressed is None for d in found.report.diagnostics)
    print(f"stablint: {count} findings written to {plain(os.path.relpath(path))}", file=sys.stderr)
    return WRONG if found.report.internal_errors else CLEAN


def _tell_stale(options: Options, found: Inspection, base: str) -> None:
    if options.policy is None or not options.policy.baseline:
        return
    from stablint.baseline import stale

    checked = {os.path.normpath(os.path.join(base, status.file)) for status in found.report.files}
    for (path, rule, _), count in stale(options.policy.baseline, found.report.diagnostics, checked):
        times = f" ({count} times)" if count > 1 else ""
        name = os.path.relpath(path, base).replace(os.sep, "/")
        print(
            f"stablint: baseline: {plain(name)}: {rule} is not found any more{times}; --write-baseline takes it out",
            file=sys.stderr,
        )


def _show_facts(given: argparse.Namespace, found: Inspection) -> None:
    from stablint.outputs import wants_color
    from stablint.report import show
    from stablint.showing import shown

    text = show.render([shown(run) for run in found.runs], color=wants_color(given.color), secrets=found.secrets)
    sys.stdout.write(printable("\n" + mask(text, found.secrets)))


def _left(given: argparse.Namespace, found: Inspection) -> bool:
    floor = _RANK[given.fail_on]
    return any(d.suppressed is None and _RANK[d.severity] >= floor for d in found.report.diagnostics)


def _exit_code(given: argparse.Namespace, found: Inspection) -> int:
    _tell_skipped(given, found.report, found.named)
    if found.report.internal_errors:
        return WRONG
    if found.named and not found.recognised and not given.skip_unrecognised:
        return WRONG
    return FOUND if _left(given, found) and not given.exit_zero else CLEAN


def _tell_skipped(given: argparse.Namespace, report: Report, named: int) -> None:
    """One line on stderr for a file that was named and is none; what was only found is skipped in silence."""
    skipped: Iterable[str] = (status.file for status in report.files if status.status == "skipped")
    if given.verbose or (named and not given.skip_unrecognised and not given.quiet):
        for number, name in enumerate(skipped):
            if number >= max(named, 1) and not given.verbose:
                break
            print(f"stablint: {plain(name)}: no training configuration, skipped", file=sys.stderr)
