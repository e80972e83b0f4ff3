"""What changed between two releases of a library, by their archives: where its history cannot be had."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from .commits import essence


class Archives:
    """The wheels of a library in a folder, one for each release that is compared with the one before."""

    def __init__(self, folder: Path, library: str, paths: Sequence[str], outside: str) -> None:
        self.folder, self.library = folder, library
        self.paths = [one.removeprefix("src/") for one in paths]
        self.outside = re.compile(outside)

    def _parts(self, release: str) -> dict[str, str]:
        """Every function of the watched files, and each file's rest, by `file:function`."""
        wheel = next(self.folder.glob(f"{self.library}-{release}-*.whl"), None)
        if wheel is None:
            raise FileNotFoundError(f"no wheel of {self.library} {release} in {self.folder}")
        found: dict[str, str] = {}
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
            for path in (one for one in self.paths if one in names):
                for name, text in essence(archive.read(path).decode("utf-8")).items():
                    found[f"{PurePosixPath(path).name}:{name}"] = text
        return found

    def changed(self, releases: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Each release and each place that it changes, but for what trains nothing by its name."""
        before = self._parts(releases[0])
        for release in releases[1:]:
            after = self._parts(release)
            for place in sorted(before.keys() | after.keys()):
                if before.get(place) != after.get(place) and not self.outside.search(place.partition(":")[2]):
                    yield release, place
            before = after
