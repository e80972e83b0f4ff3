"""A flag whose value the program hands on in a call: the call's keyword is the library's name, the flag's name is the program's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected

PROGRAM = """\
import argparse
from transformers import Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--{flag}", type=str)
parser.add_argument("--lr", type=float)
options = parser.parse_args()
args = TrainingArguments(output_dir="out", {keyword}=options.{flag}, learning_rate=options.lr)
Trainer(model=model, args=args, train_dataset=rows, eval_dataset=rows).train()
"""
DATACLASS = """\
from dataclasses import dataclass, field

from transformers import HfArgumentParser, TrainingArguments
from trl import SFTTrainer


@dataclass
class DataArguments:
    packing: bool = field(default=False)


data_args, args = HfArgumentParser((DataArguments, TrainingArguments)).parse_args_into_dataclasses()
SFTTrainer(model=model, args=args, train_dataset=rows, packing=data_args.packing).train()
"""
RELEASES = ("transformers==5.23.0", "trl==1.16.0")


@pytest.mark.parametrize(
    ("flag", "keyword", "told"),
    [
        ("evaluation_strategy", "evaluation_strategy", True),
        ("eval_strategy", "evaluation_strategy", True),
        ("evaluation_strategy", "eval_strategy", False),
    ],
)
def test_a_name_is_gone_in_the_call_and_not_in_the_command(tmp_path: Path, flag: str, keyword: str, told: bool) -> None:
    files = {
        "train.py": PROGRAM.format(flag=flag, keyword=keyword),
        "run.sh": f"python train.py --{flag} epoch --lr 1e-4\n",
    }
    found = [
        one
        for one in inspected(tmp_path, files, releases=list(RELEASES)).report.diagnostics
        if one.rule == "setting-renamed"
    ]
    assert [one.text.name.rpartition("/")[2] for one in found] == ["train.py"] * told
    assert all(one.message.startswith("`evaluation_strategy` is called `eval_strategy` now") for one in found)
    assert not any(
        one.fix and one.fix.files for one in found
    )  # renaming the flag would take it from the program's parser


def test_a_field_of_the_programs_own_dataclass_stays_as_it_is(tmp_path: Path) -> None:
    files = {"train.py": DATACLASS, "run.sh": "python train.py --packing True --learning_rate 1e-4 --output_dir out\n"}
    found = [
        one
        for one in inspected(tmp_path, files, releases=list(RELEASES)).report.diagnostics
        if one.rule == "setting-replaced"
    ]
    assert [one.text.name.rpartition("/")[2] for one in found] == ["train.py"]
