"""What only narrates a library is off unless it is asked for by name, and one cause in several settings is told once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stablint import api
from stablint.cli import main
from stablint.hazard import model
from tests.runs import inspected, written

CALL = "from transformers import TrainingArguments\nargs = TrainingArguments(\n    'o',\n    {},\n)\n"
NARRATED = CALL.format("max_steps=30,\n    num_train_epochs=3")


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    main(["check", "--output-format", "json", *arguments])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def codes(report: dict[str, Any]) -> list[str]:
    return [one["code"] for one in report["diagnostics"]]


# What the command line and the settings say, and whether T123 is told.
ASKED = [
    ([], "", False),
    (["--select", "T"], "", False),
    (["--select", "T123"], "", True),
    (["--select", "max-steps-overrides-epochs"], "", True),
    ([], '[severity]\nT123 = "warning"\n', True),
    ([], 'select = ["T123"]\n[severity]\nT1 = "warning"\n', True),
    ([], '[severity]\nT1 = "warning"\n', False),
    ([], '[[per-path]]\npaths = ["*.py"]\nseverity = { T123 = "info" }\nselect = ["T123"]\n', True),
]


@pytest.mark.parametrize(("words", "settings", "told"), ASKED)
def test_a_rule_that_narrates_is_asked_for_by_name(
    words: list[str],
    settings: str,
    told: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written(tmp_path, {"train.py": NARRATED, "stablint.toml": settings})
    monkeypatch.chdir(tmp_path)
    assert ("T123" in codes(printed([*words, "train.py"], capsys))) is told


def test_only_infos_are_off() -> None:
    off = [hazard for hazard in model.load() if hazard.quiet]
    assert off and {hazard.severity for hazard in off} == {"info"}


GONE = CALL.format("warmup_ratio=0.03,\n    overwrite_output_dir=True,\n    logging_dir='l'")


def test_one_cause_in_several_settings_is_told_once_and_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, {"train.py": GONE})
    monkeypatch.chdir(tmp_path)
    report = printed(["train.py", "--isolated", "--select", "V112"], capsys)
    (one,) = report["diagnostics"]
    assert report["summary"]["infos"] == 1
    assert "likewise `overwrite_output_dir` in line 5, `logging_dir` in line 6" in one["message"]
    assert [(place["setting"], place["location"]["line"]) for place in one["related"]] == [
        ("overwrite_output_dir", 5),
        ("logging_dir", 6),
    ]
    written(tmp_path, {"stablint.toml": 'select = ["V112"]\n'})
    assert len(api.check("train.py").diagnostics) == 1


def test_a_comment_accepts_one_of_the_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    accepted = GONE.replace("warmup_ratio=0.03,", "warmup_ratio=0.03,  # stablint: ignore[V112] -- old release")
    written(tmp_path, {"train.py": accepted})
    monkeypatch.chdir(tmp_path)
    report = printed(["train.py", "--isolated", "--select", "V112"], capsys)
    assert [one["suppressed"] is None for one in report["diagnostics"]] == [False, True]
    assert "warmup_ratio" not in report["diagnostics"][1]["message"]


BLOCK = '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2},\n "bf16": {"enabled": true,\n  "loss_scale": 0,\n  "hysteresis": 2}}\n'


def test_a_repair_reaches_every_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, {"ds.json": BLOCK})
    monkeypatch.chdir(tmp_path)
    words = ["check", "ds.json", "--isolated", "--with", "deepspeed==0.19.8"]
    main([*words, "--output-format", "concise"])
    assert capsys.readouterr().out.count("[D124]") == 1
    main([*words, "--fix", "--unsafe-fixes"])
    assert json.loads((tmp_path / "ds.json").read_text(encoding="utf-8"))["bf16"] == {"enabled": True}


TESTS = """import unittest
from transformers import TrainingArguments


class TrainerTest(unittest.TestCase):
    def test_refuses(self):
        with self.assertRaises(ValueError):
            TrainingArguments("o", optim="adamw_hf", learning_rate=3.0)
