"""What texts say about the releases of libraries. In come requirements, locks, build files and install commands, out go the releases that they
allow.

Knows no rule and no configuration of a training.
"""

from stablint.base.later import later

later(__name__, "path")
