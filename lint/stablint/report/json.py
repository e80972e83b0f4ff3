"""The JSON report: a stable contract, described by schemas/report.schema.json."""

from __future__ import annotations

from typing import Any

from stablint import __version__
from stablint.report.full import count, fixable, notes
from stablint.report.model import Diagnostic, Fix, Location, Related, Report
from stablint.report.place import locate
from stablint.report.plain import jsonable, to_json
from stablint.report.words import message

SCHEMA_VERSION = 1


def render(report: Report) -> str:
    return to_json(document(report))


def document(report: Report) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "stablint", "version": __version__},
        "summary": {
            "files": sum(file.status == "checked" for file in report.files),
            "runs": len(report.runs),
            "errors": count(report, "error"),
            "warnings": count(report, "warning"),
            "infos": count(report, "info"),
            "fixable": fixable(report, "safe") + fixable(report, "unsafe"),
        },
        "runs": [
            {
                "id": run.id,
                "files": list(run.files),
                "entry": {"file": run.entry_file, "line": run.entry_line, **_cell(run.cell)},
                "dialects": list(run.dialects),
            }
            for run in report.runs
        ],
        "diagnostics": [diagnostic_object(diagnostic) for diagnostic in report.diagnostics],
        "undetermined": [
            {"rule": item.rule, "file": item.file, "needs": list(item.needs)} for item in report.undetermined
        ],
        "files": [file._asdict() for file in report.files],
        "notes": list(notes(report)),
    }


def diagnostic_object(diagnostic: Diagnostic) -> dict[str, Any]:
    """One diagnostic of the document; a line of the JSON Lines format."""
    text, seen = diagnostic.text, diagnostic.seen
    start, end = (seen.start, seen.end) if seen else (diagnostic.start, diagnostic.end)
    shown = seen.source if seen else text and text.text
    return {
        "code": diagnostic.code,
        "rule": diagnostic.rule,
        "severity": diagnostic.severity,
        "message": message(diagnostic),
        "file": text and text.name,
        "location": None if shown is None else _point(locate(shown, start)),
        "end_location": None if shown is None else _point(locate(shown, end)),
        "cell": seen and seen.cell,
        "setting": diagnostic.setting,
        "fact": diagnostic.fact,
        "absent": diagnostic.absent,
        "facts": [
            {"name": fact.name, "value": jsonable(fact.value), "origin": jsonable(fact.origin)}
            for fact in diagnostic.facts
        ],
        "runs": list(diagnostic.runs),
        "targets": list(diagnostic.targets),
        "releases": dict(diagnostic.releases),
        "related": [
            {
                "file": related.file,
                "location": _related_point(related),
                "setting": related.setting,
                **_cell(related.seen and related.seen.cell),
            }
            for related in diagnostic.related
        ],
        "fix": diagnostic.fix and _fix(diagnostic.fix),
        "evidence": jsonable(diagnostic.evidence),
        "url": diagnostic.url or None,
        "fingerprint": diagnostic.fingerprint,
        "suppressed": diagnostic.suppressed,
    }


def _related_point(related: Related) -> dict[str, int] | None:
    if related.seen is not None:
        return _point(locate(related.seen.source, related.seen.start))
    return related.location and _point(related.location)


def _cell(number: int | None) -> dict[str, int]:
    return {} if number is None else {"cell": number}


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability,
        "by_name": fix.by_name,
        "title": fix.title,
        "edits": [
            {
                "file": file.text.name,
                "start": _point(locate(file.text.text, edit.start)),
                "end": _point(locate(file.text.text, edit.end)),
                "new_text": edit.new_text,
            }
            for file in fix.files
            for edit in file.edits
        ],
    }


def _point(location: Location) -> dict[str, int]:
    return {"line": location.line, "column": location.column}
