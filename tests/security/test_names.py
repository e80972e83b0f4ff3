"""Names of files are names: no option, no workflow command of a CI system, no control of a terminal, and no link that a report follows."""

from __future__ import annotations

import json
import os
import re
import sys

import pytest

from stablint.cli import main
from stablint.report.plain import plain
from stablint.secrets.exit import unlike_a_command

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")

BAD = "output_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nbf16: true\n"  # P143
SCRIPT = "#!/bin/sh\ntrl sft --model_name_or_path Qwen/Qwen2-7B --dataset_name x/y --fp16 --bf16 --output_dir out\n"
GOOD = BAD.replace("fp16: true\n", "", 1)
OPTIONS = (
    "--exit-zero",
    "--fix",
    "--output-file=owned.yaml",
    "--ignore=P",
    "--config=bad.yaml",
    "-",
    "-h",
    "--help",
    "--version",
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "bad.yaml").write_text(BAD)
    (tmp_path / "good.yaml").write_text(GOOD)
    return tmp_path


def ends(words: list[str]) -> int:
    """The exit code, argparse's included."""
    try:
        return main(words)
    except SystemExit as end:
        return int(str(end.code))


@pytest.mark.parametrize("name", [*OPTIONS, "--"])
@pytest.mark.parametrize(
    "first",
    [["check", "--skip-unrecognised"], ["check", "bad.yaml"], ["bad.yaml"], ["show"], ["migrate"]],
    ids=" ".join,
)
def test_a_bare_name_that_is_an_option_is_refused(here, capsys, first, name):
    (here / name).write_text(SCRIPT)
    assert ends([*first, name, "bad.yaml"]) == 2
    told = capsys.readouterr()
    assert f"./{name}" in told.err and not told.out
    assert not (here / "owned.yaml").exists() and (here / "bad.yaml").read_text() == BAD


@pytest.mark.parametrize("name", OPTIONS)
def test_behind_two_dashes_every_word_is_a_name(here, capsys, name):
    (here / name).write_text(BAD)
    for words in (["check", "--", name], ["check", "--skip-unrecognised", "--", name, "good.yaml"], ["--", name]):
        assert ends(words) == 1
        assert f"{name}:3:" in capsys.readouterr().out
    assert ends(["show", "--", name]) == 0
    assert ends(["diff", "--", name, "good.yaml"]) == 0
    assert "fp16" in capsys.readouterr().out
    assert not (here / "owned.yaml").exists() and (here / name).read_text() == BAD


def test_options_that_are_no_files_stay_options(here):
    assert ends(["check", "bad.yaml", "--exit-zero"]) == 0
    assert ends(["check", "--exit-zero", "--", "bad.yaml"]) == 0
    assert ends(["check", "--ignore", "P143", "--", "bad.yaml"]) == 0
    assert ends(["check", "--", "--exit-zero", "bad.yaml"]) == 2, "no such file"
    assert ends(["check", "--"]) == 2
    assert ends(["check", "--no-such-option", "--", "bad.yaml"]) == 2


def test_flags_of_the_launcher_stand_behind_two_dashes_that_follow_a_path(here, capsys):
    for words in (["check", "good.yaml", "--", "--fp16", "true"], ["check", "--", "good.yaml", "--", "--fp16", "true"]):
        assert ends(words) == 1
        assert "P143" in capsys.readouterr().out
    assert ends(["check", "--with", "trl==0.20.0", "good.yaml", "--", "--learning_rate", "3e-4"]) == 0
    assert ends(["show", "good.yaml", "--", "--learning_rate", "3e-4"]) == 0
    assert "0.0003" in capsys.readouterr().out


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("args", [["--"], ["--gpu", "A100-80GB"], ["--gpu", "A100-80GB", "--"]], ids=" ".join)
def test_the_hook_never_passes_what_it_would_refuse(here, args, name):
    """The command as pre-commit builds it: the entry, the arguments of the manifest or of the repository, and the names."""
    (here / name).write_text(SCRIPT)
    assert ends(["check", "--skip-unrecognised", *args, name, "bad.yaml"]) in (1, 2)
    assert (here / "bad.yaml").read_text() == BAD and not (here / "owned.yaml").exists()


COMMANDS = (
    "::warning::x.yaml",
    "::add-mask::a.yaml",
    "  ::error::x.yaml",
    "##[error]x.yaml",
    "##vso[task.complete].yaml",
    "::stop-commands::t.yaml",
)
OBEYED = re.compile(r"(?m)^\s*::(?!error |warning |notice )|##\w*\[")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_name_becomes_a_workflow_command(here, capsys, name):
    (here / name).write_text(BAD)
    for format in ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "rdjson"):
        main([".", "--output-format", format, "--verbose"])
        told = capsys.readouterr()
        assert not OBEYED.search(told.out + told.err), format
        if format == "json":
            assert name in {finding["file"] for finding in json.loads(told.out)["diagnostics"]}, (
                "programs get the name itself"
            )
    for words in (
        ["show", name],
        ["diff", name, "good.yaml"],
        ["check", name, "--statistics"],
        ["check", f"{name}.not"],
        ["check", ".", "--show-facts"],
    ):
        main(words)
        told = capsys.readouterr()
        assert not OBEYED.search(told.out + told.err), words


