"""`item`: one stated setting, seen against the config class that reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.hazard.checked import Checked
from stablint.hazard.item import ItemWorld
from tests.runs import Files, runs

TRAINING = "from transformers import TrainingArguments\nargs = TrainingArguments('out', {})\n"

LLAMAFACTORY: Files = {
    "run.yaml": "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: lora\ntemplate: qwen3\noverwrite_output_dir: true\n"
}


def item(folder: Path, files: Files, name: str, *stated: str) -> ItemWorld:
    (run,) = runs(folder, files, releases=stated)
    return ItemWorld(Checked(run).newest, name)


def call(argument: str) -> Files:
    return {"train.py": TRAINING.format(argument)}


# Files, fact, releases, is the key unknown there.
KEYS: list[tuple[Files, str, list[str], bool | None]] = [
    (call("learning_rate=1e-5"), "training.learning_rate", [], False),
    (call("no_such_thing=1"), "training.no_such_thing", [], True),
    (call("overwrite_output_dir=True"), "training.overwrite_output_dir", ["transformers==4.57.6"], False),
    (call("overwrite_output_dir=True"), "training.overwrite_output_dir", ["transformers==5.23.0"], True),
    ({"ds.json": '{"zero_optimization": {"stage": 3, "max_live_parameters": 1}}'}, "deepspeed.zero_optimization.stage3_max_live_parameters", [], False),
    ({"ds.json": '{"zero_optimization": {"stage": 3, "max_live_params": 1}}'}, "deepspeed.zero_optimization.max_live_params", [], True),
    # an argument of the framework's own, from its release 0.9.4 on
    (LLAMAFACTORY, "training.overwrite_output_dir", ["transformers==5.8.0"], False),
    (LLAMAFACTORY, "training.overwrite_output_dir", ["transformers==5.8.0", "llamafactory==0.9.3"], True),
    # what is assigned afterwards, no constructor sees
    ({"train.py": "from peft import ShiraConfig\nconfig = ShiraConfig(r=8)\nconfig.mask_fn = own\n"}, "lora.mask_fn", [], False),
    # a script's own flag may bear any name
    ({"a.sh": "python train.py --output_dir o --learning_rate 1e-5 --max_seq_length 512 --bf16\n"}, "training.max_length", ["trl==1.16.0"], None),
]  # fmt: skip


@pytest.mark.parametrize(("files", "name", "stated", "unknown"), KEYS)
def test_is_the_key_one_of_its_class(
    files: Files, name: str, stated: list[str], unknown: bool | None, tmp_path: Path
) -> None:
    assert item(tmp_path, files, name, *stated).item_unknown() is unknown


WORDS: list[tuple[str, str, list[str], str, Any]] = [
    ("evaluation_strategy='no'", "training.eval_strategy", ["transformers==5.23.0"], "renamed_to", "eval_strategy"),
    ("evaluation_strategy='no'", "training.eval_strategy", ["transformers==4.40.2"], "renamed_to", None),
    ("learning_rte=1e-5", "training.learning_rte", [], "suggestion", "learning_rate"),
    ("qqqqqq=1", "training.qqqqqq", [], "suggestion", None),
    ("max_steps='10'", "training.max_steps", [], "type", "int"),
    ("seed=1", "training.seed", [], "default", 42),
    ("seed=1", "training.seed", [], "key", "seed"),
    ("seed=1", "training.seed", [], "layer", "call"),
]


@pytest.mark.parametrize(("argument", "name", "stated", "word", "expected"), WORDS)
def test_what_is_said_of_it(
    argument: str, name: str, stated: list[str], word: str, expected: Any, tmp_path: Path
) -> None:
    assert item(tmp_path, call(argument), name, *stated).value(f"item.{word}") == expected


def test_everything_else_is_asked_of_the_run(tmp_path: Path) -> None:
    seen = item(tmp_path, call("seed=7, fp16=True"), "training.seed")
    assert seen.value("item") == 7
    assert seen.value("derived.compute_dtype") == "float16"
