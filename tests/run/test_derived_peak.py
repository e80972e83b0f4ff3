"""How long rows may be: the estimate itself is measured by the tests of memory/."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.run.fact import is_unknown
from tests.runs import inspected, world

TRAIN = (
    "model_name_or_path: meta-llama/Llama-3.1-8B\ndataset_name: org/data\noutput_dir: out\nbf16: true\ndtype: bfloat16\nuse_peft: true\n"
    "lora_r: 8\nper_device_train_batch_size: 1\ngradient_checkpointing: true\nmax_length: {}\npacking: true\n"
)


@pytest.mark.parametrize("length", [16384, 12000, 9000])
def test_a_row_of_the_fitting_length_fits_and_the_next_step_does_not(tmp_path: Path, length: int) -> None:
    def peak(tokens: int) -> float:
        found = world(tmp_path, {"train.yaml": TRAIN.format(tokens)}, gpus=["RTX 4090 x1"])
        return float(found.value("derived.peak_share"))

    fitting = world(tmp_path, {"train.yaml": TRAIN.format(length)}, gpus=["RTX 4090 x1"]).value(
        "derived.fitting_length"
    )
    assert fitting % 256 == 0
    assert fitting < length
    assert peak(fitting) < 0.85
    assert fitting + 256 >= length or peak(fitting + 256) >= 0.85


def test_there_may_be_none(tmp_path: Path) -> None:
    text = TRAIN.format(4096).replace("meta-llama/Llama-3.1-8B", "meta-llama/Llama-2-70b-hf")
    assert is_unknown(world(tmp_path, {"train.yaml": text}, gpus=["RTX 4090 x1"]).value("derived.fitting_length"))


AXOLOTL = (
    "base_model: meta-llama/Llama-3.2-3B\ndatasets: [{path: a, type: alpaca}]\nsequence_len: 8192\nmicro_batch_size: 16\n"
    "gradient_accumulation_steps: 1\nlearning_rate: 2e-5\nbf16: true\nflash_attention: true\n"
)
CHECKPOINTED = "fsdp_version: 2\nfsdp_config: {activation_checkpointing: true}\n"


def test_what_fsdp_checkpoints_is_not_kept_and_fused_logits_are_not_there(tmp_path: Path) -> None:
    kept, checkpointed, fused = (
        world(tmp_path / str(number), {"a.yaml": AXOLOTL + more}).value("derived.rows_gib")
        for number, more in enumerate(("", CHECKPOINTED, CHECKPOINTED + "cut_cross_entropy: true\n"))
    )
    assert kept > 2 * checkpointed > 4 * fused


def test_an_optimizer_of_several_words_is_counted_as_none(tmp_path: Path) -> None:
    """`--optim adamw 1` is a list, which no table of optimizers can be asked for."""
    command = "torchrun train.py --model_name_or_path Qwen/Qwen2-7B --bf16 --output_dir o --optim adamw 1\n"
    assert "internal-fault" not in {one.rule for one in inspected(tmp_path, {"run.sh": command}).report.diagnostics}
