"""JSON. In come texts, out go trees that know their places, and edits in the layout of the file.
Takes what DeepSpeed and the libraries take, comments and NaN included, and says which it is.

Knows no framework.
"""

from stablint.base.later import later

later(__name__, "reader")
