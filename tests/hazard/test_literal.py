"""A compiled condition on one fact comes to the same as the condition itself, for every value that a fact may have."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from stablint.hazard import literal
from stablint.hazard.condition import evaluate
from stablint.hazard.model import load
from stablint.hazard.plan import only_fact
from stablint.run.derived.registry import RULES
from stablint.run.fact import ABSENT, HIDDEN, Fact, Statement
from stablint.run.world import World
from stablint.syntax.tree import Unknown
from tests.runs import runs

VALUES: list[Any] = [
    ABSENT, Unknown("a call"), Unknown("a call", there=True), None, True, False, 0, 1, 2, -1, 1.0, 0.5, 1e-5, float("inf"), float("nan"), 1e400, "", "auto",
    "True", "1", "no", "4.46", "lora", HIDDEN, [], [1], [True], ["auto", Unknown("a call")], {"a": 1},
]  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder: Path = tmp_path_factory.mktemp("run")
    (run,) = runs(folder, {"run.yaml": "model_name_or_path: m/m\nlearning_rate: 1.0e-4\noutput_dir: o\nfp16: true\n"})
    return World(run, RULES, run.releases.newest_of_all())


def literals(condition: list[Any]) -> list[Any]:
    """Its operands, and what stands close to them."""
    if condition[0] in ("any", "all", "not"):
        return [value for inner in condition[1] for value in literals(inner)]
    operand = condition[3]
    found = [operand, *operand] if isinstance(operand, list) else [operand]
    near = [value + step for value in found if type(value) in (int, float) for step in (-1, 1)]
    return [value for value in [*found, *near] if not isinstance(value, list) or condition[2] == 1]


def test_a_compiled_condition_says_what_the_condition_says(world: World) -> None:
    seen = set()
    for hazard in load():
        for condition in hazard.when:
            name = only_fact(condition)
            if name is None or name.startswith("item") or repr(condition) in seen:
                continue
            seen.add(repr(condition))
            test = literal.compiled(condition)
            for value, stated in itertools.product([*VALUES, *literals(condition)], (False, True)):
                origin = world.run.explicit["training.learning_rate"].origin
                sources = (Statement(name, value, value, origin),) if stated else ()
                fact = world.facts[name] = Fact(name, value, origin if stated else None, sources)
                assert test(fact, world) is evaluate(condition, world), (condition, value, stated)
            del world.facts[name]
    assert len(seen) > 300
