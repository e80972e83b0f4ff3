"""What a Windows machine does differently, as far as it can be simulated: consoles, line ends, paths with drives and backslashes."""

from __future__ import annotations

import json
import ntpath
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import stablint
from stablint.assemble import files
from stablint.cli import main
from stablint.commands import outputs
from stablint.config import settings
from stablint.files import globs
from stablint.report.sarif import _artifact
from stablint.suppressions import baseline
from tests.sampling import sampled

YAML = "model_name_or_path: Qwen/Qwen2-7B-Instruct\noutput_dir: größe-名-😀  # größe 名 😀\nlearning_rate: 1.0e-5\nfp16: true\nattn_implementation: eager\n"
COMMANDS = {
    "check": ("train.yaml", "--gpu", "A100-80GB"),
    "concise": ("train.yaml", "--output-format", "concise"),
    "verbose": ("train.yaml", "--verbose", "--show-facts", "--statistics"),
    "diff of a fix": ("train.yaml", "--gpu", "A100-80GB", "--diff", "--unsafe-fixes"),
    "show": ("show", "train.yaml"),
    "explain": ("explain", "P101", "L101", "Q102"),
    "rules": ("rules",),
    "diff": ("diff", "train.yaml", "train.yaml", "--with-a", "transformers==4.57.6", "--with-b", "transformers==5.23.0"),
    "doctor": ("doctor",),
    "help": ("--help",),
    "help of run": ("run", "--help"),
    "run": ("run", "--gpu", "A100-80GB", "--", "no-such-program", "--config", "train.yaml"),
    "wrong": ("größe-名-😀.yaml",),
}  # fmt: skip


@pytest.fixture
def project(tmp_path):
    (tmp_path / "train.yaml").write_bytes(YAML.encode())
    return tmp_path


def called(folder: Path, *words: str, encoding: str) -> subprocess.CompletedProcess[bytes]:
    source = str(Path(stablint.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "stablint", *words], cwd=folder, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "encoding"), sampled([*((name, "cp1252") for name in COMMANDS), ("check", "ascii"), ("help", "ascii")], 4)
)
def test_a_console_that_cannot_show_it_gets_an_escape(project, name, encoding):
    words = COMMANDS[name]
    done = called(project, *words, encoding=encoding)
    assert b"Traceback" not in done.stderr, done.stderr.decode(encoding, "replace")
    assert done.returncode in (0, 1, 2, 127)
    if "--diff" not in words:
        done.stdout.decode(encoding)


@pytest.mark.parametrize("format", ["json", "sarif", "github"])
def test_programs_get_utf_8_whatever_the_console(project, format):
    words = ("train.yaml", "--gpu", "A100-80GB", "--output-format", format)
    there, here = (called(project, *words, encoding=encoding).stdout for encoding in ("cp1252", "utf-8"))
    assert there == here and b"\r" not in here
    assert there.decode("utf-8")


def test_a_patch_keeps_the_bytes_of_the_file(project):
    (project / "own.yaml").write_text(YAML.replace("  # größe 名 😀", ""), encoding="utf-8")  # comments are not shown
    patch = called(project, "own.yaml", "--gpu", "A100-80GB", "--diff", "--unsafe-fixes", encoding="cp1252").stdout
    assert "output_dir: größe-名-😀".encode() in patch


