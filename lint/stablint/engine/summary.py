"""What a report says beside its findings: what each file is, which runs there are, what they name and nobody could read, which checks wait."""

from __future__ import annotations

from collections.abc import Iterator

from stablint.assemble.asked import Options
from stablint.assemble.files import Files
from stablint.files import discover
from stablint.frameworks.fragment import Fragment
from stablint.hazard.model import Undecided
from stablint.report import place as report_place
from stablint.report.model import FileStatus, RunSummary, Undetermined
from stablint.run import shipped
from stablint.run.fact import Place
from stablint.run.world import Run
from stablint.syntax import embedded
from stablint.syntax.tree import Document

NO_CONFIGURATION = "no training configuration"


def status(path: str, files: Files, documents: tuple[Document, ...], fragments: tuple[Fragment, ...]) -> FileStatus:
    """What one file is: a configuration, by its dialect; nothing of ours; or what could not be read, and why."""
    name = files.name(path)
    fault = None if fragments else files.faults.of(path)
    if fault is not None:
        ours = "stablint failed: " if fault.rule == "internal-fault" else ""
        return FileStatus(name, None, "unreadable", f"{ours}{fault.error}")
    if fragments:
        format = fragments[0].block.document.format
        dialect = fragments[0].dialect
        if format == "shell" or (format == "python" and dialect != "xtuner"):
            dialect = format
        if discover.kind_of(path) == "notebook":
            dialect = "notebook"
        return FileStatus(name, dialect, "checked", None)
    broken = next((problem for document in documents if document.root is None for problem in document.problems), None)
    if broken is not None and broken.kind not in ("json-lines", "json-template"):
        return FileStatus(name, None, "unreadable", broken.message)
    return FileStatus(name, None, "skipped", NO_CONFIGURATION)


def summaries(runs: tuple[Run, ...]) -> Iterator[RunSummary]:
    """One of a run, on however many targets it is checked."""
    seen: set[tuple[str, int]] = set()
    for run in runs:
        key = (run.id, run.anchor.start)
        if not run.target or key not in seen:
            yield _summary(run)
        seen.add(key)


def undetermined(open_ones: list[Undecided]) -> tuple[Undetermined, ...]:
    """The checks that wait for what no file says, each once a file."""
    found = {(o.hazard.id, o.run.anchor.document.text.name, o.needs): None for o in open_ones}
    return tuple(Undetermined(*row) for row in sorted(found))


def unfound(files: Files, runs: tuple[Run, ...]) -> tuple[dict[str, str], set[str]]:
    """What a run names and nobody could read, with the words for it, and the frameworks of all runs."""
    words = {}
    for path, place in sorted(files.not_found.items()):
        name, line, cell = _point(place)
        where = f"{name}:{line}" if cell is None else f"{name}:cell {cell}:{line}"
        beside = place.document.text.path
        words[path] = f"`{path}` ({where}{discover.hint(path, beside, files.root(beside))})"
    return words, {run.framework for run in runs if run.framework}


def lacking(words: dict[str, str], frameworks: set[str]) -> Iterator[str]:
    """Those of them that no framework is known to ship."""
    for path in sorted(words):
        if not any(shipped.shipped(framework, path) for framework in frameworks):
            yield words[path]


def notes(options: Options, files: Files) -> Iterator[str]:
    """What the command line says that leads nowhere."""
    if options.model is not None and not files.described(options.model, False):
        yield f"Nothing is known of the model `{options.model}`, so checks that need its size, kind or precision are left out"


def _summary(run: Run) -> RunSummary:
    name, line, cell = _point(run.anchor)
    return RunSummary(run.id, run.files, name, line, run.dialects, cell)


def _point(place: Place) -> tuple[str, int, int | None]:
    """The file, the line and, in a notebook, the cell of a place."""
    document, start = place.document, place.start
    text = document.text
    if document.view is not None:
        outer = embedded.seen(document, start, start)
        if outer is not None:
            return text.name, report_place.locate(outer.source, outer.start).line, outer.cell
    line = report_place.locate(text.text, start).line if "\r" in text.text else text.text.count("\n", 0, start) + 1
    return text.name, line, None
