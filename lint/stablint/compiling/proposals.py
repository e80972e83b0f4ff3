"""knowledge/proposals.yaml and templates.yaml → how each framework is told what `stablint new` proposes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml

READS = ("proposals.yaml", "templates.yaml", "torchtune_models.yaml", "models")

_NAMED = re.compile(r"\{id: ([^,}\s]+)")
_RECORD = {
    "title", "releases", "also", "objectives", "methods", "shardings", "fused", "template", "data", "files", "env", "launch", "models", "note", "precisions",
}  # fmt: skip
_LINE = {"key", "of", "is", "words", "when", "why", "name"}


def compile_proposals(root: Path) -> dict[str, object]:
    """`proposals`: frameworks, shardings and cards as they stand, and a template by model. Raises ValueError for a record that says nothing."""
    document = read_yaml(root / "proposals.yaml")
    for name, record in document["frameworks"].items():
        _checked(name, record, document["sharding"])
        if "models" in record:
            record["models"] = _models(read_yaml(root / f"{record['models']}_models.yaml"))
    templates = read_yaml(root / "templates.yaml")
    return {
        "proposals": {
            "frameworks": document["frameworks"],
            "shardings": document["sharding"],
            "cards": document["cards"],
            "kernels": document["kernels"],
            "spelled": {
                name.lower(): name
                for path in sorted((root / "models").glob("*.yaml"))
                for name in _NAMED.findall(path.read_text(encoding="utf-8"))
            },
            "templates": {model.lower(): word for word, models in templates.items() for model in models},
        }
    }


def _checked(name: str, record: dict[str, Any], shardings: dict[str, Any]) -> None:
    odd = [key for key in record if key not in _RECORD]
    odd += [word for word in record["shardings"] if word not in shardings]
    for file in record["files"]:
        odd += [
            str(line)
            for line in file["lines"]
            if not line.keys() <= _LINE or "key" not in line or ("of" in line) == ("is" in line)
        ]
    if odd:
        raise ValueError(f"proposals.yaml, {name}: {', '.join(odd)}")


def _models(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By each name in small letters: what the lines of a framework ask for that knows some models only."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        folder = f"models/{row['id'].rpartition('/')[2]}"
        head, _, last = row["builder"].rpartition(".")
        file, count = row["checkpoint"]["file"], row["checkpoint"]["files"]
        several = {"filename_format": file, "max_filename": f"{count:05d}"}
        tokenizer = {
            key: word if key == "_component_" else f"{folder}/{word}" for key, word in row["tokenizer"].items()
        }
        values = {
            "hub": row["id"], "folder": folder, "builder": row["builder"], "lora_builder": f"{head}.lora_{last}", "model_type": row["type"],
            "tokenizer": tokenizer, "checkpoint": several if count > 1 else [file],
        }  # fmt: skip
        found |= {name.lower(): values for name in (row["id"], *row.get("also", ()))}
    return found
