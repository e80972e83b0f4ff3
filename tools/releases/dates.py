"""knowledge/releases/dates.yaml: the day on which each listed release was published, from the package index (`upload-time`, PEP 700)."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from . import archive, versions

_HEAD = """# Days on which releases were published, as the package index tells them (upload-time of the first file, PEP 700), or as
# tagged.yaml does.
# Written by: python tools/read_releases.py --versions
"""

# pip's own finder knows the index, mirrors and certificates that pip is configured with.
_ASK = """
import json, sys
from pip._internal.commands import create_command

command = create_command("index")
with command.main_context():
    options, _ = command.parse_args(["versions", "pip"])
    session = command.get_default_session(options)
    finder = command._build_package_finder(options, session)
    for name in sys.argv[1:]:
        for url in finder.search_scope.index_urls:
            if not url.startswith("http"):
                continue
            answer = session.get(f"{url.rstrip('/')}/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"})
            if answer.ok and "json" in answer.headers.get("content-type", ""):
                files = [[file["filename"], file.get("upload-time", "")] for file in answer.json()["files"]]
                print(json.dumps([name, files]))
                break
"""


def refresh(folder: Path) -> None:
    """Write the file anew for the releases of versions.yaml. Raises FetchError if the index says no times."""
    listed = yaml.safe_load((folder / "versions.yaml").read_text(encoding="utf-8"))
    said = dict(map(json.loads, archive.python("-c", _ASK, *listed).splitlines()))
    lines = [_HEAD]
    tagged = versions.off_the_index(folder)
    for name, releases in listed.items():
        days = {version: str(day) for version, day in tagged.get(name, {}).items()} | days_of(name, said.get(name, []))
        known = {str(version): days[str(version)] for version in releases if str(version) in days}
        if not known:
            raise archive.FetchError(f"the index tells no upload times of {name}")
        lines.append(
            f"{name}: {{{', '.join(f'{version!r}: {day}' for version, day in known.items())}}}\n".replace("'", '"')
        )
    (folder / "dates.yaml").write_text("".join(lines), encoding="utf-8")


def days_of(name: str, files: list[list[str]]) -> dict[str, str]:
    """Version → the day of its first file."""
    days: dict[str, str] = {}
    for filename, time in files:
        version = _version(name, filename)
        if version and time:
            days[version] = min(days.get(version, time[:10]), time[:10])
    return days


def _version(name: str, filename: str) -> str:
    """The version in the name of a wheel or a source archive."""
    if filename.endswith(".whl"):
        return filename.split("-")[1]
    stem = filename.removesuffix(".tar.gz").removesuffix(".zip")
    return stem[len(name) + 1 :] if len(stem) > len(name) else ""
