"""Which files make one run. In come the fragments that dialects read, out go runs: the settings of all their files in the order in which the
framework lays them over one another.

Knows which file names which, and no rule.
"""

from stablint.base.later import later

later(__name__, "copies", "shown")
