"""What a program puts in the place of a library's methods, words and arguments makes no error of what the library alone would refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected

HEAD = """from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
"""
ARGS = 'args = TrainingArguments("out", optim="{optim}", learning_rate=1e-5, bf16=True)\n'
TRAINS = "trainer = Trainer(model, args, train_dataset=rows)\ntrainer.train()\n"
PARSED = "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
IN_CLASS = """class Run:
    def __init__(self, a):
        {does}
        self.trainer = Trainer(model, a, train_dataset=rows)


"""


def severities(files: dict[str, str], code: str, folder: Path) -> list[str]:
    found = inspected(folder, {"requirements.txt": "transformers==4.57.1\n", **files}).report.diagnostics
    return [one.severity for one in found if one.code == code]


@pytest.mark.parametrize(
    ("before", "severity"),
    [
        ("", "error"),
        ('from unittest.mock import patch\npatch.object(Other, "create_optimizer", own).start()\n', "error"),
        ('from unittest.mock import patch\npatch.object(Trainer, "create_optimizer", own).start()\n', "warning"),
        ('from unittest import mock\nmock.patch("transformers.Trainer.create_optimizer", own).start()\n', "warning"),
        ('import transformers\nsetattr(transformers.Trainer, "create_optimizer", own)\n', "warning"),
    ],
)
def test_a_method_is_put_in_the_place_of_the_library_s(before: str, severity: str, tmp_path: Path) -> None:
    program = HEAD + before + ARGS.format(optim="apollo_adamw") + TRAINS
    assert severities({"train.py": program}, "L119", tmp_path) == [severity]


@pytest.mark.parametrize(
    ("does", "severity"), [("a.optim_target_modules = ['attn']", "warning"), ("self.a = a", "error")]
)
def test_a_class_of_the_program_sets_what_it_is_given(does: str, severity: str, tmp_path: Path) -> None:
    program = HEAD + IN_CLASS.format(does=does) + ARGS.format(optim="apollo_adamw") + "Run(args).trainer.train()\n"
    assert severities({"train.py": program}, "L119", tmp_path) == [severity]


@pytest.mark.parametrize(
    ("before", "severity"),
    [("", "error"), ('from aenum import extend_enum\nextend_enum(OptimizerNames, "MUON", "muon")\n', "warning")],
)
def test_an_enumeration_is_extended(before: str, severity: str, tmp_path: Path) -> None:
    program = HEAD + before + ARGS.format(optim="muon") + TRAINS
    assert severities({"train.py": program}, "V108", tmp_path) == [severity]


@pytest.mark.parametrize(
    ("before", "severity"),
    [("", "error"), ('import sys\nat = sys.argv.index("--debug")\ndel sys.argv[at : at + 2]\n', "warning")],
)
def test_words_of_the_command_are_taken_away(before: str, severity: str, tmp_path: Path) -> None:
    files = {
        "train.py": HEAD + before + PARSED + TRAINS,
        "run.sh": "python train.py --output_dir out --bf16 --debug lots\n",
    }
    assert severities(files, "V109", tmp_path) == [severity]
