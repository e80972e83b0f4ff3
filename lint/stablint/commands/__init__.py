"""The commands, one module each: in come words of a command line, out go texts and an exit code.

`config.spec` says which commands and options there are, `config.arguments` and `parsers` read them. Nothing but the command line and the library
imports from here; they do not know how a stage works.
"""

from stablint.base.later import later

later(
    __name__,
    "advise", "baselines", "check", "completion", "config", "diagnose", "diagnose_repairs", "diff", "doctor", "fit", "house", "init", "knowledge_audit",
    "knowledge_template", "migrate", "new", "parsers", "repairs", "rooted", "run", "schema", "server", "show", "watch",
)  # fmt: skip
