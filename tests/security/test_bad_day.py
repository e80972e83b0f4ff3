"""What a machine or a checkout does to a check: closed streams, folders that may not be entered or written, baselines that are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stablint.cli import main
from stablint.config.spec import FOUND, WRONG
from stablint.fix.exchange import closed
from stablint.fix.patch import _name

RECIPE = (
    "model_name_or_path: Qwen/Qwen2-7B\nstage: sft\ndo_train: true\nfinetuning_type: full\ndataset: x\ntemplate: qwen\n"
    "output_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nbf16: true\n"
)

BASELINES = {
    "brackets without an end": "[" * 1_200,
    "another document": "[]",
    "another release's": '{"schema_version": 7, "findings": []}',
    "a count that is none": '{"schema_version": 1, "findings": [{"file": "a", "rule": "b", "fingerprint": "c", "count": "d"}]}',
    "rows that are none": '{"schema_version": 1, "findings": [3]}',
}


@pytest.mark.parametrize("text", BASELINES.values(), ids=list(BASELINES))
def test_a_baseline_that_is_none_is_told(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stablint.toml").write_text('baseline = "b.json"\n')
    (tmp_path / "b.json").write_text(text)
    (tmp_path / "train.yaml").write_text(RECIPE)
    assert main(["check", "."]) == WRONG
    said = capsys.readouterr().err
    assert "b.json: " in said
    assert "internal" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are POSIX")
def test_a_baseline_that_is_a_pipe_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(RECIPE)
    os.mkfifo(tmp_path / "b.json")
    assert main(["check", "--baseline", "b.json", "train.yaml"]) == WRONG
    assert "b.json: this is no regular file" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="closing descriptors is POSIX shell")
@pytest.mark.parametrize("closing", [">&-", "2>&-", "<&-", ">&- 2>&-"])
def test_closed_streams_change_no_exit_code(closing: str, tmp_path: Path) -> None:
    (tmp_path / "train.yaml").write_text(RECIPE)
    command = f'"{sys.executable}" -m stablint check train.yaml {closing}'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == FOUND
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a folder that a process is in")
def test_a_folder_that_is_gone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["check", "."]) == WRONG
    assert "does not exist any more" in capsys.readouterr().err


def test_a_folder_that_may_not_be_entered_is_one_file_s_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(RECIPE)
    real = os.lstat

    def lstat(path: str, **more: object) -> os.stat_result:
        if os.fspath(path).endswith(os.path.join("shut", "a.yaml")):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)
    main(["check", "--output-format", "json", "train.yaml", os.path.join("shut", "a.yaml")])
    report = json.loads(capsys.readouterr().out)
    assert {"fp16-and-bf16"} <= {row["rule"] for row in report["diagnostics"]}
    assert {row["file"]: row["status"] for row in report["files"]}["shut/a.yaml"] == "unreadable"


def test_a_folder_that_may_not_be_written_closes_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.yaml").write_text(RECIPE)
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: False if os.path.isdir(path) else real(path, mode))
    assert "folder" in closed(str(tmp_path / "train.yaml"), str(tmp_path))


@pytest.mark.parametrize(
    ("name", "written"),
    [("a\x9bb", '"a\\302\\233b"'), ("a\x7fb", '"a\\177b"'), ("a\nb", '"a\\nb"'), ("aéb", "aéb"), ("a b", "a b\t")],
)
def test_a_patch_names_files_without_controls(name: str, written: str) -> None:
    assert _name(name) == written


def test_settings_have_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(RECIPE)
    for text, said in (
        ('[[target]]\ngpu = "T4"\n' * 17, "`target` has 17 entries; at most 16"),
        (f'exclude = ["{"*a" * 7}"]\n', "is not of the form that is wanted (a glob"),
        (f'exclude = ["{"a" * 301}"]\n', "has 301 characters; at most 300"),
    ):
        (tmp_path / "stablint.toml").write_text(text)
        assert main(["check", "."]) == WRONG
        assert said in capsys.readouterr().err


SICK = "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are POSIX")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["diagnose", "pipe.log"], "pipe.log: a pipe into which nobody writes"),
        (["diagnose", "pipe"], "pipe: a pipe into which nobody writes"),
        (["diagnose", "trainer_state.json"], "trainer_state.json: a pipe into which nobody writes"),
        (["diagnose", "pipe.json"], "no log is named"),
        (["diagnose", "zero.log"], "zero.log: this is no file"),
        (["diagnose", "random.log"], "random.log: this is no file"),
        (["watch", "pipe.log", "--idle", "1"], "pipe.log: a pipe; it is watched as standard input"),
        (["watch", "zero.log", "--idle", "1"], "zero.log: this is no file"),
        (["test-hazards", "rules"], "rules/a.yaml: not a regular file"),
        (["check", "settings", "--config", "settings/stablint.toml"], "this is no file"),
        (["check", "settings"], "stablint.toml: not a regular file"),
    ],
    ids=lambda part: "-".join(part) if isinstance(part, list) else "",
)
def test_nobody_waits_for_a_pipe_or_a_device(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("rules", "settings"):
        (tmp_path / name).mkdir()
    for name in ("pipe.log", "pipe", "pipe.json", "trainer_state.json", "rules/a.yaml", "settings/stablint.toml"):
        os.mkfifo(tmp_path / name)
    for name in ("zero", "random"):
        (tmp_path / f"{name}.log").symlink_to(f"/dev/{name}")
    monkeypatch.setattr("stablint.log.source._PATIENCE", 0.2)
    assert main(words) == WRONG
    assert said in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are POSIX")
@pytest.mark.parametrize("late", [0.0, 0.5], ids=["at once", "a little later"])
def test_a_pipe_with_a_writer_is_a_log(
    late: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `stablint diagnose <(kubectl logs …)` has one."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe.log")
    begins = f"import time; f = open('pipe.log', 'w'); time.sleep({late}); f.write({SICK!r} * 3000); time.sleep({late}); f.write({SICK!r})"
    with subprocess.Popen([sys.executable, "-c", begins]):
        assert main(["diagnose", "pipe.log", "--isolated"]) == FOUND
    assert "the gradients are NaN" in capsys.readouterr().out
