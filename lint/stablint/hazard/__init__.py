"""Rules against runs. In come a run and the compiled hazards, out go findings, and the checks that wait for a fact.

Knows conditions and facts; names no framework, no format and no single rule.
"""

from stablint.base.later import later

later(__name__, "automaton", "call_subject", "finding", "hints", "key_subject", "sieve", "sifted", "wording")
