"""Notebooks: their cells as one Python module, their shell commands as scripts, each place found again in the file."""

from stablint.base.later import later

later(__name__, "large", "reader")
