"""`python -m stablint`: the command line, without the current folder among the places that modules are imported from."""

import os
import sys

# `-m` puts the current folder first, which is the checkout: a `json.py` there must not stand in for Python's own. What Python itself
# imports before this line, and a `stablint` of the checkout, cannot be kept out here: `python -I -m stablint` does.
sys.path[:] = [entry for entry in sys.path if entry and os.path.realpath(entry) != os.path.realpath(os.curdir)]

from stablint.starting import script  # noqa: E402

script()
