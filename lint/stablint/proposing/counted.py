"""Rates, schedules and ranks of counted recipes: what others set for this objective, method and size. A project counts once, however many files it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from stablint.base import knowledge
from stablint.run.derived.recipe_rates import Band, band

_LEAST = 3  # projects: of fewer nothing is said, and a wider circle is asked
_NONE = "no counted recipe says it"
_LARGEST_BATCH = 64  # examples a card and step


class Counted(NamedTuple):
    """A value of recipes, and in words how many say so. `value` is None where none counts."""

    value: Any
    why: str


class Recipes:
    """Those of one objective, method and size."""

    def __init__(self, objective: str, method: str, parameters: int, kind: str | None) -> None:
        self.band: Band | None = band(objective, method, parameters, kind)
        self._instead = ""
        if (
            self.band is None and method == "qlora"
        ):  # too few were counted: an adapter beside a whole base is the nearest that there is
            self.band = band(objective, "lora", parameters, kind)
            self._instead = "too few recipes of qlora were counted, of lora it is the "
        self._method = method
        stored, goals = knowledge.load("recipes"), knowledge.load("lr_bands")["objectives"]
        rows = [dict(zip(stored["columns"], row, strict=True)) for row in stored["rows"]]
        goal = [row for row in rows if goals.get(row["objective"]) == goals.get(objective)]
        same = [row for row in goal if row["method"] == method]
        adapted = [row for row in goal if (row["method"] == "full") == (method == "full")]
        self._objective = objective
        self._circles = (
            ("of this method and size", [row for row in same if self._sized(row)]),
            ("of this method", same),
            ("with adapters" if method != "full" else "of this method", adapted),
        )

    def _sized(self, row: dict[str, Any]) -> bool:
        size, one = row["billions"], self.band
        if one is None or size is None:
            return False
        return bool(one.billions_from <= size and (one.billions_below is None or size < one.billions_below))

    def rate(self) -> Counted:
        one = self.band
        if one is None or one.median is None or one.projects == 0:
            return Counted(None, f"no counted recipe of {self._objective}, {self._method} and this size")
        low, high = _number(one.typical_low), _number(one.typical_high)
        words = f"median of {one.recipes} recipes of {one.projects} projects, which take {low} to {high}"
        return Counted(one.median, f"{self._instead}{words}")

    def warmup(self) -> Counted:
        """A share of all steps."""
        return self._middle("warmup", "share of the steps", lambda value: 0 < value < 1)

    def scheduler(self) -> Counted:
        """The one that most projects name. One that needs arguments of its own is no plain word."""
        return self._most("scheduler", lambda value: value in ("cosine", "linear", "constant", "constant_with_warmup"))

    def rank(self) -> Counted:
        return self._most("r")

    def alpha(self, rank: int) -> Counted:
        """The scale alpha ÷ rank that most projects take, on this rank."""
        found = self._voted(lambda row: row["alpha"] / row["r"] if row["r"] and row["alpha"] else None)
        if found is None:
            return Counted(None, _NONE)
        scale, votes, projects, circle = found
        return Counted(max(1, round(rank * scale)), f"{scale:g} x rank, as in {votes} of {projects} projects {circle}")

    def clip(self) -> Counted:
        found = self._most("clip")
        return found if found.value is None else found._replace(value=float(found.value))

    def examples(self) -> Counted:
        """Of one step and card."""
        return self._middle("batch", "examples a step and card", lambda value: 0 < value <= _LARGEST_BATCH)

    def _most(self, column: str, holds: Callable[[Any], bool] = bool) -> Counted:
        found = self._voted(lambda row: row[column] if row[column] is not None and holds(row[column]) else None)
        if found is None:
            return Counted(None, _NONE)
        value, votes, projects, circle = found
        return Counted(value, f"{votes} of {projects} projects {circle} that name one")

    def _voted(self, said: Callable[[dict[str, Any]], Any]) -> tuple[Any, int, int, str] | None:
        """In the nearest circle of which a half agrees; else what most say in the widest."""
        last: tuple[Any, int, int, str] | None = None
        for circle, rows in self._circles:
            pairs = [(row["project"], value) for row in rows if (value := said(row)) is not None]
            found = _voted(pairs)
            if found is not None:
                last = (*found, circle)
                if 2 * found[1] >= found[2]:
                    break
        return last

    def _middle(self, column: str, of: str, holds: Callable[[Any], bool]) -> Counted:
        for circle, rows in self._circles:
            by_project: dict[str, list[float]] = {}
            for row in rows:
                if row[column] is not None and holds(row[column]):
                    by_project.setdefault(row["project"], []).append(row[column])
            if len(by_project) >= _LEAST:
                value = _low_median(_low_median(values) for values in by_project.values())
                return Counted(value, f"{of}: median of {len(by_project)} projects {circle}")
        return Counted(None, _NONE)


def _voted(pairs: Iterable[tuple[str, Any]]) -> tuple[Any, int, int] | None:
    """What most projects say, how many, and of how many. Each project has one vote: what it says most often."""
    by_project: dict[str, Counter[Any]] = {}
    for project, value in pairs:
        by_project.setdefault(project, Counter())[value] += 1
    if len(by_project) < _LEAST:
        return None
    votes = Counter(max(said, key=lambda value: (said[value], str(value))) for said in by_project.values())
    value = max(votes, key=lambda one: (votes[one], str(one)))
    return value, votes[value], len(by_project)


def _low_median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]


def _number(value: float) -> str:
    return f"{value:.1e}".replace("e-0", "e-").replace(".0e", "e")
