"""The one model of hazard files, advice, settings and the JSON reports; `schemas/` is generated from it. Not imported by a check."""

from __future__ import annotations

from stablint.schema.advice import AdviceDocument, AdviceFile
from stablint.schema.diagnosis import DiagnosisDocument
from stablint.schema.hazard import HazardFile
from stablint.schema.report import ReportDocument
from stablint.schema.settings import Settings

__all__ = ["AdviceDocument", "AdviceFile", "DiagnosisDocument", "HazardFile", "ReportDocument", "Settings"]

from stablint.base.later import later

later(__name__, "advice", "hazard", "report", "wrong")
