"""Which settings a hazard is about."""

from __future__ import annotations

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


def covers(pattern: str, name: str) -> bool:
    """Is it a setting of the kind: `training.fp16`, `training.*` (one segment), `deepspeed.**` (any depth), `*` (every one)?"""
    head, star, _ = pattern.partition("*")
    if not star:
        return name == pattern
    return (
        name.startswith(head)
        and len(name) > len(head)
        and (pattern.endswith("**") or not head or "." not in name[len(head) :])
    )
