"""Settings of a DeepSpeed configuration that the framework ships: no file of the run states them, so that the run names another one of them."""

from __future__ import annotations

from stablint.base import knowledge
from stablint.base.light import Any
from stablint.fix.editors import Change, Impossible
from stablint.run.fact import ABSENT, Default
from stablint.run.world import Run

_NAMED = "training.deepspeed"
# What only one stage has, and what a stage that lacks it does not miss.
_OF_A_STAGE = "deepspeed.zero_optimization.stage3_"
_WEIGHT = {"deepspeed.zero_optimization.offload_optimizer.device": 2}


def exchanged(run: Run, changes: list[Change]) -> list[Change]:
    """The changes, with those of shipped settings as one change of the name. Raises Impossible where no shipped one is as it should be."""
    ours = [change for change in changes if change.fact.startswith("deepspeed.") and change.fact not in run.explicit]
    known = next((origin for change in ours if (origin := _origin(run, change.fact)) is not None), None)
    if known is None:
        return changes
    table: dict[str, dict[str, Any]] = knowledge.load(f"shipped/{known.library}")
    now = table[known.field]
    wanted = {change.fact: change.value for change in ours}
    fitting = [name for name in table if name != known.field and _has(table[name], wanted)]
    if not fitting:
        raise Impossible(f"{known.library} ships no configuration like that")
    nearest = min(fitting, key=lambda name: _distance(now, table[name], wanted))
    stated = str(run.explicit[_NAMED].value)
    new = stated[: len(stated) - len(known.field)] + nearest
    return [*(change for change in changes if change not in ours), Change(_NAMED, new)]


def _origin(run: Run, name: str) -> Default | None:
    fact = run.supplied.get(name)
    origin = fact.origin if fact is not None else None
    return origin if isinstance(origin, Default) and _NAMED in run.explicit else None


def _has(facts: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(
        name not in facts or facts[name] == "none" if value is ABSENT else facts.get(name, ABSENT) == value
        for name, value in wanted.items()
    )


def _distance(one: dict[str, Any], other: dict[str, Any], wanted: dict[str, Any]) -> int:
    """How much else changes: where the optimizer is kept weighs most."""
    names = {name for name in one.keys() | other.keys() if not name.startswith(_OF_A_STAGE)} - wanted.keys()
    return sum(
        _WEIGHT.get(name, 1)
        for name in names
        if (one.get(name) if one.get(name) != "none" else None)
        != (other.get(name) if other.get(name) != "none" else None)
    )
