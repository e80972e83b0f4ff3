"""Shell: scripts to commands with their flags, as far as the script itself says them, and edits of flags and variables."""

from stablint.base.later import later

later(__name__, "reader", "words")
