"""Write schemas/*.schema.json from the models in stablint.schema; with --check, only say whether they are up to date."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from stablint.schema.advice import AdviceDocument, AdviceFile
from stablint.schema.diagnosis import DiagnosisDocument
from stablint.schema.hazard import HazardFile
from stablint.schema.report import ReportDocument
from stablint.schema.settings import Settings

FOLDER = Path(__file__).resolve().parent.parent / "schemas"
MODELS: dict[str, type[BaseModel]] = {
    "advice": AdviceDocument, "advice-file": AdviceFile, "diagnosis": DiagnosisDocument, "hazard": HazardFile, "report": ReportDocument, "settings": Settings,
}  # fmt: skip


def schema_text(name: str) -> str:
    """The schema as it is stored. Generated titles are left out: they repeat the names and change with pydantic's releases."""
    schema = _without_titles(MODELS[name].model_json_schema(mode="validation"))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"stablint {name}"}
    return json.dumps(head | schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _without_titles(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # A property may itself be called `title`; then its value is a schema, not a string.
    return {key: _without_titles(value) for key, value in schema.items() if key != "title" or isinstance(value, dict)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is out of date")
    check = parser.parse_args().check
    stale = []
    for name in MODELS:
        path, text = FOLDER / f"{name}.schema.json", schema_text(name)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if not check:
                path.write_text(text, encoding="utf-8")
    if stale and check:
        print(f"out of date: {', '.join(stale)}; run python tools/generate_schemas.py", file=sys.stderr)
    return int(bool(stale) and check)


if __name__ == "__main__":
    raise SystemExit(main())
