"""A file that a script of the repository writes or changes before it is read makes no error: what it holds then is not what lies there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected

BOTH = """model_name_or_path: Qwen/Qwen3-8B
stage: sft
do_train: true
finetuning_type: full
dataset: identity
template: qwen3
output_dir: o
learning_rate: 1.0e-5
bf16: true
fp16: true
"""
WRITES = [
    "sed -i 's/fp16: true/fp16: false/' t.yaml",
    "sed -i.bak -e '/fp16/d' t.yaml",
    'CFG=t.yaml\nsed -i "s/fp16:.*/fp16: $HALF/" "$CFG"',
    "sed -i \\\n  -e 's/fp16: true/fp16: false/' \\\n  t.yaml",
    "perl -pi -e 's/fp16: true/fp16: false/' t.yaml",
    "yq -i '.fp16 = false' t.yaml",
    "python make.py > t.yaml",
    "python make.py | tee t.yaml",
    "echo 'fp16: false' >> t.yaml",
    "sed 's/fp16: true/fp16: false/' t.yaml > t2 && mv t2 t.yaml",
    "cp other.yaml t.yaml",
]
LEAVES = [
    "",
    "# sed -i 's/a/b/' t.yaml",
    "cat t.yaml | sed 's/fp16//' > other.yaml",
    "cp t.yaml other.yaml",
    "sed -i 's/a/b/' not-t.yaml",
    "grep fp16 t.yaml > /dev/null 2>&1",
]


def weights(tmp_path: Path, script: str, train: str = "llamafactory-cli train t.yaml\n") -> list[str]:
    found = inspected(tmp_path, {"t.yaml": BOTH, "run.sh": f"#!/bin/bash\n{script}\n{train}"})
    return [one.severity for one in found.findings if one.hazard.code == "P143"]


@pytest.mark.parametrize("script", WRITES)
def test_what_a_script_writes_first_makes_no_error(script: str, tmp_path: Path) -> None:
    assert weights(tmp_path, script) == ["warning"]


@pytest.mark.parametrize("script", LEAVES)
def test_what_it_leaves_as_it_is_does(script: str, tmp_path: Path) -> None:
    assert weights(tmp_path, script) == ["error"]


def test_another_folder_s_script_means_its_own_file(tmp_path: Path) -> None:
    train = "llamafactory-cli train t.yaml\n"
    files = {"a/t.yaml": BOTH, "a/run.sh": train, "b/t.yaml": BOTH, "b/run.sh": f"sed -i 's/fp16.*//' t.yaml\n{train}"}
    found = [one for one in inspected(tmp_path, files).findings if one.hazard.code == "P143"]
    told = {one.place.document.text.name.split("/")[-2]: one.severity for one in found}
    assert told == {"a": "error", "b": "warning"}
