"""A requirement at a commit is of no release that anybody can name offline: nothing is presumed of it, wherever it stands; a tag is a release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected, rules

PROGRAM = """from trl import SFTConfig, SFTTrainer
args = SFTConfig(output_dir="o", max_seq_length=2048, learning_rate=1e-5)
SFTTrainer("Qwen/Qwen2.5-7B", args=args, train_dataset=rows).train()
"""
FORMS = {
    "requirements.txt": "trl @ {}\n",
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["trl @ {}"]\n',
    "environment.yml": "name: x\ndependencies:\n  - pip\n  - pip:\n    - {}\n",
    "Dockerfile": 'FROM python:3.11\nRUN pip install "{}"\n',
    "install.sh": "pip install {}\n",
}
ADDRESS = "git+https://github.com/huggingface/trl.git"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("", True),  # the newest
        ("@0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", False),
        ("@0a1b2c3", False),
        ("@v0.16.0", False),  # which has the name
        ("@v1.16.0", True),
    ],
)
def test_a_commit_may_be_any_release_and_a_tag_is_one(tmp_path: Path, form: str, reference: str, told: bool) -> None:
    files = {"train.py": PROGRAM, form: FORMS[form].format(ADDRESS + reference), ".git/HEAD": ""}
    assert ("setting-renamed" in rules(inspected(tmp_path, files), "error", "warning")) is told


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-marked"])
def test_a_list_is_read_in_the_encodings_that_pip_reads(tmp_path: Path, encoding: str) -> None:
    text = "peft==0.15.2\r\ntrl==0.16.0\r\n"
    data = b"\xff\xfe" + text.encode("utf-16-le") if encoding.endswith("marked") else text.encode(encoding)
    (tmp_path / "requirements.txt").write_bytes(data)
    found = inspected(tmp_path, {"train.py": PROGRAM, ".git/HEAD": ""})
    assert "setting-renamed" not in rules(found, "error", "warning")
