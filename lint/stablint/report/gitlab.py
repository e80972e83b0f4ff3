"""GitLab's code quality report: a subset of the Code Climate format (docs.gitlab.com, "Code Quality", "Code Quality report format")."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from stablint.report.full import active
from stablint.report.model import Diagnostic, Report
from stablint.report.place import locate
from stablint.report.plain import to_json
from stablint.report.said import finding, repair
from stablint.secrets.masking import mask

_SEVERITIES = {"error": "critical", "warning": "major", "info": "info"}


def render(report: Report, texts: Mapping[str, Mapping[str, Any]], *, secrets: frozenset[str] = frozenset()) -> str:
    """`texts` are not used: GitLab shows one line a finding."""
    return mask(to_json(list(_issues(report, secrets))), secrets, data=True)


def _issues(report: Report, secrets: frozenset[str]) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for diagnostic in active(report):
        identity = f"{diagnostic.text.name if diagnostic.text else ''}\0{diagnostic.fingerprint}"
        seen[identity] += 1
        fix = repair(diagnostic, secrets)
        yield {
            "type": "issue",
            "check_name": diagnostic.code,
            "description": finding(diagnostic, secrets) + (f" — fix: {fix}" if fix else ""),
            "categories": ["Bug Risk"],
            "severity": _SEVERITIES[diagnostic.severity],
            "fingerprint": _fingerprint(identity, seen[identity]),
            "location": _location(diagnostic),
        }


def _fingerprint(identity: str, times: int) -> str:
    """Unique in the report, since GitLab drops what repeats; the same again as long as the finding is."""
    return hashlib.sha256(f"{identity}\0{times}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _location(diagnostic: Diagnostic) -> dict[str, Any]:
    """A live object has no file, but GitLab wants one: its setting stands there."""
    text = diagnostic.text
    if text is None:
        return {"path": diagnostic.setting or diagnostic.fact, "lines": {"begin": 1, "end": 1}}
    begin, end = (
        locate(text.text, offset).line for offset in (diagnostic.start, max(diagnostic.start, diagnostic.end - 1))
    )
    return {"path": text.name, "lines": {"begin": begin, "end": end}}
