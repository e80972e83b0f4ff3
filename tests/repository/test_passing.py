# ruff: noqa: E501
"""Keys of a configuration that the program which reads it hands on under another name, or has a value of its own for."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.hazard.checked import Checked
from tests.runs import Files, inspected

FLAT = """model_name_or_path: Qwen/Qwen2.5-0.5B
output_dir: o
learning_rate: 1.0e-4
per_device_train_batch_size: 4
evaluation_strategy: steps
eval_steps: 100
warmup_steps: 50
max_steps: 50
lr_scheduler_type: cosine
"""
NESTED = "training:\n" + "".join(f"  {line}\n" for line in FLAT.splitlines()) + "lora:\n  r: 8\n  lora_alpha: 16\n"
HYDRA = """from hydra import compose, initialize
from trl import GRPOConfig


def build(cfg):
    return GRPOConfig(output_dir=cfg.training.output_dir, {})


with initialize(config_path="config"):
    cfg = compose(config_name="config")
"""
READS = """import yaml
from transformers import Trainer, TrainingArguments

cfg = yaml.safe_load(open("train.yaml"))
args = TrainingArguments(output_dir=cfg["output_dir"], learning_rate=cfg["learning_rate"], per_device_train_batch_size=cfg["per_device_train_batch_size"],
    max_steps=cfg["max_steps"], eval_steps=cfg["eval_steps"], eval_strategy="steps", {})
Trainer(model=cfg["model_name_or_path"], args=args, train_dataset=rows, eval_dataset=rows).train()
"""
IN_A_DICT = """import yaml
from transformers import Trainer, TrainingArguments

cfg = yaml.safe_load(open("train.yaml"))
given = {{"output_dir": cfg["output_dir"], "max_steps": cfg.get("max_steps", 9), "learning_rate": cfg["learning_rate"], "per_device_train_batch_size": cfg["per_device_train_batch_size"],
    "eval_strategy": "steps", "eval_steps": cfg["eval_steps"], {}}}
Trainer(model=cfg["model_name_or_path"], args=TrainingArguments(**given), train_dataset=rows, eval_dataset=rows).train()
"""

# The files, the setting, and whether something is told of it.
RENAMED: dict[str, tuple[Files, bool]] = {
    "hydra": ({"config/training/training.yaml": FLAT, "train.py": HYDRA.format("eval_strategy=cfg.training.evaluation_strategy")}, False),
    "by-another-module": ({"config/training/training.yaml": FLAT, "src/build.py": "def build(cfg):\n    return GRPOConfig(eval_strategy=cfg.training.evaluation_strategy)\n"}, False),
    "of-a-dict": ({"train.yaml": FLAT, "train.py": READS.format('eval_strategy=cfg["evaluation_strategy"]')}, False),
    "with-a-default": ({"train.yaml": FLAT, "train.py": READS.format('eval_strategy=cfg.get("evaluation_strategy", "no")')}, False),
    "in-a-dict": ({"train.yaml": FLAT, "train.py": IN_A_DICT.format('"eval_strategy": cfg["evaluation_strategy"]')}, False),
    "of-a-section": ({"config/training.yaml": NESTED, "src/build.py": 'def build(cfg):\n    return {"eval_strategy": cfg["training"]["evaluation_strategy"]}\n'}, False),
    "under-its-own-name": ({"config/training.yaml": FLAT, "src/build.py": "def build(cfg):\n    return GRPOConfig(evaluation_strategy=cfg.training.evaluation_strategy)\n"}, True),
    "another-key": ({"config/training.yaml": FLAT, "src/build.py": "def build(cfg):\n    return GRPOConfig(eval_strategy=cfg.training.eval_strategy)\n"}, True),
    "for-something-else": ({"config/training.yaml": FLAT, "src/build.py": "def build(cfg):\n    return own(when=cfg.training.evaluation_strategy)\n"}, True),
    "nobody-reads-it": ({"config/training.yaml": FLAT}, True),
}  # fmt: skip
BROKEN = READS.replace("cfg = ", "with nothing():\ncfg = ")
REPLACED: dict[str, tuple[Files, bool]] = {
    "a-value-of-its-own": ({"train.yaml": FLAT, "train.py": READS.format("warmup_steps=int(50 * 0.1)")}, False),
    "in-a-dict": ({"train.yaml": FLAT, "train.py": IN_A_DICT.format('"warmup_steps": int(50 * 0.1)')}, False),
    "of-a-program-that-does-not-parse": ({"train.yaml": FLAT, "train.py": BROKEN.format("warmup_steps=int(50 * 0.1)")}, False),
    "the-key-itself": ({"train.yaml": FLAT, "train.py": READS.format('warmup_steps=cfg["warmup_steps"]')}, True),
    "the-key-in-a-dict": ({"train.yaml": FLAT, "train.py": IN_A_DICT.format('"warmup_steps": cfg.get("warmup_steps", 0)')}, True),
    "read-before": ({"train.yaml": FLAT, "train.py": 'warm = None\n' + READS.replace("args =", 'warmup_steps = cfg["warmup_steps"]\nargs =').format("warmup_steps=warmup_steps")}, True),
    "nobody-reads-it": ({"train.yaml": FLAT}, True),
}  # fmt: skip


@pytest.mark.parametrize("name", RENAMED)
def test_a_key_that_is_handed_on_under_its_new_name_is_the_program_s(name: str, tmp_path: Path) -> None:
    files, told = RENAMED[name]
    found = inspected(tmp_path, files, releases=["transformers==4.57.6"]).report.diagnostics
    assert (
        any(d.code == "V101" and d.severity != "info" and d.text and d.text.path.endswith(".yaml") for d in found)
        is told
    )


@pytest.mark.parametrize("name", REPLACED)
def test_a_key_that_the_program_has_its_own_value_for_is_no_setting(name: str, tmp_path: Path) -> None:
    files, read = REPLACED[name]
    (run,) = [one for one in inspected(tmp_path, files).runs if one.anchor.document.text.path.endswith(".yaml")]
    world = Checked(run).newest
    assert world.value("training.max_steps") == 50
    assert (world.value("training.warmup_steps") == 50) is read
