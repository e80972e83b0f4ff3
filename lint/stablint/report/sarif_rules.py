"""The rules of a SARIF log, with the help that viewers show beside a result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stablint.report.model import Diagnostic

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_SEVERITIES = {"error": "error", "warning": "warning", "info": "recommendation"}  # GitHub's words

# How often a rule is right, by how it is known; GitHub's words.
_PRECISION = {
    "proven-in-source": "very-high",
    "reproduced": "very-high",
    "maintainer-confirmed": "high",
    "reported": "medium",
    "folklore": "low",
}


def rules(diagnostics: Iterable[Diagnostic], texts: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The `reportingDescriptor`s of the rules that have a result, by code."""
    drawn = {diagnostic.code: diagnostic for diagnostic in reversed(tuple(diagnostics))}
    return [_rule(drawn[code], texts.get(drawn[code].rule, {})) for code in sorted(drawn)]


def _rule(diagnostic: Diagnostic, text: Mapping[str, Any]) -> dict[str, Any]:
    title = text.get("title") or diagnostic.rule
    severity = text.get("severity") or diagnostic.severity
    grade = str((text.get("evidence") or diagnostic.evidence).get("grade") or "")
    return {
        "id": diagnostic.code,
        "name": diagnostic.rule,
        "shortDescription": {"text": title},
        "fullDescription": {"text": " ".join((text.get("why") or title).split())},
        "help": {
            "text": "\n\n".join(_help(text, title, bold="")),
            "markdown": "\n\n".join(_help(text, title, bold="**")),
        },
        **({"helpUri": diagnostic.url} if diagnostic.url else {}),
        "defaultConfiguration": {"level": _LEVELS[severity]},
        "properties": {
            "tags": [tag for tag in (text.get("category"), "fine-tuning") if tag],
            "problem.severity": _SEVERITIES[severity],
            **({"precision": _PRECISION[grade]} if grade in _PRECISION else {}),
            "evidence": grade,
        },
    }


def _help(text: Mapping[str, Any], title: str, *, bold: str) -> Iterator[str]:
    yield f"{bold}{title}{bold}"
    if text.get("why"):
        yield str(text["why"]).strip()
    if text.get("fine_when"):
        yield f"{bold}Fine when:{bold} {text['fine_when']}"
    for remedy in text.get("remedies") or ():
        because = f" (not safe: {remedy['because']})" if remedy.get("because") else ""
        yield f"{bold}Fix:{bold} {remedy['title']}{because}"
    for source in (text.get("evidence") or {}).get("sources") or ():
        yield f"{bold}Source:{bold} {source}"
