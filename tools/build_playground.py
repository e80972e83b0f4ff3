"""Put the playground's files beside a built site: the worker, this checkout's wheel, the readers that it needs, and Pyodide from npm.

    mkdocs build --strict && python tools/build_playground.py build/site --pyodide FOLDER_OR_TGZ

`npm pack pyodide` brings the archive that `--pyodide` names. PyYAML is taken without its compiled part, of which no build for Pyodide is on the package
index; pydantic, which rules of a house ask for, is not needed to check one text.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OF_PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
READERS = ("PyYAML", "ruamel.yaml")
_BUILD = "import sys\nfrom hatchling.build import build_wheel\nprint(build_wheel(sys.argv[1]))"


def build(site: Path, pyodide: Path) -> Path:
    """The folder of the playground's files in the site."""
    target = site / "playground"
    target.mkdir(parents=True, exist_ok=True)
    for name in ("worker.mjs", "check.py"):
        shutil.copy(ROOT / "tools" / "playground" / name, target / name)
    _unpack(pyodide, target)
    names = [_own_wheel(target), *(_reader(name, target) for name in READERS)]
    (target / "wheels.json").write_text(json.dumps(names), encoding="utf-8")
    return target


def _unpack(pyodide: Path, target: Path) -> None:
    if pyodide.is_dir():
        for name in OF_PYODIDE:
            shutil.copy(pyodide / name, target / name)
        return
    with tarfile.open(pyodide) as archive:
        for name in OF_PYODIDE:
            member = archive.extractfile(f"package/{name}")
            if member is None:
                raise SystemExit(f"{pyodide}: no {name} in it")
            (target / name).write_bytes(member.read())


def _own_wheel(target: Path) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [sys.executable, "-c", _BUILD, scratch], cwd=ROOT, capture_output=True, text=True, check=True
        )
        name = done.stdout.split()[-1]
        shutil.copy(Path(scratch, name), target / name)
    return name


def _reader(name: str, target: Path) -> str:
    """The Python files of an installed distribution as an archive."""
    found = distribution(name)
    archive = f"{name}-{found.version}-py3-none-any.whl"
    with zipfile.ZipFile(target / archive, "w", zipfile.ZIP_DEFLATED) as out:
        for file in found.files or ():
            if file.suffix in (".py", ".typed") or file.name in ("METADATA", "LICENSE"):
                out.write(Path(str(file.locate())), file.as_posix())
    return archive


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    parser.add_argument("--pyodide", type=Path, required=True)
    given = parser.parse_args()
    folder = build(given.site, given.pyodide)
    print(f"{folder}: {sum(path.stat().st_size for path in folder.iterdir()) / 1e6:.1f} MB")
