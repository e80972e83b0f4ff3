"""Who looks for a repository's programs looks at so many entries of it, from the top, whatever data lies beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.engine.examples import write
from stablint.files import discover


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {f"data/{number}.json": "{}" for number in range(10)}
    write({**files, "train.py": "", "src/model.py": "", "src/deep/er.py": ""}, str(tmp_path))
    return tmp_path


def found(folder: Path, entries: int) -> list[str]:
    return [Path(path).relative_to(folder).as_posix() for path in discover.within(str(folder), entries)]


def test_all_of_it_where_there_is_room(repository: Path) -> None:
    data = sorted(f"data/{number}.json" for number in range(10))
    assert found(repository, 100) == [*data, "src/deep/er.py", "src/model.py", "train.py"]


def test_a_folder_of_data_takes_no_room(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "_CROWDED", 5)
    assert found(repository, 100) == ["src/deep/er.py", "src/model.py", "train.py"]


def test_what_lies_near_the_top_comes_first(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "_CROWDED", 5)
    assert found(repository, 10) == ["src/model.py", "train.py"]
    assert found(repository, 2) == []
