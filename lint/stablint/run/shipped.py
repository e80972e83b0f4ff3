"""DeepSpeed configurations that a framework ships: a run names them without having them (knowledge/shipped.yaml)."""

from __future__ import annotations

from stablint.base import knowledge
from stablint.run.fact import Default, Fact


def shipped(framework: str, name: str) -> dict[str, Fact]:
    """The facts of the configuration that the framework knows by this name or relative path; empty where there is none.

    A word such as `zero2` is certain. A path is presumed to be the file as it was shipped.
    """
    table = knowledge.load(f"shipped/{framework}") or {}
    path = name.replace("\\", "/").removeprefix("./")
    known = next((key for key in table if path == key or ("/" in key and path.endswith("/" + key))), None)
    if known is None:
        return {}
    presumed = "/" in known
    return {
        fact: Fact(fact, value, Default(framework, known, "", presumed), presumed=presumed)
        for fact, value in table[known].items()
    }
