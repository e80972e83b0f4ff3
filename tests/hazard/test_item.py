"""`item`: one stated setting, seen against the config class that reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.hazard.checked import Checked
from stablint.hazard.setting_subject import SettingSubject
from tests.runs import Files, runs

TRAINING = "from transformers import TrainingArguments\nargs = TrainingArguments('out', {})\n"

ACCELERATE: Files = {
    "a.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config: {zero_stage: 2}\n"
}
ADAPTER: Files = {
    "adapter_config.json": '{"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 8, "target_modules": ["q_proj"], "no_such": 1, "_own": 2}'
}
# Unsloth adds fields to TRL's classes.
UNSLOTH = (
    "from unsloth import FastLanguageModel\nfrom trl import GRPOConfig, GRPOTrainer\n"
    "model, tokenizer = FastLanguageModel.from_pretrained('unsloth/Qwen3-4B')\nargs = GRPOConfig('out', {})\nGRPOTrainer(model=model, args=args)\n"
)
TRL = "from trl import GRPOConfig, GRPOTrainer\nargs = GRPOConfig('out', {})\nGRPOTrainer(model='m', args=args)\n"
LLAMAFACTORY: Files = {
    "run.yaml": "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: lora\ntemplate: qwen3\noverwrite_output_dir: true\n"
}


def item(folder: Path, files: Files, name: str, *stated: str) -> SettingSubject:
    (run,) = runs(folder, files, releases=stated)
    return SettingSubject(Checked(run).newest, name)


OLD_PPO = "from trl import PPOConfig\nconfig = PPOConfig(learning_rate=1e-5, ppo_epochs=4, batch_size=8)\n"


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
    # DeepSpeed's file written into the call is read as the file is; accelerate's words for it are accelerate's
    (call("deepspeed={'zero_optimization': {'stage': 3, 'no_such': 1}}"), "deepspeed.zero_optimization.no_such", [], True),
    (call("deepspeed={'zero_optimization': {'stage': 3}}"), "deepspeed.zero_optimization.stage", [], False),
    (ACCELERATE, "deepspeed.zero_optimization.stage", [], False),
    # an argument of the framework's own, from its release 0.9.4 on
    (LLAMAFACTORY, "training.overwrite_output_dir", ["transformers==5.8.0"], False),
    (LLAMAFACTORY, "training.overwrite_output_dir", ["transformers==5.8.0", "llamafactory==0.9.3"], True),
    # what is assigned afterwards, no constructor sees
    ({"train.py": "from peft import ShiraConfig\nconfig = ShiraConfig(r=8)\nconfig.mask_fn = own\n"}, "lora.mask_fn", [], False),
    # PEFT reads its own file key by key; what begins with a line is its own remark
    (ADAPTER, "lora.no_such", [], True),
    (ADAPTER, "lora._own", [], False),
    ({"train.py": UNSLOTH.format("vllm_sampling_params=p")}, "training.vllm_sampling_params", [], False),
    ({"train.py": UNSLOTH.format("no_such_thing=1")}, "training.no_such_thing", [], True),
    ({"train.py": TRL.format("vllm_sampling_params=p")}, "training.vllm_sampling_params", [], True),
    # what the class itself gave up it has from the one that it extends by then
    ({"train.py": OLD_PPO}, "training.learning_rate", ["trl==0.13.0"], False),
    ({"train.py": OLD_PPO}, "training.ppo_epochs", ["trl==0.13.0"], True),
    ({"train.py": OLD_PPO}, "training.ppo_epochs", ["trl==0.11.0"], False),
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
    ("weight_decay=0", "training.weight_decay", [], "type", "float"),
    ("lr_scheduler_type='a'", "training.lr_scheduler_type", [], "type", None),  # no plain one
    ("fsdp='full_shard'", "training.fsdp", ["transformers==4.40.2"], "type", None),  # one of several
    (
        "evaluation_strategy='no'",
        "training.eval_strategy",
        ["transformers==5.23.0"],
        "removed_in",
        "4.51.3 at the latest",
    ),
    (
        "evaluation_strategy='no'",
        "training.eval_strategy",
        ["transformers==5.23.0"],
        "deprecated_in",
        "4.41.2 at the latest",
    ),
    ("evaluation_strategy='no'", "training.eval_strategy", ["transformers==4.40.2"], "removed_in", None),
    ("overwrite_output_dir=True", "training.overwrite_output_dir", ["transformers==5.23.0"], "removed_in", "5.0.0"),
    ("overwrite_output_dir=True", "training.overwrite_output_dir", ["transformers==4.57.6"], "removed_in", None),
    ("overwrite_output_dir=True", "training.overwrite_output_dir", ["transformers==5.23.0"], "deprecated_in", None),
    (
        "group_by_length=True",
        "training.group_by_length",
        ["transformers==5.23.0"],
        "renamed_to",
        None,
    ),  # to other values
    (
        "group_by_length=True",
        "training.group_by_length",
        ["transformers==5.23.0"],
        "moved_to",
        "train_sampling_strategy",
    ),
    ("learning_rte=1e-5", "training.learning_rte", [], "correction", "learning_rate"),
    ("lr_scheduler_type='cosin'", "training.lr_scheduler_type", [], "meant", "cosine"),
    ("lr_scheduler_type='none'", "training.lr_scheduler_type", [], "meant", None),
    ("seed=1", "training.seed", [], "library", "transformers"),
    ("seed='1'", "training.seed", [], "raw", "1"),
    ("seed=1", "training.seed", [], "key", "seed"),
    ("seed=1", "training.seed", [], "layer", "call"),
]


@pytest.mark.parametrize(("argument", "name", "stated", "word", "expected"), WORDS)
def test_what_is_said_of_it(
    argument: str, name: str, stated: list[str], word: str, expected: Any, tmp_path: Path
) -> None:
    assert item(tmp_path, call(argument), name, *stated).value(f"item.{word}") == expected


MOVED = [  # an argument of the trainer, the release, what it is called there: in the config, and where it is renamed or gone there as well
    ("SFT", "max_seq_length=512", "1.16.0", "moved_to", "SFTConfig.max_length"),
    ("SFT", "max_seq_length=512", "0.15.2", "moved_to", "SFTConfig.max_seq_length"),
    ("SFT", "dataset_batch_size=8", "1.16.0", "moved_to", None),
    ("DPO", "padding_value=0", "1.16.0", "moved_to", "DPOConfig.pad_token"),
    ("DPO", "reference_free=True", "0.19.1", "moved_to", "DPOConfig.reference_free"),
    ("DPO", "reference_free=True", "1.16.0", "moved_to", None),
    ("DPO", "reference_free=True", "1.16.0", "removed_in", "0.13.0"),
    ("ORPO", "tokenizer=t", "0.15.2", "renamed_to", "processing_class"),
    ("CPO", "tokenizer=t", "0.15.2", "renamed_to", "processing_class"),
    ("KTO", "tokenizer=t", "0.14.0", "removed_in", "0.14.0"),
    ("BCO", "tokenizer=t", "0.15.2", "renamed_to", "processing_class"),
    ("ORPO", "tokenizer=t", "0.11.4", "renamed_to", None),
]


@pytest.mark.parametrize(("kind", "argument", "release", "word", "expected"), MOVED)
def test_what_a_trainers_argument_is_called_in_a_release(
    kind: str, argument: str, release: str, word: str, expected: Any, tmp_path: Path
) -> None:
    text = f"from trl import {kind}Config, {kind}Trainer\n\nt = make()\n{kind}Trainer(model=m, args={kind}Config(output_dir='o'), {argument})\n"
    found = item(tmp_path, {"train.py": text}, f"trainer.{argument.partition('=')[0]}", f"trl=={release}")
    assert found.value(f"item.{word}") == expected


RATIO: Files = {
    "ds.json": '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 3}}, "bf16": {"enabled": true}}'
}


def test_bounds_are_those_of_the_field(tmp_path: Path) -> None:
    ratio = item(tmp_path, RATIO, "deepspeed.zero_optimization.offload_optimizer.ratio")
    words = ("minimum", "maximum", "above", "below")
    assert [ratio.value(f"item.{word}") for word in words] == [0.0, 1.0, None, None]
    zenflow: Files = {
        "ds.json": '{"zero_optimization": {"stage": 2, "zenflow": {"topk_ratio": 2}}, "bf16": {"enabled": true}}'
    }
    share = item(tmp_path / "zenflow", zenflow, "deepspeed.zero_optimization.zenflow.topk_ratio")
    assert [share.value(f"item.{word}") for word in words] == [None, None, 0.0, 1.0]


def test_an_unknown_key_draws_a_remark_only_where_one_name_is_clearly_nearest(tmp_path: Path) -> None:
    near = item(tmp_path / "near", call("learning_rte=1e-5"), "training.learning_rte").value("item.hint")
    assert "learning_rate" in near
    assert item(tmp_path / "far", call("qqqqqq=1"), "training.qqqqqq").value("item.hint") == ""


def test_everything_else_is_asked_of_the_run(tmp_path: Path) -> None:
    seen = item(tmp_path, call("seed=7, fp16=True"), "training.seed")
    assert seen.value("item") == 7
    assert seen.value("derived.compute_dtype") == "float16"
