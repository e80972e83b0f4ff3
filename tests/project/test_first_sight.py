"""The sheet of a first look: which files count, what is drawn, and what the judged sheet adds up to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import first_sight

SETS = {
    "run.sh": "torchrun train.py --model_name_or_path a/b --learning_rate 2e-5 --num_train_epochs 3 --output_dir o\n",
    "two.yaml": "learning_rate: 2.0e-5\nweight_decay: 0.1\n",
    "quoted.json": '{"zero_optimization": {"stage": 2}}\n',
    "call.py": "args = TrainingArguments('o', per_device_train_batch_size=4)\n",
    "default.py": "class Args:\n    lr: float = 1e-4\n    max_steps: int = 10\n",
    "flags.py": "parser.add_argument('--epochs', default=3)\nparser.add_argument('--batch_size', '8')\nx = dict(epochs=1, lr=2)\n",
    "cell.ipynb": '{"cells": [{"source": ["SFTConfig(\\n", " num_train_epochs=3)"]}]}\n',
}
SETS_NOTHING = {
    "one.yaml": "optimizer: adam\n",
    "mention.md": "learning_rate: 2e-5\nweight_decay: 0.1\n",
    "passed_on.py": "step(lr=args.lr, batch_size=args.batch_size)\n",
    "serve.sh": "vllm serve a/b --port 8000\n",
    "trainer_state.json": '{"log_history": [{"learning_rate": 1e-5, "epochs": 1}], "train_batch_size": 4}\n',
}


@pytest.mark.parametrize("name", SETS)
def test_a_file_that_sets_something_of_a_run_counts(name: str, tmp_path: Path):
    (tmp_path / name).write_text(SETS[name], "utf-8")
    assert first_sight.training_files(tmp_path) == [name]


@pytest.mark.parametrize("name", SETS_NOTHING)
def test_a_file_that_sets_nothing_does_not_count(name: str, tmp_path: Path):
    (tmp_path / name).write_text(SETS_NOTHING[name], "utf-8")
    assert first_sight.training_files(tmp_path) == []


@pytest.fixture
def repositories(tmp_path: Path) -> list[Path]:
    """One repository with an error, one without a finding, and one without a configuration."""
    broken, quiet, empty = (tmp_path / name for name in ("a+broken@1234567", "b+quiet", "c+empty"))
    for folder in (broken, quiet, empty):
        folder.mkdir()
    (broken / "train.py").write_text(
        "from transformers import TrainingArguments\n"
        "args = TrainingArguments('o', load_best_model_at_end=True, learning_rate=2e-5, per_device_train_batch_size=1)\n",
        "utf-8",
    )
    (quiet / "ds.json").write_text(
        json.dumps({"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}}),
        "utf-8",
    )
    (empty / "README.md").write_text("nothing\n", "utf-8")
    return [empty, quiet, broken]


def test_the_sheet_holds_every_error_and_its_verdicts_add_up(
    repositories: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    sheet = tmp_path / "sheet.jsonl"
    assert first_sight.main(["draw", *map(str, repositories), "--sheet", str(sheet)]) == 0
    rows = first_sight.sheet(sheet)
    looked = [row for row in rows if row["kind"] == "repository"]
    assert [
        (row["repository"], row["commit"], row["training_files"], row["training_files_read"]) for row in looked
    ] == [
        ("a+broken", "1234567", 1, 1),
        ("b+quiet", "", 1, 1),
        ("c+empty", "", 0, 0),
    ]
    errors = [row for row in rows if row["kind"] == "error"]
    assert [(row["file"], row["line"], row["code"], row["verdict"]) for row in errors] == [("train.py", 2, "T102", "")]
    assert {row["file"] for row in rows if row["kind"] == "reading"} == {"train.py", "ds.json"}

    for row in rows:
        if row["kind"] != "repository":
            row["verdict"], row["why"] = ("right" if row["kind"] == "reading" else "false"), "for this test"
    sheet.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    table = first_sight.figures(first_sight.sheet(sheet))
    assert table["errors: true / false / arguable"] == "0 / 1 / 0"
    assert table["false errors per 1,000 training files"] == "500.0"
    assert table["readings right"].startswith("2 of 2, 100%")
    assert table["errors not judged"] == table["readings not judged"] == "0"
    assert first_sight.main(["figures", str(sheet)]) == 0
    assert "T102 false" in capsys.readouterr().out


def test_the_same_seed_draws_the_same(repositories: list[Path]):
    def one(roots: list[Path]) -> list[first_sight.Row]:
        rows = list(first_sight.drawn(roots, 1, 1, 7, 300.0))
        return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]

    assert one(repositories) == one(repositories[::-1])


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ('{"kind": "error", "verdict": "right"}', "2: verdict 'right'; say one of true, false, arguable"),
        ('{"kind": "reading", "verdict": "true"}', "2: verdict 'true'; say one of right, partly, wrong"),
        ("not JSON", "2: no JSON object"),
    ],
)
def test_a_sheet_that_cannot_be_counted_names_its_line(row: str, complaint: str, tmp_path: Path):
    sheet = tmp_path / "sheet.jsonl"
    sheet.write_text('{"kind": "error", "verdict": "true"}\n' + row + "\n", "utf-8")
    with pytest.raises(SystemExit, match=complaint):
        first_sight.sheet(sheet)


def test_a_sheet_with_verdicts_is_not_overwritten(repositories: list[Path], tmp_path: Path):
    sheet = tmp_path / "sheet.jsonl"
    sheet.write_text("", "utf-8")
    with pytest.raises(SystemExit):
        first_sight.main(["draw", *map(str, repositories), "--sheet", str(sheet)])
    assert sheet.read_text("utf-8") == ""


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(5, 14, 0.163, 0.612), (17, 26, 0.462, 0.806), (0, 10, 0.0, 0.278), (0, 0, 0.0, 1.0)],
)
def test_wilson_is_what_the_books_say(hits: int, of: int, low: float, high: float):
    assert first_sight.wilson(hits, of) == pytest.approx((low, high), abs=1e-3)


@pytest.mark.parametrize(
    ("field", "wanted", "told", "verdict"),
    [
        ("trainer", "trl.SFTTrainer", "trl.SFTTrainer (presumed)", "right"),
        ("trainer", "torch", "a program's own settings", "unknown"),
        ("trainer", "deepspeed", "transformers.Trainer (presumed)", "wrong"),
        ("method", "lora", "lora (presumed)", "right"),
        ("method", "lora", "qlora", "wrong"),
        ("method", "full", "unknown", "unknown"),
        ("method", "partial", "no adapter; some of the weights may be frozen", "right"),
        ("rate", "2e-5", "2e-05", "right"),
        ("rate", "-", "5e-05 (default)", "wrong"),
        ("rate", "2e-5 or -", "not known: it is set when the program runs", "right"),
        ("steps", "3 epochs", "3 epochs", "right"),
        ("steps", "3 epochs", "3", "wrong"),
        ("steps", "1800 steps or 4 epochs", "1,800", "right"),
        ("batch", "4x4", "16 (presumed)", "right"),
        ("batch", "4x4", "not known: processes (4 a device, 4 accumulated)", "right"),
        ("batch", "128", "not known: processes (4 a device, 4 accumulated, 8 processes)", "right"),
        ("batch", "4x4", "not known: accumulation (4 a device)", "unknown"),
        ("length", "-", "", "right"),
        ("model", "a/b or -", "c/d", "wrong"),
    ],
)
def test_a_field_is_held_against_what_was_written_down(field: str, wanted: str, told: str, verdict: str):
    assert first_sight.verdict(field, wanted.split(" or "), told) == verdict


def test_a_reading_is_right_where_all_fields_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "a+b@1234567"
    folder.mkdir()
    (folder / "train.py").write_text(
        "from trl import SFTConfig, SFTTrainer\n"
        "args = SFTConfig('o', learning_rate=2e-5, per_device_train_batch_size=4, gradient_accumulation_steps=2,\n"
        "                 num_train_epochs=2, max_length=512, bf16=True)\n"
        "SFTTrainer(model='a/b', args=args).train()\n",
        "utf-8",
    )
    sheet = tmp_path / "fields.txt"
    rest = "full | bfloat16 | 2e-5 | 2 epochs | 4x2 | 512 | a/b | -\n"
    sheet.write_text(f"a+b@1234567:train.py | trl.SFTTrainer | sft | {rest}", "utf-8")
    assert first_sight.main(["readings", str(sheet), str(tmp_path)]) == 0
    assert "right in all 1 of 1" in capsys.readouterr().out
    sheet.write_text(f"a+b@1234567:train.py | trl.DPOTrainer | dpo | {rest}", "utf-8")
    first_sight.main(["readings", str(sheet), str(tmp_path)])
    told = capsys.readouterr().out
    assert "wrong    trainer    trl.DPOTrainer  <- trl.SFTTrainer" in told and "right in all 0 of 1" in told
