"""Messages are read where hazards cite them, in every release that lies in a folder; what only stands beside such a place is left out."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from stablint.audit.archives import Shelf
from stablint.audit.sayings import HazardText
from stablint.compiling.reading import read_yaml
from stablint.hazard.model import load
from tools import read_messages

ROOT = Path(__file__).parents[2]

CITED = "trl 1.16.0 trainer/dpo_trainer.py"  # by `reference-is-the-model`
SAID = "`model` and `ref_model` cannot be the same object."


@pytest.fixture
def texts() -> list[HazardText]:
    """The hazard that cites it, alone: to read all of them takes seconds."""
    [path] = (ROOT / "knowledge" / "hazards").rglob("reference-is-the-model.yaml")
    return [HazardText(path.name, path.read_text(encoding="utf-8"), read_yaml(path))]


def test_no_message_is_kept_for_a_rule_whose_neighbour_it_is():
    stored = json.loads(read_messages.STORED.read_text(encoding="utf-8"))["messages"]
    neighbours = read_messages.Neighbours(read_yaml(read_messages.NEIGHBOURS))
    assert [
        (hazard, row["text"]) for row in stored for hazard in row["hazards"] if neighbours.is_one(hazard, row["text"])
    ] == []


def test_every_neighbour_is_of_a_rule_that_there_is():
    assert not set(read_yaml(read_messages.NEIGHBOURS)) - {hazard.id for hazard in load()}


@pytest.mark.parametrize(("neighbours", "kept"), [({}, True), ({"reference-is-the-model": [SAID]}, False)])
def test_a_wheel_is_read_but_for_what_is_a_neighbour(tmp_path, texts, neighbours, kept):
    [hazard] = texts
    source = next(one for one in hazard.data["evidence"]["sources"] if one.startswith(CITED))
    line = int(source.rpartition(":")[2].split()[0])
    text = "\n" * (line - 2) + f'if model is ref_model:\n    raise ValueError("{SAID}")\n'
    with zipfile.ZipFile(tmp_path / "trl-1.16.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("trl/trainer/dpo_trainer.py", text)
    told = read_messages.Neighbours(neighbours)
    found = read_messages.read(texts, Shelf(tmp_path), {}, told)
    assert (("trl", SAID) in found) is kept
    assert told.unmet == set()


def test_a_neighbour_that_nothing_says_any_more_is_told(tmp_path, texts):
    told = read_messages.Neighbours({"reference-is-the-model": ["Nobody says this"]})
    read_messages.read(texts, Shelf(tmp_path), {}, told)
    assert told.unmet == {("reference-is-the-model", "Nobody says this")}
