"""Python programs that train: which calls make the run, and what the program does with its model, arguments and trainer besides."""

from stablint.base.later import later

later(__name__, "constants", "helpers", "imported", "lightning", "reader", "runs", "sentences", "words")
