"""An error must be true of every run that looks like this: a file that a command hands to a program which is not seen to give it to a library
makes no error, whatever framework its keys look like, but for what is wrong with the text itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.base import knowledge
from stablint.engine.examples import example_options, write
from stablint.engine.inspect import inspect
from stablint.hazard import model
from tests.runs import inspected
from tests.sampling import sampled

EXAMPLES: dict[str, list[dict[str, Any]]] = knowledge.load("examples")
SAMPLE = 3  # of so many hazards one is tried by default; all of them under `-m slow`
KEYED = (".yaml", ".yml", ".json")
# Files that a library reads whoever names them.
OF_A_LIBRARY = frozenset({"deepspeed", "accelerate", "fsdp", "peft", "model"})
PROGRAM = """import sys
from elsewhere import load, fit
fit(load(sys.argv[1]))
"""
CASES = [
    (hazard, example)
    for hazard in model.load()
    if hazard.severity == "error" and not hazard.at.startswith("file.")
    for example in EXAMPLES[hazard.id][:1]
    if len(example["files"]) == 1 and next(iter(example["files"])).endswith(KEYED)
]


def errors(files: dict[str, str], options: Any, folder: Path) -> set[str]:
    write({**files, ".git/HEAD": ""}, str(folder))
    found = inspect([str(folder)], example_options(options), base=str(folder)).findings
    return {one.hazard.code for one in found if one.severity == "error" and OF_A_LIBRARY.isdisjoint(one.run.dialects)}


@pytest.mark.parametrize("program", [{}, {"own.py": PROGRAM}], ids=["not at hand", "at hand"])
@pytest.mark.parametrize(
    ("hazard", "example"),
    sampled(CASES, SAMPLE, lambda case: case[0].id),
)
def test_a_file_that_a_program_of_one_s_own_is_handed_makes_no_error(
    hazard: model.Hazard, example: dict[str, Any], program: dict[str, str], tmp_path: Path
) -> None:
    name = next(iter(example["files"]))
    handed = {**example["files"], "job.sh": f"#!/bin/bash\n#SBATCH --gres=gpu:1\npython own.py {name}\n", **program}
    assert hazard.code not in errors(handed, example.get("options"), tmp_path)


RECIPE = """model_name_or_path: Qwen/Qwen3-0.6B
dataset_name: a/b
output_dir: o
bf16: true
use_peft: false
num_generations: 1
max_completion_length: 64
eval_strategy: steps
per_device_eval_batch_size: 64
"""
OWN_CLASS = """from dataclasses import dataclass
from transformers import TrainingArguments
@dataclass
class OwnArguments(TrainingArguments):
    num_generations: int = 8
    num_eval_generations: int = 1
    max_completion_length: int = 256
"""
PARSES_IT = """from trl import TrlParser
from arguments import OwnArguments
from own_trainer import OwnTrainer
(args,) = TrlParser((OwnArguments,)).parse_args_and_config()
OwnTrainer(args=args).train()
"""
PARSES_TRLS = """from trl import GRPOConfig, GRPOTrainer, TrlParser
(args,) = TrlParser((GRPOConfig,)).parse_args_and_config()
GRPOTrainer(args=args, model="a/b", reward_funcs=len).train()
"""
LAUNCH = "accelerate launch --num_processes 1 train.py --config t.yaml\n"


@pytest.mark.parametrize(
    ("program", "refused"),
    [({"train.py": PARSES_IT, "arguments.py": OWN_CLASS}, False), ({"train.py": PARSES_TRLS}, True)],
    ids=["arguments of one's own", "the library's"],
)
def test_what_trl_refuses_is_an_error_where_the_program_gives_it_to_trl(
    program: dict[str, str], refused: bool, tmp_path: Path
) -> None:
    found = inspected(tmp_path, {"t.yaml": RECIPE, "run.sh": LAUNCH, "requirements.txt": "trl==1.16.0\n", **program})
    told_of = {one.hazard.code for one in found.findings if one.severity == "error"}
    assert ("R101" in told_of) is refused
