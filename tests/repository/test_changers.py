"""What a program does with a file of the same name in another folder lowers no error of this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected

CONFIG = """model_name_or_path: Qwen/Qwen2-7B-Instruct
dataset_name: trl-lib/Capybara
output_dir: out
eval_strategy: steps
eval_steps: 200
save_strategy: steps
save_steps: 500
load_best_model_at_end: true
"""
OWN_FUNCTION = """def filled(name):
    return cleaned(open(name).read())


start(filled("{}train.yaml"))
"""
EDITS = """import yaml

config = yaml.safe_load(open("{}train.yaml"))
config["save_steps"] = 400
start(config)
"""


@pytest.mark.parametrize("program", [OWN_FUNCTION, EDITS], ids=["a function of its own", "it sets a key"])
@pytest.mark.parametrize(
    ("folder", "is_error"),
    [("other/", True), ("runs/other/", True), ("", False), ("./", False), ("mine/", False), ("runs/mine/", False)],
)  # fmt: skip
def test_only_this_file_is_changed(program: str, folder: str, is_error: bool, tmp_path: Path) -> None:
    files = {"runs/mine/train.yaml": CONFIG, "start.py": program.format(folder)}
    found = inspected(tmp_path, files).report.diagnostics
    assert any(one.code == "T103" and one.severity == "error" for one in found) == is_error


def test_one_that_names_both_changes_both(tmp_path: Path) -> None:
    both = OWN_FUNCTION.format("other/") + 'start(filled("mine/train.yaml"))\n'
    found = inspected(tmp_path, {"mine/train.yaml": CONFIG, "other/train.yaml": CONFIG, "start.py": both})
    assert [one.severity for one in found.report.diagnostics if one.code == "T103"] == ["warning", "warning"]
