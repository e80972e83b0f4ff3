"""The machine. In come names of GPUs (`A100-80GB x8`), out come facts: capacities and capabilities.

Asks a driver only where the user says so. Knows no run.
"""

from stablint.base.later import later

later(__name__, "gpu", "live")
