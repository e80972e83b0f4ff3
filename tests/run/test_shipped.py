"""DeepSpeed configurations that a framework brings: known by their names, and by paths where the file itself is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.base import knowledge
from stablint.run.fact import Default
from tests.runs import world

AXOLOTL = "base_model: a\nadapter: lora\nsequence_len: 512\nmicro_batch_size: 1\ndatasets: [{path: b}]\ndeepspeed: {}\n"
FACTORY = (
    "model_name_or_path: a\nstage: sft\nfinetuning_type: full\ntemplate: default\ncutoff_len: 512\ndeepspeed: {}\n"
)
STAGE, OFFLOAD = "deepspeed.zero_optimization.stage", "deepspeed.zero_optimization.offload_param.device"


@pytest.mark.parametrize(
    ("framework", "name"),
    [
        (framework, name)
        for framework in ("ms-swift", "ms-swift-2", "llamafactory", "axolotl")
        for name in knowledge.load(f"shipped/{framework}")
    ],
)
def test_each_name_gives_a_stage_and_formats(framework: str, name: str) -> None:
    facts = knowledge.load(f"shipped/{framework}")[name]
    assert facts[STAGE] in (0, 1, 2, 3)
    assert str(facts[STAGE]) in name
    assert {facts["deepspeed.bf16.enabled"], facts["deepspeed.fp16.enabled"]} <= {"auto", True, False}


def test_a_path_that_is_not_there_is_presumed_to_be_the_file_as_it_was_shipped(tmp_path: Path) -> None:
    found = world(tmp_path, {"run.yaml": FACTORY.replace("{}", "examples/deepspeed/ds_z3_offload_config.json")})
    assert (found.value(STAGE), found.value(OFFLOAD)) == (3, "cpu")
    assert found.fact(STAGE).presumed
    assert isinstance(found.fact(STAGE).origin, Default)
    assert found.value("derived.zero_stage") == 3


def test_the_file_itself_counts_where_it_is_there(tmp_path: Path) -> None:
    files = {
        "run.yaml": AXOLOTL.replace("{}", "deepspeed_configs/zero3_bf16.json"),
        "deepspeed_configs/zero3_bf16.json": '{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}',
    }
    assert world(tmp_path, files).value(STAGE) == 1


def test_other_paths_say_nothing(tmp_path: Path) -> None:
    found = world(tmp_path, {"run.yaml": AXOLOTL.replace("{}", "my/zero3.json")})
    assert found.value("derived.zero_stage") != 3
