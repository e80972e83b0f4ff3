"""What is a secret. In come texts and words of a command line, out go the same without secrets, by the one way on which the program prints and
writes reports.

Knows no framework and no rule; what looks like a secret is one.
"""

from stablint.base.later import later

later(__name__, "commands", "languages", "masking", "veil")
