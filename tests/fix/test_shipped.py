"""A stage that no file of the run states comes from a configuration that the framework ships: the run names the next one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.config.options import options
from stablint.engine.repair import repair
from stablint.fix.change import edits
from stablint.fix.editors import Change, Impossible
from tests.runs import runs, written

LLAMAFACTORY = "model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\ntemplate: default\ndeepspeed: {}\n"
AXOLOTL = "base_model: a/b\nadapter: lora\nsequence_len: 512\ndatasets: [{{path: b}}]\ndeepspeed: {}\n"
STAGE = "deepspeed.zero_optimization.stage"

# a text, the configuration that it names, the stage that is wanted, the configuration with that stage
NAMES = {
    "LLaMA-Factory": (LLAMAFACTORY, "examples/deepspeed/ds_z3_config.json", 2, "examples/deepspeed/ds_z2_config.json"),
    "offloading stays": (LLAMAFACTORY, "examples/deepspeed/ds_z3_offload_config.json", 2, "examples/deepspeed/ds_z2_offload_config.json"),
    "the folder in front stays": (LLAMAFACTORY, "../LF/examples/deepspeed/ds_z3_config.json", 2, "../LF/examples/deepspeed/ds_z2_config.json"),
    "axolotl": (AXOLOTL, "deepspeed_configs/zero3.json", 1, "deepspeed_configs/zero1.json"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "old", "stage", "new"), NAMES.values(), ids=NAMES)
def test_another_of_the_shipped_files_is_named(tmp_path: Path, text: str, old: str, stage: int, new: str) -> None:
    (run,) = runs(tmp_path, {"train.yaml": text.format(old)})
    (file,) = edits(run, "training.deepspeed", [Change(STAGE, stage)])
    (edit,) = file.edits
    assert (file.text.text[edit.start : edit.end], edit.new_text) == (old, new)


def test_no_shipped_file_is_like_that(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, {"train.yaml": LLAMAFACTORY.format("examples/deepspeed/ds_z3_config.json")})
    with pytest.raises(Impossible):
        edits(run, "training.deepspeed", [Change("deepspeed.gradient_clipping", 0.5)])


def test_a_file_at_hand_is_edited_itself(tmp_path: Path) -> None:
    files = {"train.yaml": LLAMAFACTORY.format("ds.json"), "ds.json": '{"zero_optimization": {"stage": 3}}\n'}
    (run,) = runs(tmp_path, files)
    (file,) = edits(run, "training.deepspeed", [Change(STAGE, 2)])
    assert file.text.name == "ds.json"


def test_a_repair_of_a_real_run(tmp_path: Path) -> None:
    text = (
        LLAMAFACTORY.format("examples/deepspeed/ds_z3_config.json").replace("a/b", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4")
        + "bf16: true\n"
    )
    base = written(tmp_path, {"train.yaml": text})
    done = repair([base], options(), unsafe=True, base=base)
    assert [new.text for new in done.texts.values()] == [text.replace("ds_z3_config", "ds_z2_config")]
