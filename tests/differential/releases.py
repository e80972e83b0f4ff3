"""Old releases of the libraries, one isolated folder each: which stand beside which, and which of them a claim is tried at."""

from __future__ import annotations

import os
import re
from pathlib import Path

import yaml

from stablint.hazard import model
from stablint.run.releases.pep440 import release_key
from tests.differential.judge import Judge, NoOracle

_DATES: dict[str, dict[str, object]] = yaml.safe_load(
    (Path(__file__).resolve().parents[2] / "knowledge" / "releases" / "dates.yaml").read_text(encoding="utf-8")
)
_BESIDE = ("transformers", "accelerate", "peft", "trl")
# Releases read the release of what they import, and refuse newer ones: a release that they ask for is stated.
_ASKED = re.compile(r'"(tokenizers|huggingface-hub|numpy|safetensors)(?:\[[^]]*\])?[^"]*?>=([\d.]+)[^"]*"')


class Shelf:
    """A folder of unpacked wheels, `library-release`; `huggingface_hub-…` and `beside` hold what several of them import."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        if not self.folder.is_dir():
            raise NoOracle(f"the folder of releases {folder} does not exist")

    def releases(self, library: str) -> list[str]:
        found = [p.name.removeprefix(f"{library}-") for p in self.folder.glob(f"{library}-[0-9]*") if p.is_dir()]
        return sorted(found, key=release_key)

    def judge(self, library: str, release: str) -> Judge:
        """A worker with this release, and beside it what was the newest on its day."""
        day = str(_DATES[library].get(release, "9999"))
        chosen = {library: release}
        for other in _BESIDE:
            here = self.releases(other)
            if other in chosen or not here or (other == "trl" and library != "trl"):
                continue
            of_the_day = [one for one in here if str(_DATES[other].get(one, "9999")) <= day]
            chosen[other] = of_the_day[-1] if of_the_day else here[0]
        hub = self.releases("huggingface_hub")
        newest = max(hub, key=release_key) if hub else None
        if hub and release_key(chosen["transformers"]) < release_key("5"):
            newest = max((one for one in hub if one.startswith("0.")), key=release_key)
        paths = [self.folder / f"{name}-{text}" for name, text in chosen.items()]
        paths += [self.folder / f"huggingface_hub-{newest}"] if newest else []
        paths += [self.folder / "beside"]
        table = self.folder / f"transformers-{chosen['transformers']}" / "transformers" / "dependency_versions_table.py"
        stated = dict(_ASKED.findall(table.read_text(encoding="utf-8"))) if table.is_file() else {}
        return Judge(
            os.pathsep.join(str(path) for path in paths if path.is_dir()),
            ",".join(f"{k}={v}" for k, v in stated.items()),
        )


def around(hazard: model.Hazard, library: str, releases: list[str]) -> list[str]:
    """The oldest and the newest release, and each at which the hazard's claim begins or ends with the one before it."""
    if not releases:
        return []
    found = {releases[0], releases[-1], releases[len(releases) // 2]}
    for bound in _bounds(hazard, library):
        later = [one for one in releases if release_key(one) >= release_key(bound)]
        earlier = [one for one in releases if release_key(one) < release_key(bound)]
        found |= set(later[:1]) | set(earlier[-1:])
    return sorted(found, key=release_key)


def _bounds(hazard: model.Hazard, library: str) -> list[str]:
    """Every release of the library that the hazard names, in its range or in a condition."""
    texts = [str(hazard.versions.get(library, ""))]
    texts += [str(one) for one in _named(hazard.when, f"versions.{library}")]
    return [release for text in texts for release in re.findall(r"\d+(?:\.\d+)+", text)]


def _named(conditions: object, fact: str) -> list[object]:
    if isinstance(conditions, list):
        if len(conditions) > 3 and conditions[1] == fact:
            return [conditions[3]]
        return [one for part in conditions for one in _named(part, fact)]
    return []
