"""Settings that moved are said in their new place: in the config's call, in a nested setting, as a value of another one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stablint.config.options import options
from stablint.engine.repair import Repaired, repair
from tests.runs import rules, written

OTHER = "from transformers import TrainingArguments as Args\nfrom trl import SFTTrainer\n\nargs = Args(output_dir='out', bf16=True)\n"
NEW = ["trl==0.24.0", "transformers==4.57.6"]
HEAD = "from transformers import TrainingArguments\nfrom trl import SFTTrainer\n\n"
PREFERENCE = "from transformers import TrainingArguments\nfrom trl import DPOTrainer\n\n"
BOTH = "from trl import SFTConfig, SFTTrainer\n\n"

# The program before and after; the same twice where it can only be told.
PROGRAMS = {
    "a null, which stood for 1024 tokens there and stands for no bound here": (
        BOTH + "args = SFTConfig(output_dir='out')\nSFTTrainer(model=m, args=args, max_seq_length=None)\n",
        BOTH + "args = SFTConfig(output_dir='out')\nSFTTrainer(model=m, args=args, max_seq_length=None)\n"),
    "into the config that is there": (
        BOTH + "args = SFTConfig(output_dir='out')\nSFTTrainer(model=m, args=args, max_seq_length=512)\n",
        BOTH + "args = SFTConfig(output_dir='out', max_length=512)\nSFTTrainer(model=m, args=args)\n"),
    "into the config within the trainer's call, by its variable": (
        BOTH + "SFTTrainer(\n    model=m,\n    packing=cli.packing,\n    args=SFTConfig(output_dir='out'),\n)\n",
        BOTH + "SFTTrainer(\n    model=m,\n    args=SFTConfig(output_dir='out', packing=cli.packing),\n)\n"),
    "a variable of another call's surroundings": (
        BOTH + "args = SFTConfig(output_dir='out')\npacked = ask()\nSFTTrainer(model=m, args=args, packing=packed)\n",
        BOTH + "args = SFTConfig(output_dir='out')\npacked = ask()\nSFTTrainer(model=m, args=args, packing=packed)\n"),
    "general arguments become the trainer's config": (
        HEAD + "args = TrainingArguments(output_dir='out', bf16=True)\nSFTTrainer(model=m, args=args, packing=True)\n",
        HEAD.replace("SFTTrainer", "SFTTrainer, SFTConfig")
        + "args = SFTConfig(output_dir='out', bf16=True, packing=True)\nSFTTrainer(model=m, args=args)\n"),
    "general arguments under another name": (
        OTHER + "SFTTrainer(model=m, args=args, packing=True)\n",
        OTHER + "SFTTrainer(model=m, args=args, packing=True)\n"),
    "what is the default there is left out": (
        HEAD + "args = TrainingArguments(output_dir='out', bf16=True)\nSFTTrainer(model=m, args=args, packing=False)\n",
        HEAD + "args = TrainingArguments(output_dir='out', bf16=True)\nSFTTrainer(model=m, args=args)\n"),
    "what is gone there as well": (
        BOTH + "args = SFTConfig(output_dir='out')\nSFTTrainer(model=m, args=args, chars_per_token=3.6)\n",
        BOTH + "args = SFTConfig(output_dir='out')\nSFTTrainer(model=m, args=args)\n"),
    "plain arguments of a trainer that makes no config of them": (
        PREFERENCE + "args = TrainingArguments(output_dir='out')\nDPOTrainer(model=m, args=args, beta=0.1, max_length=1024)\n",
        PREFERENCE.replace("DPOTrainer", "DPOTrainer, DPOConfig")
        + "args = DPOConfig(output_dir='out', beta=0.1)\nDPOTrainer(model=m, args=args)\n"),
    "the trainer is imported behind the arguments": (
        "from transformers import TrainingArguments\n\nargs = TrainingArguments(output_dir='out')\nfrom trl import SFTTrainer\n"
        "SFTTrainer(model=m, args=args, packing=True)\n",
        "from transformers import TrainingArguments\n\nargs = TrainingArguments(output_dir='out')\nfrom trl import SFTTrainer\n"
        "SFTTrainer(model=m, args=args, packing=True)\n"),
    "no config to move it into": (
        "from trl import SFTTrainer\n\nSFTTrainer(model=m, max_seq_length=512)\n",
        "from trl import SFTTrainer\n\nSFTTrainer(model=m, max_seq_length=512)\n"),
}  # fmt: skip


def mended(folder: Path, name: str, text: str, **said: Any) -> Repaired:
    base = written(folder, {name: text})
    return repair([base], options(**said), unsafe=True, base=base)


def result(done: Repaired, before: str) -> str:
    assert not done.refused
    return next((text.text for text in done.texts.values()), before)


@pytest.mark.parametrize(("before", "after"), PROGRAMS.values(), ids=PROGRAMS)
def test_an_argument_of_the_trainer_goes_into_its_config(tmp_path: Path, before: str, after: str) -> None:
    done = mended(tmp_path, "train.py", before, releases=NEW)
    assert result(done, before) == after
    assert ("setting-replaced" in rules(done.inspection)) == (before == after)


def test_the_name_is_that_of_the_release(tmp_path: Path) -> None:
    before = BOTH + "args = SFTConfig(output_dir='out')\nSFTTrainer(model=m, args=args, max_seq_length=512)\n"
    old = mended(tmp_path, "train.py", before, releases=["trl==0.13.0", "transformers==4.46.3"])
    assert "SFTConfig(output_dir='out', max_seq_length=512)" in result(old, before)


def test_in_a_notebook_nothing_else_changes(tmp_path: Path) -> None:
    cells = [
        ["from transformers import TrainingArguments\n", "from trl import SFTTrainer\n"],
        [
            "trainer = SFTTrainer(\n", "    model=m,\n", "    max_seq_length=512, # short\n",
            "    args=TrainingArguments(\n", "        output_dir='o',\n", "    ),\n", ")",
        ],
    ]  # fmt: skip
    notebook = {
        "cells": [
            {"cell_type": "code", "execution_count": 7, "metadata": {"id": "x"}, "outputs": [], "source": lines}
            for lines in cells
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    before = json.dumps(notebook, indent=1)
    after = json.loads(result(mended(tmp_path, "n.ipynb", before, releases=NEW), before))
    assert ["".join(cell["source"]) for cell in after["cells"]] == [
        "from transformers import TrainingArguments\nfrom trl import SFTTrainer, SFTConfig\n",
        "trainer = SFTTrainer(\n    model=m,\n    args=SFTConfig(\n        output_dir='o',\n        max_length=512,\n    ),\n)",
    ]
    for cell in (*notebook["cells"], *after["cells"]):  # type: ignore[misc]
        cell["source"] = []  # type: ignore[index]
    assert after == notebook


# The settings before and after, under transformers 5.23.
SETTINGS = {
    "a value of another setting": ("group_by_length: true\n", "train_sampling_strategy: group_by_length\n"),
    "a switch that was off": ("adafactor: false\n", ""),
    "a nested setting": ("split_batches: true  # whole\n", "accelerator_config: {split_batches: true}  # whole\n"),
    "a nested setting whose block is there": (
        "split_batches: true\naccelerator_config: {even_batches: true}\n",
        "split_batches: true\naccelerator_config: {even_batches: true}\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), SETTINGS.values(), ids=SETTINGS)
def test_a_setting_that_became_part_of_another(tmp_path: Path, before: str, after: str) -> None:
    head = "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-5\nbf16: true\n"
    done = mended(tmp_path, "train.yaml", head + before, releases=["transformers==5.23.0"], dialect="hf-args")
    assert result(done, head + before) == head + after


SECTIONS = {
    "into the block that is there": (
        '{"zero_optimization": {"stage": 3}, "stage3_max_live_parameters": 1e9}',
        '{"zero_optimization": {"stage": 3, "stage3_max_live_parameters": 1000000000}}',
    ),
    "which may stand on lines of its own": (
        '{\n  "overlap_comm": true,\n  "zero_optimization": {\n    "stage": 2\n  }\n}\n',
        '{\n  "zero_optimization": {\n    "stage": 2,\n    "overlap_comm": true\n  }\n}\n',
    ),
}


@pytest.mark.parametrize(("before", "after"), SECTIONS.values(), ids=SECTIONS)
def test_a_key_that_slipped_out_of_its_section_of_deepspeeds_file(tmp_path: Path, before: str, after: str) -> None:
    assert result(mended(tmp_path, "ds.json", before), before) == after
