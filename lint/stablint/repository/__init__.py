"""What the rest of a repository says of a file: which program reads it, who names, changes or imports it, and whether it matters to a training.

Reads programs as texts; runs none.
"""

from stablint.base.later import later

later(__name__, "changers", "importers", "readers", "referrers", "unheard")
