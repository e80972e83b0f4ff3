"""`stablint check`: inspect, filter, repair where it is asked for, print, and say by the exit code what is left."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable

from stablint import knowledge
from stablint.assemble import Options
from stablint.cli import CLEAN, FOUND, WRONG
from stablint.discover import NoSuchPath
from stablint.hazard.model import Hazard, load
from stablint.inspect import Inspection, inspect
from stablint.options import Wrong
from stablint.report.masking import mask
from stablint.report.model import Report
from stablint.report.plain import plain
from stablint.source import text as source_text
from stablint.source.tree import Text

_RANK = {"info": 0, "warning": 1, "error": 2}
_GRADES = {grade: rank for rank, grade in enumerate(("folklore", "reported", "reproduced", "maintainer-confirmed", "proven-in-source"))}


def run_check(given: argparse.Namespace, options: Options) -> int:
    hazards = _chosen(given)
    options = options._replace(skip_unrecognised=given.skip_unrecognised)
    base = os.getcwd()
    paths, texts = _stdin(given, base)
    try:
        if given.fix or given.diff:
            return _repair(given, options, paths, texts, base, hazards)
        found = inspect(paths, options, base=base, texts=texts, known=hazards, watch=_watch(given))
    except NoSuchPath as error:
        raise Wrong(f"`{error}` does not exist") from error
    _print(_render(given, found, 0), found)
    return _exit_code(given, found)


def _chosen(given: argparse.Namespace) -> tuple[Hazard, ...]:
    known = load()
    select, ignore = _words(given.select), _words(given.ignore)
    for word in (*select, *ignore):
        if not any(_means(word, hazard) for hazard in known):
            raise Wrong(f"no rule is called `{word}` or begins so; `stablint rules` lists them")
    lowest = _GRADES[given.min_evidence]
    return tuple(
        hazard
        for hazard in known
        if (not select or any(_means(word, hazard) for word in select))
        and not any(_means(word, hazard) for word in ignore)
        and (_GRADES[hazard.evidence["grade"]] >= lowest or any(word in (hazard.code, hazard.id) for word in select))
    )


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _means(word: str, hazard: Hazard) -> bool:
    return word == hazard.id or hazard.code.startswith(word.upper())


def _stdin(given: argparse.Namespace, base: str) -> tuple[list[str], dict[str, Text]]:
    if "-" not in given.paths:
        return given.paths, {}
    name = given.stdin_filename or "stdin.yaml"
    path = os.path.normpath(os.path.join(base, name))
    content = source_text.decode(sys.stdin.buffer.read(), path, name.replace(os.sep, "/"))
    if isinstance(content, source_text.Unreadable):
        raise Wrong(f"standard input: {content.problem.message}")
    return [name if word == "-" else word for word in given.paths], {path: content}


def _watch(given: argparse.Namespace):  # type: ignore[no-untyped-def]
    if given.quiet or not sys.stderr.isatty():
        return None
    from stablint.report.progress import progress

    return lambda listed, total: progress(listed, total, sys.stderr)


def _repair(given: argparse.Namespace, options: Options, paths: list[str], texts: dict[str, Text], base: str, hazards: tuple[Hazard, ...]) -> int:
    from stablint.fix.apply import diff, repair
    from stablint.fix.write import write_all

    done = repair(paths, options, unsafe=given.unsafe_fixes, base=base, texts=texts, known=hazards)
    for line in done.refused:
        print(f"stablint: {plain(line)} (this is a bug: please report it)", file=sys.stderr)
    if given.diff:
        patch = diff(done)
        sys.stdout.write(_printable(mask(patch, done.inspection.secrets)))
        return CLEAN if given.exit_zero or not (patch or _left(given, done.inspection)) else FOUND
    root = done.inspection.files.root
    written = {path: text for path, text in done.texts.items() if path not in texts}
    try:
        write_all(written, done.before, root)
    except (OSError, UnicodeEncodeError) as error:
        raise Wrong(f"nothing was written: {error}") from error
    for path, text in done.texts.items():
        if path in texts:  # what came on standard input goes to standard output
            sys.stdout.write(text.text)
            return _exit_code(given, done.inspection)
    _print(_render(given, done.inspection, done.fixed), done.inspection)
    return _exit_code(given, done.inspection)


def _render(given: argparse.Namespace, found: Inspection, fixed: int) -> str:
    """Only the renderer that is asked for is imported."""
    report = found.report
    if given.output_format == "json":
        from stablint.report import json

        return json.render(report)
    color = given.color == "always" or (given.color == "auto" and sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    if given.output_format == "concise":
        from stablint.report import concise

        return concise.render(report, color=color, fixed=fixed)
    from stablint.report import full

    texts = knowledge.load("texts") if report.diagnostics else {}
    return full.render(report, texts, color=color, secrets=found.secrets, fixed=fixed)


def _print(text: str, found: Inspection) -> None:
    sys.stdout.write(_printable(mask(text, found.secrets)))
    for line in found.report.internal_errors:
        print(f"stablint: internal error: {plain(mask(line, found.secrets))} (please report it)", file=sys.stderr)


def _printable(text: str) -> str:
    """What the terminal's own encoding cannot show is written as an escape, instead of an error."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


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
