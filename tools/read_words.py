"""Write knowledge/words.json: the words that each release takes for settings whose annotation does not list them.

python tools/read_words.py FOLDER      FOLDER holds unpacked wheels and sdists: trl-1.16.0/trl/…, deepspeed-0.19.6/deepspeed/…
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lint"))

from releases import words

from stablint.run.releases.pep440 import release_key

TABLE = Path(__file__).resolve().parent.parent / "knowledge" / "words.json"


def found_in(folder: Path) -> dict[str, dict[str, Any]]:
    """List → its library and spans of releases with the same words; `last` is left out where the newest release read has them."""
    result: dict[str, dict[str, Any]] = {}
    for name, row in words.LISTS.items():
        spans: list[dict[str, Any]] = []
        shelf = [path for path in folder.glob(f"{row.library}-[0-9]*") if path.is_dir()]
        for path in sorted(shelf, key=lambda one: release_key(one.name.removeprefix(f"{row.library}-"))):
            package = next((one for one in path.glob(f"**/{row.library}") if (one / "__init__.py").is_file()), None)
            read = words.read(package, row) if package is not None else None
            release = path.name.removeprefix(f"{row.library}-")
            if spans and spans[-1]["words"] == (read or []):
                spans[-1]["last"] = release
            elif read or spans:
                spans.append({"since": release, "last": release, "words": read or []})
        if spans:
            del spans[-1]["last"]
            result[name] = {"library": row.library, "spans": [span for span in spans if span["words"]]}
    return result


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="unpacked releases, one folder each")
    given = parser.parse_args(arguments)
    found = found_in(given.folder)
    missing = sorted(words.LISTS.keys() - found.keys())
    lines = [f" {json.dumps(name)}: {json.dumps(row)}" for name, row in found.items()]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    for name in missing:
        print(f"read_words: nothing was found for {name}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
