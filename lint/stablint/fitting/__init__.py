"""Will it fit: from the facts of a run to a plan, from a plan to an answer for people and programs. Loaded by `stablint fit` only."""

from stablint.base.later import later

later(__name__, "answer", "data", "picture")
