"""Where a fact comes from: the settings at the end of what it was derived from."""

from __future__ import annotations

from collections.abc import Iterator

from stablint.run.fact import Default, Derived, Explicit, Fact
from stablint.run.world import World


def leaves(world: World, name: str, depth: int = 0) -> Iterator[Fact]:
    """The explicit facts at the end of a fact's provenance, deciding ones first."""
    fact = world.fact(name)
    if isinstance(fact.origin, Explicit):
        yield fact
    elif isinstance(fact.origin, Derived) and depth < 8:
        for source in fact.origin.facts:
            if source != name:
                yield from leaves(world, source, depth + 1)


def defaults(world: World, name: str, depth: int = 0) -> Iterator[Fact]:
    """The library's defaults at the end of a derived fact's provenance, where no text states any of it."""
    fact = world.fact(name)
    if isinstance(fact.origin, Default) and depth:
        yield fact
    elif isinstance(fact.origin, Derived) and depth < 8 and not any(leaves(world, name)):
        for source in fact.origin.facts:
            if source != name:
                yield from defaults(world, source, depth + 1)
