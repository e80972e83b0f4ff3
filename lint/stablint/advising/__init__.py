"""What would be better. In come a run at its newest releases, the advices of the knowledge and the moves of the memory model, out go at most seven
proposals with their edits, each tried. Loaded by `stablint advise` only.

Knows no command line and no format of a file.
"""

from stablint.base.later import later

later(__name__, "data")
