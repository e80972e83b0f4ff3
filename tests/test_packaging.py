"""What is in the wheel, and that the road over the sdist leads to the same wheel."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

BUILD = """
import sys
from hatchling.build import build_{kind}
print(build_{kind}(sys.argv[1]))
"""


def build(kind: str, source: Path, target: Path) -> Path:
    """Build with the installed hatchling, as pip would without isolation."""
    command = [sys.executable, "-c", BUILD.format(kind=kind), str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return target / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_the_package_its_knowledge_and_the_schemas(wheel):
    names = set(contents(wheel))
    assert {"stablint/__init__.py", "stablint/cli.py", "stablint/py.typed"} <= names
    assert {"stablint/_compiled/core.lines", "stablint/_compiled/texts.json", "stablint/_compiled/gpus.json"} <= names
    assert {f"stablint/schemas/{kind}.schema.json" for kind in ("hazard", "report", "settings")} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_wheel_holds_nothing_else(wheel):
    folders = {name.split("/")[0] for name in contents(wheel)}
    assert len(folders) == 2, folders  # stablint and its dist-info
    assert not [
        name for name in contents(wheel) if "test" in name.lower() and not name.startswith("stablint/_compiled/")
    ]


def test_the_sdist_leads_to_the_same_wheel(wheel, sdist, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(tmp_path)
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    again = contents(build("wheel", unpacked, tmp_path))
    assert {name: data for name, data in again.items() if not name.endswith("RECORD")} == {
        name: data for name, data in contents(wheel).items() if not name.endswith("RECORD")
    }


def test_no_machine_and_no_path_of_ours_is_in_it(wheel):
    home = str(ROOT).encode()
    assert not [name for name, data in contents(wheel).items() if home in data]
