"""Who reads a file: found by its name in the bytes of the repository's other files."""

from __future__ import annotations

import json
import os
from collections.abc import Container
from pathlib import Path

import pytest

from stablint.assemble.asked import Options
from stablint.assemble.files import Files
from stablint.cli import main
from stablint.engine.inspect import inspect
from stablint.repository.referrers import referrers
from stablint.syntax import limits

ZERO = '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 4}\n'
TRAIN = (
    "model_name_or_path: Qwen/Qwen2-7B-Instruct\nbf16: true\nper_device_train_batch_size: 2\nlearning_rate: 1.0e-5\n"
    "output_dir: out\ndeepspeed: configs/zero.json\n"
)


@pytest.fixture
def repository(tmp_path):
    """A DeepSpeed file whose batch of 4 contradicts the 2 of the run that names it, from another folder."""
    (tmp_path / ".git").mkdir()
    for name, text in {
        "configs/zero.json": ZERO,
        "runs/train.yaml": TRAIN,
        "runs/other.yaml": TRAIN.replace("zero", "my_zero"),
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def found(repository, *names: str) -> set[tuple[str, str | None]]:
    report = inspect([str(repository / name) for name in names], Options(), base=str(repository)).report
    return {(d.code, d.text and d.text.name) for d in report.diagnostics}


def named_in(folder: Path, *asked: str, known: Container[str] = ()) -> list[str]:
    return referrers(asked, str(folder), Files(lambda path: str(folder), str(folder)), known)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("deepspeed: zero.json", True),
        ("--deepspeed=configs/zero.json", True),
        ("x = 'zero.json'", True),
        ("zero.json", True),
        ("deepspeed: my_zero.json and zero.json", True),
        ("deepspeed: my_zero.json", False),
        ("deepspeed: zero.json5", False),
        ("deepspeed: other.json", False),
    ],
)
def test_a_name_is_a_whole_name(tmp_path, text, named):
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    assert bool(named_in(tmp_path, "/x/zero.json")) == named


def test_what_is_searched(repository):
    for skipped in ("venv/a.yaml", ".hidden/a.yaml", "notes.txt"):
        (repository / skipped).parent.mkdir(exist_ok=True)
        (repository / skipped).write_text(TRAIN, encoding="utf-8")
    os.symlink(repository / "runs" / "train.yaml", repository / "link.yaml")
    known = str(repository / "runs" / "train.yaml")
    zero = str(repository / "configs" / "zero.json")
    assert named_in(repository, zero) == [known]
    assert named_in(repository, zero, known={known}) == []
    assert named_in(repository) == []


def test_a_changed_deepspeed_file_is_judged_in_the_run_that_reads_it(repository):
    assert ("D101", "configs/zero.json") in found(repository, "configs/zero.json")


def test_alone_it_contradicts_nothing(repository):
    (repository / "runs" / "train.yaml").unlink()
    assert not {code for code, _ in found(repository, "configs/zero.json")} & {"D101"}


def test_what_is_wrong_with_the_other_file_alone_is_not_told(repository):
    train = repository / "runs" / "train.yaml"
    train.write_text(
        TRAIN + "lerning_rate: 1\nload_best_model_at_end: true\neval_strategy: epoch\nsave_strategy: steps\n",
        encoding="utf-8",
    )
    alone = {code for code, _ in found(repository, "runs/train.yaml")}
    beside = {code for code, _ in found(repository, "configs/zero.json")}
    assert alone - beside, "the run has a finding of its own"
    assert "D101" in beside


def test_a_file_that_merely_mentions_the_name_is_not_judged(repository):
    (repository / "runs" / "train.yaml").write_text(
        "# not configs/zero.json\nlerning_rate: 1\nfp16: true\n", encoding="utf-8"
    )
    assert all(name == "configs/zero.json" for _, name in found(repository, "configs/zero.json"))


def told(repository: Path, monkeypatch, capsys, *asked: str) -> list[tuple[str, str]]:
    """What is said of limits, of which file or folder."""
    monkeypatch.chdir(repository)
    assert main(["check", *asked, "--isolated", "--select", "F133", "--output-format", "json"]) == 0
    return [(row["file"], row["message"]) for row in json.loads(capsys.readouterr().out)["diagnostics"]]


