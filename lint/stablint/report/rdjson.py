"""Reviewdog's diagnostic format (rdjson): its columns count bytes of UTF-8, its suggestions become one-click changes of a pull request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stablint.report.full import active
from stablint.report.model import Diagnostic, Fix, Report
from stablint.report.place import line_starts, locate
from stablint.report.plain import to_json
from stablint.report.said import finding
from stablint.secrets.masking import mask
from stablint.syntax.tree import Text

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


def render(report: Report, texts: Mapping[str, Mapping[str, Any]], *, secrets: frozenset[str] = frozenset()) -> str:
    """`texts` are not used: a comment holds the finding alone."""
    diagnostics = [_diagnostic(diagnostic, secrets) for diagnostic in active(report)]
    return mask(to_json({"source": {"name": "stablint"}, "diagnostics": diagnostics}), secrets, data=True)


def _diagnostic(diagnostic: Diagnostic, secrets: frozenset[str]) -> dict[str, Any]:
    text = diagnostic.text
    told: dict[str, Any] = {
        "message": finding(diagnostic, secrets),
        "severity": _SEVERITIES[diagnostic.severity],
        "code": {"value": diagnostic.code, **({"url": diagnostic.url} if diagnostic.url else {})},
    }
    if text is not None:
        told["location"] = {"path": text.name, "range": _range(text.text, diagnostic.start, diagnostic.end)}
        suggestion = diagnostic.fix and _suggestion(diagnostic.fix, text, secrets)
        if suggestion:
            told["suggestions"] = [suggestion]
    return told


def _suggestion(fix: Fix, text: Text, secrets: frozenset[str]) -> dict[str, Any] | None:
    """All edits as one replacement. None where the fix changes other files too, or would carry a secret: half a fix is none."""
    if fix.applicability == "manual" or len(fix.files) != 1 or fix.files[0].text.name != text.name:
        return None
    edits = fix.files[0].edits
    start, end = edits[0].start, edits[-1].end
    new, position = "", start
    for edit in edits:
        new += text.text[position : edit.start] + edit.new_text
        position = edit.end
    return {"range": _range(text.text, start, end), "text": new} if mask(new, secrets) == new else None


def _range(text: str, start: int, end: int) -> dict[str, Any]:
    return {"start": _position(text, start), "end": _position(text, end)}


def _position(text: str, offset: int) -> dict[str, int]:
    line = locate(text, offset).line
    before = text[line_starts(text)[line - 1] : offset]
    return {"line": line, "column": len(before.encode("utf-8", "surrogatepass")) + 1}
