"""What the rest of a repository says of a file. In come files, out go the programs that read, name, change or import them, and whether they matter
to a training.

Reads programs as texts and runs none; knows no rule.
"""

from stablint.base.later import later

later(__name__, "changers", "classes", "importers", "loaders", "readers", "referrers", "surroundings", "unheard")
