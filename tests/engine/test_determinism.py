"""The same bytes whatever the order of the files, the number of jobs and the seed of Python's hashes: all examples of the rules at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import stablint
from stablint.base import knowledge

ROOT = Path(__file__).parents[2]
FOLDERS = 12


# Whose file it is was decided by the first of its keys that one of the classes has, in the order of the hashes.
OF_TWO_CLASSES = {
    ".git/HEAD": "",
    "recipe.yaml": "num_epochs: 1\nlearning_rate: 1e-5\nlora_rank: 8\nmicro_batch_size: 2\ngradient_accumulation_steps: 2\ntarget_layers: [q_proj]\n",
    "own/settings.py": """from pydantic import BaseModel
class First(BaseModel):
    num_epochs: int
    learning_rate: float
    lora_rank: int
    micro_batch_size: int
    gradient_accumulation_steps: int
    target_layers: list
class Second(BaseModel):
    learning_rate: float
    lora_rank: int
    micro_batch_size: int
    beta: float
""",
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> Path:
    """The bundled examples and the first one of every sixth hazard, each in a folder of its own, in a dozen folders that can be named in any order."""
    base = tmp_path_factory.mktemp("mixed")
    texts = [row["files"] for rows in knowledge.load("examples").values() for row in rows[:1]][::6]
    texts += [
        {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in sorted((ROOT / "examples").iterdir())
        if folder.is_dir()
    ]
    texts.append(OF_TWO_CLASSES)
    for number, files in enumerate(texts):
        for name, text in files.items():
            path = base / f"part{number % FOLDERS}" / f"run{number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
    (base / "stablint.toml").write_text(
        '[[per-path]]\npaths = ["part3/**"]\nseverity = { P = "info" }\n', encoding="utf-8"
    )
    return base


FORMATS = ("json", "sarif", "full")


def outputs(folder: Path, seed: int, jobs: int, words: list[str], into: Path) -> list[bytes]:
    options = [option for name in FORMATS for option in ("--output-format", name, "--output-file", str(into / name))]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "stablint.cli",
            *words,
            "--gpu",
            "A100-80GB x8",
            "--gpu",
            "V100-32GB",
            "--jobs",
            str(jobs),
            *options,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(Path(stablint.__file__).parents[1])},
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 1, done.stderr.decode()
    assert not done.stdout
    return [(into / name).read_bytes() for name in FORMATS] + [done.stderr]


@pytest.mark.slow
def test_the_same_bytes(mixed, tmp_path):
    parts = [f"part{number}" for number in range(FOLDERS)]
    first = outputs(mixed, 0, 1, ["."], tmp_path)
    assert b"P101" in first[0]
    again = {
        "another seed and several jobs": (1, 4, ["."]),
        "folders backwards, some twice": (2, 1, [*reversed(parts), "part1", "part1/../part2"]),
    }
    for how, (seed, jobs, words) in again.items():
        found = outputs(mixed, seed, jobs, words, tmp_path)
        differing = [name for name, one, other in zip((*FORMATS, "stderr"), first, found, strict=True) if one != other]
        assert not differing, how
