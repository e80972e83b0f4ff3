"""Secrets are planted in every kind of file; no output of any command may hold one. The files stay as they are."""

from __future__ import annotations

import pytest

from stablint.cli import main

# Put together here, so that no scanner of secrets takes this file for a leak.
HUB = "hf_" + "qWeRtYuIoPaSdFgHjKlZxCvBnM"
WANDB = "0123456789abcdef" * 2 + "01234567"
LOCAL = "local-4b9d0c7e5a1f" * 2  # of no known shape: secret because of its key
OPENAI = "sk-" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ012345"
SECRETS = (HUB, WANDB, LOCAL, OPENAI)

YAML = f"""\
model_name_or_path: Qwen/Qwen2-7B-Instruct
hub_token: {HUB}
fp16: true
output_dir: out  # the old one: {OPENAI}
learning_rate: 3e-4
"""
JSON = f"""\
{{"fp16": {{"enabled": true}}, "zero_optimization": {{"stage": 2}}, "wandb": {{"api_key": "{LOCAL}", "enabled": true}}}}
"""
SHELL = f"""\
export HF_TOKEN={HUB}
export WANDB_API_KEY={WANDB}
torchrun train.py --fp16 --hub_token {LOCAL} --model_name_or_path Qwen/Qwen2-7B-Instruct --output_dir out --deepspeed ds.json
"""
PYTHON = f"""\
from transformers import TrainingArguments
args = TrainingArguments("out", hub_token="{HUB}", fp16=True, bf16=True, run_name="{OPENAI}")
"""
FILES = {"train.yaml": YAML, "ds.json": JSON, "run.sh": SHELL, "train.py": PYTHON}
COMMANDS = {
    "full": ["check", "."],
    "color": ["check", ".", "--color", "always"],
    "concise": ["check", ".", "--output-format", "concise"],
    "json": ["check", ".", "--output-format", "json"],
    "verbose": ["check", ".", "--verbose"],
    "diff": ["check", ".", "--diff", "--unsafe-fixes", "--gpu", "A100-80GB"],
    "show": ["show", *FILES],
    "show json": ["show", *FILES, "--output-format", "json"],
    "a wrong option": ["check", ".", "--gpu", HUB],
    "a wrong fact": ["check", ".", "--set", f"training.hub_token={HUB}"],
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_output_holds_a_secret(project, command, capsys):
    main(command)
    output = "".join(capsys.readouterr())
    assert output
    assert not [secret for secret in SECRETS if secret in output or secret[-12:] in output]


def test_they_are_found(project, capsys):
    main(["check", ".", "--output-format", "concise", "--select", "S"])
    output = capsys.readouterr().out
    assert {line.split(":")[0] for line in output.splitlines()} >= {"train.yaml", "run.sh", "train.py"}


def test_checking_changes_no_file(project):
    for command in COMMANDS.values():
        main(command)
    assert {path.name: path.read_text(encoding="utf-8") for path in project.iterdir()} == FILES
