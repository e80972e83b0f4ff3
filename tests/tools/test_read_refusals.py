"""Messages that name a setting are read from the libraries' archives, and each that is stored names it in its own words."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from stablint.audit.archives import Shelf
from tools import read_refusals

SOURCE = """
from dataclasses import dataclass

@dataclass
class TinyConfig:
    beta_of_loss: float = 0.1
    packing: bool = False

def check(args, rows):
    if args.beta_of_loss < 0:
        raise ValueError(f"`beta_of_loss` must not be negative, got {args.beta_of_loss}.")
    assert rows, "no rows are left for the training"
    if args.packing and not rows:
        raise ValueError("`packing` needs rows to be packed together")
    if rows is None:
        raise ValueError("packing of nothing is asked for, which is odd")
    raise ValueError("known already: beta_of_loss is refused here")
"""


def archive(folder: Path, path: str = "trl/trainer/tiny.py") -> Shelf:
    with zipfile.ZipFile(folder / "trl-1.16.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(path, SOURCE)
    return Shelf(folder)


def test_a_raise_that_names_a_field_is_kept_with_it(tmp_path):
    found = read_refusals.read(archive(tmp_path), frozenset({"known already: beta_of_loss is refused here"}))
    assert [(row["text"], row["settings"], row["first"], row["last"]) for row in found] == [
        ("`beta_of_loss` must not be negative, got {args.beta_of_loss}.", ["beta_of_loss"], "1.16.0", "1.16.0"),
        ("`packing` needs rows to be packed together", ["packing"], "1.16.0", "1.16.0"),
    ]


def test_what_no_training_reads_is_left_out(tmp_path):
    assert read_refusals.read(archive(tmp_path, "trl/models/modeling_tiny.py"), frozenset()) == []


def test_what_is_said_no_more_is_told(tmp_path):
    shelf = archive(tmp_path)
    [row, *_] = read_refusals.read(shelf, frozenset())
    assert list(read_refusals.said_no_more([row], shelf)) == []
    assert list(read_refusals.said_no_more([{**row, "text": "it was said once"}], shelf)) != []


def test_each_stored_message_names_its_settings():
    stored = json.loads(read_refusals.STORED.read_text(encoding="utf-8"))["messages"]
    assert len(stored) > 1000
    for row in stored:
        assert row["settings"] == read_refusals.named(row["text"], frozenset(row["settings"]))
