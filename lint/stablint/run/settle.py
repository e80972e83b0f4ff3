"""Several statements of one fact → one fact: who wins is the order of knowledge/precedence.yaml."""

from __future__ import annotations

from collections.abc import Iterable

from stablint.base import knowledge
from stablint.run.fact import Explicit, Fact, Statement

NO_TURNS: frozenset[tuple[str, tuple[int, ...]]] = frozenset()


_new = tuple.__new__  # a named tuple without its Python frame: there is one for every setting of every run


def settle(groups: Iterable[tuple[Iterable[Statement], bool]]) -> dict[str, Fact]:
    """Each group of statements comes with whether it belongs to the run only by presumption. Of duplicate keys the last wins."""
    facts: dict[str, Fact] = {}
    several: dict[str, list[tuple[Statement, bool]]] = {}
    for statements, presumed in groups:
        for statement in statements:
            name = statement[0]
            first = facts.get(name)
            if first is None:  # by number, not by name: see frameworks/fragment.py
                facts[name] = _new(Fact, (name, statement[1], statement[3], (statement,), NO_TURNS, presumed))
            else:
                several.setdefault(name, [(first.sources[0], first.presumed)]).append((statement, presumed))
    if several:
        rank = {layer: number for number, layer in enumerate(knowledge.load("precedence"))}
        for name, found in several.items():
            facts[name] = _fact(
                name, [(rank[s.origin.layer] if type(s.origin) is Explicit else 0, s, p) for s, p in found]
            )
    return facts


def _fact(name: str, found: list[tuple[int, Statement, bool]]) -> Fact:
    best = min(order for order, _, _ in found)
    winner, presumed = [(statement, presumed) for order, statement, presumed in found if order == best][-1]
    others = tuple(statement for _, statement, _ in found if statement is not winner)
    return Fact(name, winner.value, winner.origin, (winner, *others), presumed=presumed)
