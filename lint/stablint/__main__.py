"""`python -m stablint`."""

from stablint.cli import script

script()
