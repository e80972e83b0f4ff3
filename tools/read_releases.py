"""Read what releases of the fine-tuning libraries accept into knowledge/releases/.

    python tools/read_releases.py transformers 5.23.0 5.24.0    # add these releases
    python tools/read_releases.py --all                         # the newest patch of every minor release, from scratch
    python tools/read_releases.py --check-renames               # knowledge/releases/renames.yaml against what was read
    python tools/read_releases.py --versions                    # refresh knowledge/releases/versions.yaml and dates.yaml

Archives are fetched with pip, read with `ast` and thrown away; nothing in them is installed, imported or run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from packaging.version import Version
from releases import archive, dates, renames, spans, versions
from releases.libraries import LIBRARIES, Library, read

KNOWLEDGE = Path(__file__).resolve().parent.parent / "knowledge" / "releases"


def newest_of_minors(library: Library, listed: list[str]) -> list[str]:
    """The newest final release of every minor from the library's oldest on, oldest first."""
    newest: dict[tuple[int, int], str] = {}
    for text in sorted(listed, key=Version):
        version = Version(text)
        if not version.is_prerelease and version >= Version(library.oldest):
            newest[version.major, version.minor] = text
    return list(newest.values())


def read_release(library: Library, version: str, archives: Path | None) -> spans.Release:
    """One release, from `archives` if it is there, else fetched for the moment."""
    path = archive.stored(library.name, version, archives) if archives else None
    if path is not None:
        return read(library, archive.sources(path, library.name, library.skip))
    with tempfile.TemporaryDirectory() as folder:
        path = archive.fetch(library.name, version, Path(folder), library.source)
        return read(library, archive.sources(path, library.name, library.skip))


def add(library: Library, wanted: list[str], archives: Path | None, folder: Path, fresh: bool = False) -> None:
    """Merge the releases `wanted` into the library's file; with `fresh` forget what the file held."""
    target = folder / f"{library.name}.json"
    known = {} if fresh or not target.exists() else spans.expand(spans.load(target))
    for version in wanted:
        print(f"{library.name} {version}", file=sys.stderr)
        known[version] = read_release(library, version, archives)
    spans.write(spans.merge(library.name, known), target)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?", choices=sorted(LIBRARIES))
    parser.add_argument("version", nargs="*", help="releases to read; none: the newest patch of every minor")
    parser.add_argument("--all", action="store_true", help="every library, from scratch")
    parser.add_argument(
        "--archives", type=Path, help="folder with archives that were downloaded before (LIBRARY/*.whl)"
    )
    parser.add_argument(
        "--into", type=Path, default=KNOWLEDGE, help="folder of the files (default: knowledge/releases)"
    )
    parser.add_argument("--check-renames", action="store_true")
    parser.add_argument("--versions", action="store_true")
    options = parser.parse_args(arguments)
    if not (options.library or options.all or options.check_renames or options.versions):
        parser.error("name a library, or give --all, --check-renames or --versions")
    try:
        for library in LIBRARIES.values() if options.all else [LIBRARIES[options.library]] if options.library else []:
            archives = options.archives / library.name if options.archives else None
            wanted = options.version or newest_of_minors(library, archive.available(library.name))
            add(library, wanted, archives, options.into, fresh=not options.version)
        if options.versions:
            versions.refresh(options.into)
            dates.refresh(options.into)
    except archive.FetchError as error:
        print(f"read_releases: {error}", file=sys.stderr)
        return 1
    wrong = renames.check(options.into) if options.check_renames else []
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
