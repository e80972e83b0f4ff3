"""What an audit finds: one statement of ours that cannot be trusted as it stands, and where it is written."""

from __future__ import annotations

from typing import NamedTuple

ERROR, WARNING, INFO = "error", "warning", "info"


class Doubt(NamedTuple):
    kind: str  # a word for filters and scripts: malformed, stale, gone …
    severity: str  # error: wrong as it stands; warning: somebody must look; info: weaker than it could be
    file: str
    line: int
    subject: str  # the hazard, product line or card that says it
    text: str
