"""Seconds of CPU that mean the same on a slow or shared machine: what costs too much is measured again beside a fixed piece of ordinary work."""

from __future__ import annotations

import ast
import gc
import json
import time
from collections.abc import Callable

import yaml

ORDINARY = 0.020  # seconds of CPU that `ordinary` takes on a quiet core of the machine on which the promises were measured (AMD EPYC, CPython 3.11)
TIMES = 3  # so often a cost is measured before it counts as too high
_TEXT = "".join(
    f"stage_{n}:\n  optimizer: {{name: adamw, betas: [0.9, 0.{n}]}}  # counted\n  steps: [{n}, {n + 1}]\n"
    for n in range(12)
)


def ordinary() -> None:
    """What a check mostly does, in the words of other libraries, so that a slower stablint does not lengthen the measure."""
    for _ in range(5):
        tree = yaml.load(_TEXT, yaml.SafeLoader)
        ast.dump(ast.parse(repr(tree)))
        json.loads(json.dumps(tree))


def spent(work: Callable[[], object]) -> float:
    """Seconds of CPU of this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


def slowness() -> float:
    """How many times longer than on a quiet core ordinary work takes here and now; a faster machine counts as that one."""
    return max(min(spent(ordinary) for _ in range(2)) / ORDINARY, 1.0)


def measured(work: Callable[[], object]) -> float:
    """Seconds of CPU on a quiet core."""
    before = slowness()
    seconds = spent(work)
    return seconds / ((before + slowness()) / 2)


def cost(work: Callable[[], object], most: float) -> float:
    """The least of some measurements; the first that is at most `most` seconds is enough."""
    seconds = spent(work)
    for _ in range(TIMES - 1):
        if seconds <= most:
            break
        gc.collect()  # other work's garbage is outside of the time; not before each first try, where a full heap costs a third of a second
        seconds = min(seconds, measured(work))
    return seconds
