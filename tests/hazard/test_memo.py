"""Judging many runs at once comes to the same as judging each of them alone."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

from stablint.hazard.checker import check
from stablint.hazard.memo import Memo
from stablint.hazard.model import Finding, Open, load
from stablint.run.world import Run
from tests.runs import Files, runs

RECIPE = "model_name_or_path: {model}\ndataset_name: trl-lib/Capybara\nlearning_rate: {rate}\nseed: {seed}\noutput_dir: out/{seed}\n{more}"
MODELS = ["Qwen/Qwen2-7B-Instruct", "facebook/opt-350m"]
MORE = ["fp16: true\n", "bf16: true\n", "use_peft: true\nlora_target_modules: [c_attn]\n", "warmup_ratio: 3\n"]


def test_what_is_remembered_changes_no_verdict(tmp_path: Path) -> None:
    """Seeds differ from run to run, models and faults come again and again."""
    files = {
        f"{number:02}.yaml": RECIPE.format(
            model=MODELS[number % 2], rate=("1.0e-5", "3.0e-3")[number % 3 == 0], seed=number, more=MORE[number % 4]
        )
        for number in range(40)
    }
    found = runs(tmp_path, files)
    assert len(found) == len(files)
    hazards, memo = load(), Memo()
    together = [[(f.hazard.id, f.message, f.severity) for f in check(run, hazards, memo)[0]] for run in found]
    alone = [[(f.hazard.id, f.message, f.severity) for f in check(run, hazards)[0]] for run in found]
    assert together == alone
    assert any(alone)


# The same settings, said in files of other kinds, twice, and with options that say more; each value comes again in other company.
COMMAND = (
    "torchrun train.py --model_name_or_path {model} --learning_rate {rate} --fp16 {half} --seed {seed} --output_dir o\n"
)
TWICE = "trl sft --config run.yaml --learning_rate {rate} --learning_rate {other} --seed {seed}\n"
SPLIT = '{{"train_micro_batch_size_per_gpu": {seed}, "fp16": {{"enabled": {json}}}, "zero_optimization": {{"stage": {stage}}}}}'
CALL = "from transformers import TrainingArguments\nargs = TrainingArguments('o', learning_rate={rate}, fp16={half}, seed={seed}, deepspeed='ds.json')\n"
SAID: list[dict[str, Any]] = [
    {},
    {"gpus": ["V100-32GB"]},
    {"gpus": ["A100-80GB x8"]},
    {"model": "google/gemma-2-9b-it"},
    {"model": "facebook/opt-350m"},
    {"sets": ["training.fp16=true"]},
    {"releases": ["transformers==4.44.2", "trl==0.9.6"]},
]


def shape(number: int, values: dict[str, Any]) -> Files:
    recipe = RECIPE.format(more=f"fp16: {values['json']}\n", **values)
    return [
        {"run.yaml": recipe},
        {"run.sh": COMMAND.format(**values)},
        {"run.yaml": recipe, "run.sh": TWICE.format(**values)},
        {"run.py": CALL.format(**values), "ds.json": SPLIT.format(**values)},
        {"ds.json": SPLIT.format(**values)},
    ][number]


def told(run: Run, found: tuple[list[Finding], list[Open]]) -> list[Any]:
    findings, undetermined = found
    rows: list[Any] = [(f.hazard.id, f.message, f.severity, f.place.start, f.fact) for f in findings]
    return rows + sorted((u.hazard.id, u.needs) for u in undetermined)


def test_a_run_is_not_taken_for_another_that_says_it_elsewhere_or_for_another_target(tmp_path: Path) -> None:
    dice = random.Random(11)
    found: list[Run] = []
    cases = list(itertools.product(range(5), range(len(SAID)), range(2)))
    for number, (kind, said, _) in enumerate(dice.sample(cases, len(cases))):
        half = dice.random() < 0.5
        values = {
            "model": dice.choice(MODELS), "rate": dice.choice(["1e-5", "3e-3"]), "other": dice.choice(["1e-5", "3e-3"]), "seed": number,
            "half": half, "json": str(half).lower(), "stage": dice.choice([0, 2, 3]),
        }  # fmt: skip
        found += runs(tmp_path / str(number), shape(kind, values), **SAID[said])
    assert len(found) >= len(cases)
    hazards, memo = load(), Memo()
    for run in found:
        assert told(run, check(run, hazards, memo)) == told(run, check(run, hazards)), run.id
