"""`pages` of the settings: findings carry the address of their rule's page, in every format that has a place for one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stablint.cli import main

FAULTY = "output_dir: out\nfp16: true\nbf16: true\n"
PAGE = "https://docs.example.com/rules/P143.html"


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(FAULTY, encoding="utf-8")

    def run(format: str, settings: str = 'pages = "https://docs.example.com/rules/{code}.html"\n') -> str:
        Path("stablint.toml").write_text(settings, encoding="utf-8")
        main(["check", "train.yaml", "--output-format", format])
        return capsys.readouterr().out

    return run


def test_each_format_has_its_place_for_it(checked):
    assert json.loads(checked("json"))["diagnostics"][0]["url"] == PAGE
    assert json.loads(checked("jsonl").splitlines()[0])["url"] == PAGE
    assert json.loads(checked("sarif"))["runs"][0]["tool"]["driver"]["rules"][0]["helpUri"] == PAGE
    assert json.loads(checked("rdjson"))["diagnostics"][0]["code"] == {"value": "P143", "url": PAGE}
    assert f"        see: {PAGE}\n" in checked("full")


def test_without_the_setting_there_is_none(checked):
    assert json.loads(checked("json", ""))["diagnostics"][0]["url"] is None
    assert "helpUri" not in checked("sarif", "")
    assert "see:" not in checked("full", "")


@pytest.mark.parametrize(
    "wrong", ["javascript:{code}", "https://docs.example.com/rules/", "https://a b/{code}", "https://x/{code}{rule}"]
)
def test_an_address_without_a_place_for_the_code_is_refused(checked, capsys, wrong):
    Path("stablint.toml").write_text(f'pages = "{wrong}"\n', encoding="utf-8")
    assert main(["check", "train.yaml"]) == 2
    assert "pages" in capsys.readouterr().err
