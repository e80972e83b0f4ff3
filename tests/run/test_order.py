"""No fact is worked out from itself, in no release: else what a run comes to would hang on which fact is asked for first."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

from stablint import knowledge
from stablint.house import told, write
from stablint.inspect import inspect
from stablint.run.derived import RULES
from stablint.run.fact import is_unknown
from stablint.run.world import World

SAMPLE = 12  # of so many hazards one is tried by default; all of them under `-m slow`
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
    pytest.param(
        each["files"],
        each.get("options"),
        id=f"{name}-{number}",
        marks=() if zlib.crc32(name.encode()) % SAMPLE == 0 else pytest.mark.slow,
    )
    for name, examples in sorted(EXAMPLES.items())
    for number, each in enumerate(examples)
]


@pytest.mark.parametrize(
    ("files", "options"), [*CASES, pytest.param({"train.yaml": PREPROCESS}, {"gpu": "V100-32GB"}, id="no precision")]
)
def test_no_fact_is_worked_out_from_itself(files: dict[str, str], options: Any, tmp_path: Path) -> None:
    write(files, str(tmp_path))
    for run in inspect([str(tmp_path)], told(options), base=str(tmp_path)).runs[:3]:
        newest = run.releases.newest_of_all()
        oldest = {library: min(run.releases.allowed(library), default=newest[library]) for library in newest}
        for choice in (newest, oldest):
            world = World(run, RULES, choice)
            for name in RULES:
                value = world.value(name)
                assert not is_unknown(value) or value.reason != "it depends on itself", name
