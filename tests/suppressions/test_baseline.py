"""A baseline accepts what a repository has, knows it again after harmless edits, and lets nothing new through."""

from __future__ import annotations

import json
import os
import traceback

import pytest

from stablint.base import whole
from stablint.cli import main
from stablint.config.options import options
from stablint.engine.inspect import inspect
from stablint.suppressions import baseline
from stablint.suppressions.baseline import render

BAD = "output_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nbf16: true\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "a.yaml").write_text(BAD)
    assert main([".", "--write-baseline", "--baseline", "base.json"]) == 0
    return tmp_path


HARMLESS = {
    "the same": BAD,
    "moved lines": "\n\n" + BAD,
    "another order": "bf16: true\nfp16: true\nlearning_rate: 1.0e-5\noutput_dir: out\n",
    "quotes": BAD.replace("output_dir", '"output_dir"').replace("fp16: true\n", "'fp16': true\n"),
    "comments": "# a run\n" + BAD.replace("fp16: true", "fp16: true  # old"),
    "Windows line ends": BAD.replace("\n", "\r\n"),
    "another way to write it": BAD.replace("fp16: true", "fp16: True"),
    "other settings": BAD + "logging_steps: 10\n",
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_what_was_there_stays_accepted(here, text):
    (here / "configs" / "a.yaml").write_bytes(text.encode())
    assert main([".", "--baseline", "base.json"]) == 0


DEEPSPEED = """{
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-5, "eps": 1e-8}},
  "fp16": {"enabled": true}, "bf16": {"enabled": true}, "zero_optimization": {"stage": 1}
}"""
REORDERED = """{
  "zero_optimization": {"stage": 1}, "bf16": {"enabled": true}, "fp16": {"enabled": true},
  "optimizer": {"params": {"eps": 1e-8, "lr": 1e-5}, "type": "AdamW"}
}"""


@pytest.mark.parametrize(("name", "texts"), [("a.yaml", list(HARMLESS.values())), ("ds.json", [DEEPSPEED, REORDERED])])
def test_the_fingerprints_of_reports_survive_the_same(tmp_path, name, texts):
    found = []
    for text in texts:
        (tmp_path / name).write_bytes(text.encode())
        diagnostics = inspect([name], options(), base=str(tmp_path)).report.diagnostics
        found.append({(d.rule, d.fingerprint) for d in diagnostics if d.severity == "error"})
    assert found[0] and found == [found[0]] * len(texts)


NEW = {
    "another file": {"configs/b.yaml": BAD},
    "once more in the same file": {"configs/a.yaml": BAD + "---\n" + BAD},
    "another rule": {"configs/a.yaml": BAD + "fp16_full_eval: true\nbf16_full_eval: true\n"},
}


@pytest.mark.parametrize("files", NEW.values(), ids=NEW)
def test_what_is_new_is_told(here, files):
    for name, text in files.items():
        (here / name).write_text(text)
    assert main([".", "--baseline", "base.json"]) == 1


def test_it_is_known_from_another_folder(here, monkeypatch):
    monkeypatch.chdir(here / "configs")
    assert main(["a.yaml", "--baseline", "../base.json"]) == 0


def test_the_file_is_sorted_relative_and_says_the_same_twice(here):
    (here / "configs" / "0.yaml").write_text(BAD + "---\n" + BAD)
    assert main([".", "--write-baseline", "--baseline", "base.json"]) == 0
    first = (here / "base.json").read_bytes()
    assert main(["configs/0.yaml", "configs", "--write-baseline", "--baseline", "base.json"]) == 0
    assert (here / "base.json").read_bytes() == first
    rows = json.loads(first)["findings"]
    assert [(row["file"], row["count"]) for row in rows if row["rule"] == "fp16-and-bf16"] == [
        ("configs/0.yaml", 2),
        ("configs/a.yaml", 1),
    ]
    assert rows == sorted(rows, key=lambda row: (row["file"], row["rule"], row["fingerprint"]))


def test_accepted_findings_stay_in_the_report(here, capsys):
    main([".", "--baseline", "base.json", "--output-format", "json"])
    (finding,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert finding["suppressed"]["reason"]


def test_accepted_findings_are_not_repaired(here):
    text = "model_name_or_path: Qwen/Qwen2-7B-Instruct\noutput_dir: out\nlearning_rate: 1.0e-5\nfp16: true\n"
    (here / "configs" / "a.yaml").write_text(text)
    options = [".", "--gpu", "A100-80GB", "--baseline", "base.json"]
    main([*options, "--write-baseline"])
    assert main([*options, "--fix"]) == 0
    assert (here / "configs" / "a.yaml").read_text() == text


def test_what_is_gone_is_told_on_stderr(here, capsys):
    (here / "configs" / "a.yaml").write_text(BAD.replace("fp16: true\n", "", 1))
    capsys.readouterr()
    assert main([".", "--baseline", "base.json"]) == 0
    assert "fp16-and-bf16" in capsys.readouterr().err
    (here / "configs" / "a.yaml").unlink()
    main([".", "--baseline", "base.json"])
    assert "fp16-and-bf16" in capsys.readouterr().err


def test_files_that_were_not_looked_at_are_not_stale(here, capsys):
    (here / "b.yaml").write_text("output_dir: out\nlearning_rate: 1.0e-5\n")
    capsys.readouterr()
    assert main(["b.yaml", "--baseline", "base.json"]) == 0
    assert "fp16-and-bf16" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [None, "", "[]", "{}", '{"schema_version": 9, "findings": []}', '{"schema_version": 1, "findings": [{"file": 1}]}'],
)
def test_what_is_no_baseline_is_refused(here, text):
    path = here / "broken.json"
    if text is not None:
        path.write_text(text)
    assert main([".", "--baseline", "broken.json"]) == 2


def test_on_a_full_disk_the_old_one_stays(here, monkeypatch, capsys):
    before = (here / "base.json").read_bytes()
    (here / "configs" / "b.yaml").write_text(BAD)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("stablint.base.whole.exchanged", lambda one, other: False)
    monkeypatch.setattr("os.replace", full)
    assert main([".", "--write-baseline", "--baseline", "base.json"]) == 2
    assert "No space left" in capsys.readouterr().err
    assert (here / "base.json").read_bytes() == before
    assert sorted(path.name for path in here.iterdir()) == ["base.json", "configs"]


def test_what_somebody_else_accepts_meanwhile_stays(here, monkeypatch):
    """Read, checked, and written by a colleague before it is written: theirs is read again, and is in it."""
    theirs = {"file": "later.yaml", "rule": "duplicate-key", "fingerprint": "0" * 16, "count": 1}
    (here / "later.yaml").write_text("a: 1\n")
    turns = []

    def rendered(*given):
        text = render(*given)
        if not turns:
            data = json.loads((here / "base.json").read_text())
            (here / "base.json").write_text(json.dumps({**data, "findings": [*data["findings"], theirs]}))
        turns.append(1)
        return text

    monkeypatch.setattr("stablint.commands.baselines.render", rendered)
    assert main(["configs", "--write-baseline", "--baseline", "base.json"]) == 0
    assert len(turns) == 2 and theirs in json.loads((here / "base.json").read_text())["findings"]


def test_a_save_in_the_moment_of_the_exchange_comes_back(here, monkeypatch):
    if not whole.exchanged(*(str(here / name) for name in ("base.json", "configs"))):
        pytest.skip("this file system cannot exchange two names")
    original, turns = whole.exchanged, []
    original(*(str(here / name) for name in ("base.json", "configs")))
    theirs = {"file": "later.yaml", "rule": "duplicate-key", "fingerprint": "0" * 16, "count": 1}
    (here / "later.yaml").write_text("a: 1\n")

    def exchanged(one, other):
        if not turns:
            data = json.loads((here / "base.json").read_text())
            (here / "new").write_text(json.dumps({**data, "findings": [*data["findings"], theirs]}))
            (here / "new").replace(here / "base.json")
        turns.append(1)
        return original(one, other)

    monkeypatch.setattr(whole, "exchanged", exchanged)
    assert main(["configs", "--write-baseline", "--baseline", "base.json"]) == 0
    assert len(turns) == 3 and theirs in json.loads((here / "base.json").read_text())["findings"]
    assert not [path for path in here.iterdir() if path.name.endswith(".new")]


def test_a_baseline_that_never_rests_is_left_alone(here, monkeypatch, capsys):
    def rendered(*given):
        text = render(*given)
        (here / "base.json").write_text((here / "base.json").read_text() + " ")
        return text

    monkeypatch.setattr("stablint.commands.baselines.render", rendered)
    assert main(["configs", "--write-baseline", "--baseline", "base.json"]) == 2
    assert "changed again and again while stablint worked" in capsys.readouterr().err
    assert sorted(path.name for path in here.iterdir()) == ["base.json", "configs"]


def test_the_settings_may_name_it(here):
    (here / "stablint.toml").write_text('baseline = "base.json"\n')
    assert main(["."]) == 0
    assert main([".", "--isolated"]) == 1


DEEPSPEED = '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_optimizer": {"pin_mem": true, %s}}}'


def test_other_keys_of_the_block_that_a_finding_shows_come_and_go(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text(DEEPSPEED % '"device": "cpu"')
    assert main([".", "--write-baseline", "--baseline", "base.json"]) == 0
    (tmp_path / "ds.json").write_text(DEEPSPEED % '"device": "cpu", "fast_init": true')
    assert main([".", "--baseline", "base.json"]) == 0


# Put together here, so that no scanner of secrets takes this file for a leak.
@pytest.mark.parametrize(
    "name",
    [
        "password=marmalade-kestrel.yaml", "DB_PASSWORD=marmalade-kestrel/sub/a.yaml", "token: marmalade-kestrel/a.yaml",
        "hf_" + "marmaladekestrel7Q" * 2 + "/a.yaml", "gh" + "p_marmaladekestrel7Qmarmaladekestrel7Q/a.yaml", "api_key-marmalade7Lw2Zt9Xk4Rv8Nb3Hs6/a.yaml",
    ],
)  # fmt: skip
def test_it_holds_no_secret_of_a_file_s_name_and_accepts_its_findings_all_the_same(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("output_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nbf16: true\n")
    assert main(["check", "."]) == 1
    assert main(["check", ".", "--write-baseline", "--baseline", "b.json"]) == 0
    assert "marmalade" not in (tmp_path / "b.json").read_text() and "********" in (tmp_path / "b.json").read_text()
    capsys.readouterr()
    assert main(["check", ".", "--baseline", "b.json"]) == 0
    assert "marmalade" not in capsys.readouterr().out


def test_what_is_no_baseline_is_refused_without_its_text_being_kept(here, capsys):
    """A server holds the error of every request: with the text in it, a file of 3 GB that Git can carry in a few bytes filled the memory."""
    with open("large.json", "wb") as file:
        file.truncate(3_000_000_000)
    assert main([".", "--baseline", "large.json"]) == 2
    assert "large.json: more than 20,000,000 bytes are no baseline" in capsys.readouterr().err
    os.truncate("large.json", 0)
    (here / "small.json").write_text("[" * 5000)
    with pytest.raises(baseline.BadBaseline) as raised:
        baseline.read("small.json")
    held = [value for frame, _ in traceback.walk_tb(raised.value.__traceback__) for value in frame.f_locals.values()]
    assert raised.value.__cause__ is None and raised.value.__context__ is None
    assert not any(isinstance(value, str) and value.startswith("[[") for value in held)
