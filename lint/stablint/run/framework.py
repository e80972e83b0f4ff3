"""What a framework fills in itself where its file says nothing. It comes before the defaults of the library that it drives."""

from __future__ import annotations

from stablint import knowledge
from stablint.run.fact import PRESUMED, Default, Fact, is_unknown
from stablint.run.pep440 import release_key
from stablint.source.tree import Unknown
from stablint.typed import Any

# Their defaults mean nothing while the feature is off; the dialect names a class where it is on.
_SWITCHED = ("lora", "quantization")


def fills_in(world: Any, name: str) -> Fact | None:
    """The framework's own default of a fact; None where it has none. `world` is the World that asks."""
    framework: str = world.run.framework
    table = knowledge.load(f"frameworks/{framework}") if framework else None
    rows = table.get(name) if table else None
    head = name.partition(".")[0]
    if rows is None or (head in _SWITCHED and head not in world.run.classes):
        return None
    presumed = world.scope(name) == PRESUMED
    turns: frozenset[Any] = frozenset()
    for row in rows:
        since = row.get("since")
        if since is not None:
            known = world.at_least(framework, since)
            turns |= frozenset({(framework, release_key(since))})
            if known is False:
                continue
        word = "when" if "when" in row else "unless" if "unless" in row else ""
        if word:
            ((other, wanted),) = row[word].items()
            condition = world.depends(name, other)
            turns |= condition.turns
            if is_unknown(condition.value):
                return Fact(name, Unknown(f"it depends on `{other}`"), None, turns=turns)
            if (condition.value == wanted and type(condition.value) is type(wanted)) is (word == "unless"):
                continue
        origin = Default(framework, name.partition(".")[2], f">={since}" if since else "", presumed)
        if "unknown" in row:
            return Fact(name, Unknown(row["unknown"]), None, turns=turns)
        if "is" in row:
            return Fact(name, row["is"], origin, turns=turns, presumed=presumed)
        source = world.depends(name, row["as"] if "as" in row else row["times"][0])
        value = source.value
        if "times" in row and not is_unknown(value):
            value = value * row["times"][1] if isinstance(value, (int, float)) else Unknown("it is not known")
        return Fact(name, value, origin, turns=turns | source.turns, presumed=presumed or source.presumed)
    return None
