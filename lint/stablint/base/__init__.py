"""What every module may use: records, late patterns, types for annotations, the compiled knowledge and the language spoken.

Knows nothing of what the program does.
"""

from stablint.base.later import later

later(__name__, "whole")
