"""SARIF 2.1.0 (OASIS Standard, errata 01) for code scanning: rules with their help, results with fixes and suppressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from stablint import __version__
from stablint.report.line_hash import line_hashes
from stablint.report.model import Diagnostic, Fix, Related, Report
from stablint.report.place import locate
from stablint.report.plain import to_json
from stablint.report.said import clean, finding
from stablint.report.sarif_rules import rules
from stablint.secrets.masking import mask

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_ROOT = "%SRCROOT%"  # the name by which SARIF's viewers know the top of a checkout


def render(report: Report, texts: Mapping[str, Mapping[str, Any]], *, secrets: frozenset[str] = frozenset()) -> str:
    """`texts` are the hazards' texts by rule; `secrets` are masked."""
    return mask(to_json(document(report, texts, secrets)), secrets, data=True)


def document(report: Report, texts: Mapping[str, Mapping[str, Any]], secrets: frozenset[str]) -> dict[str, Any]:
    """The log: one run of the tool, suppressed results included, as the standard wants it."""
    described = rules(report.diagnostics, texts)
    numbers = {rule["id"]: number for number, rule in enumerate(described)}
    notes = [
        {"level": "error", "message": {"text": clean(line, secrets)}}
        for line in (*report.internal_errors, *report.broken)
    ]
    invocation: dict[str, Any] = {"executionSuccessful": not notes}
    if notes:
        invocation["toolExecutionNotifications"] = notes
    driver = {"name": "stablint", "version": __version__, "semanticVersion": __version__, "rules": described}
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "newlineSequences": ["\r\n", "\n", "\r"],
        "originalUriBaseIds": {
            _ROOT: {
                "description": {
                    "text": "The top of the repository; where there is none, the folder in which stablint was run."
                }
            }
        },
        "results": [_result(diagnostic, numbers[diagnostic.code], secrets) for diagnostic in report.diagnostics],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(diagnostic: Diagnostic, number: int, secrets: frozenset[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": number,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": _unlinked(finding(diagnostic, secrets))},
        "locations": [_location(diagnostic)],
        "partialFingerprints": {"stablint/v1": diagnostic.fingerprint, **_of_the_line(diagnostic)},
    }
    if diagnostic.related:
        result["relatedLocations"] = [_beside(related, n, secrets) for n, related in enumerate(diagnostic.related, 1)]
    if diagnostic.fix and (fix := _fix(diagnostic.fix, secrets)):
        result["fixes"] = [fix]
    if diagnostic.suppressed is not None:
        why = clean(diagnostic.suppressed.get("reason") or "", secrets)
        kind = "inSource" if diagnostic.suppressed_by == "comment" else "external"  # §3.35.2
        result["suppressions"] = [{"kind": kind, "status": "accepted", **({"justification": why} if why else {})}]
    facts = {"setting": clean(diagnostic.setting, secrets), "fact": diagnostic.fact}
    result["properties"] = {**facts, "bitesAt": diagnostic.bites_at, "targets": list(diagnostic.targets)}
    return result


_LONGEST = 1_500_000  # characters of a text whose lines are counted


def _of_the_line(diagnostic: Diagnostic) -> dict[str, str]:
    """By which code scanning knows the line; none of a file that another program would read as other letters."""
    text = diagnostic.text
    if text is None or text.encoding != "utf-8" or len(text.text) > _LONGEST:
        return {}
    hashes = line_hashes(("\ufeff" if text.bom else "") + text.text)
    return {"primaryLocationLineHash": hashes[locate(text.text, diagnostic.start).line - 1]}


def _location(diagnostic: Diagnostic) -> dict[str, Any]:
    text = diagnostic.text
    if text is None:
        return {"logicalLocations": [{"fullyQualifiedName": diagnostic.setting or diagnostic.fact, "kind": "object"}]}
    region = _region(text.text, diagnostic.start, diagnostic.end)
    return {"physicalLocation": {"artifactLocation": _artifact(text.name), "region": region}}


def _beside(related: Related, number: int, secrets: frozenset[str]) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(related.file)}
    if related.location is not None:
        place["region"] = {"startLine": related.location.line, "startColumn": related.location.column}
    words = _unlinked(clean(related.setting, secrets)) or "see here"
    return {"id": number, "message": {"text": words}, "physicalLocation": place}


def _fix(fix: Fix, secrets: frozenset[str]) -> dict[str, Any] | None:
    """None for advice, and where the new text would carry a secret: with the secret masked it would be no repair."""
    edits = [edit for file in fix.files for edit in file.edits]
    if (
        fix.applicability == "manual"
        or not edits
        or any(mask(edit.new_text, secrets) != edit.new_text for edit in edits)
    ):
        return None
    words = clean(fix.title, secrets) + ("" if fix.applicability == "safe" else " (not safe: it changes the training)")
    return {"description": {"text": _unlinked(words)}, "artifactChanges": list(_changes(fix))}


def _changes(fix: Fix) -> Iterator[dict[str, Any]]:
    for file in fix.files:
        yield {
            "artifactLocation": _artifact(file.text.name),
            "replacements": [
                {
                    "deletedRegion": _region(file.text.text, edit.start, edit.end),
                    "insertedContent": {"text": edit.new_text},
                }
                for edit in file.edits
            ],
        }


def _region(text: str, start: int, end: int) -> dict[str, int]:
    """The end column is that behind the last character, as ours is."""
    begin, stop = locate(text, start), locate(text, end)
    return {"startLine": begin.line, "startColumn": begin.column, "endLine": stop.line, "endColumn": stop.column}


def _artifact(name: str) -> dict[str, str]:
    """Relative to the checkout; a file elsewhere has its own address."""
    if name.startswith("/"):
        return {"uri": f"file://{_quoted(name)}"}
    if name[1:3] == ":/":
        return {"uri": f"file:///{name[:2]}{_quoted(name[2:])}"}
    return {"uri": _quoted(name), "uriBaseId": _ROOT}


def _quoted(name: str) -> str:
    """Percent-encoded. Python keeps the bytes of a name that is no UTF-8 as half surrogates; others come from Windows."""
    try:
        return quote(name, errors="surrogateescape")
    except UnicodeEncodeError:
        return quote(name, errors="surrogatepass")


def _unlinked(text: str) -> str:
    """SARIF makes links of `[words](address)` (§3.11.6): text from a file must make none."""
    return text.replace("](", "] (")
