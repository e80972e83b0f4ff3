"""What is in the wheel, and that the road over the sdist leads to the same wheel."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]

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


@pytest.mark.slow
def test_the_wheel_holds_the_package_its_knowledge_and_the_schemas(wheel):
    names = set(contents(wheel))
    assert {"stablint/__init__.py", "stablint/cli.py", "stablint/py.typed"} <= names
    assert {"stablint/_compiled/core.lines", "stablint/_compiled/texts.rows", "stablint/_compiled/gpus.json"} <= names
    assert {f"stablint/schemas/{kind}.schema.json" for kind in ("hazard", "report", "settings")} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_wheel_holds_nothing_else(wheel):
    folders = {name.split("/")[0] for name in contents(wheel)}
    assert len(folders) == 2, folders  # stablint and its dist-info
    assert not [
        name for name in contents(wheel) if "test" in name.lower() and not name.startswith("stablint/_compiled/")
    ]


@pytest.mark.slow
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


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# What is imported, where it is not called as the distribution is.
DISTRIBUTIONS = {"yaml": "pyyaml", "ruamel": "ruamel.yaml", "pynvml": "nvidia-ml-py", "lightning": "pytorch-lightning", "lsprotocol": "pygls",
                 "pytorch_lightning": "pytorch-lightning"}  # fmt: skip


def named(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[>=<;! ]", one)[0] for one in requirements}


def imported() -> set[str]:
    """The distributions that the package imports, wherever in a module: by a statement, or by name."""
    found = set()
    for path in (ROOT / "lint").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(str(node.module))
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
                found |= {word.value for word in node.args[:1] if isinstance(word, ast.Constant)}
    tops = {str(name).partition(".")[0] for name in found} - set(sys.stdlib_module_names) - {"stablint"}
    return {DISTRIBUTIONS.get(name, name) for name in tops}


@pytest.mark.slow
def test_an_installation_brings_what_is_imported_and_nothing_else():
    extras = PROJECT["project"]["optional-dependencies"]
    dependencies = named(PROJECT["project"]["dependencies"])
    assert dependencies - imported() == set()
    offered = named([one for name, several in extras.items() if name != "test" for one in several])
    assert imported() - dependencies - offered - named(PROJECT["build-system"]["requires"]) == set()


def test_the_docs_name_every_extra():
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [name for name in PROJECT["project"]["optional-dependencies"] if f"`[{name}]`" not in page] == []


def test_no_page_installs_from_an_index_what_is_on_none():
    released = "Nothing is on a package index yet" not in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [
        ROOT / "README.md",
        ROOT / "README.zh.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "deploy").rglob("*.*")),
    ]
    found = {
        path.name: hits
        for path in pages
        if (hits := re.findall(r"pip3? install (?:-\S+ )*['\"]?stablint\b[^@\n]*", path.read_text(encoding="utf-8")))
    }
    assert released or found == {}
