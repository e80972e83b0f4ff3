"""Released archives: which exist, fetching one, and the Python sources in it. Nothing in an archive is ever run.

Wheels come through `pip download`. For a library without wheels that command would run the archive's own `setup.py`; there pip's
finder and session are used to fetch the file alone, so that the index, mirrors and certificates that pip is configured with apply.
"""

from __future__ import annotations

import fnmatch
import json
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

_REQUIREMENTS = """
import email, io, json, sys, tarfile, zipfile
from concurrent.futures import ThreadPoolExecutor
from pip._internal.commands import create_command
from pip._internal.network.lazy_wheel import HTTPRangeRequestUnsupported, dist_from_wheel_url

name, *wanted = sys.argv[1:]
command = create_command("index")

def whole(link):
    answer = session.get(link.url_without_fragment, headers={"Accept-Encoding": "identity"})
    answer.raise_for_status()
    return io.BytesIO(answer.content)

def of_wheel(link):
    try:
        metadata = dist_from_wheel_url(name, link.url_without_fragment, session).metadata
    except HTTPRangeRequestUnsupported:
        with zipfile.ZipFile(whole(link)) as wheel:
            inside = next(one for one in wheel.namelist() if one.endswith(".dist-info/METADATA"))
            metadata = email.message_from_bytes(wheel.read(inside))
    return metadata.get_all("Requires-Dist") or []

def of_source(link):
    with tarfile.open(fileobj=whole(link)) as source:
        texts = {}
        for member in source.getmembers():
            inside = member.name.partition("/")[2]
            if member.isfile() and (inside == "PKG-INFO" or inside.endswith(".egg-info/requires.txt")):
                texts[inside.rpartition("/")[2]] = source.extractfile(member).read().decode()
    asked = [line.partition(": ")[2] for line in texts.get("PKG-INFO", "").splitlines() if line.startswith("Requires-Dist: ")]
    if asked or "requires.txt" not in texts:
        return asked
    lines = iter(texts["requires.txt"].splitlines())
    plain = []
    for line in lines:
        if line.startswith("["):
            break
        plain += [line] if line else []
    return plain

with command.main_context():
    options, _ = command.parse_args(["versions", name])
    session = command.get_default_session(options)
    found = list(command._build_package_finder(options, session).find_all_candidates(name))
    wheels = {str(c.version): c.link for c in found if c.link.is_wheel}
    sources = {str(c.version): c.link for c in found if not c.link.is_wheel}
    def of(release):
        if release in wheels:
            return release, ["wheel", of_wheel(wheels[release])]
        return release, ["source", of_source(sources[release])] if release in sources else None

    with ThreadPoolExecutor(6) as pool:
        said = {release: found for release, found in pool.map(of, wanted) if found}
    print(json.dumps(said))
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


def requirements(library: str, releases: list[str]) -> dict[str, tuple[str, list[str]]]:
    """Release → whether a wheel or a source archive says it, and what it asks for, a line each. Of a wheel only its metadata are fetched; a source
    archive whose own say nothing has them in what setuptools leaves beside them."""
    said: dict[str, tuple[str, list[str]]] = {}
    for at in range(0, len(releases), 40):
        some = json.loads(python("-c", _REQUIREMENTS, library, *releases[at : at + 40]).splitlines()[-1])
        said |= {release: (kind, asked) for release, (kind, asked) in some.items()}
    return said


def sources(path: Path, package: str, skip: tuple[str, ...] = ()) -> dict[str, str]:
    """Path inside the import package → text, without the files that match a pattern of `skip`."""
    found: dict[str, str] = {}
    for name, data in members(path):
        top, _, inner = name.removeprefix("src/").partition("/")
        if top == package and inner and not any(fnmatch.fnmatch(inner, pattern) for pattern in skip):
            found[inner] = data.decode("utf-8", errors="replace")
    # some wheels carry modules of an older layout; a folder of the same name is what Python imports
    return {inner: text for inner, text in found.items() if f"{inner[:-3]}/__init__.py" not in found}
