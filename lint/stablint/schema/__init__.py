"""The one model of hazard files, settings and the JSON report; `schemas/` is generated from it. Not imported by a check."""

from __future__ import annotations

from stablint.schema.diagnosis import DiagnosisDocument
from stablint.schema.hazard import HazardFile
from stablint.schema.report import ReportDocument
from stablint.schema.settings import Settings

__all__ = ["DiagnosisDocument", "HazardFile", "ReportDocument", "Settings"]