"""
TEMPLATE = "from transformers import TrainingArguments\n{% if cookiecutter.fast %}\nargs = TrainingArguments('o', optim='adamw_hf')\n{% endif %}\n"
DEEP = "from transformers import TrainingArguments\nargs = TrainingArguments('o')\nn = 1" + " + 1" * 300 + "\n"
# Programs in which nothing is to be changed, and what is told of them.
PROGRAMS = [
    ("tests of a program", TESTS, []),
    (
        "tests by a class of the program's own",
        TESTS.replace("unittest.TestCase", "OurTestCase").replace("import unittest\n", ""),
        [],
    ),
    (
        "the same outside of tests",
        TESTS.replace("unittest.TestCase", "Base").replace("test_refuses", "refuses"),
        ["V108"],
    ),
    (
        "a token in tests",
        TESTS + '\nimport wandb\nwandb.login(key="' + "0123456789abcdef" * 2 + '01234567")\n',
        ["S101"],
    ),
    ("a template of a program", TEMPLATE, []),
    ("no template", TEMPLATE.replace("{% ", "").replace(" %}", ""), ["F112"]),
    ("deeper than is read", DEEP, ["F112"]),
]


@pytest.mark.parametrize(("name", "text", "told"), PROGRAMS, ids=[name for name, _, _ in PROGRAMS])
def test_what_is_no_training_program_draws_nothing(
    name: str,
    text: str,
    told: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written(tmp_path, {"train.py": text})
    monkeypatch.chdir(tmp_path)
    found = codes(printed([".", "--isolated", "--with", "transformers==5.23.0"], capsys))
    assert [code for code in found if code[0] in "FSV"] == told


def test_a_library_that_the_repository_carries_is_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "from transformers import TrainingArguments\nargs = TrainingArguments('o', load_best_model_at_end=True, eval_strategy='no')\n"
    files = {"train.py": text, "peft/setup.py": "", "peft/examples/run.py": text, "peft/src/peft/__init__.py": ""}
    written(tmp_path, files | {"peft/src/peft/peft_model.py": "", "trl/__init__.py": "", "trl/run.py": text})
    monkeypatch.chdir(tmp_path)
    assert main(["check", ".", "--isolated", "--output-format", "concise"]) == 1
    told = capsys.readouterr()
    assert [line.partition(":")[0] for line in told.out.splitlines() if "T102" in line] == ["train.py", "trl/run.py"]
    assert "peft: a copy of the library peft" in told.err
    main(["check", "peft", "--isolated", "--output-format", "concise"])
    assert "peft/examples/run.py" in capsys.readouterr().out


# A name on its way out is worth a word once no release that may run has the old one alone; asked for, it is told before.
OUTGOING = [
    (">=4.36", [], []),
    ("==5.23.0", [], ["V103"]),
    (">=4.36", ["--select", "V103"], ["V103"]),
]


@pytest.mark.parametrize(("releases", "words", "told"), OUTGOING)
def test_a_name_on_its_way_out(
    releases: str,
    words: list[str],
    told: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written(tmp_path, {"train.py": CALL.format("gradient_checkpointing=True")})
    monkeypatch.chdir(tmp_path)
    report = printed([".", "--isolated", "--with", f"transformers{releases}", *words], capsys)
    assert [code for code in codes(report) if code == "V103"] == told


SWITCHED = """import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig


def load(path, load_in_4bit=False):
    config = None
    if load_in_4bit:
        config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
    return AutoModelForCausalLM.from_pretrained(path, quantization_config=config)
