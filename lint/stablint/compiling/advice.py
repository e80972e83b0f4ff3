"""knowledge/advice/<gain>/*.yaml → `advice` (what `stablint advise` evaluates) and `advice-examples` (what the tests run)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stablint.compiling.hazards import compiled_remedy, condition, facts_of_files
from stablint.compiling.reading import read_plain
from stablint.schema import advice as advice_schema

READS = ("advice",)


def compile_advice(root: Path) -> dict[str, object]:
    """Each file is validated against the one model (stablint.schema.advice); what it refuses is an error naming the file."""
    rows: list[dict[str, Any]] = []
    examples: dict[str, Any] = {}
    for path in sorted((root / "advice").rglob("*.yaml")):
        name = path.relative_to(root).as_posix()
        data = read_plain(path, name)
        try:
            advice_schema.AdviceFile.model_validate(data)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
        if (path.stem, path.parent.name) != (data["id"], data["gain"]):
            raise ValueError(f"{name}: it is called {data['id']} and is about {data['gain']}")
        rows.append(_row(data))
        examples[data["id"]] = {"examples": data["examples"], "healthy": data.get("healthy") or []}
    return {"advice": rows, "advice-examples": examples}


_EFFECT: dict[str, Any] = {"words": "", "peak": "", "short": False, "evaluates": "", "keeps": [], "shows": []}


def _row(data: dict[str, Any]) -> dict[str, Any]:
    """As a hazard (hazard/model.py), with what an advice has besides. An exemption holds where it is true, and where it is not known."""
    fine = [["not", [condition(one)]] for one in data.get("fine_when") or []]
    return {
        "hazard": {
            "id": data["id"], "code": data["id"], "severity": "info", "bites_at": "never-visibly", "grade": data["evidence"]["grade"],
            "when": [*(condition(one) for one in data["when"]), *fine], "at": data["at"], "versions": data.get("versions") or {}, "each": [],
            "yields_to": data.get("yields_to") or [], "reads": facts_of_files(data["when"]), "message": data["title"], "cases": [],
            "remedies": [compiled_remedy(one) for one in data["edits"]],
            "evidence": {key: data["evidence"][key] for key in ("grade", "sources")},
        },
        "gain": data["gain"], "why": data["why"], "not_when": data["not_when"], "recipes": data.get("recipes"),
        "effect": {**_EFFECT, **{key: value for key, value in data["effect"].items() if value is not None}},
    }  # fmt: skip
