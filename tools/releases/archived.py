"""What changed between two releases of a library, by their archives: where its history cannot be had."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from .commits import essence


class Archives:
    """The wheels or source archives of a library in a folder, one for each release that is compared with the one before."""

    def __init__(self, folder: Path, library: str, paths: Sequence[str], outside: str) -> None:
        self.folder, self.library = folder, library
        self.paths = [one.removeprefix("src/") for one in paths]
        self.outside = re.compile(outside)

    def _sources(self, release: str) -> Iterator[tuple[str, bytes]]:
        """Every Python file of a release by its path in the package."""
        if wheel := next(self.folder.glob(f"{self.library}-{release}-*.whl"), None):
            with zipfile.ZipFile(wheel) as archive:
                yield from ((name, archive.read(name)) for name in archive.namelist() if name.endswith(".py"))
        elif source := next(self.folder.glob(f"{self.library}-{release}.tar.gz"), None):
            with tarfile.open(source) as archive:
                for one in archive:
                    if one.name.endswith(".py") and (held := archive.extractfile(one)):
                        yield one.name.partition("/")[2].removeprefix("src/"), held.read()
        else:
            raise FileNotFoundError(f"no archive of {self.library} {release} in {self.folder}")

    def _parts(self, release: str) -> dict[str, str]:
        """Every function of the watched files, and each file's rest, by `file:function`."""
        found: dict[str, str] = {}
        for path, text in self._sources(release):
            watched = next((one for one in self.paths if path == one or path.startswith(f"{one}/")), None)
            if watched is not None:
                file = PurePosixPath(path).relative_to(PurePosixPath(watched).parent)
                found.update((f"{file}:{name}", part) for name, part in essence(text.decode("utf-8")).items())
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
