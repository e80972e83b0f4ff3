"""The founding stories as files of every kind: found, repaired across files, comments kept, and idle the second time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stablint.fix.apply import Repaired, repair
from stablint.options import options
from tests.runs import Files, rules, world, written

YAML = (
    "# the run of May\n"
    "model_name_or_path: Qwen/Qwen2-7B-Instruct\n"
    "dataset_name: trl-lib/Capybara\n"
    "fp16: true   # as before\n"
    "learning_rate: 1.0e-5\n"
    "use_peft: true\n"
)
PYTHON = "from transformers import Trainer, TrainingArguments\n\nargs = TrainingArguments(\n    'out',\n    fp16=True,  # as before\n    learning_rate=1e-5,\n)\n"  # noqa: E501
SHELL = (
    "# the run of May\n"
    "torchrun --nproc_per_node 2 train.py \\\n"
    "    --model_name_or_path Qwen/Qwen2-7B-Instruct \\\n"
    "    --fp16 True \\\n"
    "    --output_dir out --learning_rate 1e-5\n"
)
DEEPSPEED = '{\n  "fp16": {"enabled": true},\n  "zero_optimization": {"stage": 2}\n}\n'
ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: fp16  # as before\nnum_processes: 2\nnum_machines: 1\n"
NO_SWITCH = YAML.replace("fp16: true   # as before\n", "")
LAUNCH = "accelerate launch --config_file acc.yaml train.py --model_name_or_path Qwen/Qwen2-7B-Instruct --output_dir out --learning_rate 1e-5\n"

# The same story, wherever its dtype is decided: files, options, what is left of each changed file.
STORIES: dict[str, tuple[Files, dict[str, Any], Files]] = {
    "YAML": ({"train.yaml": YAML}, {}, {"train.yaml": YAML.replace("fp16", "bf16")}),
    "YAML with CRLF": ({"train.yaml": YAML.replace("\n", "\r\n")}, {}, {"train.yaml": YAML.replace("fp16", "bf16").replace("\n", "\r\n")}),
    "JSON": (
        {"train.json": json.dumps({"model_name_or_path": "Qwen/Qwen2-7B-Instruct", "output_dir": "o", "fp16": True, "learning_rate": 1e-5}, indent=4)},
        {},
        {"train.json": json.dumps({"model_name_or_path": "Qwen/Qwen2-7B-Instruct", "output_dir": "o", "bf16": True, "learning_rate": 1e-5}, indent=4)},
    ),
    "Python": ({"train.py": PYTHON}, {"model": "Qwen/Qwen2-7B-Instruct"}, {"train.py": PYTHON.replace("fp16", "bf16")}),
    "shell": ({"run.sh": SHELL}, {}, {"run.sh": SHELL.replace("--fp16", "--bf16")}),
    "accelerate's file": ({"acc.yaml": ACCELERATE, "run.sh": LAUNCH}, {}, {"acc.yaml": ACCELERATE.replace("fp16", "bf16")}),
}  # fmt: skip


def mended(folder: Path, files: Files, **said: Any) -> Repaired:
    base = written(folder, files)
    return repair([base], options(**said), unsafe=True, base=base)


def texts(done: Repaired, folder: Path) -> Files:
    return {Path(path).relative_to(folder).as_posix(): text.text for path, text in done.texts.items()}


@pytest.mark.parametrize(("files", "said", "expected"), STORIES.values(), ids=STORIES)
def test_fp16_on_a_model_that_overflows_becomes_bf16(
    files: Files, said: dict[str, Any], expected: Files, tmp_path: Path
) -> None:
    done = mended(tmp_path, files, gpus=["A100-80GB"], **said)
    assert texts(done, tmp_path) == expected
    assert not done.refused
    assert (
        world(tmp_path / "after", files | expected, gpus=["A100-80GB"], **said).value("derived.compute_dtype")
        == "bfloat16"
    )


@pytest.mark.parametrize(("files", "said", "expected"), STORIES.values(), ids=STORIES)
def test_a_second_repair_finds_nothing_to_do(
    files: Files, said: dict[str, Any], expected: Files, tmp_path: Path
) -> None:
    again = mended(tmp_path, files | expected, gpus=["A100-80GB"], **said)
    assert not again.texts and not again.fixed


def test_a_card_without_bf16_gets_float32_and_gradient_checkpointing(tmp_path: Path) -> None:
    done = mended(tmp_path, {"train.yaml": YAML}, gpus=["V100-32GB"])
    after = world(tmp_path / "after", texts(done, tmp_path), gpus=["V100-32GB"])
    assert after.value("derived.compute_dtype") == "float32"
    assert after.value("training.gradient_checkpointing") is True


def test_the_deepspeed_file_changes_with_the_file_that_names_it(tmp_path: Path) -> None:
    files = {"train.yaml": YAML + "deepspeed: ds.json\n", "ds.json": DEEPSPEED}
    done = mended(tmp_path, files, gpus=["A100-80GB x2"])
    after = texts(done, tmp_path)
    assert after.keys() == files.keys()
    part = json.loads(after["ds.json"])
    assert part["bf16"] == {"enabled": True} and part.get("fp16", {"enabled": False}) == {"enabled": False}
    assert "bf16: true   # as before" in after["train.yaml"]
    again = mended(tmp_path / "again", after, gpus=["A100-80GB x2"])
    assert not again.texts


def test_only_safe_repairs_unless_more_is_allowed(tmp_path: Path) -> None:
    base = written(tmp_path, {"train.yaml": YAML})
    done = repair([base], options(gpus=["V100-32GB"]), unsafe=False, base=base)
    assert "fp16: true" in texts(done, tmp_path).get("train.yaml", YAML)


def test_what_is_filled_in_elsewhere_is_not_written_into(tmp_path: Path) -> None:
    assert not mended(tmp_path, {"train.yaml": YAML.replace("fp16: true", 'fp16: "${FP16}"')}, gpus=["A100-80GB"]).texts


def test_a_key_is_renamed_without_its_anchor(tmp_path: Path) -> None:
    done = mended(tmp_path, {"train.yaml": YAML.replace("fp16: true", "fp16: &half true")}, gpus=["A100-80GB"])
    assert "\nbf16: &half true   # as before\n" in texts(done, tmp_path)["train.yaml"]


def test_nothing_on_disk_changes(tmp_path: Path) -> None:
    mended(tmp_path, {"train.yaml": YAML}, gpus=["A100-80GB"])
    assert (tmp_path / "train.yaml").read_text(encoding="utf-8") == YAML


def test_a_healthy_run_is_left_alone(tmp_path: Path) -> None:
    done = mended(tmp_path, {"train.yaml": YAML.replace("fp16", "bf16")}, gpus=["A100-80GB"])
    assert not done.texts
    assert not rules(done.inspection, "error", "warning")
