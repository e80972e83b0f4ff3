"""What a run really does. In come stated facts and the releases that are allowed, out come effective values: defaults by release, derived facts,
each with where it comes from.

Knows libraries by their compiled tables; knows no text and no rule.
"""

from stablint.base.later import later

later(__name__, "shipped")
