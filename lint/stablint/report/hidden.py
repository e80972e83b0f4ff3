"""What a report must not show: the secrets of the files that it quotes. For those who have the report and no longer the files."""

from __future__ import annotations

from stablint.report.model import Report
from stablint.secrets.languages import language_of
from stablint.secrets.masking import known


def secrets_of(report: Report) -> frozenset[str]:
    texts = {d.text for d in report.diagnostics if d.text is not None}
    texts |= {file.text for d in report.diagnostics if d.fix is not None for file in d.fix.files}
    return frozenset(secret for text in texts for secret in known(text.text, language_of(text.path)))
