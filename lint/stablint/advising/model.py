"""Advices as they are evaluated, and what becomes of one in a run."""

from __future__ import annotations

from typing import Any, NamedTuple

from stablint.base import knowledge
from stablint.hazard.model import Hazard, from_row
from stablint.report.model import FileEdits

GAINS = ("stability", "memory", "speed")
MOST = 7  # that are told of a run


class Effect(NamedTuple):
    words: str
    peak: str  # falls | fits | empty
    short: bool  # only where memory is short
    evaluates: str  # the fact that says how many rows an evaluation takes at a time
    keeps: list[str]
    shows: list[str]


class Advice(NamedTuple):
    """`hazard` has its conditions, place, edits and evidence, and is evaluated like one."""

    hazard: Hazard
    gain: str
    why: str
    not_when: str
    recipes: dict[str, Any] | None
    effect: Effect


class Proposal(NamedTuple):
    """One improvement of one run. Sizes are in GiB."""

    id: str
    gain: str  # stability | memory | speed
    title: str
    why: str
    facts: dict[str, Any]  # ABSENT where a setting is taken out
    files: tuple[FileEdits, ...]  # empty where the text cannot take it
    by_hand: str  # why not
    effect: str
    peak: tuple[float, float] | None  # usual, before and afterwards
    verdict: str | None  # of `fit`, afterwards
    grade: str
    sources: tuple[str, ...]
    not_when: str


_loaded: list[tuple[Advice, ...]] = []


def load() -> tuple[Advice, ...]:
    """The advices of the knowledge, read once a process."""
    if not _loaded:
        _loaded.append(tuple(map(_advice, knowledge.load("advice"))))
    return _loaded[0]


def _advice(row: dict[str, Any]) -> Advice:
    return Advice(
        from_row(row["hazard"]), row["gain"], row["why"], row["not_when"], row["recipes"], Effect(**row["effect"])
    )
