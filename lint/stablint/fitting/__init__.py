"""Will it fit. In come the facts of a run and a card, out go a plan, an answer for people and programs, and changes that make it fit. Loaded by
`stablint fit`, `advise` and `new` only.

Knows no command line and no spelling of a framework; the arithmetic is `memory`'s.
"""

from stablint.base.later import later

later(__name__, "answer", "data", "picture")
