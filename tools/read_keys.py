"""Read which keys the frameworks' own readers take, release by release, into knowledge/keys/.

    python tools/read_keys.py axolotl --repository DIR      # every final release that a clone has a tag of, from scratch
    python tools/read_keys.py axolotl 0.19.0                # add a release, fetched with pip

Sources are read with `ast`; nothing in them is installed, imported or run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from packaging.version import Version
from releases import archive, repository, spans
from releases.package import Package
from releases.readers import FRAMEWORKS, Framework

KNOWLEDGE = Path(__file__).resolve().parent.parent / "knowledge" / "keys"


def read(framework: Framework, sources: Callable[[str], dict[str, str]]) -> spans.Release | None:
    """One release, from the first of the places that holds readers; None where none does."""
    for folder in framework.folders:
        files = sources(folder)
        if files and framework.beside:
            files |= {f"+{framework.beside}/{path}": text for path, text in sources(framework.beside).items()}
        readers = framework.read(Package(folder.rpartition("/")[2], files)) if files else {}
        classes = {
            name: {
                "kind": reader.get("kind", "keys"),
                "module": "",
                "bases": reader["bases"],
                "settled": {},
                "fields": reader["fields"],
            }
            for name, reader in readers.items()
            if reader["fields"]
        }
        if classes:
            return {"classes": classes, "enums": {}}
    return None


def tagged(framework: Framework, folder: Path, head: str | None) -> dict[str, spans.Release]:
    """Every final release of a clone, from the framework's oldest on; its newest commit as the development release `head`."""
    found: dict[str, spans.Release] = {}
    listed = repository.tags(folder) | ({head: "HEAD"} if head else {})
    for version, tag in sorted(listed.items(), key=lambda pair: Version(pair[0])):
        if Version(version) < Version(framework.oldest):
            continue
        release = read(framework, lambda place, tag=tag: repository.sources(folder, tag, place))
        print(
            f"{framework.name} {version}: {'nothing' if release is None else len(release['classes'])}", file=sys.stderr
        )
        if release is not None:
            found[version] = release
    return found


def fetched(framework: Framework, version: str, archives: Path | None) -> spans.Release | None:
    kept = archive.stored(framework.name, version, archives) if archives else None
    if kept is not None:
        return read(framework, lambda place: archive.sources(kept, place.rpartition("/")[2]))
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = archive.fetch(framework.name, version, Path(folder))
        except archive.FetchError:  # no wheel
            path = archive.fetch(framework.name, version, Path(folder), source=True)
        return read(framework, lambda place: archive.sources(path, place.rpartition("/")[2]))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=sorted(FRAMEWORKS))
    parser.add_argument("version", nargs="*", help="releases to add")
    parser.add_argument("--repository", type=Path, help="a clone with tags")
    parser.add_argument(
        "--head", metavar="VERSION", help="read the clone's newest commit too, as this development release"
    )
    parser.add_argument("--archives", type=Path, help="folder with archives that were downloaded before")
    parser.add_argument("--into", type=Path, default=KNOWLEDGE, help="folder of the files (default: knowledge/keys)")
    options = parser.parse_args(arguments)
    framework = FRAMEWORKS[options.framework]
    target = options.into / f"{framework.name}.json"
    known: dict[str, spans.Release] = {}
    if options.repository:  # releases may follow that the clone has no tag of
        known = tagged(framework, options.repository, options.head)
    elif options.version:
        known = spans.expand(spans.load(target)) if target.exists() else {}
    else:
        parser.error("name a release, or a clone with --repository")
    for version in options.version:
        release = fetched(framework, version, options.archives)
        if release is None:
            print(f"read_keys: {framework.name} {version} has no reader that is known", file=sys.stderr)
            return 1
        known[version] = release
    spans.write(spans.merge(framework.name, known), target)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
