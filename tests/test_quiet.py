"""What only narrates a library is off unless it is asked for by name, and one cause in several settings is told once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stablint import api
from stablint.cli import main
from stablint.hazard import model
from tests.runs import written

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
