"""What would be better: from the advices of the knowledge and the moves of the memory model to proposals. Loaded by `stablint advise` only."""

from stablint.base.later import later

later(__name__, "data")
