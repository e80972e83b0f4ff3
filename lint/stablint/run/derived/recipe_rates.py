"""Which learning rates counted recipes use, by objective, method and size: knowledge/lr_bands.yaml. An estimate, never a proof of harm."""

from __future__ import annotations

import math

from stablint.base import knowledge
from stablint.base.light import Any, NamedTuple

METHODS = ("full", "lora", "qlora")
_ADAMW = ("adamw", "paged")  # other optimisers have rates of another scale


class Band(NamedTuple):
    """Quartiles over counted recipes, and the rates outside of which hardly any of them lies. `severity` is the most a finding may be."""

    objective: str
    method: str
    billions_from: float
    billions_below: float | None  # half open; None: no upper end
    typical_low: float
    median: float | None
    typical_high: float
    alarm_below: float
    alarm_above: float
    severity: str  # warning | info
    projects: int  # 0 where a paper or a model's page says so and nothing was counted
    recipes: int


class Published(NamedTuple):
    """What the library publishes of a method whose rates are of another scale than LoRA's; `alarm_above` is ten times its highest rate."""

    name: str
    typical_low: float
    typical_high: float
    alarm_above: float
    severity: str  # warning | info


class Recipe(NamedTuple):
    """One published run. `batch` is examples per step and GPU; `warmup` is a share below 1, else steps."""

    project: str
    url: str
    model: str
    billions: float | None
    learning_rate: float
    batch: float | None
    warmup: float | None
    scheduler: str | None
    clip: float | None
    optimizer: str | None
    rank: int | None
    alpha: int | None
    objective: str
    method: str


def band(objective: str, method: str, parameters: int, model_type: str | None = None) -> Band | None:
    """The band of a run; None where too little was counted to say anything. `method` is full, lora or qlora.

    Architectures with rates of their own (T5, BERT) have a band of their own when `model_type` is given.
    """
    known = knowledge.load("lr_bands")
    goal, billions = known["objectives"].get(objective), parameters / 1e9
    for row in known["families"]:
        if model_type in row["types"] and (goal, method) == (row["objective"], row["method"]):
            return _band(row)
    if any(model_type in row["types"] for row in known["families"]) or model_type in known["apart"]:
        return None  # nobody has counted what these take by this method
    for row in known["bands"]:
        if (goal, method) == (row["objective"], row["method"]) and _within(row, billions):
            return _band(row) if row.get("alarm_above") is not None else None
    return None


def published(kind: str) -> Published | None:
    """The rates of a method of PEFT by its `peft_type` (`VERA`), or of GaLore (`GALORE`); None where nothing was found, and for LoRA itself."""
    for row in knowledge.load("lr_bands")["adapters"]:
        if row["type"] == kind:
            return Published(row["name"], row["typical_low"], row["typical_high"], row["alarm_above"], row["severity"])
    return None


def goals() -> dict[str, str]:
    """Objectives, each with the kind of it that has a band: `grpo` is online-rl."""
    known: dict[str, str] = knowledge.load("lr_bands")["objectives"]
    return known


def recipes(objective: str, method: str, parameters: int, limit: int = 5) -> list[Recipe]:
    """AdamW recipes of that objective and method, the nearest in size first, one of each project before the second of any."""
    stored = knowledge.load("recipes")
    column = {name: place for place, name in enumerate(stored["columns"])}
    goals = knowledge.load("lr_bands")["objectives"]
    goal = goals.get(objective)
    alike = [
        row
        for row in stored["rows"]
        if goal is not None
        and goals.get(row[column["objective"]]) == goal
        and row[column["method"]] == method
        and row[column["billions"]] is not None
        and (row[column["optimizer"]] or "adamw").lower().startswith(_ADAMW)
    ]
    wanted = max(parameters, 1) / 1e9
    alike.sort(key=lambda row: abs(math.log(row[column["billions"]] / wanted)))
    turn: dict[str, int] = {}
    order = []
    for row in alike:
        project = row[column["project"]]
        order.append((turn.setdefault(project, 0), row))
        turn[project] += 1
    order.sort(key=lambda pair: pair[0])
    return [_recipe(row, column) for _, row in order[:limit]]


def _within(row: dict[str, Any], billions: float) -> bool:
    below = row.get("below")
    return bool(row.get("from", 0) <= billions and (below is None or billions < below))


def _band(row: dict[str, Any]) -> Band:
    return Band(
        row["objective"],
        row["method"],
        row.get("from", 0),
        row.get("below"),
        row["typical_low"],
        row.get("median"),
        row["typical_high"],
        row["alarm_below"],
        row["alarm_above"],
        row["severity"],
        row.get("projects", 0),
        row.get("recipes", 0),
    )


def _recipe(row: list[Any], column: dict[str, int]) -> Recipe:
    names = (
        "project",
        "url",
        "model",
        "billions",
        "lr",
        "batch",
        "warmup",
        "scheduler",
        "clip",
        "optimizer",
        "r",
        "alpha",
        "objective",
        "method",
    )
    return Recipe(*(row[column[name]] for name in names))
