"""Secrets are hidden, and what people write in their own script is not (scripts.yaml)."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from stablint.cli import main
from stablint.compiling.reading import LOADER
from stablint.secrets.masking import covered, mask
from stablint.secrets.veil import veiled

CASES = yaml.load((Path(__file__).parent / "scripts.yaml").read_text(encoding="utf-8"), LOADER)
# Put together here, so that no scanner of secrets takes the file for a leak.
DRAWN = {
    "TOKEN": "hf_" + "a1B2cD3e" * 4 + "xy",
    "RANDOM": "Tz4pLq9Rk2" + "WmXb7c",
    "HEX": "3f9c07ab52e16d88" + "b04e7a1c9d25f6e3",
}


def _drawn(text: str) -> tuple[str, str]:
    """A text, and the word in it that must not be shown."""
    for name, word in DRAWN.items():
        text = text.replace(name, word)
    found = re.search("⟦(.*)⟧", text)
    assert found is not None
    return text.replace("⟦", "").replace("⟧", ""), found[1]


def _rows(kind: str) -> list[tuple[str, str]]:
    return [(language, text) for language, texts in CASES[kind].items() for text in texts]


@pytest.mark.parametrize(("language", "text"), _rows("shown"))
def test_what_is_written_for_people_stays(language: str, text: str) -> None:
    assert veiled(covered(text, language), language) == text


@pytest.mark.parametrize(("language", "text"), _rows("hidden"))
def test_a_secret_among_other_letters_is_hidden(language: str, text: str) -> None:
    text, secret = _drawn(text)
    shown = veiled(covered(text, language), language)
    assert secret not in shown and len(shown) == len(text)


@pytest.mark.parametrize(("language", "text"), _rows("partly"))
def test_of_a_comment_only_the_phrase_that_nobody_knows_is_hidden(language: str, text: str) -> None:
    source = text.replace("⟦", "").replace("⟧", "")
    starred = re.sub("⟦(.*?)⟧", lambda found: re.sub(r"\S", "*", found[1]), text)
    assert veiled(source, language) == starred


@pytest.mark.parametrize("text", CASES["masked"])
def test_a_message_in_another_language_is_masked(text: str) -> None:
    text, secret = _drawn(text)
    assert secret not in mask(text)


@pytest.mark.parametrize("text", CASES["placeholders"])
def test_what_is_there_to_be_filled_in_stays(text: str) -> None:
    assert covered(text, "yaml") == mask(text) == text


RECIPE = """# 中文注释：训练配置
model_name_or_path: Qwen/Qwen2-7B-Instruct  # 模型路径
output_dir: out
# 学习率不要太大
learning_rate: 3.0  # 学习率
bf16: true  # 混合精度 🚀
"""


def test_a_patch_beside_chinese_comments_is_given_and_applies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(RECIPE.replace("learning_rate: 3.0", "learning_rate: 1e-5"), encoding="utf-8")
    assert main(["check", "train.yaml", "--diff", "--unsafe-fixes", "--isolated"]) == 1
    patch = capsysbinary.readouterr().out
    assert "learning_rate: 1.0e-05  # 学习率".encode() in patch
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "apply"], input=patch, check=True)


def test_the_line_of_a_finding_is_shown_with_its_comment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(RECIPE, encoding="utf-8")
    main(["check", "train.yaml", "--isolated"])
    assert "learning_rate: 3.0  # 学习率" in capsys.readouterr().out


TABLE = {"marmalade_sft": {"file_name": "x.json"}, "我的数据": {"hf_hub_url": "me/mine"}}


@pytest.mark.parametrize("form", ["full", "json"])
def test_show_calls_a_data_set_by_its_name(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dataset_info.json").write_text(json.dumps(TABLE), encoding="utf-8")
    (tmp_path / "t.yaml").write_text(
        "model_name_or_path: Qwen/Qwen2-7B\nstage: sft\nfinetuning_type: lora\ndataset: marmalade_sft,我的数据\ndataset_dir: .\noutput_dir: out\n",
        encoding="utf-8",
    )
    assert main(["show", "t.yaml", "--isolated", "--output-format", form]) == 0
    told = capsys.readouterr().out
    assert "data.info.names" in told and "我的数据" in told and "****" not in told
