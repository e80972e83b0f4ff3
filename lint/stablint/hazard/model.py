"""Hazards as a check needs them, and what the checker finds."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from stablint import knowledge
from stablint.run.fact import Fact, Place
from stablint.run.world import Run, World


class Remedy(NamedTuple):
    title: str
    when: list[list[Any]]
    safety: str  # safe | unsafe | manual
    because: str
    set: dict[str, Any]
    unset: list[str]
    swap: list[list[str]]
    respell: list[str]


class Hazard(NamedTuple):
    """Conditions are compiled: [operator, fact, kind of operand, operand], or [group, [conditions]]."""

    id: str
    code: str
    severity: str
    bites_at: str
    when: list[list[Any]]
    message: str
    at: str
    remedies: tuple[Remedy, ...]
    evidence: dict[str, Any]
    versions: dict[str, str]
    each: tuple[re.Pattern[str], ...]
    yields_to: list[str]


class Finding(NamedTuple):
    """One hazard in one run. `world` is the newest one in which it holds."""

    hazard: Hazard
    run: Run
    world: World
    severity: str
    message: str
    place: Place
    fact: str  # the fact that the place states
    absent: bool
    facts: tuple[Fact, ...]  # what the verdict rests on, the deciding ones first
    remedy: Remedy | None
    releases: dict[str, str]
    notes: tuple[str, ...]
    item: str = ""  # the fact that `item` stands for


class Open(NamedTuple):
    """A hazard that may hold: what is known of it is true, and the rest could be supplied."""

    hazard: Hazard
    run: Run
    needs: tuple[str, ...]


def load() -> tuple[Hazard, ...]:
    return tuple(_hazard(row) for row in knowledge.load("core"))


def _hazard(row: dict[str, Any]) -> Hazard:
    remedies = tuple(Remedy(**remedy) for remedy in row["remedies"])
    each = tuple(re.compile(pattern) for pattern in row["each"])
    return Hazard(**{**row, "remedies": remedies, "each": each})
