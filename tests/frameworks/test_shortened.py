"""The beginning of an argument's name is the argument where argparse reads it, and only where one name begins so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected, rules

SWIFT = "swift sft --model Qwen/Qwen3-8B --tuner_type lora --dataset a.jsonl --output_dir out "
FACTORY = "llamafactory-cli train --stage sft --model_name_or_path m --dataset a --template qwen --output_dir out "
CASES = {
    "a flag of ms-swift": ({"run.sh": SWIFT + "--eval_step 50\n"}, "training.eval_steps", 50),
    "with a hyphen": ({"run.sh": SWIFT + "--eval-step 50\n"}, "training.eval_steps", 50),
    "an argument of its own": ({"run.sh": SWIFT + "--split_dataset 0.1\n"}, "data.val_size", 0.1),
    "a file of ms-swift": (
        {"run.sh": "swift sft sft.yaml\n", "sft.yaml": "model: m\ntuner_type: lora\ndataset: [a]\noutput_dir: out\ngradient_accumulation: 4\n"},
        "training.gradient_accumulation_steps",
        4,
    ),
    "a flag of LLaMA-Factory": ({"run.sh": FACTORY + "--cutoff 2048\n"}, "training.max_length", 2048),
    "the whole name beside it": ({"run.sh": SWIFT + "--eval_step 50 --eval_steps 100\n"}, "training.eval_steps", 100),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_beginning_of_a_name_is_the_setting(case: str, tmp_path: Path) -> None:
    files, fact, value = CASES[case]
    (run,) = inspected(tmp_path, files).runs
    assert run.explicit[fact].value == value


def test_what_several_names_begin_with_is_none_of_them(tmp_path: Path) -> None:
    (run,) = inspected(tmp_path, {"run.sh": SWIFT + "--eval 50\n"}).runs
    assert not {"training.eval_steps", "training.eval_strategy", "training.eval_dataset"} & set(run.explicit)


def test_keys_of_a_file_of_llamafactory_are_compared_whole(tmp_path: Path) -> None:
    text = "model_name_or_path: m\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: a\ntemplate: qwen\noutput_dir: out\ncutoff: 2048\n"
    found = inspected(tmp_path, {"train.yaml": text}, releases=["llamafactory==0.9.5"])
    assert "training.max_length" not in found.runs[0].explicit
    assert "llamafactory-unknown-argument" in rules(found)


def test_a_slip_that_begins_no_name_is_still_told(tmp_path: Path) -> None:
    found = inspected(tmp_path, {"run.sh": SWIFT + "--eval_stepz 50\n"}, releases=["ms-swift==4.5.2"])
    assert "swift-unknown-argument" in rules(found)


OWN = """import argparse

import lightning as L

parser = argparse.ArgumentParser()
parser.add_argument("--train_type", default="lora")
parser.add_argument("--accelerator", default="gpu")
args = parser.parse_args()
L.Trainer(accelerator=args.accelerator).fit(model)
"""


def test_a_flag_of_a_program_that_only_looks_like_ms_swift_is_its_own(tmp_path: Path) -> None:
    found = inspected(tmp_path, {"run.sh": "python train.py --train_type state --accelerator gpu\n", "train.py": OWN})
    assert all("training.accelerator_config" not in run.explicit for run in found.runs)
    assert rules(found) == set()
