"""Who looks for a repository's programs looks at so many entries of it, from the top, whatever data lies beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.engine.examples import write
from stablint.files import discover
from stablint.syntax import limits


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {f"data/{number}.json": "{}" for number in range(10)}
    write({**files, "train.py": "", "src/model.py": "", "src/deep/er.py": ""}, str(tmp_path))
    return tmp_path


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CROWDED", limits.CROWDED._replace(most=5))


def found(
    folder: Path, entries: int, monkeypatch: pytest.MonkeyPatch, passed: discover.Passed | None = None
) -> list[str]:
    monkeypatch.setattr(limits, "ENTRIES", limits.ENTRIES._replace(most=entries))
    paths = discover.within(str(folder), [] if passed is None else passed)
    return [Path(path).relative_to(folder).as_posix() for path in paths]


def test_all_of_it_where_there_is_room(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = sorted(f"data/{number}.json" for number in range(10))
    assert found(repository, 100, monkeypatch) == [*data, "src/deep/er.py", "src/model.py", "train.py"]


@pytest.mark.usefixtures("crowded")
def test_a_folder_of_data_takes_no_room(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed: discover.Passed = []
    assert found(repository, 100, monkeypatch, passed) == ["src/deep/er.py", "src/model.py", "train.py"]
    assert passed == [(str(repository / "data"), limits.CROWDED)]


@pytest.mark.usefixtures("crowded")
def test_a_folder_of_pictures_is_passed_over_in_silence(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (repository / "data").iterdir():
        path.rename(path.with_suffix(".png"))
    passed: discover.Passed = []
    assert len(found(repository, 100, monkeypatch, passed)) == 3
    assert passed == []


@pytest.mark.usefixtures("crowded")
def test_what_lies_near_the_top_comes_first(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed: discover.Passed = []
    assert found(repository, 10, monkeypatch) == ["src/model.py", "train.py"]
    assert found(repository, 2, monkeypatch, passed) == []
    assert passed == [(str(repository), limits.ENTRIES._replace(most=2))]
