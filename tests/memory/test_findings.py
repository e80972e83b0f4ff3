"""A word on memory is said only of what a card can really give, in the dtype that the framework loads, and never of kernels that nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.config.options import options
from stablint.engine.inspect import inspect
from stablint.hardware.gpu import parse_gpu
from stablint.hazard.model import load
from tests.runs import rules, world, written

MEMORY = {
    "weights-exceed-card",
    "training-state-exceeds-card",
    "peak-exceeds-card",
    "peak-close-to-card",
    "rows-exceed-any-card",
}
UNSLOTH = """\
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer

model, tokenizer = FastLanguageModel.from_pretrained("{model}", max_seq_length={length}, dtype=None, load_in_4bit={bits})
model = FastLanguageModel.get_peft_model(model, r=16, target_modules=["q_proj", "v_proj"], use_gradient_checkpointing="unsloth")
SFTTrainer(model=model, train_dataset=data, args=SFTConfig(output_dir="out", per_device_train_batch_size=2, learning_rate=2e-4)).train()
"""
# Runs that were seen to fit: the model, the rows, whether in four bits, the card.
FITTING = [
    ("unsloth/Llama-3.1-8B", 2048, True, "T4"),
    ("Qwen/Qwen2.5-7B", 2048, True, "T4"),
    ("Qwen/Qwen3-14B", 2048, True, "T4"),
    ("Qwen/Qwen2.5-32B", 2048, False, "A100-80GB"),
]
# The card, the most that torch was seen to report of it.
REPORTED = [
    ("T4", 14.76),
    ("L4", 22.17),
    ("A10G", 22.18),
    ("A100-40GB", 39.59),
    ("A100-80GB", 79.32),
    ("A100", 79.32),
    ("RTX 4090", 23.68),
]


@pytest.mark.parametrize(("name", "gib"), REPORTED)
def test_a_card_has_what_torch_reports_and_not_what_is_sold(name: str, gib: float) -> None:
    gpu = parse_gpu(name)
    assert gpu is not None and gpu.facts()["target.gpu.most_memory_gib"] == gib


def test_a_memory_that_is_stated_is_believed() -> None:
    gpu = parse_gpu("T4 8GB")
    assert gpu is not None and gpu.facts()["target.gpu.most_memory_gib"] == 8


@pytest.mark.parametrize(("model", "length", "bits", "card"), FITTING)
def test_what_was_seen_to_fit_is_left_in_peace(model: str, length: int, bits: bool, card: str, tmp_path: Path) -> None:
    base = written(tmp_path, {"train.py": UNSLOTH.format(model=model, length=length, bits=bits)})
    assert not rules(inspect([base], options(gpus=[card]), base=base)) & MEMORY


@pytest.mark.parametrize(("card", "dtype"), [("A100-80GB", "bfloat16"), ("T4", "float16")])
def test_unsloth_loads_a_half_format_where_none_is_asked_for(card: str, dtype: str, tmp_path: Path) -> None:
    text = UNSLOTH.format(model="Qwen/Qwen2.5-7B", length=2048, bits=False)
    assert world(tmp_path, {"train.py": text}, gpus=[card]).value("derived.weights_dtype") == dtype


FULL = "trl sft --model_name_or_path {model} --dataset_name org/data --output_dir out --learning_rate 1e-5 --dtype bfloat16 --bf16 true --num_processes 1\n"


def test_a_state_between_what_is_sold_and_what_is_there_is_told(tmp_path: Path) -> None:
    """7.6 billion parameters in half precision need 14.2 GiB for the weights alone; a T4 that is sold as 16 GB has 14.76 for everything."""
    base = written(tmp_path, {"run.sh": FULL.format(model="Qwen/Qwen2.5-7B")})
    assert rules(inspect([base], options(gpus=["T4 x1"]), base=base)) & {
        "training-state-exceeds-card",
        "weights-exceed-card",
    }


ADAPTER = (
    "model_name_or_path: meta-llama/Llama-3.1-8B\ndataset_name: org/data\noutput_dir: out\nlearning_rate: 2.0e-4\nbf16: true\ndtype: bfloat16\n"
    "use_peft: true\nlora_r: 8\nper_device_train_batch_size: 8\ngradient_checkpointing: false\nmax_length: 4096\n"
)


@pytest.mark.parametrize(("more", "told"), [("packing: true\n", True), ("packing: false\n", False), ("", False)])
def test_a_limit_of_the_rows_is_no_length_unless_they_are_filled_up(more: str, told: bool, tmp_path: Path) -> None:
    base = written(tmp_path, {"train.yaml": ADAPTER + more})
    assert bool(rules(inspect([base], options(gpus=["RTX 4090 x1"]), base=base)) & MEMORY) is told


LLAMAFACTORY = (
    "model_name_or_path: {model}\nstage: sft\ndo_train: true\nfinetuning_type: {method}\ndataset: alpaca_en_demo\ntemplate: llama3\ncutoff_len: 512\n"
    "output_dir: out\nper_device_train_batch_size: 1\nlearning_rate: 1.0e-5\nbf16: true\n"
)
AXOLOTL = (
    "base_model: {model}\nadapter: lora\nlora_r: 16\nlora_alpha: 32\nlora_target_linear: true\ndatasets:\n  - path: org/data\n    type: alpaca\n"
    "sequence_len: 512\nmicro_batch_size: 1\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 2.0e-4\nbf16: true\noutput_dir: out\n"
)
# Without a word on sharding every card holds all weights, however many cards there are: the file, what it says more, the card, whether it is told.
COPIED = [
    (LLAMAFACTORY.format(model="meta-llama/Llama-3.1-70B", method="lora"), "A100-80GB x1", True),
    (LLAMAFACTORY.format(model="meta-llama/Llama-3.1-70B", method="lora"), "A100-80GB x8", True),
    (LLAMAFACTORY.format(model="meta-llama/Llama-3.1-70B", method="lora"), "A100-80GB", True),
    (LLAMAFACTORY.format(model="meta-llama/Llama-3.1-8B", method="lora"), "A100-80GB x8", False),
    (LLAMAFACTORY.format(model="meta-llama/Llama-3.1-8B", method="full"), "A100-80GB x8", True),
    (LLAMAFACTORY.format(model="meta-llama/Llama-3.1-70B", method="lora") + "deepspeed: ds_z3.json\n", "A100-80GB x8", False),
    (AXOLOTL.format(model="meta-llama/Llama-3.1-70B"), "A100-80GB x8", True),
    (AXOLOTL.format(model="meta-llama/Llama-3.1-70B") + "fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n", "A100-80GB x8", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "gpu", "told"), COPIED)
def test_more_cards_do_not_help_where_nothing_divides_the_weights(
    text: str, gpu: str, told: bool, tmp_path: Path
) -> None:
    base = written(tmp_path, {"train.yaml": text})
    assert bool(rules(inspect([base], options(gpus=[gpu]), base=base)) & MEMORY) is told


def test_estimates_are_told_by_fit_and_not_by_check() -> None:
    quiet = {hazard.id: hazard.quiet for hazard in load() if hazard.id in MEMORY}
    assert [name for name, off in sorted(quiet.items()) if off] == [
        "peak-close-to-card", "peak-exceeds-card", "rows-exceed-any-card",
    ]  # fmt: skip
