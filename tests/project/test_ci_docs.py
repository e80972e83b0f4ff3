"""docs/ci.md shows what works: inputs, hooks and formats that there are, and a GitLab job whose command runs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from stablint.cli import main

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCKS = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", DOCS, re.S)]


def test_the_action_has_the_inputs_shown():
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (workflow,) = [block for block in BLOCKS if "jobs" in block]
    (step,) = [step for step in workflow["jobs"]["stablint"]["steps"] if "with" in step]
    assert set(step["with"]) <= set(action["inputs"])


def test_the_hooks_shown_are_there():
    known = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    shown = {hook["id"] for block in BLOCKS for repo in block.get("repos", ()) for hook in repo["hooks"]}
    assert shown and shown <= known


def test_the_gitlab_job_writes_the_reports_it_names(tmp_path, monkeypatch, capsys):
    (job,) = [block["stablint"] for block in BLOCKS if "stablint" in block]
    (command,) = [line for line in job["script"] if line.startswith("stablint ")]
    (tmp_path / "train.yaml").write_text(
        "model_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: x/y\nfp16: true\nattn_implementation: eager\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) == 1
    assert "P101" in capsys.readouterr().out
    reports = job["artifacts"]["reports"]
    assert "P101" in {
        issue["check_name"] for issue in json.loads((tmp_path / reports["codequality"]).read_text(encoding="utf-8"))
    }
    assert list(ElementTree.parse(tmp_path / reports["junit"]).iter("failure"))


@pytest.mark.parametrize("name", re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", DOCS, re.M))))
def test_the_formats_shown_are_there(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(
        "model_name_or_path: Qwen/Qwen2-7B-Instruct\nlearning_rate: 1.0e-5\noutput_dir: out\n", encoding="utf-8"
    )
    assert main(["check", "train.yaml", "--output-format", name]) == 0
