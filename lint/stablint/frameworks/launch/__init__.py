"""Commands that start a training. In come a script's commands and what a program at hand declares, out go fragments of flags, with what the
launcher adds.

Knows no rule, and no program but by its declarations.
"""

from stablint.base.later import later

later(__name__, "at_hand", "commands", "scripts")
