"""Python. In come programs, out go calls with their arguments as far as they are certain, and edits of single arguments.
Parsed and never run.

Knows no framework and no library.
"""

from stablint.base.later import later

later(
    __name__,
    "class_editor", "constants", "functions", "guard", "names", "parse", "places", "reader", "settable", "suites", "values", "written",
)  # fmt: skip
