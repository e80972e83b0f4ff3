"""The words of the room: a reading of a run, why there is none, and what is asked of a run in several of its modules."""

from __future__ import annotations

from typing import Any, NamedTuple

from stablint.memory.plan import Plan
from stablint.run.fact import is_unknown
from stablint.run.releases.pep440 import release_key
from stablint.run.world import World

GIB = 2**30
_LARGEST = 10**15


class Guess(str):
    """An assumption that may be wrong beyond what the range has room for."""


class Reading(NamedTuple):
    """A run as one way of starting it makes it."""

    plan: Plan
    type: str  # of the traced model whose figures are used
    start: str
    assumptions: tuple[str, ...]
    others: tuple[Plan, ...] = ()  # the same as other releases have it that may run as well

    @property
    def is_guessed(self) -> bool:
        return any(isinstance(one, Guess) for one in self.assumptions)


class Unanswerable(Exception):
    """Why nothing can be said of the run's memory."""


def is_size(value: Any) -> bool:
    """Whether it is a number of things that a run could have."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST


def holds(w: World, row: dict[str, Any]) -> bool | None:
    """Whether a row of kernels.yaml is about this run; None where that depends on something that is not known."""
    if "framework" in row and row["framework"] != w.run.framework:
        return False
    if "types" in row and w.value("model.type") not in row["types"]:
        return False
    if "objectives" in row and w.value("derived.objective") not in row["objectives"]:
        return False
    answers: list[bool | None] = []
    for name, wanted in row.get("when", {}).items():
        value = w.value(name)
        answers.append(None if is_unknown(value) else value == wanted and type(value) is type(wanted))
    if "from" in row:
        answers.append(w.at_least(row["library"], row["from"]))
    if "before" in row:
        later = w.at_least(row["library"], row["before"])
        answers.append(None if later is None else not later)
    return False if False in answers else None if None in answers else True


def may_be_older(w: World, library: str, release: str) -> bool:
    return any(one < release_key(release) for one in w.run.releases.allowed(library))


def usable(w: World) -> float | None:
    """GiB that a run can have of one card: what torch reports of it. Of several that one name is sold for, the largest."""
    return _gib(w.value("target.gpu.most_memory_gib"))


def least_usable(w: World) -> float | None:
    """The same of the smallest of them."""
    return _gib(w.value("target.gpu.least_memory_gib"))


def _gib(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
