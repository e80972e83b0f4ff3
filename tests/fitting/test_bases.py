"""What lies around a frozen base: its embedding and head, half-precision copies of its weights, a head of one value, a tower that sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.fitting.answer import Told, answer, gathers
from stablint.fitting.terms import GIB
from tests.runs import world

TEXT = (
    "model_name_or_path: {model}\noutput_dir: out\nlearning_rate: 1.0e-4\nmax_length: 1024\nper_device_train_batch_size: 1\n"
    "gradient_accumulation_steps: 1\ngradient_checkpointing: {kept}\nuse_peft: true\nlora_r: 8\nlora_target_modules: all-linear\n{more}"
)
BITS = "load_in_4bit: true\n"
LLAMA = "meta-llama/Meta-Llama-3-8B"
OUTSIDE = 2 * 128256 * 4096  # embedding and head


def told(tmp_path: Path, more: str, *, trl: str = "0.11.4", model: str = LLAMA, kept: str = "true") -> Told:
    text = TEXT.format(model=model, more=more, kept=kept)
    releases = [f"trl=={trl}", "transformers==4.45.2", "peft==0.12.0", "accelerate==0.34.2"]
    return answer(world(tmp_path, {"train.yaml": text}, gpus=["A100-80GB"], releases=releases), "A100-80GB")


def part(found: Told, name: str) -> float:
    assert found.estimate is not None
    return found.estimate.components.get(name, 0.0) / GIB


@pytest.mark.parametrize(
    ("trl", "more", "model", "width"),
    [
        ("0.11.4", "bf16: true\n", LLAMA, 2),
        ("0.7.5", "bf16: true\n", LLAMA, 2),
        ("0.7.4", "bf16: true\n", LLAMA, 4),
        ("0.11.4", "fp16: true\n", LLAMA, 4),
        ("0.11.4", "bf16: true\n", "stabilityai/stablelm-base-alpha-3b", 4),
    ],
)
def test_trl_casts_embedding_and_head_back_by_their_names(
    tmp_path: Path, trl: str, more: str, model: str, width: int
) -> None:
    found = told(tmp_path, BITS + more, trl=trl, model=model)
    assert found.reading is not None
    assert found.reading.plan.outside.usual == width
    assert found.reading.plan.wide_norms is (width == 2)


def test_what_is_cast_back_leaves_blocks_that_pass_half_precision_on(tmp_path: Path) -> None:
    cast, wide = (told(tmp_path, BITS + one) for one in ("bf16: true\n", "fp16: true\n"))
    assert part(wide, "weights") - part(cast, "weights") == pytest.approx(2 * OUTSIDE / GIB, rel=0.01)
    assert cast.reading is not None and wide.reading is not None
    inputs = 2 * 4096 * 1024 * 31 / GIB
    assert part(wide, "activations") - part(cast, "activations") == pytest.approx(inputs, rel=0.25)


@pytest.mark.parametrize(("kept", "blocks"), [("true", 1), ("false", 31)])
def test_half_precision_copies_of_a_frozen_base_are_there_as_long_as_their_block(
    tmp_path: Path, kept: str, blocks: int
) -> None:
    """Traced by itself: with checkpointing a block's input is all that lasts, whatever the base is in."""
    moments = []
    for dtype in ("float32", "bfloat16"):
        found = told(tmp_path, f"bf16: true\ntorch_dtype: {dtype}\n", kept=kept)
        assert found.estimate is not None
        moments.append(found.estimate.parts["backward of the last block"]["activations"])
    layer = (8_030_261_248 - OUTSIDE) // 32
    assert (moments[0] - moments[1]) / (2 * layer) == pytest.approx(blocks, rel=0.8 if blocks == 1 else 0.15)


def reward(tmp_path: Path, files: dict[str, str]) -> Told:
    return answer(world(tmp_path, files, gpus=["A100-80GB x8"]), "A100-80GB x8")


def test_a_reward_model_has_no_logits_and_two_rows_for_each(tmp_path: Path) -> None:
    flags = (
        "--model_name_or_path Qwen/Qwen2.5-7B-Instruct --dataset_name d --output_dir rm --per_device_train_batch_size 2 --learning_rate 1e-5 "
        "--max_length 2048 --bf16 --num_processes 8"
    )
    found = reward(tmp_path, {"train.sh": f"trl reward {flags}\n"})
    assert found.reading is not None
    plan = found.reading.plan
    assert (plan.loss, plan.rows, plan.shape.parameters) == ("none", 4, 7_615_616_512 - 152064 * 3584)
    assert part(found, "logits") < 0.2


def test_llama_factorys_value_head_sits_beside_the_logits(tmp_path: Path) -> None:
    text = (
        "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: rm\ndo_train: true\nfinetuning_type: lora\ndataset: d\ntemplate: qwen\ncutoff_len: 2048\n"
        "output_dir: out\nper_device_train_batch_size: 1\nbf16: true\n"
    )
    found = reward(tmp_path, {"train.yaml": text})
    assert found.reading is not None
    assert (found.reading.plan.loss, found.reading.plan.rows) == ("full", 2)
    assert part(found, "logits") > 5


def test_a_tower_that_is_named_is_a_guess(tmp_path: Path) -> None:
    flags = (
        "--model_name_or_path lmsys/vicuna-7b-v1.5 --version v1 --data_path d.json --image_folder d --mm_projector_type mlp2x_gelu --bf16 True "
        "--output_dir out --per_device_train_batch_size 1 --learning_rate 2e-5 --model_max_length 2048 --gradient_checkpointing True --lazy_preprocess True"
    )
    sees, not_told = (
        reward(tmp_path, {"train.sh": f"torchrun --nproc_per_node 8 llava/train/train_mem.py {flags}{tower}\n"})
        for tower in (" --vision_tower openai/clip-vit-large-patch14-336", "")
    )
    assert sees.reading is not None and not_told.reading is not None
    assert sees.reading.is_guessed
    assert not not_told.reading.is_guessed


@pytest.mark.parametrize(("engine", "gathered"), [("3", True), ("2", False)])
def test_a_frozen_base_that_is_gathered_may_not_be_given_back_in_time(
    tmp_path: Path, engine: str, gathered: bool
) -> None:
    files = {
        "train.sh": f"deepspeed --num_gpus 8 train.py --deepspeed ds.json --model_name_or_path {LLAMA} --output_dir out --use_peft --bf16 --max_length 1024\n",
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": '
        + engine
        + "}}",
    }
    found = reward(tmp_path, files)
    assert found.reading is not None
    assert gathers(found.reading) is gathered


def test_axolotls_flash_attention_keeps_no_scores_in_old_releases(tmp_path: Path) -> None:
    text = (
        "base_model: mistralai/Mistral-7B-v0.1\nload_in_4bit: true\nadapter: qlora\nlora_r: 32\nlora_target_linear: true\nsequence_len: 8192\n"
        "datasets: [{path: d, type: alpaca}]\nsample_packing: true\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nnum_epochs: 1\nlearning_rate: 2.0e-4\n"
        "optimizer: adamw_bnb_8bit\nbf16: true\ngradient_checkpointing: true\noutput_dir: out\n"
    )
    flash, eager = (
        answer(
            world(tmp_path, {"train.yaml": text + more}, gpus=["RTX 4090"], releases=["transformers==4.34.0"]),
            "RTX 4090",
        )
        for more in ("flash_attention: true\n", "")
    )
    assert flash.reading is not None and eager.reading is not None
    assert (flash.reading.plan.attention, eager.reading.plan.attention) == ("sdpa", "eager")
    assert flash.verdict != "does-not-fit"
