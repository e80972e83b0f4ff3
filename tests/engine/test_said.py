"""What a check leaves out is said: names that lead nowhere, files outside, a model that nobody knows, commands that cannot be followed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stablint.cli import main
from tests.runs import inspected, written

RUN = "torchrun train.py --output_dir o --learning_rate 1e-5 --deepspeed {}\n"
# What the files say, and what is said of the name behind the place.
MISSING = [
    ({"run.sh": RUN.format("ds_zero33.json"), "ds_zero3.json": "{}"}, "; did you mean `ds_zero3.json`?"),
    ({"run.sh": RUN.format("conf/zero2.json"), "conf/zero3.json": "{}"}, "; did you mean `zero3.json`?"),
    ({"run.sh": RUN.format("ds_zero33.json"), "ds_zero3.yaml": "a: 1"}, ""),
    ({"run.sh": RUN.format("nowhere/ds.json")}, ""),
]


@pytest.mark.parametrize(("files", "hint"), MISSING)
def test_a_file_that_is_missing_is_told_with_what_may_be_meant(
    files: dict[str, str], hint: str, tmp_path: Path
) -> None:
    (missing,) = inspected(tmp_path, files).report.not_found
    assert missing.endswith(f"(run.sh:1{hint})")


def test_a_file_outside_is_said_to_be_outside(tmp_path: Path) -> None:
    written(tmp_path, {"ds.json": "{}"})
    (missing,) = inspected(tmp_path / "project", {"run.sh": RUN.format("../ds.json")}).report.not_found
    assert "outside the repository" in missing


def test_what_is_said_stands_in_json_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, {"run.sh": RUN.format("ds_zero33.json"), "ds_zero3.json": "{}"})
    monkeypatch.chdir(tmp_path)
    main(["check", ".", "--isolated", "--model", "nobody/nothing", "--output-format", "json"])
    missing, unknown = json.loads(capsys.readouterr().out)["notes"]
    assert "`ds_zero33.json` (run.sh:1; did you mean `ds_zero3.json`?)" in missing
    assert "Nothing is known of the model `nobody/nothing`" in unknown
    main(["check", ".", "--isolated", "--model", "nobody/nothing"])
    printed = capsys.readouterr().out
    assert missing in printed and unknown in printed


WRONG = [
    (["--with", "transformer==5.0"], "did you mean `transformers`?"),
    (["--set", "training.learning_rat=1"], "did you mean `training.learning_rate`?"),
    (["--set", "trainin.learning_rate=1"], "no fact begins with `trainin`: did you mean `training`?"),
]
RIGHT = [["--with", "numpy==2.0"], ["--set", "training.learning_rate=1e-5"], ["--set", "data.rows=1000"]]


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_a_misspelled_name_is_refused_with_what_may_be_meant(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written(tmp_path, {"train.yaml": "output_dir: o\nlearning_rate: 1.0e-5\n"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        sys.exit(main(["check", "train.yaml", "--isolated", *words]))
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", RIGHT)
def test_other_names_are_taken(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, {"train.yaml": "output_dir: o\nlearning_rate: 1.0e-5\n"})
    monkeypatch.chdir(tmp_path)
    assert main(["check", "train.yaml", "--isolated", *words]) == 0


BAD = "touch started\ntorchrun train.py --output_dir o --learning_rate 1e-5 --bf16 --fp16\n"
PARSED = """
from transformers import HfArgumentParser, Trainer, TrainingArguments
(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(model=net, args=args, train_dataset=rows).train()
"""
FOLLOWED = [["bash", "job.sh"], ["./job.sh"], ["env", "X=1", "bash", "job.sh"], ["sh", "-e", "job.sh"]]


@pytest.mark.skipif(os.name != "posix", reason="scripts of POSIX")
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [*((command, 1, "P143") for command in FOLLOWED), (["make", "train"], 2, "what `make` starts is not read")],
    ids=str,
)
def test_a_script_that_a_command_starts_is_read(command: list[str], code: int, said: str, tmp_path: Path) -> None:
    written(tmp_path, {"job.sh": "#!/bin/sh\n" + BAD})
    (tmp_path / "job.sh").chmod(0o755)
    written(tmp_path, {"train.py": PARSED})
    words = [sys.executable, "-m", "stablint.cli", "run", "--isolated", "--", *command]
    source = Path(__file__).parents[2] / "lint"
    done = subprocess.run(
        words, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(source)}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code and said in done.stderr
    assert not (tmp_path / "started").exists()


TRAIN = "from transformers import TrainingArguments\nargs = TrainingArguments('o', {})\n"
# What is asked with which options, and what the last lines say or leave out.
TAILS = [
    ([], "checks wait for what no file says: --gpu NAME, --model ID_OR_FOLDER, ", "fp16-unsafe-model"),
    (["--verbose"], "fp16-unsafe-model", "more, which --verbose names"),
    (["--model", "nobody/nothing"], "--model FOLDER", "ID_OR_FOLDER"),
    (["--model", "Qwen/Qwen2.5-7B", "--gpu", "A100"], "Found 1 warning", "model"),
]


@pytest.mark.parametrize(("words", "said", "unsaid"), TAILS)
def test_checks_that_wait_are_told_by_what_helps(
    words: list[str],
    said: str,
    unsaid: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written(tmp_path, {"train.py": TRAIN.format("fp16=True")})
    monkeypatch.chdir(tmp_path)
    main(["check", ".", "--isolated", *words])
    last = capsys.readouterr().out.rpartition("\n\n")[2]
    assert said in last and unsaid not in last


@pytest.mark.parametrize(("setting", "lines"), [("fp16=True", 0), ("fp16=True, bf16=True", 1)])
def test_quiet_is_findings_only(
    setting: str, lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, {"train.py": TRAIN.format(setting)})
    monkeypatch.chdir(tmp_path)
    main(["check", ".", "--isolated", "--quiet", "--output-format", "concise"])
    assert len(capsys.readouterr().out.splitlines()) == lines


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"base_model": null, "temperature": 0.7, "seed": 42', 0),  # what an evaluation wrote, cut short
        ('{"base_model": "a/b", "output_dir": "out"', 1),
        ('{"base_model": "a/b", "learning_rate": 1e-5', 1),
    ],
)
def test_a_broken_file_is_told_of_by_more_than_the_name_of_a_model(
    text: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, {"results/a.json": text})
    monkeypatch.chdir(tmp_path)
    assert main(["check", ".", "--isolated", "--skip-unrecognised"]) == code


PROSE = "# How to train\n\nlearning_rate: 1e-4: that much\nbf16: [\n"


@pytest.mark.parametrize(
    ("name", "code"), [("README.md", 0), ("notes.txt", 0), ("page.html", 0), ("train.yaml", 1), ("config", 1)]
)
def test_prose_that_a_glob_names_is_no_broken_configuration(
    name: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(
        tmp_path,
        {
            name: PROSE.replace("```sh\n", "").replace("```\n", ""),
            "good.yaml": "output_dir: o\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 1\n",
        },
    )
    monkeypatch.chdir(tmp_path)
    assert main(["check", name, "good.yaml", "--isolated"]) == code


def test_that_a_name_is_gone_is_told_once_whatever_each_run_gives_it(tmp_path: Path) -> None:
    program = (
        "import argparse\nimport yaml\nfrom transformers import Trainer, TrainingArguments\n\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--config")\nwith open(parser.parse_args().config) as file:\n    settings = yaml.safe_load(file)\n'
        'args = TrainingArguments(output_dir="out", overwrite_output_dir=settings.get("overwrite", False))\n'
        "Trainer(model=model, args=args, train_dataset=rows).train()\n"
    )
    files = {
        "requirements.txt": "transformers==5.23.0\n",
        "train.py": program,
        "a.yaml": "overwrite: true\nlearning_rate: 1.0e-5\n",
        "b.yaml": "overwrite: false\nlearning_rate: 1.0e-5\n",
        "a.sh": "python train.py --config a.yaml\n",
        "b.sh": "python train.py --config b.yaml\n",
    }
    (told,) = [one for one in inspected(tmp_path, files).report.diagnostics if one.code == "V104"]
    assert len(told.runs) == 2
