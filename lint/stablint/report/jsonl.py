"""JSON Lines: one object a finding and line, the same as in the JSON report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stablint.report.full import active
from stablint.report.json import diagnostic_object
from stablint.report.model import Report
from stablint.report.plain import in_json
from stablint.secrets.masking import mask


def render(report: Report, texts: Mapping[str, Mapping[str, Any]], *, secrets: frozenset[str] = frozenset()) -> str:
    """ASCII only, so that no character of a file can end a line. `texts` are not used."""
    lines = [json.dumps(diagnostic_object(diagnostic), allow_nan=False) for diagnostic in active(report)]
    return mask(in_json("".join(f"{line}\n" for line in lines)), secrets, data=True)
