"""The command line as scripts and people meet it: through its real entry point, in a process of its own (DESIGN §7)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from stablint.cli import main
from stablint.commands import outputs

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "report.schema.json").read_text(encoding="utf-8"))
CLEAN = "output_dir: out\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 4\n"
ERROR = CLEAN + "fp16: true\nbf16: true\n"  # P143
WARNING = CLEAN + "hub_token: hf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"  # S101
BROKEN = "output_dir: out\nlearning_rate: [1e-5\nper_device_train_batch_size: 4\n"
FIXABLE = (
    "model_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: org/data\noutput_dir: out\nlearning_rate: 1.0e-5\n"
    "fp16: true  # as before\nattn_implementation: eager\n"
)
OTHER = "services:\n  web:\n    image: nginx\n"


@pytest.fixture
def stablint(tmp_path, monkeypatch):
    """`stablint(words…, stdin=…)` in a scratch folder."""

    def run(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
        command = [sys.executable, "-m", "stablint.cli", *words]
        return subprocess.run(
            command, cwd=tmp_path, input=stdin, capture_output=True, encoding="utf-8", env=environment, timeout=120
        )

    run.folder = tmp_path
    return run


@pytest.fixture
def write(tmp_path):
    def put(**files: str) -> None:
        for name, text in files.items():
            (tmp_path / name.replace("__", ".")).write_bytes(text.encode())

    return put


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        (CLEAN, [], 0),
        (ERROR, [], 1),
        (ERROR, ["--exit-zero"], 0),
        (WARNING, [], 0),
        (WARNING, ["--fail-on", "warning"], 1),
        (WARNING, ["--fail-on", "info"], 1),
        (BROKEN, [], 1),
        (OTHER, [], 2),
        (OTHER, ["--skip-unrecognised"], 0),
        (ERROR, ["--select", "P143"], 1),
        (ERROR, ["--select", "P"], 1),
        (ERROR, ["--select", "fp16-and-bf16"], 1),
        (ERROR, ["--select", "S"], 0),
        (ERROR, ["--ignore", "P143"], 0),
        (ERROR, ["--ignore", "fp16-and-bf16,S101"], 0),
        (ERROR, ["--min-evidence", "proven-in-source"], 1),
        (ERROR, ["--select", "nonsense"], 2),
        (ERROR, ["--fail-on", "nonsense"], 2),
        (ERROR, ["--output-format", "nonsense"], 2),
        (CLEAN, ["--gpu", "A100-80GB"], 0),
        (CLEAN, ["--gpu", "A100-80G8"], 2),
        (CLEAN, ["--with", "trl"], 2),
        (CLEAN, ["--set", "learning_rate"], 2),
        (CLEAN, ["--dialect", "nonsense"], 2),
        (CLEAN, ["--config", "nowhere.toml"], 2),
        (CLEAN, ["--nonsense"], 2),
    ],
)
def test_exit_codes(stablint, write, text, words, code):
    write(train__yaml=text)
    done = stablint("check", "train.yaml", *words)
    assert done.returncode == code, done.stdout + done.stderr


def test_check_is_the_default_command(stablint, write):
    write(train__yaml=ERROR)
    assert stablint("train.yaml").stdout == stablint("check", "train.yaml").stdout


def test_an_unknown_gpu_is_told_with_its_neighbour(stablint, write):
    write(train__yaml=CLEAN)
    assert "did you mean `H100`" in stablint("train.yaml", "--gpu", "H1000").stderr


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("json", ['"reason": "it does not exist"', '"status": "unreadable"', '"diagnostics": []']),
        ("sarif", ['"executionSuccessful": false', "`nope.yaml` does not exist", '"results": []']),
        ("junit", ['tests="1"', "</testsuites>"]),
        ("gitlab", ["[]"]),
        ("rdjson", ['"diagnostics": []']),
        ("full", []),
    ],
)
def test_a_program_is_given_a_report_of_a_path_that_does_not_exist(stablint, form, told):
    done = stablint("check", "nope.yaml", "--output-format", form)
    assert done.returncode == 2 and done.stderr.count("`nope.yaml` does not exist") == 1
    assert all(word in done.stdout for word in told) and bool(done.stdout) == bool(told)
    if done.stdout[:1] in ("{", "["):
        json.loads(done.stdout)


def test_a_path_that_does_not_exist(stablint):
    done = stablint("nowhere.yaml")
    assert done.returncode == 2
    assert "nowhere.yaml" in done.stderr


def test_a_folder_without_configurations_is_fine_and_says_so(stablint, write):
    write(compose__yaml=OTHER)
    done = stablint(".")
    assert done.returncode == 0
    assert done.stdout


def test_what_was_named_and_skipped_is_told_and_the_rest_reported(stablint, write):
    write(train__yaml=ERROR, compose__yaml=OTHER)
    done = stablint("train.yaml", "compose.yaml")
    assert done.returncode == 1
    assert "compose.yaml" in done.stderr
    assert "P143" in done.stdout


def test_standard_input_is_called_as_it_is_told(stablint):
    done = stablint("-", "--stdin-filename", "configs/sft.yaml", "--output-format", "concise", stdin=ERROR)
    assert done.returncode == 1
    assert done.stdout.startswith("configs/sft.yaml:4:")


def test_standard_input_of_another_format(stablint):
    text = '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}'
    done = stablint("-", "--stdin-filename", "ds.json", stdin=text)
    assert done.returncode == 1 and done.stdout.startswith("ds.json:1:")


def test_fixed_standard_input_goes_to_standard_output(stablint):
    done = stablint("-", "--stdin-filename", "t.yaml", "--fix", "--gpu", "A100-80GB", stdin=FIXABLE)
    assert done.stdout == FIXABLE.replace("fp16", "bf16")
    clean = stablint("-", "--stdin-filename", "t.yaml", "--fix", stdin=CLEAN)
    assert clean.stdout == CLEAN


def test_a_patch_is_printed_and_git_takes_it(stablint, write):
    write(train__yaml=FIXABLE)
    patch = stablint("train.yaml", "--diff", "--gpu", "A100-80GB")
    assert patch.returncode == 1
    assert (stablint.folder / "train.yaml").read_text() == FIXABLE
    subprocess.run(["git", "init", "-q"], cwd=stablint.folder, check=True)
    applied = subprocess.run(["git", "apply", "--check", "-"], cwd=stablint.folder, input=patch.stdout, text=True)
    assert applied.returncode == 0


def test_fixing_twice_changes_nothing_more(stablint, write):
    write(train__yaml=FIXABLE)
    first = stablint("train.yaml", "--fix", "--gpu", "A100-80GB")
    once = (stablint.folder / "train.yaml").read_bytes()
    second = stablint("train.yaml", "--fix", "--gpu", "A100-80GB")
    assert once == FIXABLE.replace("fp16", "bf16").encode()
    assert (stablint.folder / "train.yaml").read_bytes() == once
    assert (first.returncode, second.returncode) == (0, 0)


def test_unsafe_fixes_are_written_only_when_asked_for(stablint, write):
    text = (
        CLEAN
        + "save_strategy: steps\neval_strategy: steps\nsave_steps: 500\neval_steps: 200\nload_best_model_at_end: true\n"
    )
    write(train__yaml=text)
    stablint("train.yaml", "--fix")
    assert (stablint.folder / "train.yaml").read_text() == text
    stablint("train.yaml", "--fix", "--unsafe-fixes")
    assert (stablint.folder / "train.yaml").read_text() != text


@pytest.mark.parametrize(
    "text",
    [CLEAN, ERROR, WARNING, BROKEN, FIXABLE, OTHER],
    ids=["clean", "error", "warning", "broken", "fixable", "other"],
)
def test_the_json_report_is_what_its_schema_says(stablint, write, text):
    write(train__yaml=text)
    done = stablint("train.yaml", "--output-format", "json", "--gpu", "T4")
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(done.stdout))


def test_colours_only_where_they_are_wanted(stablint, write):
    write(train__yaml=ERROR)
    assert "\x1b" not in stablint("train.yaml").stdout
    assert "\x1b" in stablint("train.yaml", "--color", "always").stdout


def test_several_formats_at_once(stablint, write):
    write(train__yaml=ERROR)
    done = stablint("train.yaml", "--output-format", "concise,json", "--output-file", "report.json")
    assert done.stdout == stablint("train.yaml", "--output-format", "concise").stdout
    assert json.loads((stablint.folder / "report.json").read_text())["summary"]["errors"] == 1


PAIRS = [
    (
        ["--output-format", "json", "--output-file", "a", "--output-format", "concise", "--output-file", "b"],
        {"a": "{", "b": "train"},
        "",
    ),
    (["--output-format", "json,concise", "--output-file", "a", "--output-file", "b"], {"a": "{", "b": "train"}, ""),
    (["--output-format", "json", "--output-file", "a", "--output-format", "concise"], {"a": "{"}, "train"),
    (["--output-file", "a"], {"a": "train"}, ""),
    (["--output-file", "a", "--output-format", "json"], {"a": "{"}, ""),
    (["--output-format", "json", "--output-file", "-"], {}, "{"),
]


@pytest.mark.parametrize(("words", "files", "printed"), PAIRS)
def test_formats_and_files_pair_in_order(stablint, write, words, files, printed):
    write(train__yaml=ERROR)
    done = stablint("train.yaml", *words)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(printed) and bool(done.stdout) == bool(printed)
    assert {name: (stablint.folder / name).read_text()[: len(start)] for name, start in files.items()} == files


@pytest.mark.parametrize(
    "words",
    [
        ["--output-format", "json,concise"],
        ["--output-format", "json", "--output-file", "a", "--output-file", "b"],
        ["--output-format", "json,concise", "--output-file", "a", "--output-file", "a"],
        ["--output-format", "json", "--output-file", "no/such/folder"],
    ],
)
def test_outputs_that_cannot_be(stablint, write, words):
    write(train__yaml=ERROR)
    assert stablint("train.yaml", *words).returncode == 2


@pytest.mark.parametrize(
    "format", ["full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "rdjson"]
)
def test_no_format_shows_a_secret(stablint, write, format):
    write(train__yaml=WARNING)
    done = stablint("train.yaml", "--output-format", format)
    assert done.returncode == 0, done.stderr
    assert "S101" in done.stdout or format == "junit"
    assert "hf_aaaa" not in done.stdout + done.stderr


def test_statistics_count_instead_of_telling(stablint, write):
    write(a__yaml=ERROR, b__yaml=ERROR)
    done = stablint(".", "--statistics")
    assert done.returncode == 1
    assert done.stdout.split()[:3] == ["2", "P143", "error"]
    as_json = stablint(".", "--statistics", "--output-format", "json")
    json.loads(as_json.stdout)
    assert "P143" in as_json.stderr


def test_facts_are_shown_on_request(stablint, write):
    write(train__yaml=CLEAN)
    assert "learning_rate" in stablint("train.yaml", "--show-facts").stdout
    json.loads(stablint("train.yaml", "--show-facts", "--output-format", "json").stdout)


def test_help_and_version(stablint):
    assert stablint("--version").stdout.startswith("stablint ")
    assert stablint("--help").returncode == 0
    assert stablint().returncode == 2
    assert stablint("check", "--help").returncode == 0


@pytest.mark.parametrize(
    ("environment", "terminal", "expected"),
    [
        ({}, True, True), ({}, False, False), ({"TERM": "dumb"}, True, False), ({"NO_COLOR": "1"}, True, False), ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True), ({"FORCE_COLOR": "", "TERM": "dumb"}, True, False), ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)  # fmt: skip
def test_the_environment_says_whether_there_are_colours(monkeypatch, environment, terminal, expected):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(outputs.exit, "is_terminal", lambda error: terminal)
    assert outputs.wants_color("auto") is expected
    assert outputs.wants_color("always") and not outputs.wants_color("never")


def test_fix_names_what_it_fixed(tmp_path, monkeypatch, capsys):
    (tmp_path / "train.yaml").write_text(
        "model_name_or_path: Qwen/Qwen2-7B-Instruct\nfp16: true\nattn_implementation: eager\noutput_dir: out  # stablint: ignore[L101] -- old\n"
        "learning_rate: 1.0e-5  # stablint: ignore[T103] -- old\ndataset_name: trl-lib/Capybara\nmax_length: 1024\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["train.yaml", "--gpu", "A100-80GB", "--fix"]) == 0
    told = capsys.readouterr().out
    assert "Fixed 3 findings.\n  P101 train.yaml: train in bf16\n  S111 train.yaml: " in told and "(2 ×)\n" in told


CROSSED = "output_dir: out\nfp16: true\nbf16: true\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 2\n"


@pytest.mark.parametrize(("columns", "widest"), [("60", 60), ("10", 40), ("", 108), ("300", 108), ("wide", 108)])
def test_a_report_is_as_wide_as_the_terminal(tmp_path, monkeypatch, capsys, columns, widest):
    (tmp_path / "train.yaml").write_text(CROSSED + f"# {'long ' * 40}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["train.yaml"]) == 1
    told = capsys.readouterr().out.splitlines()
    label = next(line for line in told if line.lstrip().startswith("why:"))
    assert len(label) <= widest
    if widest < 108:
        notes = [line for line in told if line.startswith(" ") and "https://" not in line]
        assert max(map(len, notes)) <= max(widest, 48), notes
    else:
        assert max(map(len, told)) > 60


def test_what_a_host_of_code_shows_is_named_from_the_top_of_the_repository(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "a b" / "configs"
    inner.mkdir(parents=True)
    (inner / "train.yaml").write_text(CROSSED)
    monkeypatch.chdir(inner)
    assert main(["train.yaml", "--output-format", "sarif"]) == 1
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    places = [one["physicalLocation"]["artifactLocation"]["uri"] for result in results for one in result["locations"]]
    assert places and set(places) == {"a%20b/configs/train.yaml"}
    main(["train.yaml", "--output-format", "github"])
    assert "file=a b/configs/train.yaml," in capsys.readouterr().out
    main(["train.yaml", "--output-format", "gitlab"])
    assert {one["location"]["path"] for one in json.loads(capsys.readouterr().out)} == {"a b/configs/train.yaml"}
    main(["train.yaml", "--output-format", "concise"])
    assert capsys.readouterr().out.startswith("train.yaml:")  # who reads it stands in the folder
    monkeypatch.chdir(tmp_path.parent)
    main([str(inner / "train.yaml"), "--output-format", "github"])
    assert "file=a b/configs/train.yaml," in capsys.readouterr().out  # no repository here: that of the file
