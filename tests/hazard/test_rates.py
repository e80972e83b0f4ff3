"""Learning rates are judged by what is trained, to what end and by which method; what nobody states is a hint at most, and repairs nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from stablint.config.options import options
from stablint.engine.inspect import inspect
from stablint.engine.repair import repair
from tests.runs import Files, written

RATES = (
    "-rate-above-recipes",
    "rate-below-recipes",
    "-rate-above-recipes-small",
    "rate-high-for-large-model",
    "rate-without-band",
    "adapter-rate-above-published",
)
ARGUMENTS = {"model_name_or_path": "Qwen/Qwen2.5-7B", "output_dir": "out", "per_device_train_batch_size": 1}
ADAPTER = """\
from peft import {kind}, get_peft_model
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B", dtype="bfloat16")
model = get_peft_model(model, {kind}(task_type="CAUSAL_LM"))
SFTTrainer(model=model, args=SFTConfig(output_dir="out", learning_rate={rate}), train_dataset=data).train()
"""


def given(**more: object) -> Files:
    return {"args.json": json.dumps(ARGUMENTS | more, indent=1) + "\n"}


class Case(NamedTuple):
    files: Files
    loudest: str  # of what is said of the rate; empty for nothing


CASES = {
    "nobody says what for, far too low for supervised training": Case(given(learning_rate=1e-7), ""),
    "nobody says what for, far too high for it": Case(given(learning_rate=3e-4, train_mode="full"), "info"),
    "settings of preference training, and no word of it": Case(given(learning_rate=5e-7, beta=0.1, max_prompt_length=300), ""),
    "a program's own word for it": Case(given(learning_rate=5e-7, task_type="dpo"), ""),
    "the same, too high": Case(given(learning_rate=1e-3, task_type="dpo", train_mode="full"), "warning"),
    "plain text in blocks": Case(given(learning_rate=3e-4, block_size=4096), ""),
    "only the projector": Case(
        {"run.sh": "deepspeed train.py --model_name_or_path Qwen/Qwen2.5-7B --vision_tower siglip --mm_projector_type mlp2x_gelu --lazy_preprocess True "
                   '--mm_tunable_parts="mm_mlp_adapter" --learning_rate 1e-3 --output_dir out --data_path d\n'}, ""),
    "LoRA": Case({"train.py": ADAPTER.format(kind="LoraConfig", rate=5e-3)}, "warning"),
    "LoRA far beyond every objective": Case(given(learning_rate=5e-3, use_peft=True), "warning"),
    "VeRA": Case({"train.py": ADAPTER.format(kind="VeraConfig", rate=4e-3)}, ""),
    "VeRA at PEFT's own rate for it": Case({"train.py": ADAPTER.format(kind="VeraConfig", rate=2e-2)}, ""),
    "VeRA, a slip of two digits": Case({"train.py": ADAPTER.format(kind="VeraConfig", rate=2.0)}, "warning"),
    "OFT at a rate for VeRA": Case({"train.py": ADAPTER.format(kind="OFTConfig", rate=4e-3)}, "warning"),
    "LoRA at a rate of full fine-tuning": Case({"train.py": ADAPTER.format(kind="LoraConfig", rate=1e-5)}, "info"),
    "(IA)3": Case({"train.py": ADAPTER.format(kind="IA3Config", rate=8e-3)}, ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_rate_is_judged_by_what_is_known_of_the_run(case: Case, tmp_path: Path) -> None:
    base = written(tmp_path, case.files)
    found = [d for d in inspect([base], options(), base=base).report.diagnostics if d.rule.endswith(RATES)]
    assert [d.severity for d in found] == ([case.loudest] if case.loudest else [])


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.loudest != "warning"], ids=str)
def test_no_rate_is_rewritten_on_a_guess(case: Case, tmp_path: Path) -> None:
    base = written(tmp_path, case.files)
    for text in repair([base], options(), unsafe=True, base=base).texts.values():
        rates = [line for line in text.text.splitlines() if "learning_rate" in line]
        assert rates == [line for line in case.files[text.name].splitlines() if "learning_rate" in line]


COMMAND = (
    "trl {goal} --model_name_or_path Qwen/Qwen2.5-7B --dataset_name org/data --output_dir out --learning_rate {rate}\n"
)
MEDIANS = [("sft", "3e-4", "2e-05"), ("dpo", "1e-3", "1e-06"), ("kto", "1e-4", "1e-06"), ("grpo", "1e-4", "1e-06")]


@pytest.mark.parametrize(("goal", "rate", "median"), MEDIANS)
def test_a_high_rate_becomes_the_median_of_what_was_counted(goal: str, rate: str, median: str, tmp_path: Path) -> None:
    base = written(tmp_path, {"run.sh": COMMAND.format(goal=goal, rate=rate)})
    (text,) = repair([base], options(), unsafe=True, base=base).texts.values()
    assert f"--learning_rate {median}" in text.text
