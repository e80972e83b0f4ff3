"""Commands that start a training: which program reads which flags, what its launcher adds, what a program at hand declares itself."""

from stablint.base.later import later

later(__name__, "at_hand", "commands", "scripts")
