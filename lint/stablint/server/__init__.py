"""`stablint server`: the checker behind an editor. In come texts that are being typed, out go what the language server protocol asks for.

`session` holds the open texts and what was made out of them, the modules beside it answer one question each, and `protocol` alone knows pygls.
"""

from stablint.base.later import later

later(__name__, "protocol")
