"""GitHub Actions: one workflow command a finding, which becomes an annotation of the pull request.

Commands and their escaping: docs.github.com, "Workflow commands for GitHub Actions", and `command.ts` of actions/toolkit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stablint.report.full import active
from stablint.report.model import Diagnostic, Report
from stablint.report.place import locate
from stablint.report.said import clean, finding, reason, repair

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report, texts: Mapping[str, Mapping[str, Any]], *, secrets: frozenset[str] = frozenset()) -> str:
    """`texts` are the hazards' texts by rule; `secrets` are masked."""
    return "".join(f"{_command(d, texts.get(d.rule, {}), secrets)}\n" for d in active(report))


def _command(diagnostic: Diagnostic, text: Mapping[str, Any], secrets: frozenset[str]) -> str:
    properties = {**_place(diagnostic, secrets), "title": f"{diagnostic.code} {diagnostic.rule}"}
    words = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    lines = [finding(diagnostic, secrets), reason(text)]
    if fix := repair(diagnostic, secrets):
        lines.append(f"Fix: {fix}")
    return f"::{_COMMANDS[diagnostic.severity]} {words}::" + _data("\n".join(line for line in lines if line))


def _place(diagnostic: Diagnostic, secrets: frozenset[str]) -> dict[str, object]:
    """Columns only where the span is on one line: GitHub refuses them elsewhere. A live object has no file."""
    if diagnostic.text is None:
        return {}
    begin, end = (locate(diagnostic.text.text, offset) for offset in (diagnostic.start, diagnostic.end))
    place: dict[str, object] = {"file": clean(diagnostic.text.name, secrets), "line": begin.line, "endLine": end.line}
    if begin.line == end.line:
        place |= {"col": begin.column, "endColumn": end.column}
    return place


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
