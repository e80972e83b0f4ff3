"""Released archives: which exist, fetching one, and the Python sources in it. Nothing in an archive is ever run.

Wheels come through `pip download`. For a library without wheels that command would run the archive's own `setup.py`; there pip's
finder and session are used to fetch the file alone, so that the index, mirrors and certificates that pip is configured with apply.
"""

from __future__ import annotations

import fnmatch
import subprocess
import sys
from pathlib import Path

from stablint.audit.archives import members

_FETCH_SOURCE = """
import hashlib, pathlib, sys
from pip._internal.commands import create_command

name, version, folder = sys.argv[1:]
command = create_command("index")
with command.main_context():
    options, _ = command.parse_args(["versions", name, "--no-binary", name])
    session = command.get_default_session(options)
    finder = command._build_package_finder(options, session)
    links = [c.link for c in finder.find_all_candidates(name) if str(c.version) == version and not c.link.is_wheel]
    if not links:
        sys.exit(f"{name} {version}: no source archive on the index")
    answer = session.get(links[0].url_without_fragment, headers={"Accept-Encoding": "identity"})
    answer.raise_for_status()
    if links[0].hash and hashlib.new(links[0].hash_name, answer.content).hexdigest() != links[0].hash:
        sys.exit(f"{links[0].filename}: hash does not match the index")
    pathlib.Path(folder, links[0].filename).write_bytes(answer.content)
"""


class FetchError(Exception):
    """pip could not list or fetch the release; the text is pip's own last line."""


def python(*arguments: str) -> str:
    """What this interpreter prints. Raises FetchError where it fails."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise FetchError((done.stderr.strip() or done.stdout.strip() or "pip said nothing").splitlines()[-1])
    return done.stdout


def available(library: str) -> list[str]:
    """All final releases on the configured index, as pip lists them (newest first)."""
    said = python("-m", "pip", "index", "versions", library)
    for line in said.splitlines():
        if line.startswith("Available versions:"):
            return [v.strip() for v in line.split(":", 1)[1].split(",")]
    raise FetchError(f"pip names no version of {library}")


def stored(library: str, version: str, folder: Path) -> Path | None:
    """The archive of that release, if `folder` already holds it."""
    name = library.replace("-", "_")
    for pattern in (f"{name}-{version}-*.whl", f"{name}-{version}.tar.gz"):
        for path in sorted(folder.glob(pattern)):
            return path
    return None


def fetch(library: str, version: str, folder: Path, source: bool = False) -> Path:
    """Download one release into `folder` and return its path. Raises FetchError."""
    if source:
        python("-c", _FETCH_SOURCE, library, version, str(folder))
    else:
        python("-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--only-binary=:all:",
                "--dest", str(folder), f"{library}=={version}")  # fmt: skip
    path = stored(library, version, folder)
    if path is None:
        raise FetchError(f"{library} {version}: pip left no archive")
    return path


def sources(path: Path, package: str, skip: tuple[str, ...] = ()) -> dict[str, str]:
    """Path inside the import package → text, without the files that match a pattern of `skip`."""
    found: dict[str, str] = {}
    for name, data in members(path):
        top, _, inner = name.removeprefix("src/").partition("/")
        if top == package and inner and not any(fnmatch.fnmatch(inner, pattern) for pattern in skip):
            found[inner] = data.decode("utf-8", errors="replace")
    # some wheels carry modules of an older layout; a folder of the same name is what Python imports
    return {inner: text for inner, text in found.items() if f"{inner[:-3]}/__init__.py" not in found}
