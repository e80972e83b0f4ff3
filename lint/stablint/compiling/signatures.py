"""knowledge/signatures/ → one row a callable: the package's name and the callable's, and its signatures as `[first release, last release, signature]`.

The releases of a package stand in the row of its name; `last` is -1 while a signature still holds.
"""

from __future__ import annotations

import json
from pathlib import Path

from stablint.run.releases.pep440 import release_key

READS = ("signatures",)


def compile_signatures(folder: Path) -> dict[str, object]:
    rows: dict[str, object] = {}
    for path in sorted((folder / "signatures").glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        order: list[str] = document["releases"]
        package: str = document["package"]
        rows[package] = {
            "library": document["library"],
            "releases": [[list(release_key(version)), version] for version in order],
            "methods": sorted({name.rpartition(".")[2] for name in document["calls"] if "." in name}),
        }
        for name, spans in document["calls"].items():
            if name.rpartition(".")[2][:1].isupper() and any(not span["takes"] for span in spans):
                continue  # an enumeration, or a class whose constructor stands in one that was not read
            rows[f"{package}.{name}"] = [
                [order.index(span["since"]), order.index(span["last"]) if "last" in span else -1, span["takes"]]
                for span in spans
            ]
    return {"signatures.rows": rows}