def test_what_comes_on_standard_input_goes_out_as_it_was_encoded(project):
    source = str(Path(stablint.__file__).parents[1])
    text = b"\xef\xbb\xbf" + YAML.replace("\n", "\r\n").encode()
    done = subprocess.run(
        [sys.executable, "-m", "stablint", "-", "--stdin-filename", "train.yaml", "--fix", "--unsafe-fixes", "--gpu", "A100-80GB"], cwd=project, input=text,
        capture_output=True, timeout=120, env={**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": "cp1252"},
    )  # fmt: skip
    assert done.stdout == text.replace(b"fp16", b"bf16"), done.stderr


CRLF = {
    "train.yaml": YAML,
    "train.json": json.dumps({"model_name_or_path": "Qwen/Qwen2-7B-Instruct", "output_dir": "größe", "fp16": True}, indent=2, ensure_ascii=False) + "\n",
    "train.py": "from transformers import TrainingArguments\n\nargs = TrainingArguments(\n    'größe',\n    fp16=True,  # wie früher\n)\n",
    "run.sh": "# größe\ntorchrun train.py \\\n  --model_name_or_path Qwen/Qwen2-7B-Instruct \\\n  --fp16 True \\\n  --output_dir out\n",
}  # fmt: skip


@pytest.mark.parametrize("name", CRLF)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "byte order mark"])
def test_a_fix_keeps_line_ends_and_marks(tmp_path, monkeypatch, name, mark):
    if name == "run.sh" and mark:
        pytest.skip("a shell takes no byte order mark")
    before = mark + CRLF[name].replace("\n", "\r\n").encode()
    (tmp_path / name).write_bytes(before)
    monkeypatch.chdir(tmp_path)
    words = [
        name,
        "--fix",
        "--unsafe-fixes",
        "--unsafe-fixes",
        "--gpu",
        "A100-80GB",
        "--model",
        "Qwen/Qwen2-7B-Instruct",
        "--select",
        "P101,P102",
    ]
    main(words)
    assert (tmp_path / name).read_bytes() == before.replace(b"fp16", b"bf16")


def test_line_numbers_of_crlf_are_those_of_editors(tmp_path, monkeypatch, capsys):
    (tmp_path / "train.yaml").write_bytes(YAML.replace("\n", "\r\n").encode())
    monkeypatch.chdir(tmp_path)
    main(["train.yaml", "--gpu", "A100-80GB", "--output-format", "json"])
    (place,) = [d["location"] for d in json.loads(capsys.readouterr().out)["diagnostics"] if d["code"] == "P101"]
    assert place == {"line": 4, "column": 7}


@pytest.fixture
def windows(monkeypatch):
    """The modules that make or compare paths, with the `os` of Windows."""
    fake = SimpleNamespace(sep="\\", path=ntpath, getcwd=lambda: "C:\\repo", name="nt", environ={})
    for module in (globs, baseline, settings, files, outputs):
        monkeypatch.setattr(module, "os", fake)
    globs._compiled.cache_clear()
    yield fake
    globs._compiled.cache_clear()


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.yaml", "C:\\repo\\a\\b.yaml", True),
        ("old/**", "C:\\repo\\old\\a\\b.yaml", True),
        ("old\\*.yaml", "C:\\repo\\old\\a.yaml", True),
        ("old", "C:\\repo\\x\\old\\a.yaml", True),
        ("C:\\repo\\old", "C:\\repo\\old\\a.yaml", True),
        ("old/**", "D:\\repo\\old\\a.yaml", False),
    ],
)
def test_globs_of_settings(windows, glob, path, expected):
    assert globs.matches(path, "C:\\repo", [glob]) is expected


def test_files_are_shown_with_forward_slashes(windows):
    named = files.Files(lambda path: "C:\\repo", "C:\\repo")
    assert named.name("C:\\repo\\a\\b.yaml") == "a/b.yaml"
    assert named.name("D:\\other\\b.yaml") == "D:/other/b.yaml"
    assert settings.shown_path("C:\\repo\\a\\stablint.toml", "C:\\repo") == "a/stablint.toml"
    assert _artifact("D:/other/b c.yaml") == {"uri": "file:///D:/other/b%20c.yaml"}


@pytest.mark.parametrize(
    ("file", "written"), [("C:\\repo\\a\\b.yaml", "a/b.yaml"), ("D:\\b.yaml", "D:/b.yaml"), ("", "")]
)
def test_a_baseline_of_one_machine_is_that_of_the_other(windows, file, written):
    assert baseline._relative(file, "C:\\repo") == written
    if file:
        row = {"file": written, "rule": "r", "fingerprint": "f", "count": 1}
        assert baseline._key(row, "C:\\repo")[0] == file


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, False), ({"WT_SESSION": "1"}, True), ({"WT_SESSION": "1", "NO_COLOR": "1"}, False)],
)
def test_only_newer_terminals_get_colours(windows, environment, expected, monkeypatch):
    windows.environ = environment
    monkeypatch.setattr(outputs.exit, "is_terminal", lambda *, error: True)
    assert outputs.wants_color("auto") is expected
    assert outputs.wants_color("always")
