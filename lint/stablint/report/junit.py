"""JUnit XML: a test suite a file, a test case a finding. Errors and warnings are failures; a file without findings is a passed case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stablint.report.full import active
from stablint.report.model import Diagnostic, Report
from stablint.report.place import header
from stablint.report.said import clean, finding, reason, repair

_LIVE = "(live objects)"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def render(report: Report, texts: Mapping[str, Mapping[str, Any]], *, secrets: frozenset[str] = frozenset()) -> str:
    """`texts` are the hazards' texts by rule; `secrets` are masked."""
    findings = active(report)
    by_file: dict[str, list[Diagnostic]] = {status.file: [] for status in report.files if status.status == "checked"}
    for diagnostic in findings:
        by_file.setdefault(diagnostic.text.name if diagnostic.text else _LIVE, []).append(diagnostic)
    tests = sum(len(group) or 1 for group in by_file.values()) or 1
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="stablint" tests="{tests}" failures="{_failures(findings)}">',
    ]
    if not by_file:  # a program that collects results takes a file without tests for a run that broke off
        lines += [
            '  <testsuite name="stablint" tests="1" failures="0" errors="0" skipped="0">',
            '    <testcase name="no training configuration" classname="stablint"/>',
            "  </testsuite>",
        ]
    for name, group in by_file.items():
        lines += _suite(name, group, texts, secrets)
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _suite(
    name: str, group: list[Diagnostic], texts: Mapping[str, Mapping[str, Any]], secrets: frozenset[str]
) -> Iterator[str]:
    file = _escaped(clean(name, secrets))
    yield f'  <testsuite name="{file}" tests="{len(group) or 1}" failures="{_failures(group)}" errors="0" skipped="0">'
    if not group:
        yield f'    <testcase name="no findings" classname="{file}"/>'
    for diagnostic in group:
        place = _escaped(clean(header(diagnostic), secrets))
        yield f'    <testcase name="{diagnostic.code} {diagnostic.rule} ({place})" classname="{file}">'
        said, words = (
            _escaped(finding(diagnostic, secrets)),
            _escaped(_words(diagnostic, texts.get(diagnostic.rule, {}), secrets)),
        )
        if _fails(diagnostic):
            yield f'      <failure type="{diagnostic.severity}" message="{said}">{words}</failure>'
        else:
            yield f"      <system-out>{said}\n{words}</system-out>"
        yield "    </testcase>"
    yield "  </testsuite>"


def _words(diagnostic: Diagnostic, text: Mapping[str, Any], secrets: frozenset[str]) -> str:
    fix = repair(diagnostic, secrets)
    return "\n".join(
        line for line in (clean(header(diagnostic), secrets), reason(text), f"Fix: {fix}" if fix else "") if line
    )


def _fails(diagnostic: Diagnostic) -> bool:
    return diagnostic.severity != "info"


def _failures(group: list[Diagnostic]) -> int:
    return sum(map(_fails, group))


def _escaped(text: str) -> str:
    """Printable already, so nothing is left of what XML 1.0 cannot hold."""
    return "".join(_ENTITIES.get(character, character) for character in text)
