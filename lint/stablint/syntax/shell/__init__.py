"""Shell. In come scripts, out go commands with their flags, as far as the script itself says them, and edits of flags and variables.
Read as bash would; nothing is started.

Knows no launcher's flags and no framework.
"""

from stablint.base.later import later

later(__name__, "reader", "words")
