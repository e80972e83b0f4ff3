"""What is told. In comes a report, out go texts: for people, for CI systems, for editors.

Knows no knowledge and no file; what it prints passes `secrets.exit`.
"""

from stablint.base.later import later

later(__name__, "block", "concise", "full", "hidden", "json", "once", "place", "plain", "progress", "show", "words")
