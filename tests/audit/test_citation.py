"""A source names a place in a release, a thread or a page; what nobody else can open is none."""

from __future__ import annotations

import pytest

from stablint.audit.citation import cited, is_well_formed

PLACES = [
    ("transformers 5.23.0 training_args.py:798", "transformers", "5.23.0", "transformers/training_args.py", 798),
    ("trl 1.16.0 trainer/dpo_config.py:156 (raises)", "trl", "1.16.0", "trl/trainer/dpo_config.py", 156),
    ("deepspeed 0.19.8 runtime/lr_schedules.py", "deepspeed", "0.19.8", "deepspeed/runtime/lr_schedules.py", 0),
    ("unsloth 2026.10.9 models/loader.py:10-20", "unsloth", "2026.10.9", "unsloth/models/loader.py", 10),
    ("ms-swift 4.6.0 pipelines/base.py:40", "ms-swift", "4.6.0", "swift/pipelines/base.py", 40),
    ("https://github.com/huggingface/peft/blob/v0.21.2/src/peft/config.py#L158", "peft", "0.21.2", "peft/config.py", 158),
    ("https://github.com/hiyouga/LLaMA-Factory/blob/v0.9.5/src/llamafactory/cli.py#L1-L9", "llamafactory", "0.9.5", "llamafactory/cli.py", 1),
    ("https://github.com/huggingface/trl/blob/v1.16.0/README.md#news", "trl", "1.16.0", "README.md", 0),
    ("https://github.com/pytorch/pytorch/blob/v2.13.0/torch/amp/grad_scaler.py#L274", "torch", "2.13.0", "torch/amp/grad_scaler.py", 274),
]  # fmt: skip


@pytest.mark.parametrize(("source", "library", "release", "path", "line"), PLACES, ids=lambda value: str(value)[:40])
def test_a_place_is_read(source: str, library: str, release: str, path: str, line: int) -> None:
    place = cited(source)
    assert place is not None
    assert (place.library, place.release, place.path, place.line) == (library, release, path, line)
    assert is_well_formed(source)
    assert not place.moves


@pytest.mark.parametrize(("ref", "moves"), [("main", True), ("067b021c", False), ("v0.19.0", False), ("dev-2", True)])
def test_what_stands_on_a_branch_changes(ref: str, moves: bool) -> None:
    place = cited(f"https://github.com/axolotl-ai-cloud/axolotl/blob/{ref}/src/axolotl/cli/args.py#L3")
    assert place is not None and place.moves is moves


@pytest.mark.parametrize(
    "source",
    [
        "QwenLM/Qwen3#670",
        "https://github.com/huggingface/trl/issues/3384",
        "https://github.com/huggingface/trl/issues/3384#issuecomment-1",
        "https://github.com/deepspeedai/DeepSpeed/pull/2970",
        "https://github.com/Dao-AILab/flash-attention",
        "https://arxiv.org/abs/2106.09685",
    ],
)
def test_threads_and_pages_name_no_place(source: str) -> None:
    assert cited(source) is None
    assert is_well_formed(source)


@pytest.mark.parametrize(
    "source",
    [
        "the documentation",
        "transformers training_args.py",
        "https://github.com/huggingface",
        "https://github.com/huggingface/trl/issues",
        "https://localhost/page",
        "transformers 5.23.0",
    ],
)
def test_what_nobody_can_open_is_malformed(source: str) -> None:
    assert not is_well_formed(source)