def test_no_text_of_a_file_becomes_a_workflow_command(here, capsys):
    (here / "bad.yaml").write_text(
        BAD.replace("fp16: true", "fp16: true  # ##vso[task.setvariable variable=x]y ##[error]")
    )
    for format in ("full", "json", "sarif", "markdown"):
        main(["bad.yaml", "--output-format", format])
        told = capsys.readouterr().out
        assert "P143" in told or "fp16-and-bf16" in told
        assert not OBEYED.search(told), format


def test_what_looks_like_a_command_is_shown():
    assert plain("a ##vso[x] ##[y] ## z [1] #[2]") == "a #\\x23vso[x] #\\x23[y] ## z [1] #[2]"
    assert unlike_a_command("a::b\n::c\n  ::d\n:e") == "a::b\n\\x3a:c\n  \\x3a:d\n:e"


CONTROLS = "\x1b[2J\x1b]0;x\x07\x08\r\u202e"


@pytest.mark.parametrize(
    "words",
    [
        ["check", "bad.yaml", "--output-format", CONTROLS],
        ["check", "bad.yaml", f"--{CONTROLS}"],
        ["check", "bad.yaml", "--fail-on", CONTROLS],
        ["check", CONTROLS],
        ["check", "--", CONTROLS],
        ["show", "bad.yaml", f"--x{CONTROLS}"],
        ["explain", CONTROLS],
        ["knowledge", CONTROLS],
        ["knowledge", "audit", f"--{CONTROLS}"],
        ["check", "bad.yaml", "--gpu", CONTROLS],
        ["check", "bad.yaml", "--config", CONTROLS],
        ["check", "bad.yaml", "--set", CONTROLS],
        ["check", "bad.yaml", "--with", CONTROLS],
        ["check", "bad.yaml", "--dialect", CONTROLS],
        ["check", "bad.yaml", "--select", CONTROLS],
        ["check", "bad.yaml", "--output-format", "json", "--output-file", f"no/{CONTROLS}"],
        ["init", CONTROLS],
        ["test-hazards", CONTROLS],
    ],
    ids=ascii,
)
def test_no_word_reaches_the_terminal_raw(here, capsys, words):
    assert ends(words) == 2
    told = capsys.readouterr()
    assert not set(told.out + told.err) & (set(CONTROLS) - set("[2J]0;x"))


LINKED = {
    "--output-file": ["check", "bad.yaml", "--output-format", "json", "--output-file", "report.json"],
    "--output-file behind a link": ["check", "bad.yaml", "--output-format", "json", "--output-file", "way/report.json"],
    "--write-baseline": ["check", "bad.yaml", "--write-baseline"],
    "--baseline": ["check", "bad.yaml", "--write-baseline", "--baseline", "report.json"],
    "init": ["init", "way"],
    "--plot": ["diagnose", "train.log", "--plot", "report.json"],
    "new": [
        "new",
        "--model",
        "Qwen/Qwen2.5-7B-Instruct",
        "--gpu",
        "RTX 4090 x4",
        "--framework",
        "trl",
        "--output",
        "way/new",
    ],
}
SICK = "{'loss': 2.1, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 0.01}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.02}\n"


@pytest.mark.parametrize("words", LINKED.values(), ids=LINKED)
@pytest.mark.parametrize("exists", [True, False])
def test_no_link_of_a_repository_leads_a_report_out_of_it(here, tmp_path_factory, capsys, words, exists):
    outside = tmp_path_factory.mktemp("outside")
    for name in ("report.json", "stablint-baseline.json"):
        (here / name).symlink_to(outside / "target")
    (here / "way").symlink_to(outside)
    (here / "train.log").write_text(SICK)
    if exists:
        (outside / "target").write_text('{"schema_version": 1, "findings": []}')
    before = {path: path.read_bytes() for path in outside.iterdir()}
    assert ends(words) == 2
    assert "a link leads it out of the repository" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in outside.iterdir()} == before


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_a_name_that_is_no_text_takes_no_report_away(here, capsys):
    (here / os.fsdecode(b"\xff\xfe.yaml")).write_text((here / "bad.yaml").read_text())
    (here / "own.py").write_text(
        "import yaml\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    fp16: bool = True\nyaml.safe_load(open('bad.yaml'))\n"
    )
    assert main(["check", ".", "--output-format", "json"]) == 1
    assert len({one["file"] for one in json.loads(capsys.readouterr().out)["diagnostics"]}) == 2


def test_reports_go_where_they_are_named(here, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "report.json"
    (here / "inner").mkdir()
    (here / "link.json").symlink_to(here / "inner" / "report.json")
    for name in (str(outside), "inner/r.json", "link.json", "/dev/stdout"):
        assert main(["check", "bad.yaml", "--output-format", "json", "--output-file", name]) == 1
    assert outside.exists() and (here / "inner" / "report.json").exists()


def test_suppressed_findings_are_left_out_where_that_is_asked(here, capsys):
    (here / "bad.yaml").write_text(BAD.replace("fp16: true", "fp16: true  # stablint: ignore[P143] -- known", 1))
    for format, there in (("sarif", True), ("json", True), ("full", False)):
        main(["bad.yaml", "--output-format", format])
        assert ("fp16-and-bf16" in capsys.readouterr().out) is there
        assert main(["bad.yaml", "--output-format", format, "--hide-suppressed"]) == 0
        assert "fp16-and-bf16" not in capsys.readouterr().out
