"""`stablint config`: every setting as it holds for a path, and who says it; and what is told of rules and slips beside it."""

from __future__ import annotations

import json

import pytest

from stablint.cli import main

SETTINGS = """\
extend = "base.toml"
ignore = ["T1"]

[[target]]
gpu = "A100-80GB"
count = 8

[versions]
trl = "==0.20"

[[per-path]]
paths = ["legacy/**"]
ignore = ["L"]
"""
# The setting, its value, and who says it; for a file below legacy/.
HOLDS = [
    ((), "ignore", ["T1"], "stablint.toml:2"),
    ((), "min-evidence", "reproduced", "base.toml, which stablint.toml:1 extends"),
    ((), "fail-on", "error", "default"),
    ((), "per-path 1: ignore", ["L"], "stablint.toml:13"),
    ((), "target", ["A100-80GB x8"], "[[target]] in stablint.toml"),
    (("--gpu", "T4"), "target", ["T4"], "--gpu"),
    ((), "versions.trl", "==0.20", "[versions] in stablint.toml"),
    (("--with", "trl==0.19.0"), "versions.trl", "==0.19.0", "--with"),
    (("--isolated",), "ignore", [], "default"),
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "base.toml").write_text('min-evidence = "reproduced"\n')
    (tmp_path / "stablint.toml").write_text(SETTINGS)
    (tmp_path / "legacy").mkdir()
    (tmp_path / "legacy" / "a.yaml").write_text("learning_rate: 1.0e-4\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("words", "name", "value", "said"), HOLDS)
def test_who_says_what(project, capsys, words, name, value, said):
    assert main(["config", *words, "--output-format", "json", "legacy/a.yaml"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"name": name, "value": value, "said": said} in told["settings"]
    assert main(["config", *words, "legacy/a.yaml"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(f"  {name} "))
    assert line.endswith(said)


def test_a_row_for_other_paths_does_not_hold(project, capsys):
    assert main(["config", "."]) == 0
    assert "per-path" not in capsys.readouterr().out


def test_without_settings_everything_is_a_default(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    assert main(["config"]) == 0
    out = capsys.readouterr().out
    assert "no settings file" in out
    assert "stablint.toml" not in out


def test_rules_of_some_codes(capsys):
    assert main(["rules", "--select", "P10,fsdp-8bit", "--output-format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["rules"]
    assert {"P101", "P102"} <= {rule["code"] for rule in found}
    assert all(rule["code"].startswith("P10") or rule["id"] == "fsdp-8bit" for rule in found)
    assert main(["rules", "--select", "fsdp-8bot"]) == 2
    assert "did you mean `fsdp-8bit`" in capsys.readouterr().err


def test_a_rule_for_programs(capsys):
    assert main(["explain", "P101", "--output-format", "json"]) == 0
    (rule,) = json.loads(capsys.readouterr().out)["rules"]
    assert rule["code"] == "P101"
    assert rule["why"]
    assert rule["when"]
    assert rule["evidence"]


SLIPS = {
    "chekc": "`chekc` does not exist: did you mean `stablint check`?",
    "check --ouput-format json .": "did you mean `--output-format`?",
    "fit --glu T4 .": "did you mean `--gpu`?",
}


@pytest.mark.parametrize("words", SLIPS)
def test_a_slip_of_the_fingers_is_understood(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        assert main(words.split()) == 2
    except SystemExit as end:
        assert end.code == 2
    assert SLIPS[words] in capsys.readouterr().err
