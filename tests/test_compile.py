"""The compiled knowledge in its folder: whole or not there, and nothing left beside it."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from stablint import knowledge
from stablint.compile import compile_all

HERE = Path(knowledge.SOURCES)


@pytest.fixture
def sources(tmp_path):
    """As little knowledge as compiles in no time: all kinds, one hazard."""
    small = tmp_path / "knowledge"
    shutil.copytree(HERE, small, ignore=lambda folder, names: names if Path(folder).name == "hazards" else [])
    hazard = sorted((HERE / "hazards").rglob("*.yaml"))[0]
    (small / "hazards").mkdir(exist_ok=True)
    shutil.copy(hazard, small / "hazards")
    return small


def test_what_killed_compilations_left_is_taken_away(tmp_path, sources):
    package = tmp_path / "package"
    for name, age in (("_compiled-abandoned", 3600), ("_compiled-at-work", 5), ("mine", 3600)):
        (package / name).mkdir(parents=True)
        os.utime(package / name, (time.time() - age,) * 2)
    compile_all(str(sources), str(package / "_compiled"))
    assert sorted(entry.name for entry in package.iterdir()) == ["_compiled", "_compiled-at-work", "mine"]
    assert (package / "_compiled" / "core.lines").exists()


def test_a_second_compilation_takes_the_place_of_the_first(tmp_path, sources):
    target = tmp_path / "package" / "_compiled"
    target.parent.mkdir()
    compile_all(str(sources), str(target))
    first = {path.name: path.read_bytes() for path in target.iterdir() if path.is_file()}
    compile_all(str(sources), str(target))
    assert {path.name: path.read_bytes() for path in target.iterdir() if path.is_file()} == first
    assert [entry.name for entry in target.parent.iterdir()] == ["_compiled"]
