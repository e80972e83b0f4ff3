"""Dimensions of a model of which only the number of parameters is known: what published models of about its size have.

A range, which what is said of the run carries on: the least and the most that any of them has of each dimension, and what lies in the middle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from stablint.base import knowledge
from stablint.memory.shape import Shape

_ENOUGH = 8  # models that a range is made of
# Times as large or as small as the model; no further, if there are not enough of them.
_NEAR, _WIDER, _FARTHEST = 1.2, 1.25, 8.0
_PLACES = (0.5, 0.05, 0.95)  # in the middle, and, of many, without the one in twenty that is farthest off at either end
_DIMENSIONS = ("layers", "hidden", "intermediate", "query", "key_value", "vocab", "heads", "kv_heads")
_ROUND = 100_000_000  # a number of parameters that a name states is rounded: 7b may have 6.7 or 7.6
_ROUNDED = 0.1


class Alike(NamedTuple):
    """A shape, its heads and its key-value heads."""

    shape: Shape
    heads: int
    groups: int


def alike(parameters: int, experts: bool, known: dict[str, Any]) -> list[Alike]:
    """In the middle, at the low end and at the high end; empty where no published model is of about this size. What is `known` of the dimensions stays."""
    rows = _near(parameters, experts)
    if not rows:
        return []
    off = _ROUNDED if parameters % _ROUND == 0 else 0.0
    shares = (1.0, 1.0 - off, 1.0 + off)
    return [_at(rows, place, round(parameters * share), known) for place, share in zip(_PLACES, shares, strict=True)]


def _near(parameters: int, experts: bool) -> list[dict[str, int]]:
    every, found = _published(experts), []
    factor = _NEAR
    while factor <= _FARTHEST:
        found = [row for row in every if parameters / factor <= row["parameters"] <= parameters * factor]
        if len(found) >= _ENOUGH:
            return found
        factor *= _WIDER
    return found


def _published(experts: bool) -> list[dict[str, int]]:
    rows = knowledge.load("models/published")["experts" if experts else "dense"]
    return [dict(zip(("parameters", *_DIMENSIONS), row, strict=True)) for row in rows]


def _at(rows: list[dict[str, int]], place: float, parameters: int, known: dict[str, Any]) -> Alike:
    """Of each dimension the one that stands at this place when all are in order."""
    at = round(place * (len(rows) - 1))
    x = {name: sorted(row[name] for row in rows)[at] for name in _DIMENSIONS} | known
    x["vocab"] = min(x["vocab"], parameters // (2 * x["hidden"]))
    tied = (
        4 * x["vocab"] * x["hidden"] > parameters
    )  # two matrices of words that would be more than half of the whole are one
    shape = Shape(
        parameters, x["layers"], x["hidden"], x["intermediate"], x["query"], x["key_value"], x["vocab"], tied,
    )  # fmt: skip
    return Alike(shape, x["heads"], x["kv_heads"])
