"""The knowledge (`knowledge/`, YAML and JSON) to what a check loads. In come files that people write, out go tables in `_compiled/`.

One module for each kind of file, with one function `compile_…` and READS, the paths below knowledge/ that it reads; one that makes tables of
those of others has `combine_…` and COMBINES, their names. Never on the path of a check; knows no run.
"""

from stablint.base.later import later

later(__name__, "compile", "hazards")
