"""From a finding's remedy to edits of texts, and from edits to files. In come findings, out go patches that an independent reader has confirmed.

Knows how each format is written; what a remedy changes is the hazard's to say.
"""

from stablint.base.later import later

later(__name__, "change", "editors", "embedded", "exchange", "forbidden", "patch", "relocate", "syntax_repairs")
