"""Releases in spellings other than pip's, in what runs have written down, and in the scripts of others that start the same program."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.pins import formats
from stablint.pins.requirement import Requirement, requirement
from tests.runs import inspected

PROGRAM = """from transformers import AutoTokenizer
from trl import SFTTrainer

trainer = SFTTrainer(model="Qwen/Qwen2.5-7B", train_dataset=rows, tokenizer=AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B"))
trainer.train()
"""
# TRL's SFTTrainer took `tokenizer` until 0.15.

CONDA = {
    "transformers=4.57.5": ("transformers", "==4.57.5"),
    "transformers = 4.57.5": ("transformers", "==4.57.5"),
    "transformers=4.57": ("transformers", "==4.57.*"),
    "transformers=4.57.*": ("transformers", "==4.57.*"),
    "transformers=4": ("transformers", "==4.*"),
    "transformers=4.57.5=pyhd8ed1ab_0": ("transformers", "==4.57.5"),
    "transformers=4.57.5 # as in the paper": ("transformers", "==4.57.5"),
    "pytorch=2.3.1=py3.10_cuda12.1_cudnn8.9.2_0": ("torch", "==2.3.1"),
    "transformers==4.57.5": ("transformers", "==4.57.5"),
    "transformers>=4.57.5": ("transformers", ">=4.57.5"),
}


@pytest.mark.parametrize("text", CONDA)
def test_conda_writes_one_sign(text: str) -> None:
    assert requirement(text) == Requirement(*CONDA[text])


@pytest.mark.parametrize("text", ["transformers=", "transformers=latest", "transformers=$V", "lr=1.0", "scipy=1.2.3"])
def test_what_is_no_release_of_a_library_is_none(text: str) -> None:
    assert requirement(text) is None


FORMER = {
    "llmtuner==0.3.2": ("llamafactory", "==0.3.2"),
    "llmtuner>=0.5": ("llamafactory", ">=0.5,<0.8"),
    "llmtuner": ("llamafactory", "<0.8"),
    "llamafactory": ("llamafactory", ""),
}


@pytest.mark.parametrize("text", FORMER)
def test_a_former_name_has_the_releases_that_it_had(text: str) -> None:
    assert requirement(text) == Requirement(*FORMER[text])


WANDB = "wandb/run-20250101_120000-abcdefgh/files/requirements.txt"
LATER = "wandb/run-20260101_120000-abcdefgh/files/requirements.txt"
SUBSHELL = """set -euo pipefail
(
  flock -w 600 200 || exit 1
  pip install --upgrade pip
  pip install \\
    "transformers==4.44.0" \\
    "trl==0.10.1" \\
    "scipy" "protobuf"
) 200>"$VENV/.pip_lock"
python3 train.py --learning_rate 1e-5
"""
BARE = "cd $HOME/elsewhere\nsource venv/bin/activate\npython3 train.py --learning_rate 2e-5\n"

# The files beside the program, and how loud it is told that `tokenizer` is gone.
BESIDE = {
    "nothing": ({}, {"warning"}),
    "a-list-in-conda's-spelling": ({"requirements.txt": "trl=0.12.1\n"}, set()),
    "a-newer-release-in-conda's-spelling": ({"requirements.txt": "trl=0.20.0\n"}, {"error"}),
    "an-environment": ({"environment.yml": "dependencies:\n  - trl=0.12.1\n"}, set()),
    "a-script-for-conda": ({"install.sh": "conda install -c conda-forge trl=0.12.1\n"}, set()),
    "mamba": ({"setup.sh": "mamba install -y trl=0.12\n"}, set()),
    "wandb-wrote-it-down": ({WANDB: "torch==2.6.0\ntrl==0.12.1\n"}, set()),
    "wandb-wrote-a-newer-one": ({WANDB: "trl==0.20.0\n"}, {"warning"}),
    "the-last-run-counts": ({WANDB: "trl==0.20.0\n", LATER: "trl==0.12.1\n"}, set()),
    "a-range-that-holds-what-ran": ({"requirements.txt": "trl>=0.9\n", WANDB: "trl==0.12.1\n"}, set()),
    "a-pin-that-is-not-what-ran": ({"requirements.txt": "trl==0.20.0\n", WANDB: "trl==0.12.1\n"}, {"error"}),
    "the-folder-of-a-run": ({"outputs/run-1/requirements.txt": "trl==0.12.1\n"}, set()),
    "mlflow": ({"mlruns/0/1234/artifacts/model/requirements.txt": "trl==0.12.1\n"}, set()),
    "another-project's-list": ({"other/requirements.txt": "trl==0.12.1\n"}, {"warning"}),
    "a-script-that-starts-it": ({"job.sh": SUBSHELL}, set()),
    "and-a-list-with-a-range-that-holds-it": ({"job.sh": SUBSHELL, "requirements.txt": "trl>=0.9\n"}, set()),
    "and-a-list-with-a-range-that-does-not": ({"job.sh": SUBSHELL, "requirements.txt": "trl>=0.20,<0.25\n"}, set()),
    "and-a-list-with-another-release": ({"job.sh": SUBSHELL, "requirements.txt": "trl==0.20.0\n"}, set()),
    "two-scripts-that-start-it-and-a-range": ({"a.sh": SUBSHELL.replace("0.10.1", "0.9.6"), "job.sh": SUBSHELL, "requirements.txt": "trl>=0.9\n"}, set()),
    "a-newer-one-within-the-range": ({"job.sh": SUBSHELL.replace("0.10.1", "0.20.0").replace("4.44.0", "4.53.1"), "requirements.txt": "trl>=0.9\n"}, {"error"}),
    "a-script-that-starts-it-and-one-that-says-nothing": ({"a.sh": BARE, "job.sh": SUBSHELL}, set()),
    "the-same-in-another-order": ({"a.sh": SUBSHELL, "job.sh": BARE}, set()),
    "a-newer-release-in-the-other-script": ({"a.sh": BARE, "job.sh": SUBSHELL.replace("0.10.1", "0.20.0")}, {"error", "warning"}),
    "a-script-that-starts-another-program": ({"a.sh": BARE, "job.sh": SUBSHELL.replace("train.py", "other.py")}, {"warning"}),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_what_is_said_beside_the_program_dates_it(name: str, tmp_path: Path) -> None:
    files, severities = BESIDE[name]
    found = inspected(tmp_path, {"train.py": PROGRAM, **files}).findings
    told = [one for one in found if one.hazard.code in ("V101", "V104") and one.place.document.text.name == "train.py"]
    assert {one.severity for one in told} == severities


def test_what_only_an_extra_asks_for_is_told_from_what_all_get() -> None:
    """Brackets in a text of the list end the list of an extra no sooner."""
    setup = (
        'install_requires = ["trl>=0.9"]\nextra_require = {"sglang": ["sglang[srt]>=0.4.5", "transformers==4.51.1"]}\n'
    )
    found = {one.split()[0]: formats.is_extra(one) for one in formats.texts(setup)}
    assert found == {"trl>=0.9": False, "sglang[srt]>=0.4.5": True, "transformers==4.51.1": True}
