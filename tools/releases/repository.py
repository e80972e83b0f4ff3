"""Tagged releases of a local clone: for those that no index has, and where reading a hundred archives would be a waste."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from pathlib import Path

_TAG = re.compile(r"v?(\d+(?:\.\d+)+(?:\.post\d+)?)\Z")


def tags(repository: Path) -> dict[str, str]:
    """Final release → its tag."""
    listed = _git(repository, "tag").decode().split()
    return {found[1]: tag for tag in listed if (found := _TAG.match(tag))}


def sources(repository: Path, tag: str, folder: str) -> dict[str, str]:
    """Path below the folder → text of every Python and YAML file there; empty where the release has no such folder."""
    if not _git(repository, "ls-tree", "--name-only", tag, f"{folder}/"):
        return {}
    found: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(_git(repository, "archive", "--format=tar", tag, folder))) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() and member.name.endswith((".py", ".yaml")) else None
            if stream is not None:
                found[member.name[len(folder) + 1 :]] = stream.read().decode("utf-8", errors="replace")
    return found


def _git(repository: Path, *arguments: str) -> bytes:
    command = ["git", "-c", "safe.directory=*", "-C", str(repository), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout
