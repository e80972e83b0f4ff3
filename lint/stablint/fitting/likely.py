"""What nine of ten runs with these settings are likely to need: between what must hold of every run and what may hold of some.

The bounds of an estimate add up the ends of everything that is not known, which never all come together. Upwards they stay as they are: what fills a card
is what people meet. Downwards the unknowns are taken to be independent, so that their shares add up as squares do, and the longest rows to reach half of
the limit that the run states: of 154 notebooks that print what they held, the figure lies above that in 147, and of the other seven three above the
bounds as well (benchmarks/README.md, "How wide the range is").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Any

from stablint.memory.plan import Plan, Range, sure
from stablint.memory.predict import usual_peak

_HALF = 0.5  # of the longest rows that a run may have
_MORE = 4.0  # times the usual rows, where nobody says how long they may be


def likely(plan: Plan, traced: Mapping[str, Any], bounds: Range) -> Range:
    """Within the bounds of the estimate, and around what it says of the usual run."""
    pinned = _pinned(plan)
    usual = usual_peak(pinned, traced)
    less = [min(usual_peak(one, traced) - usual, 0.0) for one in _lowered(plan, pinned)]
    low = min(max(usual - sqrt(sum(size * size for size in less)), bounds.low), bounds.usual)
    high = bounds.high
    if plan.length.high > _MORE * plan.length.usual:
        longest = plan._replace(length=sure(_MORE * plan.length.usual))
        high = max(min(usual_peak(longest, traced, 2), bounds.high), bounds.usual)
    return Range(low, bounds.usual, high)


def _pinned(plan: Plan) -> Plan:
    """With everything as it usually is."""
    values: dict[str, Any] = _usual(plan.optimizer)
    optimizer = plan.optimizer._replace(**values)
    others: dict[str, Any] = _usual(plan)
    return plan._replace(optimizer=optimizer)._replace(**others)


def _usual(of: Any) -> dict[str, Range]:
    return {name: sure(value.usual) for name, value in zip(of._fields, of, strict=True) if isinstance(value, Range)}


def _lowered(plan: Plan, pinned: Plan) -> Iterator[Plan]:
    """One after the other of what is not known at its low end. What the allocator keeps is one unknown, of small pieces and of large ones."""
    for name, value in zip(plan._fields, plan, strict=True):
        if not isinstance(value, Range) or value.low == value.usual or name == "cache_large":
            continue
        least = max(value.low, _HALF * value.usual) if name == "length" else value.low
        values: dict[str, Any] = {name: sure(least)}
        if name == "cache":
            values["cache_large"] = sure(plan.cache_large.low)
        yield pinned._replace(**values)
    optimizer = plan.optimizer
    if any(isinstance(value, Range) and value.low < value.usual for value in optimizer):
        lows: dict[str, Any] = {
            name: sure(value.low)
            for name, value in zip(optimizer._fields, optimizer, strict=True)
            if isinstance(value, Range)
        }
        yield pinned._replace(optimizer=optimizer._replace(**lows))
