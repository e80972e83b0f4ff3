"""What may stand behind a framework's keys is read off annotations and parsers, and only where they agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import read_values

SOURCE = """
from enum import Enum
from typing import Annotated, Literal, Optional


class Mode(str, Enum):
    fast = "fast"
    slow = "slow"


class Arguments:
    stage: Literal["sft", "dpo"] = "sft"
    packing: bool | None = None
    quoted: "Optional[bool]" = None
    mode: Mode = Mode.fast
    several: Literal["a"] | int = "a"
    kept: str = "no"
    twice: bool = False
    marked: Annotated[Literal["x", "y"], "why"] = "x"


class Others:
    twice: str = ""
    stage: Literal["kto"] = "kto"


def build(parser, rank: int, merge: bool = False):
    parser.add_argument("--kept", choices=["no", "bf16"])
    parser.add_argument("--ds.offload", action="store_true")
    parser.add_argument("--free", type=str)
"""


def test_only_what_all_declarations_agree_on_is_taken(tmp_path: Path) -> None:
    (tmp_path / "args.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "defaults.yaml").write_text("actor:\n  shuffle: false\n  lr: 1.0\n  merge: maybe\n", encoding="utf-8")
    found = read_values.sorted_values(read_values.values(tmp_path, ("*.py", "*.yaml")))
    assert found["flags"] == ["offload", "packing", "quoted", "shuffle"]
    assert found["words"] == {
        "kept": ["no", "bf16"], "marked": ["x", "y"], "mode": ["fast", "slow"], "stage": ["sft", "dpo", "kto"],
    }  # fmt: skip


def test_kinds_of_numbers_and_what_is_left_out_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "args.py").write_text(NUMBERS, encoding="utf-8")
    (tmp_path / "defaults.yaml").write_text("lr: 1e-6\ntemperature: 1\n", encoding="utf-8")
    found = read_values.sorted_values(read_values.values(tmp_path, ("*.py", "*.yaml")))
    assert found["numbers"] == {
        "alpha": "float",
        "lr": "float",
        "rank": "int",
        "temperature": "float",
        "workers": "int",
    }
    assert found["texts"] == ["name"]
    assert read_values.usual(tmp_path, ("*.py", "*.yaml")) == {
        "alpha": 0.5,
        "either": 1,
        "name": "a",
        "rank": 8,
        "workers": 2,
    }


NUMBERS = """
class Arguments:
    rank: int | None = Field(default=8)
    alpha: int | float = 0.5
    either: int | bool = 1
    name: str = "a"
    seed: int = 1
    made: Any = compute()


def build(parser, seed: str = "2"):
    parser.add_argument("--workers", type=int, default=2)
"""


def test_the_table_is_of_releases_that_are_known() -> None:
    table = json.loads(read_values.TABLE.read_text(encoding="utf-8"))
    assert set(table) == set(read_values.SHELF)
    for framework, row in table.items():
        known = json.loads((read_values.TABLE.parent / "keys" / f"{framework}.json").read_text(encoding="utf-8"))
        assert row["release"] in known["releases"], framework
        assert row["flags"] and not set(row["flags"]) & set(row["words"])


def test_a_framework_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read_values.main([str(tmp_path)]) == 1
    assert "is not there" in capsys.readouterr().err
