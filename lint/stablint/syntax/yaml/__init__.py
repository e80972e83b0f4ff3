"""YAML. In come texts, out go trees that know their places, and edits that leave the rest of the text as it is.
Plain files are read line by line, all others by libyaml's events; values are PyYAML's.

Knows no framework.
"""

from stablint.base.later import later

later(__name__, "error", "events", "reader")
