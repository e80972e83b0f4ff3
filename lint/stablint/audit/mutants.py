"""A hazard's conditions, bounds and operators, changed one at a time: its own examples must notice.

A mutant dies if one bad example is no longer found or one legal look-alike is. Members of lists are not mutated: they are facts with
sources, not logic.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stablint.engine.examples import example_options, legal, write
from stablint.engine.inspect import inspect
from stablint.hazard import model
from stablint.hazard.verdict import check
from stablint.run.world import Run

_OPPOSITE = {
    "is": "is-not", "is-not": "is", "in": "not-in", "not-in": "in", "is-set": "is-absent", "is-absent": "is-set",
    "multiple-of": "not-multiple-of", "not-multiple-of": "multiple-of",
}  # fmt: skip
_BOUND = {">": ">=", ">=": ">", "<": "<=", "<=": "<"}
_GROUPS = ("any", "all", "not")

Conditions = list[list[Any]]
Look = tuple[list[Run], bool]  # the runs of one text, and whether the hazard is to be found in them


def mutants(conditions: Conditions) -> Iterator[tuple[str, Conditions]]:
    """Each change with its name. The list itself is an `all`."""
    for place, condition in enumerate(conditions):
        rest = conditions[:place] + conditions[place + 1 :]
        if rest:
            yield f"without {_text(condition)}", rest
        for said, changed in _changed(condition):
            yield said, [*conditions[:place], changed, *conditions[place + 1 :]]


def _changed(condition: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    operator = condition[0]
    if operator in _GROUPS:
        inner = condition[1]
        if operator == "not":
            yield f"{_text(condition)} without not", ["all", inner]
        elif len(inner) > 1:
            yield f"{_text(condition)} with the other group", ["any" if operator == "all" else "all", inner]
        for said, changed in mutants(inner):
            yield said, [operator, changed]
        return
    if operator in _OPPOSITE:
        yield f"{_text(condition)} turned round", [_OPPOSITE[operator], *condition[1:]]
    if operator in _BOUND:
        yield f"{_text(condition)} with its bound on the other side", [_BOUND[operator], *condition[1:]]
    if operator in _BOUND and condition[2] == 1 and _is_number(condition[3]):
        for factor in (0.5, 2):
            if condition[3]:
                yield f"{_text(condition)} times {factor}", [*condition[:3], condition[3] * factor]
    if operator == "between" and all(map(_is_number, condition[3])):
        low, high = condition[3]
        yield f"{_text(condition)} from twice as much", [*condition[:3], [low * 2 or 1, high]]
        yield f"{_text(condition)} to half as much", [*condition[:3], [low, high / 2]]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(condition: list[Any]) -> str:
    if condition[0] in _GROUPS:
        return f"{condition[0]}({', '.join(_text(one) for one in condition[1])})"[:100]
    operand = "" if len(condition) < 4 or condition[3] is None else f" {condition[3]}"
    return f"`{condition[1]} {condition[0]}{operand}`"[:100]


def looks(hazard: model.Hazard, examples: list[dict[str, Any]], folder: Path) -> Iterator[Look]:
    for number, example in enumerate(examples):
        texts = [(example["files"], example.get("options"), True)]
        texts += [(files, given, False) for files, given in legal(example)]
        for place, (files, given, bad) in enumerate(texts):
            here = folder / f"{number}-{place}"
            write(files, str(here))
            yield list(inspect([str(here)], example_options(given), base=str(here), known=()).runs), bad


def dies(hazard: model.Hazard, conditions: Conditions, texts: list[Look]) -> bool:
    mutant = hazard._replace(when=copy.deepcopy(conditions), reads=[], keys=[])
    return any(any(check(run, (mutant,))[0] for run in runs) != bad for runs, bad in texts)
