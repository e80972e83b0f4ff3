"""Write knowledge/releases/bounds.yaml: which releases of the libraries each release of a framework takes.

    python tools/read_bounds.py [--archives FOLDER]      FOLDER keeps wheels and source archives; without it they are fetched for the moment

Read are the requirements in the metadata of the newest release of every minor version (of every release of those whose minor versions span a year,
from the first that counts where none is stated), extras left out, and what the framework checks when it starts,
which goes before.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import InvalidRequirement, Requirement

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lint"))

from releases import archive

from stablint.run.releases.allowed import oldest_meant
from stablint.run.releases.pep440 import minor_of, release_key

FOLDER = Path(__file__).resolve().parent.parent / "knowledge" / "releases"
FRAMEWORKS = ("llamafactory", "axolotl", "ms-swift", "openrlhf", "unsloth", "trl", "vllm")
SLOW = frozenset(
    ["llamafactory"]
)  # every release bounds what it is built on in its own way, and a year goes by within a minor version
LARGE = frozenset(["vllm"])  # half a gigabyte a release: pip is asked for the metadata alone
LIBRARIES = ("transformers", "trl", "peft", "accelerate", "deepspeed", "datasets", "bitsandbytes", "torch")
HEAD = """# The releases of the libraries that each release of a framework takes: what it asks for when it is installed, or checks when it starts.
# Of a release newer than the last one nothing is said; one that is not listed takes what the one before it takes.
# Written by: python tools/read_bounds.py
"""
# Frameworks that check by themselves, and where: what they refuse at the start decides, whatever was installed.
CHECKS = {"llamafactory": "extras/misc.py"}
_CHECKED = re.compile(r"""check_version\(\s*["']([^"']+)["']""")


def texts(path: Path) -> dict[str, str]:
    """Name → text of the metadata and of the modules that check releases."""
    wanted = (".dist-info/METADATA", "/PKG-INFO", *CHECKS.values())
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: wheel.read(name).decode("utf-8") for name in wheel.namelist() if name.endswith(wanted)}
    found = {}
    with tarfile.open(path) as source:
        for member in source.getmembers():
            file = source.extractfile(member) if member.name.endswith(wanted) and member.isfile() else None
            if file is not None and (member.name.count("/") == 1 or not member.name.endswith("PKG-INFO")):
                found[member.name] = file.read().decode("utf-8")
    return found


def takes(framework: str, found: dict[str, str]) -> dict[str, str]:
    """Library → specifier, empty ones left out."""
    metadata = next(text for name, text in found.items() if name.endswith(("METADATA", "PKG-INFO")))
    asked = _asked([line.partition(": ")[2] for line in metadata.splitlines() if line.startswith("Requires-Dist: ")])
    place = CHECKS.get(framework)
    texts_checked = [text for name, text in found.items() if place is not None and name.endswith(place)]
    asked |= _asked([one for text in texts_checked for one in _CHECKED.findall(text)])
    return {name: asked[name] for name in LIBRARIES if name in asked}


def _asked(lines: list[str]) -> dict[str, str]:
    """Library → what all lines about it ask for together; extras and empty specifiers left out."""
    result: dict[str, set[str]] = {}
    for line in lines:
        try:
            asked = Requirement(line)
        except InvalidRequirement:
            continue
        outside = asked.marker is not None and "extra" in str(asked.marker)
        if asked.name.lower() in LIBRARIES and asked.specifier and not outside:
            result.setdefault(asked.name.lower(), set()).update(map(str, asked.specifier))
    return {name: ",".join(sorted(parts, reverse=True)) for name, parts in result.items()}


def archive_of(framework: str, release: str, folder: Path) -> Path:
    path = archive.stored(framework, release, folder)
    if path is not None:
        return path
    try:
        return archive.fetch(framework, release, folder)
    except archive.FetchError:
        return archive.fetch(framework, release, folder, source=True)


def metadata_alone(library: str, release: str) -> dict[str, str]:
    """What pip knows of a release before it fetches it."""
    said = archive.python("-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed", "--only-binary=:all:", "--report", "-",
                          f"{library}=={release}")  # fmt: skip
    asked = json.loads(said)["install"][0]["metadata"].get("requires_dist", [])
    return {"METADATA": "".join(f"Requires-Dist: {one}\n" for one in asked)}


def read(framework: str, listed: list[Any], folder: Path) -> dict[str, dict[str, str]]:
    newest = {minor_of(release_key(str(one))): str(one) for one in listed}
    wanted = (
        [str(one) for one in listed if release_key(str(one)) >= oldest_meant(framework)]
        if framework in SLOW
        else list(newest.values())
    )
    rows: dict[str, dict[str, str]] = {}
    before: dict[str, str] = {}
    for release in wanted:
        try:
            large = framework in LARGE
            asked = takes(
                framework,
                metadata_alone(framework, release) if large else texts(archive_of(framework, release, folder)),
            )
        except (archive.FetchError, StopIteration) as error:
            print(f"read_bounds: {framework} {release}: {error or 'no metadata'}", file=sys.stderr)
            continue
        if asked != before or release == wanted[-1]:
            rows[release] = before = asked
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=Path, help="folder that keeps what is fetched")
    given = parser.parse_args(arguments)
    listed = yaml.safe_load((FOLDER / "versions.yaml").read_text(encoding="utf-8"))
    lines = [HEAD]
    with tempfile.TemporaryDirectory() as moment:
        for framework in FRAMEWORKS:
            lines.append(f"{framework}:\n")
            for release, asked in read(framework, listed[framework], given.archives or Path(moment)).items():
                said = ", ".join(f'{name}: "{specifier}"' for name, specifier in asked.items())
                lines.append(f'  "{release}": {{{said}}}\n')
    (FOLDER / "bounds.yaml").write_text("".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
