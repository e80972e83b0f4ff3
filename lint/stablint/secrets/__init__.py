"""What is a secret, and the one way out of the program, on which none is shown."""

from stablint.base.later import later

later(__name__, "exit", "languages", "masking", "veil")
