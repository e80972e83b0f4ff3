"""The one way from paths and options to a report, and from a report to repaired texts. In come paths, out go diagnostics.

Knows the order of the stages; each stage is a room of its own.
"""

from stablint.base.later import later

later(__name__, "around", "diagnostics", "processes", "repair")
