"""Findings that somebody has accepted, by a comment, in the settings or in a baseline; and suppressions that suppress nothing.

Knows findings by code and place; never the conditions behind them.
"""

from stablint.base.later import later

later(__name__, "apply", "baseline")
