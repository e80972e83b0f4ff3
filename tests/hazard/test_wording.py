"""The words of a message: a setting as its file spells it, a value as one would write it, a word about the item."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.hazard.wording import fill, quotes_nothing, value_text
from stablint.run.fact import ABSENT, Secret
from stablint.syntax.tree import Unknown
from tests.runs import world

VALUES: list[tuple[Any, str]] = [
    (True, "true"), (False, "false"), (None, "null"), (ABSENT, "absent"), (Unknown("nobody says"), "unknown"),
    (Secret("hf_…"), "(not shown)"), ("bf16", "bf16"), (64, "64"), (2.0e-5, "2e-05"), (0.001, "0.001"), (0.12345678, "0.1235"),
    (1234567.0, "1.23457e+06"), (-0.5, "-0.5"), (0.0, "0"), (["q_proj", None, 0.5], "q_proj, null, 0.5"), ([], ""),
]  # fmt: skip
RECIPE = (
    "model_name_or_path: Qwen/Qwen3-0.6B\noutput_dir: out\nlearning_rate: 1e-4\ngradient_accumulation_steps: 8\n"
    "lora_target_modules: [q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj]\nuse_peft: true\n"
)


@pytest.mark.parametrize(("value", "text"), VALUES, ids=[repr(value) for value, _ in VALUES])
def test_a_value_as_one_would_write_it(value: Any, text: str) -> None:
    assert value_text(value) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{training.gradient_accumulation_steps}", "gradient_accumulation_steps: 8"),
        ("{training.gradient_accumulation_steps:value}", "8"),
        ("{training.learning_rate}", "learning_rate: 1e-4"),  # as the library gets it from YAML: a text
        ("{training.learning_rate:value}", "0.0001"),
        ("{lora.target_modules}", "lora_target_modules"),  # too long to be repeated
        ("{training.num_train_epochs}", "num_train_epochs: 3"),  # what nobody stated has the library's name
        ("no braces, {and these}", "no braces, {and these}"),
    ],
)
def test_a_fact_as_its_file_spells_it(template: str, text: str, tmp_path: Path) -> None:
    assert fill(template, world(tmp_path, {"train.yaml": RECIPE})) == text


def test_a_flag_has_its_own_name(tmp_path: Path) -> None:
    files = {"run.sh": "torchrun train.py --output_dir out --learning-rate 3e-5\n"}
    assert fill("{training.learning_rate}", world(tmp_path, files)).endswith("learning-rate: 3e-05")


@pytest.mark.parametrize(
    ("template", "nothing"),
    [
        ("{training.learning_rate} is high", False),
        ("{training.num_train_epochs} epochs", False),  # a default is a value
        ("`{fsdp.fsdp_version}` is old", True),
        ("`{fsdp.offload_params}` is on", False),  # no condition excludes a value of it
        ("sdpa, {fsdp.fsdp_version:value} here", False),  # a sentence that knows of it
        ("nothing is quoted", False),
    ],
)
def test_what_nobody_says_is_quoted_by_no_sentence(template: str, nothing: bool, tmp_path: Path) -> None:
    asked = frozenset({"training.learning_rate", "training.num_train_epochs", "fsdp.fsdp_version"})
    assert quotes_nothing(template, world(tmp_path, {"train.yaml": RECIPE}), asked) is nothing
