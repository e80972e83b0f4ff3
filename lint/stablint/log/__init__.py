"""Logs of runs: bytes in, what a run printed out: known messages, sick numbers, facts that it states.

Knows nothing of rules' conditions and of reports; `join` is the one place where a log meets the settings.
"""

from stablint.base.later import later

later(__name__, "picture", "source")
