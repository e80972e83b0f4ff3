"""The ledgers of changes: what libraries have changed in how they train, and which hazard tells of it or why none.

    python tools/changes.py transformers --history DIR   # what the ledger lacks, as lines to decide; DIR is a git copy
    python tools/changes.py transformers --archives DIR  # the same behind the last commit, by the wheels or source archives in DIR
    python tools/changes.py --counts                     # how the entries are decided, by library

A ledger (knowledge/changes/LIBRARY.yaml) says which paths are watched and what is left out without being looked at; a commit
that changes only docstrings, annotations, imports, messages or fields of configuration classes is left out as well.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from releases.archived import Archives
from releases.commits import Commit, History

ROOT = Path(__file__).resolve().parent.parent
LEDGERS = ROOT / "knowledge" / "changes"
NO_LIBRARY = {"reasons"}


def load(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def libraries() -> list[str]:
    return sorted(path.stem for path in LEDGERS.glob("*.yaml") if path.stem not in NO_LIBRARY)


def candidates(ledger: dict[str, Any], folder: Path, tip: str) -> list[Commit]:
    """All that the ledger must decide up to `tip`, the oldest first."""
    watch = ledger["watch"]
    history = History(folder, tip, watch["paths"], watch["version_files"], watch["outside"])
    return list(history.commits(watch["since"]))


def line(one: Commit) -> str:
    """An entry to be decided; what the commit says of itself stands behind it and is not kept."""
    row = f"{{release: {one.release}, commit: {one.sha}, pr: {one.pull or 'null'}, title: , decision: }}"
    return f"  - {row}  # {one.subject} [{', '.join(one.functions)[:80]}]"


def lacking(library: str, folder: Path, tip: str | None) -> int:
    ledger = load(LEDGERS / f"{library}.yaml")
    known = {entry["commit"] for entry in ledger["entries"]}
    found = candidates(ledger, folder, tip or ledger["covered"]["tip"])
    new = [one for one in found if one.sha not in known]
    for one in new:
        print(line(one))
    gone = known - {one.sha for one in found}
    print(f"{library}: {len(found)} candidates, {len(new)} not in the ledger, {len(gone)} only there", file=sys.stderr)
    return 1 if new or gone else 0


def archived(library: str, folder: Path) -> int:
    """What the ledger lacks of the releases that only archives tell of: each place that changed stands in an entry."""
    ledger = load(LEDGERS / f"{library}.yaml")
    later, watch = ledger["archives"], ledger["watch"]
    found = set(Archives(folder, library, watch["paths"], watch["outside"]).changed(later["releases"]))
    known = {(str(one["release"]), place) for one in ledger["later"] for place in one["in"]}
    for release, place in sorted(found - known):
        print(f'  - {{release: {release}, in: ["{place}"], title: , decision: }}')
    for release, place in sorted(known - found):
        print(f"only in the ledger: {release} {place}")
    print(f"{library}: {len(found)} places, {len(found - known)} not in the ledger", file=sys.stderr)
    return 1 if found ^ known else 0


def counts() -> dict[str, dict[str, Any]]:
    table = {}
    for library in libraries():
        ledger = load(LEDGERS / f"{library}.yaml")
        every = ledger["entries"] + ledger.get("later", [])
        decided = Counter(one["decision"] if one["decision"].startswith("none: ") else "hazard" for one in every)
        covered = ledger["covered"]
        last = ledger["archives"]["releases"][-1] if "archives" in ledger else covered["to"]
        table[library] = {"covered": f"{covered['from']} to {last}", **dict(decided.most_common())}
    return table


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?", choices=libraries())
    parser.add_argument("--history", type=Path, metavar="DIR", help="a git copy of the library's repository")
    parser.add_argument(
        "--archives", type=Path, metavar="DIR", help="the wheels or source archives of the releases behind the history"
    )
    parser.add_argument("--tip", help="look up to this commit; otherwise to the last one that the ledger covers")
    parser.add_argument("--counts", action="store_true", help="how the entries are decided")
    asked = parser.parse_args(arguments)
    if asked.counts:
        print(json.dumps(counts(), indent=1))
        return 0
    if asked.library and asked.archives:
        return archived(asked.library, asked.archives)
    if not asked.library or not asked.history:
        parser.error("a library and --history or --archives, or --counts")
    return lacking(asked.library, asked.history, asked.tip)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
