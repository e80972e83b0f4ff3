"""What counted recipes have: how many of those with a run's objective and method set something, and what they set."""

from __future__ import annotations

from statistics import median
from typing import Any, NamedTuple

from stablint.advising.model import Advice
from stablint.base import knowledge
from stablint.run.world import World

_SHARE = 0.8  # of the recipes; and most of theirs in more than half of the projects: one with many files is no majority
_PROJECTS = 3


class Count(NamedTuple):
    having: int  # recipes with a value above 0
    of: int
    projects: int
    median: float  # of the shares of the run; warm-up in steps is not comparable


def counted(world: World, column: str, least: int) -> Count | None:
    """None where too few recipes are like the run, or too few of them agree."""
    wanted = (world.value("derived.objective"), world.value("derived.method"))
    table = knowledge.load("recipes")
    at = {name: number for number, name in enumerate(table["columns"])}
    found = [row for row in table["rows"] if (row[at["objective"]], row[at["method"]]) == wanted]
    having = [row for row in found if (row[at[column]] or 0) > 0]
    by_project: dict[str, list[bool]] = {}
    for row in found:
        by_project.setdefault(row[at["project"]], []).append((row[at[column]] or 0) > 0)
    if len(found) < least or len(by_project) < _PROJECTS or len(having) < _SHARE * len(found):
        return None
    if 2 * sum(2 * sum(one) > len(one) for one in by_project.values()) <= len(by_project):
        return None
    shares = [row[at[column]] for row in having if column != "warmup" or row[at[column]] < 1]
    return Count(len(having), len(found), len(by_project), median(shares)) if shares else None


def with_count(advice: Advice, count: Count) -> Advice:
    """The advice with what was counted in its words and values."""
    words = {f"{{recipes.{name}}}": value for name, value in count._asdict().items()}

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(one) for key, one in value.items()}
        if isinstance(value, list):
            return [filled(one) for one in value]
        if not isinstance(value, str):
            return value
        if value in words:
            return words[value]
        for word, number in words.items():
            value = value.replace(word, f"{number:g}")
        return value

    return advice._replace(
        hazard=advice.hazard._replace(own=filled(advice.hazard.own)), why=filled(advice.why),
        effect=advice.effect._replace(words=filled(advice.effect.words)),
    )  # fmt: skip
