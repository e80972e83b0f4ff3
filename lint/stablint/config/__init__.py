"""What the user says about a check: options of the command line, settings of a project, hazards of the house. In come words and TOML, out go
`Options` and `Policies`.

Knows which rules there are; reads no configuration of a training.
"""

from stablint.base.later import later

later(__name__, "arguments", "house", "options", "schema_check")
