"""docs/settings.md and docs/library.md show settings, arguments and commands that there are."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
from pathlib import Path

import pytest

import stablint
from stablint.cli import main
from stablint.config import settings, trust
from stablint.config.schema_check import faults
from stablint.config.spec import COMMANDS
from stablint.files import discover
from stablint.schema.settings import Settings
from stablint.suppressions.directives import directives

ROOT = Path(__file__).parents[2]
SETTINGS, LIBRARY = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("settings.md", "library.md"))
SCHEMA = json.loads((ROOT / "schemas" / "settings.schema.json").read_text(encoding="utf-8"))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


OF_REPOSITORIES, OF_USERS = (
    [block for block in blocks(SETTINGS, "toml") if ("trusted = " in block) is users] for users in (False, True)
)


def test_the_users_own_file_is_as_shown(tmp_path, monkeypatch):
    (block,) = OF_USERS
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "own.toml").write_text(block, encoding="utf-8")
    for folder, trusted in (("work", True), ("work/ours/configs", True), ("workshop", False), ("other", False)):
        assert (
            trust.trusts(str(tmp_path / folder / "stablint.toml"), str(tmp_path / "own.toml"), str(tmp_path / folder))
            is trusted
        )


@pytest.mark.parametrize("block", OF_REPOSITORIES)
def test_the_settings_shown_are_settings(block, tmp_path):
    (tmp_path / "stablint.toml").write_text(block, encoding="utf-8")
    assert list(faults(settings.read(str(tmp_path / "stablint.toml")).values, SCHEMA)) == []


def test_every_setting_is_shown(tmp_path):
    shown = set()
    for number, block in enumerate(OF_REPOSITORIES):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        shown |= set(settings.read(str(path)).values)
    assert shown | {"extend"} == {name.replace("_", "-") for name in Settings.model_fields}
    assert "extend = " in SETTINGS


def test_every_argument_of_check_is_described():
    described = set(re.findall(r"`\*?([a-z_]+)`", "".join(re.findall(r"^\| (`.*?) \|", LIBRARY, re.M))))
    assert described == set(inspect.signature(stablint.check).parameters)


@pytest.mark.parametrize("block", blocks(LIBRARY, "python"))
def test_the_python_shown_names_what_there_is(block):
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "stablint":
            assert hasattr(stablint, node.attr)


@pytest.mark.parametrize(
    "line", [line for text in (SETTINGS, LIBRARY) for block in blocks(text, "sh") for line in block.splitlines()]
)
def test_the_commands_shown_take_their_options(line, capsys):
    words = shlex.split(line, comments=True)
    assert words[0] == "stablint"
    command = words[1] if words[1] in COMMANDS else "check"
    with pytest.raises(SystemExit):
        main([command, "--help"])
    told = capsys.readouterr().out
    own = words[: words.index("--")] if "--" in words else words
    assert all(word in told for word in own if word.startswith("--"))


def test_the_comments_shown_are_read(tmp_path):
    (block,) = blocks(SETTINGS, "yaml")
    path = str(write(tmp_path, block))
    found = directives(discover.read(path, path))
    assert [(directive.fault, directive.words) for directive in found] == [
        ("", ("T201",)),
        ("", ("P101", "fp16-risky-model")),
    ]


def write(folder: Path, text: str) -> Path:
    (folder / "train.yaml").write_text(text, encoding="utf-8")
    return folder / "train.yaml"


def test_the_guide_to_rules_of_ones_own_can_be_followed(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
    (config, rule), (settings_text, _) = blocks(text, "yaml"), blocks(text, "toml")
    monkeypatch.chdir(tmp_path)
    for name, content in {
        "configs/train.yaml": config,
        "hazards/runs-are-reported.yaml": rule,
        "stablint.toml": settings_text,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert main(["show", "configs/train.yaml"]) == 0
    assert "training.report_to = none" in capsys.readouterr().out
    assert main(["test-hazards", "hazards/"]) == 0
    assert capsys.readouterr().err.strip() in text
    assert main(["configs/", "--select", "ACME", "--output-format", "concise"]) == 0
    assert "warning[ACME001] `report_to: none`: nobody will see this run" in capsys.readouterr().out
    assert main(["configs/", "--fix"]) == 0
    assert "report_to: wandb" in (tmp_path / "configs" / "train.yaml").read_text()


def test_the_guide_to_accepting_can_be_followed(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "accepting.md").read_text(encoding="utf-8")
    config, accepted = blocks(text, "yaml")
    [settings_text] = blocks(text, "toml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "configs").mkdir()
    train = tmp_path / "configs" / "train.yaml"

    def told(*words: str, code: int = 0) -> str:
        assert main([*words, "--output-format", "concise"]) == code
        return capsys.readouterr().out

    train.write_text(config, encoding="utf-8")
    assert all(word in told("configs/") for word in ("warning[P102]", "info[L101]", "1 warning, 1 info"))
    train.write_text(config.replace("fp16: true\n", accepted), encoding="utf-8")
    assert "P102" not in (rest := told("configs/")) and "1 accepted" in rest
    (tmp_path / "stablint.toml").write_text(settings_text, encoding="utf-8")
    assert "No new findings" in told("configs/")
    (tmp_path / "stablint.toml").unlink()
    assert main(["init"]) == 0
    settings = (tmp_path / "stablint.toml").read_text(encoding="utf-8")
    (tmp_path / "stablint.toml").write_text(re.sub(r"(?m)^# *(baseline = )", r"\1", settings), encoding="utf-8")
    assert main([".", "--write-baseline"]) == 0
    capsys.readouterr()
    assert "2 accepted" in told(".")
    train.write_text("# moved\n" + train.read_text(encoding="utf-8") + "bf16: true\n", encoding="utf-8")
    both = told(".", code=1)
    assert "error[P143]" in both and "S111] `P102` is not found here any more" in both and "1 accepted" in both
    main(["configs/", "--fix"])
    assert "ignore[P102]" not in train.read_text(encoding="utf-8")
