"""Python programs that train. In come their calls, out go fragments: which calls make a run, and what the program does with its model, arguments
and trainer besides.

Knows no rule, and runs nothing.
"""

from stablint.base.later import later

later(__name__, "constants", "helpers", "imported", "lightning", "reader", "runs", "sentences", "words")
