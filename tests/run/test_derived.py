"""What the run will really do, worked out from what is stated: one table a derived fact."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stablint.config.options import options
from stablint.engine.inspect import inspect
from stablint.run.fact import Derived, is_unknown
from tests.runs import Files, runs, world

BASE = {"model_name_or_path": "Qwen/Qwen3-8B", "dataset_name": "trl-lib/Capybara", "output_dir": "out"}
LLAMAFACTORY = "model_name_or_path: Qwen/Qwen3-8B\nstage: {stage}\nfinetuning_type: lora\ntemplate: qwen3\nfp16: true\n"
AXOLOTL = "base_model: Qwen/Qwen3-8B\nsequence_len: 512\nmicro_batch_size: 1\ndatasets: [{{path: a}}]\n{more}"
DEEPSPEED = {"fp16": {"enabled": True}, "zero_optimization": {"stage": 2}}
SCRIPT = "from transformers import TrainingArguments, Trainer\nargs = TrainingArguments('o'{arguments})\n"


def recipe(**more: object) -> Files:
    return {"train.yaml": "".join(f"{key}: {json.dumps(value)}\n" for key, value in (BASE | more).items())}


UNKNOWN = "unknown to us"
CASES: dict[str, tuple[Files, str, object]] = {
    # compute dtype: DeepSpeed's block, the trainer's flags, accelerate, the weights
    "fp16 flag": (recipe(fp16=True), "derived.compute_dtype", "float16"),
    "bf16 flag": (recipe(bf16=True), "derived.compute_dtype", "bfloat16"),
    "both at once": (recipe(fp16=True, bf16=True), "derived.compute_dtype", UNKNOWN),
    "DeepSpeed decides": (recipe(deepspeed="ds.json", fp16="auto") | {"ds.json": json.dumps(DEEPSPEED)}, "derived.compute_dtype", "float16"),
    "axolotl's auto waits for the card": ({"a.yml": AXOLOTL.format(more="bf16: auto\n")}, "derived.compute_dtype", UNKNOWN),
    # weights as loaded
    "4 bit": (recipe(load_in_4bit=True, use_peft=True), "derived.weights_dtype", "4bit"),
    "asked for": (recipe(dtype="float16"), "derived.weights_dtype", "float16"),
    "the checkpoint's own": (recipe(dtype="auto"), "derived.weights_dtype", "bfloat16"),
    # method
    "every weight": (recipe(use_peft=False), "derived.method", "full"),
    "an adapter": (recipe(use_peft=True), "derived.method", "lora"),
    "an adapter on 4 bits": (recipe(use_peft=True, load_in_4bit=True), "derived.method", "qlora"),
    "LLaMA-Factory's adapter": ({"a.yaml": LLAMAFACTORY.format(stage="sft")}, "derived.method", "lora"),
    "axolotl's adapter": ({"a.yml": AXOLOTL.format(more="adapter: qlora\nload_in_4bit: true\n")}, "derived.method", "qlora"),
    "axolotl's empty adapter": ({"a.yml": AXOLOTL.format(more="adapter:\n")}, "derived.method", "full"),
    # objective
    "SFT by its fields": (recipe(packing=True, dataset_text_field="text"), "derived.objective", "sft"),
    "GRPO by its fields": (recipe(num_generations=8, scale_rewards="group"), "derived.objective", "grpo"),
    "LLaMA-Factory's stage": ({"a.yaml": LLAMAFACTORY.format(stage="dpo")}, "derived.objective", "dpo"),
    "axolotl's rl": ({"a.yml": AXOLOTL.format(more="rl: kto\n")}, "derived.objective", "kto"),
    # processes and batch
    "torchrun": ({"a.sh": "torchrun --nproc_per_node 4 --nnodes 2 t.py --output_dir o --bf16 --learning_rate 1e-5\n"}, "derived.world_size", 8),
    "python": ({"a.sh": "python t.py --output_dir o --bf16 --learning_rate 1e-5\n"}, "derived.world_size", 1),
    "deepspeed --include": ({"a.sh": "deepspeed --include localhost:0,1,2 t.py --output_dir o --bf16 --learning_rate 1e-5\n"}, "derived.world_size", 3),
    "no launcher": (recipe(), "derived.world_size", UNKNOWN),
    "the product": (
        {"a.sh": "torchrun --nproc_per_node 4 t.py --output_dir o --per_device_train_batch_size 2 --gradient_accumulation_steps 8\n"},
        "derived.effective_batch", 64,
    ),
    # steps and warm-up
    "max_steps": (recipe(max_steps=300), "derived.total_steps", 300),
    "epochs depend on the data": (recipe(num_train_epochs=3), "derived.total_steps", UNKNOWN),
    "a share of the steps": ({"t.py": SCRIPT.format(arguments=", max_steps=250, warmup_ratio=0.03")}, "derived.warmup_steps", 8),
    "axolotl's own share": ({"a.yaml": AXOLOTL.format(more="max_steps: 20000\n")}, "derived.warmup_steps", 100),
    "a share in axolotl": ({"a.yaml": AXOLOTL.format(more="max_steps: 20000\nwarmup_ratio: 0.03\n")}, "derived.warmup_steps", 600),
    "steps before the ratio": ({"t.py": SCRIPT.format(arguments=", max_steps=250, warmup_ratio=0.03, warmup_steps=5")}, "derived.warmup_steps", 5),
    # adapters
    "alpha over r": (recipe(use_peft=True, lora_r=16, lora_alpha=32), "derived.lora_scale", 2.0),
    "alpha over the root of r": (recipe(use_peft=True, lora_r=16, lora_alpha=32, use_rslora=True), "derived.lora_scale", 8.0),
    "targets that are not there": (recipe(use_peft=True, lora_target_modules=["q_proj", "c_attn"]), "derived.lora_targets_missing", ["c_attn"]),
}  # fmt: skip


@pytest.mark.parametrize(("files", "name", "value"), CASES.values(), ids=CASES)
def test_what_it_comes_to(files: Files, name: str, value: object, tmp_path: Path) -> None:
    fact = world(tmp_path, files, releases=["transformers==4.57.6", "trl==0.24.0"]).fact(name)
    assert is_unknown(fact.value) if value is UNKNOWN else fact.value == value
    assert isinstance(fact.origin, Derived)


@pytest.mark.parametrize(("gpu", "dtype"), [("V100", "float16"), ("A100-80GB", "bfloat16")])
def test_axolotls_auto_asks_the_card(gpu: str, dtype: str, tmp_path: Path) -> None:
    found = world(tmp_path, {"a.yml": AXOLOTL.format(more="bf16: auto\n")}, gpus=[gpu])
    assert found.value("derived.compute_dtype") == dtype


def test_a_deepspeed_file_and_the_file_that_names_it_are_one_run(tmp_path: Path) -> None:
    files = recipe(deepspeed="ds.json") | {"ds.json": json.dumps(DEEPSPEED)}
    (run,) = runs(tmp_path, files)
    assert run.files == ("train.yaml", "ds.json")
    assert world(tmp_path, files).value("derived.zero_stage") == 2


def test_the_facts_that_decide_are_named(tmp_path: Path) -> None:
    origin = world(tmp_path, recipe(fp16=True)).fact("derived.compute_dtype").origin
    assert isinstance(origin, Derived) and origin.facts[0] == "training.fp16"


def test_a_method_that_is_no_word_has_no_band(tmp_path: Path) -> None:
    """`finetuning_type: [lora]` is nonsense, and no reason to fail: found by mutated files."""
    text = "model_name_or_path: Qwen/Qwen2-7B\nstage: sft\ntemplate: qwen\nfinetuning_type: [lora]\nlearning_rate: 1.0e-4\n"
    (tmp_path / "train.yaml").write_text(text)
    report = inspect([str(tmp_path)], options(), base=str(tmp_path)).report
    assert not report.internal_errors
