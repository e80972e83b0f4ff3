"""The one model of hazard files, advice, settings and the JSON reports. In comes data, out goes what is wrong with it; `schemas/` is generated from
it. Not loaded by a check.

Knows no file and no rule.
"""

from stablint.base.later import later

later(__name__, "advice", "hazard", "report", "wrong")
