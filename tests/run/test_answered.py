"""The releases that were on the machine when a notebook was run last, by what pip answered to a bare name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runs import inspected

PROGRAM = """from trl import SFTTrainer
trainer = SFTTrainer(model="Qwen/Qwen2.5-7B", args=args, train_dataset=rows, tokenizer=tokenizer)
trainer.train()
"""
HERE = "/home/me/env/lib/python3.10/site-packages"
THERE = f"Requirement already satisfied: trl in {HERE} (0.12.1)\n"


def cell(source: str, *answers: str) -> dict[str, Any]:
    outputs = [{"name": "stdout", "output_type": "stream", "text": list(answers)}] if answers else []
    return {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {},
        "outputs": outputs,
        "source": source.splitlines(keepends=True),
    }


def notebook(*cells: dict[str, Any]) -> str:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=1)


# What the first cell installs, what was answered, and what is said of `tokenizer`, which TRL has not taken since 0.13.
ANSWERS = {
    "not-run": ("%pip install trl", (), {"warning"}),
    "it-was-there": ("%pip install trl", (THERE,), set()),
    "with-bounds-and-asked-for-by-others": (
        "!pip install trl peft",
        (f"Requirement already satisfied: trl>=0.9 in {HERE} (from ours) (0.12.1)\n",),
        set(),
    ),
    "without-a-line-of-its-own": ("print(1)", (THERE,), set()),
    "a-newer-one": ("%pip install trl", (THERE.replace("0.12.1", "0.20.0"),), {"warning"}),
    "an-upgrade": ("%pip install -U trl", (THERE,), {"warning"}),
    "an-upgrade-in-words": ("!pip install -q --upgrade trl", (THERE,), {"warning"}),
    "a-machine-of-a-day": ("!pip install trl", (THERE.replace(HERE, "/usr/local/lib/python3.11/dist-packages"),), {"warning"}),
    "another-library": ("%pip install trl", (THERE.replace(": trl", ": trlx"),), {"warning"}),
    "a-release-that-is-said": ("%pip install trl==0.20.0", (THERE,), {"error"}),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_what_pip_answered_is_what_is_there(name: str, tmp_path: Path) -> None:
    install, answers, severities = ANSWERS[name]
    text = notebook(cell(install, *answers), cell(PROGRAM))
    found = inspected(tmp_path, {"train.ipynb": text}).findings
    assert {one.severity for one in found if one.hazard.code == "V101"} == severities


@pytest.mark.parametrize("indent", [1, None])
def test_a_cell_may_be_one_text(tmp_path: Path, indent: int | None) -> None:
    cells = [{**cell(""), "source": source} for source in ("%pip install trl==0.20.0\nimport os", PROGRAM)]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=indent)
    found = inspected(tmp_path, {"train.ipynb": text}).findings
    assert {one.severity for one in found if one.hazard.code == "V101"} == {"error"}
