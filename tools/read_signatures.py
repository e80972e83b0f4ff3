"""Read what the functions and classes that programs call may be called with, release by release, into knowledge/signatures/.

    python tools/read_signatures.py trl --repository DIR --archives DIR   # every tagged release of a clone, and the archives that lie in DIR/trl
    python tools/read_signatures.py trl 1.17.0                            # add a release, fetched with pip

Sources are read with `ast`; nothing in them is installed, imported or run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

from packaging.version import Version
from releases import archive, repository
from releases.signatures import LIBRARIES, Callables, read
from releases.spans import dump

KNOWLEDGE = Path(__file__).resolve().parent.parent / "knowledge" / "signatures"
Releases = dict[str, dict[str, str]]  # release → callable → signature


def merge(library: Callables, known: Releases) -> str:
    """One line a callable: its signatures with the releases that each holds for; `last` is left out of what still holds."""
    order = sorted(known, key=Version)
    lines = []
    for name in sorted({name for one in known.values() for name in one}):
        spans: list[dict[str, str]] = []
        before: str | None = None
        for release in order:
            signature = known[release].get(name)
            if signature is not None and signature == before:
                spans[-1]["last"] = release
            elif signature is not None:
                spans.append({"since": release, "last": release, "takes": signature})
            before = signature
        if spans[-1]["last"] == order[-1]:
            del spans[-1]["last"]
        lines.append(f"  {dump(name)}: {dump(spans)}")
    head = f'{{\n "library": {dump(library.name)},\n "package": {dump(library.package)},\n "releases": {dump(order)},\n "calls": {{\n'
    return head + ",\n".join(lines) + "\n }\n}\n"


def expand(path: Path) -> Releases:
    """The releases that a file holds, apart again."""
    document = json.loads(path.read_text(encoding="utf-8"))
    order: list[str] = document["releases"]
    known: Releases = {release: {} for release in order}
    for name, spans in document["calls"].items():
        for span in spans:
            last = order.index(span["last"]) if "last" in span else len(order) - 1
            for release in order[order.index(span["since"]) : last + 1]:
                known[release][name] = span["takes"]
    return known


def tagged(library: Callables, folder: Path) -> Releases:
    known: Releases = {}
    for version, tag in sorted(repository.tags(folder).items(), key=lambda pair: Version(pair[0])):
        if Version(version) < Version(library.oldest):
            continue
        for place in library.folders:
            files = repository.sources(folder, tag, place)
            if files:
                known[version] = read(library, files)
                break
    return known


_VERSION = re.compile(r"-(\d+(?:\.\d+)+(?:\.post\d+)?)(?:-|\.tar)")


def stored(library: Callables, folder: Path) -> Releases:
    """Those whose archives lie in a folder."""
    known: Releases = {}
    for path in sorted(folder.glob("*")):
        found = _VERSION.search(path.name)
        if found is not None and Version(found[1]) >= Version(library.oldest):
            known[found[1]] = read(library, archive.sources(path, library.package, library.closed))
    return known


def fetched(library: Callables, version: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = archive.fetch(library.name, version, Path(folder))
        except archive.FetchError:  # no wheel
            path = archive.fetch(library.name, version, Path(folder), source=True)
        return read(library, archive.sources(path, library.package, library.closed))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=sorted(LIBRARIES))
    parser.add_argument("version", nargs="*", help="releases to add")
    parser.add_argument("--repository", type=Path, help="a clone with tags")
    parser.add_argument(
        "--archives", type=Path, help="folder with archives that were downloaded before (LIBRARY/*.whl)"
    )
    parser.add_argument(
        "--into", type=Path, default=KNOWLEDGE, help="folder of the files (default: knowledge/signatures)"
    )
    options = parser.parse_args(arguments)
    library = LIBRARIES[options.library]
    target = options.into / f"{library.name}.json"
    known = expand(target) if target.exists() else {}
    if options.repository:
        known |= tagged(library, options.repository)
    if options.archives:
        known |= stored(library, options.archives / library.name)
    for version in options.version:
        known[version] = fetched(library, version)
    options.into.mkdir(parents=True, exist_ok=True)
    target.write_text(merge(library, known), encoding="utf-8")
    print(f"{library.name}: {len(known)} releases", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
