"""What runs with these settings are likely to need: between what must hold of every run and what may hold of some.

The bounds of an estimate begin with rows of 64 tokens, and end with as many as a model takes where nobody states a length. The longest rows of a run are
seldom so short: where they have half of what the run states, all else being as low as it can be, the figure lies above that in 147 of 154 notebooks that
print what they held, and of the other seven three lie below the bounds as well (benchmarks/README.md, "How wide the range is").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stablint.memory.plan import Plan, Range, sure
from stablint.memory.predict import usual_peak

_KEPT = 0.25  # of the logits of rows that differ: the least of any replay (benchmarks/allocator.py)
_HALF = 0.5  # of the longest rows that a run may have
_MORE = 4.0  # times the usual rows, where nobody says how long they may be


def likely(plan: Plan, traced: Mapping[str, Any], bounds: Range) -> Range:
    """Within the bounds of the estimate, and around what it says of the usual run."""
    low, high = bounds.low, bounds.high
    if plan.length.low < plan.length.usual:
        kept = plan.cache_large
        shortest = plan._replace(
            length=sure(max(plan.length.low, _HALF * plan.length.usual)),
            cache_large=kept._replace(low=_KEPT) if kept.usual > 1.0 else kept,
        )
        low = min(max(usual_peak(shortest, traced, 0), bounds.low), bounds.usual)
    if plan.length.high > _MORE * plan.length.usual:
        longest = plan._replace(length=sure(_MORE * plan.length.usual))
        high = max(min(usual_peak(longest, traced, 2), bounds.high), bounds.usual)
    return Range(low, bounds.usual, high)
