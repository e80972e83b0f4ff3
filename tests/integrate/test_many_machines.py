"""Ray and Spark on a local cluster of two workers: what they find is what one process finds in the same files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from stablint.base import knowledge
from stablint.cli import main
from stablint.integrate.texts import Checked, asked_of, check_text, check_texts, columns

GPU = "V100-32GB"


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, str]]:
    """A hundred single files: examples of the rules, some that are no configuration, one that is broken, one with a secret."""
    found = []
    for name, examples in sorted(knowledge.load("examples").items()):
        if not examples:
            continue
        files, given = examples[0]["files"], examples[0].get("options")
        if len(files) == 1 and not given and not {"stablint.toml"} & files.keys():
            path, text = next(iter(files.items()))
            found.append((f"{name}/{os.path.basename(path)}", text))
    found = found[:: max(1, len(found) // 96)][:96]
    return [
        *found,
        ("notes/notes.yaml", "shopping: [milk]\n"),
        ("broken/train.yaml", "output_dir: [\nlearning_rate: 1.0e-5\nfp16: true\n"),
        ("secret/train.yaml", "output_dir: out\nfp16: true\nbf16: true\nhub_token: hf_" + "aB3dE5fG7h" * 3 + "xyzw\n"),
    ]


@pytest.fixture(scope="module")
def alone(rows, tmp_path_factory) -> dict[str, list[tuple[str, str, int]]]:
    """By path, what the command line finds in one process: each file a repository of its own, as each row is."""
    folder = tmp_path_factory.mktemp("alone")
    for path, text in rows:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).parent.joinpath(".git").mkdir(exist_ok=True)
        (folder / path).write_bytes(text.encode())
    report = folder / "report.json"
    before = os.getcwd()
    os.chdir(folder)
    try:
        named = [path for path, _ in rows]
        main(
            [
                "check",
                *named,
                "--gpu",
                GPU,
                "--isolated",
                "--jobs",
                "1",
                "--output-format",
                "json",
                "--output-file",
                str(report),
            ]
        )
    finally:
        os.chdir(before)
    found: dict[str, list[tuple[str, str, int]]] = {path: [] for path, _ in rows}
    for one in json.loads(report.read_text(encoding="utf-8"))["diagnostics"]:
        found[one["file"]].append(key(one))
    return found


def key(one: dict[str, Any]) -> tuple[str, str, int]:
    return one["code"], one["message"], one["location"]["line"]


def same(found: dict[str, str], alone: dict[str, list[tuple[str, str, int]]]) -> None:
    assert found.keys() == alone.keys()
    different = {path for path, told in found.items() if sorted(map(key, json.loads(told))) != sorted(alone[path])}
    assert not different
    assert sum(map(len, alone.values())) > 60


def row_by_row(told: list[Any], rows: list[tuple[str, str]]) -> None:
    """All five columns of each row, findings byte for byte, as one process fills them in."""
    asked = asked_of(GPU, None, ())
    found = {row["path"]: Checked(*(row[name] for name in Checked._fields)) for row in told}
    assert len(told) == len(rows)
    assert found == {path: check_text(path, text, asked) for path, text in rows}


def test_rows_are_what_files_are(rows, alone):
    asked = asked_of(GPU, None, ())
    same({path: check_text(path, text, asked).findings for path, text in rows}, alone)


@pytest.mark.slow
def test_a_row_is_what_it_is_in_whatever_batch(rows):
    asked = asked_of(GPU, None, ())
    twice = [
        *rows,
        *reversed(rows),
        ("ds.json", '{"zero_optimization": {"stage": 3}}'),
        ("train.yaml", "deepspeed: ds.json\noutput_dir: out\n"),
    ]
    assert check_texts(twice, asked) == [check_text(path, text, asked) for path, text in twice]


def test_a_row_says_what_became_of_it(rows):
    told = {path: check_text(path, text, asked_of(GPU, None, ())) for path, text in rows}
    assert told["notes/notes.yaml"] == Checked("skipped", 0, 0, 0, "[]")
    assert told["broken/train.yaml"].errors >= 1
    assert told["secret/train.yaml"].errors >= 1
    assert "aB3dE5fG7h" not in told["secret/train.yaml"].findings


@pytest.mark.parametrize(
    ("path", "text", "status"),
    [("a.yaml", None, "unreadable"), ("a.yaml", b"\xff\xfe\x00", "unreadable"), ("../../../a.yaml", "fp16: true\n", "unreadable"),
     ("/etc/passwd", "root", "skipped"), (None, "output_dir: out\nbf16: true\n", "checked"), ("a.yaml", "x: 1\n" * 3_000_000, "unreadable")],
)  # fmt: skip
def test_rows_that_are_no_files(path, text, status):
    assert check_text(path, text, asked_of(None, None, ())).status == status


def test_nothing_of_the_machine_is_read(tmp_path):
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 3}}', encoding="utf-8")
    text = f"output_dir: out\ndeepspeed: {tmp_path / 'ds.json'}\nlearning_rate: 1.0e-5\n"
    assert '"stage"' not in check_text("train.yaml", text, asked_of(None, None, ())).findings


@pytest.mark.parametrize("wrong", [{"gpu": "no such card"}, {"releases": ["trl=="]}, {"gpu": "auto"}])
def test_what_is_not_known_is_refused_before_a_worker_starts(wrong):
    with pytest.raises(ValueError):
        asked_of(wrong.get("gpu"), None, wrong.get("releases", ()))


def test_columns_are_in_the_order_of_the_rows(rows):
    made = columns(
        {"path": [path for path, _ in rows], "text": [text for _, text in rows]},
        "path",
        "text",
        asked_of(GPU, None, ()),
    )
    assert list(made) == list(Checked._fields)
    assert made["status"].index("skipped") == [path for path, _ in rows].index("notes/notes.yaml")


@pytest.mark.slow
def test_ray_finds_what_one_process_finds(rows, alone):
    ray = pytest.importorskip("ray", reason="pip install -e '.[ray]'")
    pytest.importorskip("ray.data")
    from stablint.integrate.ray import check

    lint = str(Path(__file__).parents[2] / "lint")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": lint}})
    try:
        dataset = ray.data.from_items([{"path": path, "text": text, "stars": 3} for path, text in rows]).repartition(4)
        told = check(dataset, gpu=GPU, batch_size=20).take_all()
    finally:
        ray.shutdown()
    same({row["path"]: row["findings"] for row in told}, alone)
    row_by_row(told, rows)
    assert {row["stars"] for row in told} == {3}
    assert sum(row["errors"] for row in told) > 20


@pytest.mark.slow
def test_spark_finds_what_one_process_finds(rows, alone, monkeypatch):
    pytest.importorskip("pyspark", reason="pip install -e '.[spark]'")
    from pyspark.sql import SparkSession

    from stablint.integrate.spark import check

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "lint"))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = spark.createDataFrame([(path, text, 3) for path, text in rows], "path string, text string, stars int")
        told = check(frame.repartition(4), gpu=GPU).collect()
    finally:
        spark.stop()
    same({row["path"]: row["findings"] for row in told}, alone)
    row_by_row(told, rows)
    assert {row["stars"] for row in told} == {3}
    assert sum(row["errors"] for row in told) > 20


def test_what_a_run_can_have_of_a_card_is_asked_of_every_row():
    text = (
        "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\ndo_train: true\nfinetuning_type: full\ndataset: rows\ntemplate: llama3\n"
        "cutoff_len: 2048\nbf16: true\nlearning_rate: 1.0e-5\noutput_dir: out\n"
    )

    def told(memory: float | str | None) -> set[str]:
        findings = json.loads(check_text("train.yaml", text, asked_of(None, None, (), (), memory)).findings)
        return {one["code"] for one in findings} & {"M101", "M102"}

    assert (told(None), told(20), told("80 x4")) == (set(), {"M101"}, {"M102"})
    with pytest.raises(ValueError, match="--gpu-memory"):
        told("plenty")
