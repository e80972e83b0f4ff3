"""Which settings count for a file, a run and a finding: the nearest above the file, whole; rows of per-path over them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stablint
from stablint.cli import main

BAD = "output_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nattn_implementation: eager\nbf16: true\n"
QWEN = "model_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: org/data\noutput_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nattn_implementation: eager\n"
SHARED = '{"train_micro_batch_size_per_gpu": 8, "fp16": {"enabled": true}, "bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def put(files: dict[str, str]) -> Path:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return put


def found(capsys, *words: str) -> dict[str, list[tuple[str, str]]]:
    """File → codes with their severities, of what is not suppressed."""
    main([*(words or ["."]), "--output-format", "json"])
    files: dict[str, list[tuple[str, str]]] = {}
    for diagnostic in json.loads(capsys.readouterr().out)["diagnostics"]:
        if diagnostic["suppressed"] is None and diagnostic["code"][0] in "PS":
            files.setdefault(diagnostic["file"], []).append((diagnostic["code"], diagnostic["severity"]))
    return files


def test_each_file_is_under_its_own_settings(here, capsys):
    here(
        {
            "a/train.yaml": BAD,
            "b/deep/train.yaml": BAD,
            "c/train.yaml": BAD,
            "a/stablint.toml": '[severity]\nP143 = "warning"\n',
            "b/stablint.toml": 'ignore = ["P143"]\n',
        }
    )
    assert found(capsys) == {"a/train.yaml": [("P143", "warning")], "c/train.yaml": [("P143", "error")]}


def test_the_nearest_counts_whole_in_one_check(here, capsys):
    here(
        {
            "stablint.toml": 'ignore = ["P143"]\n',
            "train.yaml": BAD,
            "a/train.yaml": BAD,
            "a/stablint.toml": 'fail-on = "error"\n',
        }
    )
    assert found(capsys) == {"a/train.yaml": [("P143", "error")]}
    assert found(capsys, ".", "--config", "stablint.toml") == {}
    assert found(capsys, ".", "--isolated").keys() == {"train.yaml", "a/train.yaml"}


def test_targets_and_releases_are_those_of_the_file_that_a_run_begins_in(here, capsys):
    here(
        {
            "new/train.yaml": QWEN,
            "old/train.yaml": QWEN,
            "new/stablint.toml": '[[target]]\ngpu = "A100-80GB"\n',
            "old/stablint.toml": '[[target]]\ngpu = "V100-32GB"\ncount = 8\n\n[versions]\ntrl = "==0.20"\n',
        }
    )
    main(["show", ".", "--output-format", "json"])
    facts = {
        run["files"][0]: {fact["name"]: fact for fact in run["facts"]}
        for run in json.loads(capsys.readouterr().out)["runs"]
    }
    assert facts["new/train.yaml"]["target.gpu.native_bf16"]["value"] is True
    assert facts["old/train.yaml"]["target.gpu.native_bf16"]["value"] is False
    main(["check", ".", "--output-format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert [run["files"] for run in report["runs"]] == [["new/train.yaml"], ["old/train.yaml"]]
    assert {d["file"]: d["targets"] for d in report["diagnostics"] if d["code"] in ("P101", "P102")} == {
        "new/train.yaml": ["A100-80GB"],
        "old/train.yaml": ["V100-32GB x8"],
    }
    main(["check", ".", "--gpu", "H100 x8", "--output-format", "json"])
    targets = [d["targets"] for d in json.loads(capsys.readouterr().out)["diagnostics"] if d["code"] == "P101"]
    assert targets == [["H100 x8"], ["H100 x8"]]


def test_a_finding_is_under_the_settings_of_the_file_in_which_it_stands(here, capsys):
    """A DeepSpeed file that other folders share: its owner says what counts in it."""
    here(
        {
            "runs/train.yaml": BAD + "deepspeed: ../shared/ds.json\n",
            "shared/ds.json": SHARED,
            "shared/stablint.toml": "",
        }
    )
    assert found(capsys).keys() == {"runs/train.yaml", "shared/ds.json"}
    here({"shared/stablint.toml": 'ignore = ["P"]\n'})
    assert found(capsys).keys() == {"runs/train.yaml"}
    here({"shared/stablint.toml": "", "runs/stablint.toml": 'select = ["S"]\n'})
    assert found(capsys).keys() == {"shared/ds.json"}
    here({"shared/stablint.toml": '[severity]\nP = "info"\n', "runs/stablint.toml": ""})
    assert {severity for _, severity in found(capsys)["shared/ds.json"]} == {"info"}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ('ignore = ["P143"]', []),
        ('select = ["S"]', []),
        ('select = ["P143"]', [("P143", "error")]),
        ('severity = { P143 = "info" }', [("P143", "info")]),
        ('severity = { P = "info", P143 = "warning" }', [("P143", "warning")]),
        ('target = [{ gpu = "T4" }]', [("P143", "error")]),
    ],
)
def test_rows_of_per_path(here, capsys, row, expected):
    here({"old/a.yaml": BAD, "new/a.yaml": BAD, "stablint.toml": f'[[per-path]]\npaths = ["old/**"]\n{row}\n'})
    files = found(capsys)
    assert files.pop("new/a.yaml") == [("P143", "error")]
    assert files.get("old/a.yaml", []) == expected


def test_of_several_rows_the_later_is_laid_over_the_earlier(here, capsys):
    rows = (
        '[[per-path]]\npaths = ["old/**"]\nseverity = { P143 = "info" }\ntarget = [{ gpu = "T4" }]\nversions = { trl = "==0.20" }\n\n'
        '[[per-path]]\npaths = ["old/a.yaml"]\nseverity = { P143 = "warning" }\n'
    )
    here({"old/a.yaml": BAD, "old/b.yaml": BAD, "stablint.toml": '[[target]]\ngpu = "A100-80GB"\n\n' + rows})
    assert found(capsys) == {"old/a.yaml": [("P143", "warning")], "old/b.yaml": [("P143", "info")]}
    main(["show", "old/a.yaml", "--output-format", "json"])
    facts = {fact["name"]: fact for fact in json.loads(capsys.readouterr().out)["runs"][0]["facts"]}
    assert facts["target.gpu.name"]["value"].endswith("T4")


def test_a_release_says_where_it_was_said(here, capsys):
    text = QWEN + "evaluation_strategy: steps\neval_steps: 10\n"
    here({"train.yaml": text, "requirements.txt": "transformers==5.23.0\ntrl==1.16.0\n"})
    main(["train.yaml", "--output-format", "json"])
    assert {"requirements.txt"} == options_about_releases(capsys.readouterr().out)
    main(["train.yaml", "--with", "transformers==5.23.0", "--output-format", "json"])
    assert "--with transformers" in options_about_releases(capsys.readouterr().out)
    here({"stablint.toml": '[versions]\ntransformers = "==5.23.0"\n'})
    main(["train.yaml", "--output-format", "json"])
    assert "[versions] in stablint.toml" in options_about_releases(capsys.readouterr().out)


def options_about_releases(output: str) -> set[str]:
    return {
        fact["origin"]["option"]
        for diagnostic in json.loads(output)["diagnostics"]
        for fact in diagnostic["facts"]
        if fact["name"] == "versions.transformers"
    }


def test_the_exit_code_is_by_the_settings_of_each_file(here):
    here({"a/train.yaml": BAD, "a/stablint.toml": 'fail-on = "warning"\n[severity]\nP143 = "warning"\n'})
    assert main(["."]) == 1
    here({"a/stablint.toml": '[severity]\nP143 = "warning"\n', "b/stablint.toml": 'fail-on = "warning"\n'})
    assert main(["."]) == 0
    assert main([".", "--fail-on", "warning"]) == 1


def test_wrong_settings_further_down_are_told_as_well(here, capsys):
    here({"a/train.yaml": BAD, "a/stablint.toml": 'fail_on = "error"\n'})
    assert main(["."]) == 2
    assert "a/stablint.toml:1" in capsys.readouterr().err


def test_each_baseline_is_that_of_its_settings(here, capsys):
    folder = here(
        {
            "a/train.yaml": BAD,
            "b/train.yaml": BAD,
            "c/train.yaml": BAD,
            "a/stablint.toml": 'baseline = "known.json"\n',
            "b/stablint.toml": 'baseline = "known.json"\n',
        }
    )
    assert main([".", "--write-baseline"]) == 0
    assert [
        json.loads((folder / name).read_text())["findings"][0]["file"] for name in ("a/known.json", "b/known.json")
    ] == ["train.yaml"] * 2
    capsys.readouterr()
    assert found(capsys).keys() == {"c/train.yaml"}


def test_a_baseline_of_one_file_keeps_those_of_the_others(here, capsys):
    folder = here({"a.yaml": BAD, "b.yaml": BAD, "stablint.toml": 'baseline = "known.json"\n'})
    main([".", "--write-baseline"])
    here({"a.yaml": BAD.replace("fp16: true\n", "")})
    main(["a.yaml", "--write-baseline"])
    assert [row["file"] for row in json.loads((folder / "known.json").read_text())["findings"]] == ["b.yaml"]
    (folder / "b.yaml").unlink()
    main(["a.yaml", "--write-baseline"])
    assert json.loads((folder / "known.json").read_text())["findings"] == []


def test_the_library_obeys_the_settings_of_the_file(here):
    here({"a/train.yaml": BAD, "a/stablint.toml": '[severity]\nP143 = "warning"\n'})
    assert [d.severity for d in stablint.check("a/train.yaml").diagnostics if d.code == "P143"] == ["warning"]
    assert stablint.assert_safe("a").diagnostics
    assert [d.severity for d in stablint.check("a", isolated=True).diagnostics if d.code == "P143"] == ["error"]
    with pytest.raises(stablint.UnsafeConfig):
        stablint.assert_safe("a", isolated=True)
    here({"other.toml": 'ignore = ["P143"]\n'})
    assert not [d for d in stablint.check("a", config="other.toml").diagnostics if d.code == "P143"]


def test_what_is_accepted_is_safe(here):
    here({"train.yaml": BAD.replace("fp16: true", "fp16: true  # stablint: ignore[P143] -- why")})
    (accepted,) = [d for d in stablint.assert_safe("train.yaml").diagnostics if d.code == "P143"]
    assert accepted.suppressed == {"reason": "why"}


def test_the_library_refuses_wrong_settings(here):
    here({"train.yaml": BAD, "stablint.toml": 'fail_on = "error"\n'})
    with pytest.raises(ValueError, match="did you mean `fail-on`"):
        stablint.check("train.yaml")
