"""Python: programs to calls with their arguments, parsed and never run, and edits of single arguments."""

from stablint.base.later import later

later(
    __name__,
    "class_editor", "constants", "functions", "guard", "names", "parse", "places", "reader", "settable", "suites", "values", "written",
)  # fmt: skip
