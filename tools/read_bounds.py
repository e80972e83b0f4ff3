"""Write knowledge/releases/bounds.yaml: which releases of the libraries each release of a framework takes.

    python tools/read_bounds.py [--archives FOLDER] [--only FRAMEWORK…]      FOLDER keeps wheels and source archives

Read are the requirements of every release of a framework, from the first that counts where none is stated (of vLLM, of the newest of every minor
version), extras left out, as its wheel or its source archive says them, and what the framework checks when it starts, which goes before. What is
asked on some machines or Pythons alone counts as not asked. `--only` reads some frameworks anew and keeps the rows of the others.
"""

from __future__ import annotations

import argparse
import re
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lint"))

from releases import archive

from stablint.run.releases.allowed import oldest_meant
from stablint.run.releases.pep440 import minor_of, release_key

FOLDER = Path(__file__).resolve().parent.parent / "knowledge" / "releases"
FRAMEWORKS = ("llamafactory", "axolotl", "ms-swift", "openrlhf", "unsloth", "unsloth-zoo", "verl", "litgpt", "trl", "vllm")  # fmt: skip
MINORS = frozenset(
    ["vllm"]
)  # which bounds little, and has a hundred releases: the first and the newest of every minor version
LIBRARIES = ("transformers", "trl", "peft", "accelerate", "deepspeed", "datasets", "bitsandbytes", "torch", "vllm", "flash-attn")  # fmt: skip
# Asked for by a `setup.py` that takes whichever release is there already (axolotl 0.15.0 setup.py, parse_requirements).
AS_INSTALLED = {"axolotl": "torch"}
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
    """Library → what all lines about it ask for together; extras and empty specifiers left out, and what is asked in some places alone."""
    result: dict[str, set[str]] = {}
    for line in lines:
        try:
            asked = Requirement(line)
        except InvalidRequirement:
            continue
        name = asked.name.lower().replace("_", "-")
        if name in LIBRARIES and asked.specifier and (asked.marker is None or _everywhere(asked.marker)):
            result.setdefault(name, set()).update(map(str, asked.specifier))
    return {name: ",".join(sorted(parts, reverse=True)) for name, parts in result.items()}


# Where training runs: Linux on either processor, and the Pythons that these frameworks were made for.
_PLACES = [
    {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": machine, "python_version": python, "python_full_version": f"{python}.9",
     "extra": ""}
    for machine in ("x86_64", "aarch64") for python in ("3.9", "3.10", "3.11", "3.12", "3.13")
]  # fmt: skip


def _everywhere(marker: Marker) -> bool:
    return all(marker.evaluate(place) for place in _PLACES)


def archive_of(framework: str, release: str, folder: Path) -> Path:
    path = archive.stored(framework, release, folder)
    if path is not None:
        return path
    try:
        return archive.fetch(framework, release, folder)
    except archive.FetchError:
        return archive.fetch(framework, release, folder, source=True)


def read(framework: str, listed: list[Any], folder: Path) -> dict[str, dict[str, str]]:
    newest = {minor_of(release_key(str(one))): str(one) for one in listed}
    every = [str(one) for one in listed if release_key(str(one)) >= oldest_meant(framework)]
    first = {minor_of(release_key(str(one))): str(one) for one in reversed(listed)}
    ends = {*first.values(), *newest.values()}
    wanted = [str(one) for one in listed if str(one) in ends] if framework in MINORS else every
    rows: dict[str, dict[str, str]] = {}
    before: dict[str, str] = {}
    for release, asked in _all(framework, wanted, folder):
        if asked != before or release == wanted[-1]:
            rows[release] = before = asked
    return rows


def _all(framework: str, wanted: list[str], folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    if framework in CHECKS:
        for release in wanted:
            yield release, takes(framework, texts(archive_of(framework, release, folder)))
        return
    said = archive.requirements(framework, wanted)
    for release in wanted:
        if release not in said or not said[release][1]:
            print(f"read_bounds: {framework} {release}: no metadata", file=sys.stderr)
            continue
        kind, lines = said[release]
        asked = _asked(lines)
        if kind == "source":
            asked.pop(AS_INSTALLED.get(framework, ""), None)
        yield release, {name: asked[name] for name in LIBRARIES if name in asked}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=Path, help="folder that keeps what is fetched")
    parser.add_argument("--only", nargs="+", choices=FRAMEWORKS, default=FRAMEWORKS, help="read these alone anew")
    given = parser.parse_args(arguments)
    listed = yaml.safe_load((FOLDER / "versions.yaml").read_text(encoding="utf-8"))
    kept = yaml.safe_load((FOLDER / "bounds.yaml").read_text(encoding="utf-8"))
    lines = [HEAD]
    with tempfile.TemporaryDirectory() as moment:
        for framework in FRAMEWORKS:
            lines.append(f"{framework}:\n")
            anew = framework in given.only or framework not in kept
            rows = read(framework, listed[framework], given.archives or Path(moment)) if anew else kept[framework]
            for release, asked in rows.items():
                said = ", ".join(f'{name}: "{specifier}"' for name, specifier in asked.items())
                lines.append(f'  "{release}": {{{said}}}\n')
    (FOLDER / "bounds.yaml").write_text("".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
