"""Judging many runs at once comes to the same as judging each of them alone."""

from __future__ import annotations

from pathlib import Path

from stablint.hazard.checker import check
from stablint.hazard.memo import Memo
from stablint.hazard.model import load
from tests.runs import runs

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
