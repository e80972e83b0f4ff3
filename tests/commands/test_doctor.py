"""`stablint doctor`: a machine without a GPU is no fault, and what was found is said by every road."""

from __future__ import annotations

import json

import pytest

from stablint.cli import main
from stablint.commands import doctor as doctoring
from tests.hardware import answers
from tests.hardware.test_live import A100, HANGS, MIXED, machine_that


def doctor(monkeypatch, capsys, machine, *words: str) -> str:
    monkeypatch.setattr(doctoring, "machine", lambda torch=None: machine)
    assert main(["doctor", "--color", "never", *words]) == 0
    return capsys.readouterr().out


def test_json_says_what_was_found_and_what_would_be_used(monkeypatch, capsys):
    told = json.loads(doctor(monkeypatch, capsys, machine_that(A100), "--output-format", "json"))
    assert (told["gpu"]["state"], told["gpu"]["road"]) == ("found", "nvml")
    assert told["targets"][0]["facts"]["target.gpu.native_bf16"] is True
    assert told["gpu"]["tried"][0]["detail"] == "550.54.15"
    assert told["python"]["version"] and "pyyaml" not in told["libraries"]


@pytest.mark.parametrize("machine", [machine_that(), machine_that(answers.nvml()), machine_that(HANGS)])
def test_a_machine_without_an_answer_is_no_fault(monkeypatch, capsys, machine):
    told = json.loads(doctor(monkeypatch, capsys, machine, "--output-format", "json"))
    assert (told["targets"], told["gpu"]["cards"]) == ([], [])
    assert "--gpu" in doctor(monkeypatch, capsys, machine)


def test_hidden_cards_are_shown_as_hidden(monkeypatch, capsys):
    text = doctor(monkeypatch, capsys, machine_that(MIXED, environment={"CUDA_VISIBLE_DEVICES": "1"}))
    rows = [line for line in text.splitlines() if "not visible" in line]
    assert len(rows) == 1 and "3090" in rows[0]


def test_it_really_runs_here(capsys):
    assert main(["doctor"]) == 0
    assert "stablint" in capsys.readouterr().out