"""


def test_what_a_switch_makes_that_is_off_is_told_of_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, {"load.py": SWITCHED})
    monkeypatch.chdir(tmp_path)
    assert codes(printed([".", "--isolated"], capsys)) == []
    assert codes(printed([".", "--isolated", "--select", "Q125"], capsys)) == []


@pytest.mark.parametrize(
    ("release", "told"), [("nosuchlib==1.0", "no release of `nosuchlib` is known"), ("torch==2.5.1", "")]
)
def test_a_library_that_nobody_knows_is_told_of(
    release: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, {"train.py": NARRATED})
    monkeypatch.chdir(tmp_path)
    main(["check", "train.py", "--isolated", "--with", release])
    said = capsys.readouterr().err
    assert told in said
    assert bool(told) == ("--with" in said)


TRAIN = (
    "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: {}\ntemplate: qwen\ncutoff_len: 1024\n"
    "output_dir: out\nlearning_rate: 1.0e-4\nper_device_train_batch_size: 1\nbf16: true\n"
)


def test_a_set_that_one_table_lacks_is_told_once_for_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = '{"ours": {"file_name": "ours.json"}}\n'
    files = {f"{name}.yaml": TRAIN.format(rows) for name, rows in (("a", "theirs"), ("b", "theirs"), ("c", "others"))}
    written(tmp_path, {**files, "data/dataset_info.json": table})
    monkeypatch.chdir(tmp_path)
    told = [one for one in printed([".", "--isolated"], capsys)["diagnostics"] if one["code"] == "T476"]
    assert [one["file"] for one in told] == ["a.yaml", "c.yaml"]
    assert "likewise b.yaml:5" in told[0]["message"]
    assert "b.yaml" in [place["file"] for place in told[0]["related"]]
    one = printed(["b.yaml", "--isolated"], capsys)["diagnostics"]
    assert [found["file"] for found in one if found["code"] == "T476"] == ["b.yaml"]


def test_the_name_of_an_argument_is_told_and_not_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A long name of several words looks like a secret; it is what stands in front of a value."""
    call = "lr_scheduler_type='cosine', lr_scheduler_kwargs={'min_learning_rate_ratio': 0.1})\nTrainer(args=args, train_dataset=rows).train()\n"
    written(
        tmp_path,
        {"train.py": "from transformers import Trainer, TrainingArguments\n\nargs = TrainingArguments('out', " + call},
    )
    monkeypatch.chdir(tmp_path)
    (one,) = printed(["train.py", "--isolated", "--select", "L161"], capsys)["diagnostics"]
    assert "`min_learning_rate_ratio` is no argument of the schedule `cosine`" in one["message"]


@pytest.mark.parametrize(("more", "told"), [("", []), ("learning_rate: 1.0e-5\n", ["T124"])])
def test_a_file_that_sets_an_evaluation_alone_trains_nothing(
    more: str, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "model_name_or_path: org/m\ndataset_name: org/d\noutput_dir: out\nbf16: true\nstreaming: true\nper_device_eval_batch_size: 8\n"
    written(tmp_path, {"recipe.yaml": text + more})
    monkeypatch.chdir(tmp_path)
    found = printed(["recipe.yaml", "--isolated", "--select", "T124", "--with", "trl==1.16.0"], capsys)["diagnostics"]
    assert [one["code"] for one in found] == told


def test_a_fault_that_many_files_repeat_is_told_once_and_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key that eight copies of a recipe misspell, and the flags of one command that its program has not."""
    recipe = "model_name_or_path: org/m\ndataset_name: org/d\noutput_dir: out\nlearning_rate: 1.0e-5\ngradient_acumulation_steps: 2\n"
    program = (
        "import argparse\n\np = argparse.ArgumentParser()\np.add_argument('--learning-rate')\nargs = p.parse_args()\n"
    )
    files = {f"recipes/{name}/sft.yaml": recipe for name in ("a", "b", "c", "d", "e")}
    written(
        tmp_path, {**files, "train.py": program, "run.sh": "python train.py --epochs 3 --rows 2 --learning-rate 1e-5\n"}
    )
    monkeypatch.chdir(tmp_path)
    told = printed([".", "--isolated", "--select", "V137,V260"], capsys)["diagnostics"]
    told = sorted(told, key=lambda one: one["code"])
    assert [(one["code"], one["file"]) for one in told] == [("V137", "recipes/a/sft.yaml"), ("V260", "run.sh")]
    assert "likewise recipes/b/sft.yaml:5, recipes/c/sft.yaml:5, recipes/d/sft.yaml:5 and 1 more" in told[0]["message"]
    assert "likewise `rows`" in told[1]["message"]


def test_a_token_that_is_handed_to_several_settings_is_told_once(tmp_path: Path) -> None:
    token = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ"[::-1] + "QwErTyUi"
    text = f'from transformers import AutoModel, AutoTokenizer\n\ntok = "{token}"\nmodel = AutoModel.from_pretrained("a/b", use_auth_token=tok)\n'
    text += 'tokenizer = AutoTokenizer.from_pretrained("a/b", token=tok)\n'
    found = inspected(tmp_path, {"train.py": text})
    assert [one.code for one in found.report.diagnostics if one.code.startswith("S")] == ["S101"]
