"""Which settings a hazard is about."""

from __future__ import annotations

from functools import cache

from stablint.hazard.model import Hazard

# Words about a setting that are empty for one that its class has, unchanged, in the chosen release.
_NEWS = frozenset(
    {
        "item.removed_in",
        "item.renamed_to",
        "item.moved_to",
        "item.deprecated_in",
        "item.added_in",
        "item.suggestion",
    }
)


def asks_news(hazard: Hazard) -> bool:
    """Whether it is about a name that is unknown, renamed or on its way out."""
    return any(c[0] == "unknown-key" or (c[0] == "is-set" and c[1] in _NEWS) for c in hazard.when)


_DEEPEST = 16  # segments before `**`: no rule has as many, and a name may have thousands


@cache
def kinds(name: str) -> frozenset[str]:
    """The patterns of the settings of which it is one: `training.fp16`, `training.*` (one segment), `deepspeed.**` (any depth), `*` (every
    one)."""
    found = {name, "*", name[: name.rfind(".") + 1] + "*"}
    dot = name.find(".") + 1
    for _ in range(_DEEPEST):
        if not dot:
            break
        found.add(name[:dot] + "**")
        dot = name.find(".", dot) + 1
    return frozenset(found)
