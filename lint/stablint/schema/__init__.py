"""The one model of hazard files, advice, settings and the JSON reports; `schemas/` is generated from it. Not loaded by a check."""

from stablint.base.later import later

later(__name__, "advice", "hazard", "report", "wrong")
