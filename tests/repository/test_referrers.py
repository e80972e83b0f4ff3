"""Who reads a file: found by its name in the bytes of the repository's other files."""

from __future__ import annotations

import os

import pytest

from stablint.assemble.asked import Options
from stablint.engine.inspect import inspect
from stablint.repository.referrers import referrers

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
    assert bool(referrers(["/x/zero.json"], str(tmp_path))) == named


def test_what_is_searched(repository):
    for skipped in ("venv/a.yaml", ".hidden/a.yaml", "notes.txt"):
        (repository / skipped).parent.mkdir(exist_ok=True)
        (repository / skipped).write_text(TRAIN, encoding="utf-8")
    os.symlink(repository / "runs" / "train.yaml", repository / "link.yaml")
    known = str(repository / "runs" / "train.yaml")
    zero = str(repository / "configs" / "zero.json")
    assert referrers([zero], str(repository)) == [known]
    assert referrers([zero], str(repository), {known}) == []
    assert referrers([], str(repository)) == []


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
