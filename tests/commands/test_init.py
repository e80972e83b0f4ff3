"""`stablint init`: a file that says what was found, changes nothing by itself, and is never written over another."""

from __future__ import annotations

import re

import pytest

from stablint.cli import main
from stablint.config import settings
from stablint.schema.settings import Settings

TRAIN = "output_dir: out\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 4\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_says_what_was_found_and_changes_nothing(here):
    (here / "train.yaml").write_text(TRAIN)
    (here / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}')
    (here / "uv.lock").write_text('[[package]]\nname = "trl"\nversion = "0.20.0"\n')
    assert main(["init"]) == 0
    text = (here / "stablint.toml").read_text()
    assert "deepspeed" in text and "trl ==0.20.0" in text
    assert settings.read("stablint.toml").values == {}
    assert main(["."]) == 0


def test_its_suggestions_are_settings_when_the_marks_are_taken_away(here):
    main(["init"])
    text = (here / "stablint.toml").read_text()
    (here / "stablint.toml").write_text(re.sub(r"(?m)^# (?=\[|[a-zA-Z-]+[0-9]* = )", "", text))
    values = settings.read("stablint.toml").values
    described = {name.replace("_", "-") for name in Settings.model_fields}
    assert described - set(values) == {"extend", "select", "model", "allow-outside", "pages"}


def test_an_empty_folder_gets_one_too(here):
    assert main(["init"]) == 0
    assert main(["."]) == 0


@pytest.mark.parametrize(("name", "text"), [("stablint.toml", "# mine\n"), ("pyproject.toml", "[tool.stablint]\n")])
def test_nothing_is_written_over(here, name, text):
    (here / name).write_text(text)
    assert main(["init"]) == 2
    assert [(path.name, path.read_text()) for path in here.iterdir()] == [(name, text)]


def test_another_folder(here):
    (here / "sub").mkdir()
    assert main(["init", "sub"]) == 0
    assert (here / "sub" / "stablint.toml").exists()
    assert main(["init", "nowhere"]) == 2


def test_a_full_disk_leaves_no_half_of_it(tmp_path, monkeypatch, capsys):
    """`exit.write_report` puts a whole file in its place, or none."""

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.replace", full)
    monkeypatch.setattr("os.link", full)
    assert main(["init", "."]) == 2
    assert "No space left on device: nothing was written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_settings_that_came_meanwhile_stay(tmp_path, monkeypatch, capsys):
    def contents(*_):
        (tmp_path / "stablint.toml").write_text("# mine\n")
        return "# ours\n"

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stablint.commands.init.contents", contents)
    assert main(["init"]) == 2
    assert "exists: nothing was written" in capsys.readouterr().err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("stablint.toml", "# mine\n")]
