"""A guess makes a warning at most, and repairs nothing by itself: presumption goes from a fact through what is derived of it to the finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stablint.base import knowledge
from stablint.engine.examples import example_options, write
from stablint.engine.inspect import inspect
from stablint.fix.change import propose
from stablint.hazard import model
from stablint.hazard.condition import deciding
from stablint.hazard.model import Finding
from stablint.hazard.verdict import check
from stablint.run.fact import Derived, Explicit
from stablint.run.world import Run, leaves
from stablint.syntax.limits import REREAD, Purse
from tests.grouped import by, each
from tests.runs import world

EXAMPLES: dict[str, list[dict[str, Any]]] = knowledge.load("examples")
HAZARDS = [hazard for hazard in model.load() if hazard.severity == "error"]
SAMPLE = 11  # of so many examples one is tried by default; all of them under `-m slow`
OF_ONE_FILE = ("deepspeed-file", "accelerate-file")  # what such a file says by itself holds for any run that reads it


class Case(NamedTuple):
    hazard: model.Hazard
    number: int

    def __str__(self) -> str:
        return f"{self.hazard.id}-{self.number}"


CASES = [Case(hazard, number) for hazard in HAZARDS for number in range(len(EXAMPLES[hazard.id]))]
sampled = each(by(lambda case: case.hazard.id, str, CASES), SAMPLE)


def found(run: Run, hazard: model.Hazard, item: str) -> list[Finding]:
    return [finding for finding in check(run, (hazard,))[0] if finding.item == item]


def decided_by(finding: Finding) -> set[str]:
    """The settings at the end of what made it true."""
    names = [name for name in deciding(finding.hazard.when, finding.world) if not name.startswith("item")]
    names += [finding.item] if finding.item else []
    return {leaf.name for name in names for leaf in leaves(finding.world, name)}


def as_presumed(run: Run, name: str) -> Run:
    """The run in which the setting is a guess, and what the model is by its name with it."""
    nature = {n: f._replace(presumed=True) for n, f in run.supplied.items() if isinstance(f.origin, Derived)}
    supplied = {**run.supplied, **nature} if name == "model.name_or_path" else run.supplied
    return run._replace(explicit={**run.explicit, name: run.explicit[name]._replace(presumed=True)}, supplied=supplied)


@sampled
def test_what_is_presumed_makes_no_error_and_no_safe_repair(case: Case, tmp_path: Path) -> None:
    example = EXAMPLES[case.hazard.id][case.number]
    write(example["files"], str(tmp_path))
    runs = inspect([str(tmp_path)], example_options(example.get("options")), base=str(tmp_path)).runs
    tried = 0
    for run in runs:
        for finding in check(run, (case.hazard,))[0]:
            for name in decided_by(finding):
                fact = run.explicit[name]
                if isinstance(fact.origin, Explicit) and fact.origin.layer in OF_ONE_FILE:
                    continue
                tried += 1
                presumed = as_presumed(run, name)
                for guess in found(presumed, case.hazard, finding.item):
                    assert guess.severity != "error", name
                    fix = propose(guess, Purse(REREAD))
                    assert fix is None or fix.applicability != "safe" or not fix.files, name
    if not tried:
        pytest.skip("one file of DeepSpeed or accelerate says it all, or no setting does")


FLAGS = "train.py --model_name_or_path Qwen/Qwen3-8B --learning_rate 1e-6 --per_device_train_batch_size 4 --output_dir o {}\n"
# One flag that some class of TRL has may be anybody's; two of the same class are its.
SHARED = [
    ("--max_target_length 128", False),
    ("--label_smoothing 0.1", False),
    ("--max_target_length 128 --label_smoothing 0.1", False),
    ("--scale_rewards True --num_generations 8", True),
]


@pytest.mark.parametrize(("flags", "proven"), SHARED)
def test_one_shared_flag_proves_no_class(flags: str, proven: bool, tmp_path: Path) -> None:
    run = world(tmp_path, {"run.sh": "python " + FLAGS.format(flags)})
    assert isinstance(run.value("derived.config_class"), str) is proven
    assert isinstance(run.value("derived.objective"), str) is proven
    assert run.fact("derived.framework").presumed
