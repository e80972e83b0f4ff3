"""The first rows of a file of examples, whatever stands behind them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stablint.syntax.rows import first

ROW = {"instruction": "a", "output": "b"}


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("a.json", json.dumps([ROW, ROW]), (ROW, ROW)),
        ("a.json", json.dumps([ROW] * 3, indent=2), (ROW,) * 3),
        ("a.jsonl", f"{json.dumps(ROW)}\n\n{json.dumps(ROW)}\n", (ROW, ROW)),
        ("a.json", f"\ufeff{json.dumps(ROW)}", (ROW,)),
        ("a.json", json.dumps([ROW, {"long": "c" * 70_000}]), (ROW,)),  # the row that the head cuts off
        ("a.json", json.dumps([ROW])[:-1] + ",]", (ROW,)),
        ("a.json", "[1, 2]", ()),
        ("a.json", "[" * 100_000, ()),
        ("a.json", '{"a": ' * 10_000, ()),
        ("a.json", f'{{"n": {"9" * 5000}}}', ()),
        ("a.json", "", ()),
        ("a.csv", "instruction,output\na,b\n", (dict.fromkeys(ROW),)),
        ("a.csv", '"instruction, both",output\na,b\n', ()),
        ("a.parquet", "PAR1", ()),
    ],
)
def test_first_rows(tmp_path: Path, name: str, text: str, rows: tuple[object, ...]) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert first(str(tmp_path / name)) == rows


def test_no_file(tmp_path: Path) -> None:
    assert first(str(tmp_path / "none.json")) == ()


def test_most(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(ROW)}\n" * 200, encoding="utf-8")
    assert len(first(str(tmp_path / "a.jsonl"))) == 50
