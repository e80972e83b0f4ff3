"""`stablint diff`: what differs once defaults, spellings and releases are worked out."""

from __future__ import annotations

import json
import re

import pytest

from stablint.cli import main

RECIPE = """\
model_name_or_path: Qwen/Qwen2-7B-Instruct
output_dir: out
learning_rate: 1.0e-5
per_device_train_batch_size: 2
bf16: true
"""
DEEPSPEED = (
    '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto"}\n'
)


def diff(folder, capsys, a: str, b: str, *words: str) -> dict[str, tuple]:
    (folder / "a.yaml").write_text(a, encoding="utf-8")
    (folder / "b.yaml").write_text(b, encoding="utf-8")
    assert main(["diff", str(folder / "a.yaml"), str(folder / "b.yaml"), "--output-format", "json", *words]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["comparisons"]
    return {row["name"]: (row["kind"], row["a"]["value"], row["b"]["value"]) for row in pair["differences"]}


def test_order_spelling_and_stated_defaults_are_no_difference(tmp_path, capsys):
    other = (
        "# the same\n"
        + "".join(reversed(RECIPE.replace("1.0e-5", "0.00001").splitlines(keepends=True)))
        + "weight_decay: 0.0\n"
    )
    assert diff(tmp_path, capsys, RECIPE, other) == {}


def test_what_differs_is_told_with_what_follows_from_it(tmp_path, capsys):
    found = diff(tmp_path, capsys, RECIPE, RECIPE.replace("bf16", "fp16"))
    assert found["training.bf16"] == ("changed", True, False)
    assert found["derived.compute_dtype"] == ("changed", "bfloat16", "float16")
    assert "training.learning_rate" not in found


def test_a_setting_that_one_run_has_alone(tmp_path, capsys):
    found = diff(tmp_path, capsys, RECIPE, RECIPE + "deepspeed: ds.json\n")
    assert found["training.deepspeed"][2] == "ds.json"


def test_a_newer_release_changes_effective_values(tmp_path, capsys):
    found = diff(
        tmp_path, capsys, RECIPE, RECIPE, "--with-a", "transformers==4.57.6", "--with-b", "transformers==5.23.0"
    )
    assert found["training.report_to"] == ("changed", "all", "none")
    assert found["derived.weights_dtype"] == ("changed", "float32", "bfloat16")
    assert "training.gradient_checkpointing" not in found  # false and null both leave it off
    assert diff(tmp_path, capsys, RECIPE, RECIPE, "--with", "transformers==5.23.0") == {}


def test_another_release_of_the_same_run_is_told_in_a_sentence(tmp_path, capsys):
    (tmp_path / "a.yaml").write_text(RECIPE)
    name = str(tmp_path / "a.yaml")
    words = ("--with-a", "transformers==4.57.6", "--with-b", "transformers==5.23.0")
    assert main(["diff", name, name, *words]) == 0
    told = capsys.readouterr().out
    assert re.search(r"transformers 4\.57\.6 → 5\.23\.0 changes \d+ effective settings", told)
    assert told.index("derived.weights_dtype") < told.index("training.report_to")
    assert main(["diff", name, name, "--with-a", "peft==0.17.1", "--with-b", "peft==0.18.0"]) == 0
    assert "no effective setting" in capsys.readouterr().out


def test_a_table_is_told_by_the_leaves_that_differ_and_a_model_by_its_name(tmp_path, capsys):
    files = {"a.json": DEEPSPEED, "b.json": DEEPSPEED.replace('"stage": 2', '"stage": 3')}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = diff(tmp_path, capsys, RECIPE + "deepspeed: a.json\n", RECIPE.replace("7B", "1.5B") + "deepspeed: b.json\n")
    assert found["deepspeed.zero_optimization.stage"] == ("changed", 2, 3)
    assert "deepspeed.zero_optimization" not in found
    assert {name for name in found if name.startswith("model.")} == {"model.name_or_path", "model.parameters"}


def test_several_targets_tell_a_difference_once(tmp_path, capsys):
    assert "training.bf16" in diff(
        tmp_path, capsys, RECIPE, RECIPE.replace("bf16", "fp16"), "--gpu", "A100-80GB", "--gpu", "H100"
    )


def test_across_dialects(tmp_path, capsys):
    factory = """\
model_name_or_path: Qwen/Qwen2-7B-Instruct
stage: sft
finetuning_type: full
output_dir: out
learning_rate: 2.0e-5
per_device_train_batch_size: 2
bf16: true
"""
    found = diff(tmp_path, capsys, RECIPE, factory)
    assert found["training.learning_rate"] == ("changed", 1e-05, 2e-05)
    assert "model.name_or_path" not in found and "training.bf16" not in found


def test_text_and_exit_code(tmp_path, capsys):
    (tmp_path / "a.yaml").write_text(RECIPE)
    (tmp_path / "b.yaml").write_text(RECIPE.replace("1.0e-5", "2.0e-5"))
    names = [str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]
    assert main(["diff", *names, "--exit-code"]) == 1
    assert "1e-05 → 2e-05" in capsys.readouterr().out
    assert main(["diff", names[0], names[0], "--exit-code"]) == 0


@pytest.mark.parametrize("other", ["nowhere.yaml", "compose.yaml"])
def test_what_cannot_be_compared_is_wrong_use(tmp_path, capsys, other):
    (tmp_path / "a.yaml").write_text(RECIPE)
    (tmp_path / "compose.yaml").write_text("services: {web: {image: nginx}}\n")
    assert main(["diff", str(tmp_path / "a.yaml"), str(tmp_path / other)]) == 2
