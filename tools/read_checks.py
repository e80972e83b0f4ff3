"""Read what a library release checks by itself, and say which of it no hazard tells.

    python tools/read_checks.py transformers 5.24.0          # checks of that release that we have not seen yet
    python tools/read_checks.py transformers 5.24.0 --write  # … and store them in knowledge/checks/transformers.json
    python tools/read_checks.py --untold                     # stored checks that no hazard covers, by library

What is about data, objects in memory or the machine is not asked for: knowledge/checks/beyond.yaml.

Archives are fetched with pip, read with `ast` and thrown away; nothing in them is installed, imported or run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from releases import archive, beyond, checks, coverage
from releases.libraries import FRAMEWORKS, LIBRARIES

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "knowledge" / "checks"
HAZARDS = ROOT / "knowledge" / "hazards"


def read(library: str, release: str, archives: Path | None) -> list[checks.Check]:
    wanted = (LIBRARIES | FRAMEWORKS)[library]
    path = archive.stored(library, release, archives) if archives else None
    package = wanted.package or library
    if path is not None:
        return checks.read(library, archive.sources(path, package, wanted.skip))
    with tempfile.TemporaryDirectory() as folder:
        path = archive.fetch(library, release, Path(folder), wanted.source)
        return checks.read(library, archive.sources(path, package, wanted.skip))


def store(library: str, release: str, found: list[checks.Check], folder: Path) -> Path:
    """One line a check, so that the difference between two releases can be read.

    A check that the release stored before has word for word is told by what told it then: the hazards cite its lines of that release.
    """
    known = coverage.hazards(HAZARDS)
    outside = beyond.entries(STORED / "beyond.yaml")
    there = {hazard.id for hazard in known}
    before = {
        _identity(row): [one for one in row["told_by"] if one in there] for row in stored(library, folder)["checks"]
    }
    rows = [
        json.dumps(
            {
                "file": one.file, "owner": one.owner, "kind": one.kind, "when": one.when, "fields": one.fields, "line": one.first,
                "told_by": coverage.covering(one, library, release, known) or before.get(one.identity, []), "beyond": beyond.about(one, library, outside),
            },
            ensure_ascii=False,
        )
        for one in found
    ]  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{library}.json"
    lines = ",\n  ".join(rows)
    head = json.dumps({"library": library, "release": release})[:-1]
    target.write_text(f'{head},\n "checks": [\n  {lines}\n ]}}\n', encoding="utf-8")
    return target


def stored(library: str, folder: Path) -> dict[str, Any]:
    path = folder / f"{library}.json"
    if not path.exists():
        return {"library": library, "release": None, "checks": []}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _identity(row: dict[str, Any]) -> tuple[str, str, str, str]:
    return row["file"], row["owner"], row["kind"], row["when"]


def unseen(library: str, found: list[checks.Check], folder: Path) -> tuple[list[checks.Check], list[dict[str, Any]]]:
    """Checks that the stored release does not have, and stored ones that are gone."""
    before = stored(library, folder)["checks"]
    old = {_identity(row) for row in before}
    new = {one.identity for one in found}
    gone = [row for row in before if _identity(row) not in new]
    return [one for one in found if one.identity not in old], gone


def untold(library: str, folder: Path) -> list[dict[str, Any]]:
    return [
        row
        for row in stored(library, folder)["checks"]
        if not row["told_by"] and not row["beyond"] and row["kind"] in ("raise", "assert")
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?", choices=sorted(checks.WHERE))
    parser.add_argument("release", nargs="?")
    parser.add_argument(
        "--archives", type=Path, help="folder with archives that were downloaded before (LIBRARY/*.whl)"
    )
    parser.add_argument("--into", type=Path, default=STORED, help="folder of the files (default: knowledge/checks)")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--untold", action="store_true")
    options = parser.parse_args(arguments)
    if options.untold:
        for library in [options.library] if options.library else sorted(checks.WHERE):
            rows, every = untold(library, options.into), stored(library, options.into)
            print(
                f"{library} {every['release']}: {len(every['checks'])} checks, {len(rows)} of those that raise are told by no hazard"
            )
            for row in rows:
                print(f"  {row['file']}:{row['line']}  {row['owner']}  {row['when'][:140]}")
        return 0
    if not (options.library and options.release):
        parser.error("name a library and a release, or give --untold")
    try:
        found = read(options.library, options.release, options.archives / options.library if options.archives else None)
    except archive.FetchError as error:
        print(f"read_checks: {error}", file=sys.stderr)
        return 1
    new, gone = unseen(options.library, found, options.into)
    for one in new:
        print(f"new   {one.file}:{one.first}  {one.owner}  {one.kind}  {one.when[:160]}")
    for row in gone:
        print(f"gone  {row['file']}  {row['owner']}  {row['kind']}  {row['when'][:160]}")
    print(
        f"{options.library} {options.release}: {len(found)} checks, {len(new)} that we do not know yet, {len(gone)} gone"
    )
    if options.write:
        store(options.library, options.release, found, options.into)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
