"""No fact is worked out from itself, in no release: else what a run comes to would hang on which fact is asked for first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.base import knowledge
from stablint.engine.examples import example_options, write
from stablint.engine.inspect import inspect
from stablint.run import derived
from stablint.run.derived.registry import RULES
from stablint.run.fact import is_unknown
from stablint.run.world import World
from tests import grouped

SAMPLE = 12  # of so many examples one is tried by default; all of them under `-m slow`
EXAMPLES: dict[str, list[dict[str, Any]]] = knowledge.load("examples")
PREPROCESS = """model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
stage: sft
do_train: true
finetuning_type: lora
lora_target: all
dataset: identity
template: llama3
output_dir: saves
"""
CASES = [
    (name, each["files"], each.get("options"), f"{name}-{number}")
    for name, examples in sorted(EXAMPLES.items())
    for number, each in enumerate(examples)
]
CASES.append(("no precision", {"train.yaml": PREPROCESS}, {"gpu": "V100-32GB"}, "no precision"))


def category(name: str, *_: Any) -> str:
    return str(knowledge.rows("texts").get(name, {}).get("category", name))


@grouped.each(grouped.by(category, lambda *case: str(case[3]), CASES), SAMPLE)
def test_no_fact_is_worked_out_from_itself(
    hazard: str, files: dict[str, str], options: Any, name: str, tmp_path: Path
) -> None:
    write(files, str(tmp_path))
    for run in inspect([str(tmp_path)], example_options(options), base=str(tmp_path)).runs[:3]:
        newest = run.releases.newest_of_all()
        oldest = {library: min(run.releases.allowed(library), default=newest[library]) for library in newest}
        for choice in (newest, oldest):
            world = World(run, RULES, choice)
            for fact in RULES:
                value = world.value(fact)
                assert not is_unknown(value) or value.reason != "it depends on itself", fact


@pytest.mark.parametrize("path", sorted(Path(derived.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_what_is_said_is_asked_of_the_world(path: Path) -> None:
    """Of what a rule looks up in the run itself nothing is noted: its answer would be taken over by runs that say it."""
    assert "run.explicit" not in path.read_text(encoding="utf-8")
