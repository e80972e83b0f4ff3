"""The JSON report: a stable contract, described by schemas/report.schema.json."""

from __future__ import annotations

from typing import Any

from stablint import __version__
from stablint.report.model import Diagnostic, Fix, Location, Report
from stablint.report.place import locate
from stablint.report.plain import jsonable, to_json
from stablint.report.summary import count, fixable
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
                "entry": {"file": run.entry_file, "line": run.entry_line},
                "dialects": list(run.dialects),
            }
            for run in report.runs
        ],
        "diagnostics": [diagnostic_object(diagnostic) for diagnostic in report.diagnostics],
        "undetermined": [
            {"rule": item.rule, "file": item.file, "needs": list(item.needs)} for item in report.undetermined
        ],
        "files": [file._asdict() for file in report.files],
    }


def diagnostic_object(diagnostic: Diagnostic) -> dict[str, Any]:
    """One diagnostic of the document; a line of the JSON Lines format."""
    text = diagnostic.text
    return {
        "code": diagnostic.code,
        "rule": diagnostic.rule,
        "severity": diagnostic.severity,
        "message": message(diagnostic),
        "file": text and text.name,
        "location": text and _point(locate(text.text, diagnostic.start)),
        "end_location": text and _point(locate(text.text, diagnostic.end)),
        "cell": None,
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
                "location": related.location and _point(related.location),
                "setting": related.setting,
            }
            for related in diagnostic.related
        ],
        "fix": diagnostic.fix and _fix(diagnostic.fix),
        "evidence": jsonable(diagnostic.evidence),
        "url": None,
        "fingerprint": diagnostic.fingerprint,
        "suppressed": diagnostic.suppressed,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability,
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
