"""Released archives in a folder, read and never run: wheels, source archives, and clones with tags."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from stablint.hardware.isolated import FOLDER, Outside
from stablint.run.releases.pep440 import release_key

_LAID_OVER = re.compile(r"[^/]+\.data/(?:purelib|platlib)/")
_READ = (".py", ".yaml")
_NAME = re.compile(r"(?P<library>[A-Za-z0-9_.]+?)-(?P<release>\d[\w.!+]*?)(?:-[^/]*\.whl|\.tar\.gz)\Z")


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Every Python and YAML file of a wheel or source archive, by its path next to the import packages."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                if name.endswith(_READ):  # the wheel's data folder is laid over the same place
                    yield _LAID_OVER.sub("", name), wheel.read(name)
        return
    with tarfile.open(path) as source:
        for member in source:
            stream = source.extractfile(member) if member.isfile() and member.name.endswith(_READ) else None
            if stream is not None:
                yield member.name.split("/", 1)[-1], stream.read()


def _below(folder: Path, *patterns: str) -> Iterator[Path]:
    """Not deeper than owner/repository/.git: a clone holds files by the hundred thousand."""
    for depth in ("", "*/", "*/*/", "*/*/*/"):
        for pattern in patterns:
            yield from sorted(folder.glob(depth + pattern))


class Shelf:
    """What lies in a folder, by library and release. A clone stands for the tags and commits that are cited."""

    def __init__(self, folder: Path) -> None:
        self._paths: dict[str, dict[str, Path]] = {}
        self._texts: dict[tuple[str, str], dict[str, str]] = {}
        self._clones: dict[str, Path] = {}
        for path in _below(folder, "*.whl", "*.tar.gz"):
            found = _NAME.match(path.name)
            if found:
                library = found["library"].lower().replace("_", "-")
                self._paths.setdefault(library, {})[found["release"]] = path
        for head in _below(folder, "HEAD"):
            if (head.parent / "objects").is_dir() and (head.parent / "refs").is_dir():
                for part in head.parent.relative_to(folder).parts:
                    self._clones.setdefault(part.rpartition("+")[2].removesuffix(".git").lower(), head.parent)

    def libraries(self) -> list[str]:
        return sorted(self._paths)

    def releases(self, library: str) -> list[str]:
        """Those that lie there, oldest first."""
        return sorted(self._paths.get(library, ()), key=release_key)

    def file(self, library: str, release: str, path: str) -> str | None:
        """The text of a file; None where the release does not lie there, or has no such file."""
        return self.files(library, release).get(path)

    def files(self, library: str, release: str) -> dict[str, str]:
        archive = self._paths.get(library, {}).get(release)
        if archive is None:
            return {}
        key = (library, release)
        if key not in self._texts:
            self._texts[key] = {
                name.removeprefix("src/"): data.decode("utf-8", errors="replace") for name, data in members(archive)
            }
        return self._texts[key]

    def at_commit(self, repository: str, commit: str, path: str) -> str | None:
        """A file of a cloned repository at a commit or tag."""
        clone = self._clones.get(repository.lower())
        if clone is None:
            return None
        outside = Outside([str(clone)])
        git = outside.program("git")
        if git is None or commit.startswith("-"):  # what a source cites is no option
            return None
        # Only what lies in the clone: neither its hooks and watchers nor the place that it was cloned from have a say.
        command = [
            git,
            "-c",
            "safe.directory=*",
            "-c",
            "core.hooksPath=",
            "-c",
            "core.fsmonitor=false",
            "-C",
            os.path.abspath(clone),
        ]
        environment = {
            **outside.environment(),
            "GIT_ALLOW_PROTOCOL": "",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0",
        }
        done = subprocess.run(
            [*command, "show", "--no-textconv", f"{commit}:{path}"],
            capture_output=True,
            check=False,
            cwd=FOLDER,
            env=environment,
        )
        return done.stdout.decode("utf-8", errors="replace") if done.returncode == 0 else None