@pytest.mark.parametrize("more", [0, 1])
def test_files_that_name_it_beyond_the_limit_are_told_of_it(repository, more, monkeypatch, capsys):
    limit = limits.REFERRERS._replace(most=5)
    monkeypatch.setattr(limits, "REFERRERS", limit)
    for number in range(4 + more):
        (repository / "runs" / f"more{number}.yaml").write_text(TRAIN, encoding="utf-8")
    found = told(repository, monkeypatch, capsys, "configs/zero.json")
    assert found == [("configs/zero.json", limit.problem(0, 0).message)] * more


@pytest.mark.parametrize("more", [0, 1])
def test_a_neighbour_that_is_not_looked_at_to_its_end_is_told_of(repository, more, monkeypatch, capsys):
    limit = limits.LOOKED_AT._replace(most=1_000)
    monkeypatch.setattr(limits, "LOOKED_AT", limit)
    (repository / "late.yaml").write_text("#" * (999 - len(TRAIN) + more) + "\n" + TRAIN, encoding="utf-8")
    found = told(repository, monkeypatch, capsys, "configs/zero.json")
    assert found == [("late.yaml", limit.problem(0, 0).message)] * more


@pytest.mark.parametrize(("limit", "folder"), [("ENTRIES", "."), ("CROWDED", "more")])
@pytest.mark.parametrize("more", [0, 1])
def test_a_folder_that_is_not_looked_into_is_told_of(repository, limit, folder, more, monkeypatch, capsys):
    here = len(list(repository.iterdir())) + len(list(repository.glob("[!.]*/*"))) + 1
    few = getattr(limits, limit)._replace(most={"ENTRIES": here + 10, "CROWDED": 10}[limit])
    monkeypatch.setattr(limits, limit, few)
    (repository / "more").mkdir()
    for number in range(10 + more):
        (repository / "more" / f"{number}.yaml").write_text("a: 1\n", encoding="utf-8")
    found = told(repository, monkeypatch, capsys, "configs/zero.json")
    assert found == [(folder, few.problem(0, 0).message)] * more
    for form in ("full", "concise", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "rdjson"):
        assert main(["check", "configs/zero.json", "--isolated", "--select", "F133", "--output-format", form]) == 0
        assert (few.of in capsys.readouterr().out) is bool(more)


PROGRAM = """import argparse

import yaml
from trl import DPOConfig, DPOTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--config-path")
given = parser.parse_args()
with open(given.config_path) as file:
    config = yaml.safe_load(file)
trainer = DPOTrainer(model="Qwen/Qwen2.5-0.5B", args=DPOConfig(**config), train_dataset=rows)
trainer.train()
"""
SETTINGS = "output_dir: out\nlearning_rate: 1.0e-6\nper_device_train_batch_size: 2\nbf16: true\n"
COMMAND = "python train/dpo.py --config-path configs/a.yaml"


def shown(repository, name: str):
    return inspect([str(repository / name)], Options(), base=str(repository), known=()).runs


@pytest.mark.parametrize(
    ("guide", "text"),
    [
        ("README.md", f"# A\n\n```bash\n{COMMAND}\n```\n"),
        ("README.md", f"```\n$ {COMMAND}\n```\n"),
        ("configs/README.md", f"~~~sh\ncd ..\n~~~\n\n```console\n$ {COMMAND}\n```\n"),
        ("run.sh", f"{COMMAND}\n"),
    ],
)
def test_a_configuration_is_shown_with_the_program_of_the_command_that_names_it(tmp_path, guide, text):
    for name, content in {
        "train/dpo.py": PROGRAM,
        "configs/a.yaml": SETTINGS,
        "configs/b.yaml": SETTINGS,
        guide: text,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    (run,) = shown(tmp_path, "configs/a.yaml")
    assert run.files == (guide, "configs/a.yaml", "train/dpo.py")
    assert run.explicit["training.per_device_train_batch_size"].value == 2
    (other,) = shown(tmp_path, "configs/b.yaml")
    assert other.files == ("configs/b.yaml",)


@pytest.mark.parametrize("text", [f"```python\n{COMMAND}\n```\n", f"{COMMAND}\n", "```bash\ncat configs/a.yaml\n```\n"])
def test_what_no_shell_is_told_starts_nothing(tmp_path, text):
    for name, content in {"train/dpo.py": PROGRAM, "configs/a.yaml": SETTINGS, "README.md": text}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    (run,) = shown(tmp_path, "configs/a.yaml")
    assert run.files == ("configs/a.yaml",)
