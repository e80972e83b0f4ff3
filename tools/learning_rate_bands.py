"""Count the recipes of knowledge/recipes.yaml into knowledge/lr_bands.yaml: `python tools/learning_rate_bands.py`.

A cell is objective × method × size. Quartiles give every project the same weight, so that a framework with 250 example files does
not outvote the rest. An alarm is three times the upper quartile, with all weights four times, less where that is more than twenty times the
median, but at least twice the quartile (below: a twentieth of the lower quartile, of adapters a tenth, which is where full fine-tuning
lies), and only where enough was counted. Online reinforcement
learning, whose cells hold few rates, and small models, of which every fifth recipe lies above that bound, are told nothing up to the highest
counted rate. Methods of PEFT that are not LoRA, and GaLore, have too few recipes for quartiles: their bound is ten times the highest rate that
the library publishes as a run.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

KNOWLEDGE = Path(__file__).parents[1] / "knowledge"
SIZES = (0, 1, 5, 11, 21, 41, None)  # billions of parameters, half open
OBJECTIVES = {
    "sft": ("sft",),
    "dpo": ("dpo", "ipo"),
    "preference": ("kto", "orpo", "simpo", "cpo", "bco"),
    "online-rl": ("grpo", "rloo", "ppo", "gdpo", "gspo", "dapo", "online_dpo", "reinforce"),
    "reward": ("reward", "rm", "prm"),
    "pretrain": ("pretrain", "pt", "cpt"),
}
ADAMW = ("adamw", "pagedadamw", "paged_adamw")  # other optimisers have rates of another scale
LEAST, MEDIANS = 2, 20
BELOW = {
    "full": 20,
    "lora": 10,
    "qlora": 10,
}  # adapters learn little at a rate of full fine-tuning (thinkingmachines.ai/blog/lora)
OFTEN = 1 / 10  # of the healthy recipes outside of a bound: that is a habit, and a hint at most
PUBLISHED = 10  # times the highest published rate of an adapter, an order of magnitude
ABOVE = {"full": 4, "lora": 3, "qlora": 3}  # published runs of 2025 with all weights go up to four times the usual rate
# Cells whose references say nothing about harm: rates from scratch mixed with continued training.
SILENT = {("pretrain", "full"), ("pretrain", "lora")}
# Where nobody has counted rates: encoders and decoders of speech and images, whose adapters take 1e-3 in the makers' own examples.
APART = (
    "whisper",
    "wav2vec2",
    "hubert",
    "seamless_m4t",
    "speecht5",
    "vit",
    "clip",
    "bart",
    "mbart",
    "pegasus",
    "blip",
    "blip-2",
)
# Cells where healthy references lie above the multiple of the quartile too often for a warning.
HINT = {("sft", "full", 1), ("sft", "full", 0)}

HEAD = """\
# Learning rates of counted recipes, by objective, method and size. Made by tools/learning_rate_bands.py from recipes.yaml: do not edit.
#   from, below     billions of parameters (of a mixture of experts: all), half open
#   typical_*       quartiles over recipes trained with AdamW-like optimisers, each project with the same weight
#   alarm_*         4 x typical_high with all weights, 3 x with adapters (at most 20 x median, at least 2 x typical_high; of online-rl and of
#                   small models at least the highest counted rate), and typical_low / 20, of adapters / 10 and at most 1e-5; null where the
#                   cell says nothing: few projects, or no evidence
#   apart           types of models whose rates nobody has counted
#   outside_*       how many of the counted recipes the alarm would hit: the rate of false alarms
#   severity        the most that a finding may be: warning, or info where one healthy recipe in ten lies outside or few projects were counted
#   adapters        methods with rates of another scale: what the library publishes as runs, and ten times the highest of it
"""


def main() -> None:
    content = yaml.load((KNOWLEDGE / "recipes.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    cells: dict[tuple[str, str, int | None], list[tuple[float, str]]] = {}
    for project in content["projects"]:
        for recipe in project["recipes"]:
            for cell in _cells(recipe):
                cells.setdefault(cell, []).append((recipe["lr"], project["name"]))
    rows = [_row(cell, rates) for cell, rates in sorted(cells.items(), key=lambda item: _order(item[0]))]
    families = [_family(family) for family in content["families"]]
    text = HEAD + "objectives:\n" + "".join(f"  {name}: [{', '.join(words)}]\n" for name, words in OBJECTIVES.items())
    text += "bands:\n" + "".join(f"  - {{{_flow(row)}}}\n" for row in rows if row["recipes"] > 1)
    text += f"apart: [{', '.join(APART)}]\n"
    text += "families:\n" + "".join(f"  - {{{_flow(row)}}}\n" for row in families)
    text += "adapters:\n" + "".join(f"  - {{{_flow(_adapter(one))}}}\n" for one in content["adapters"])
    target = KNOWLEDGE / "lr_bands.yaml"
    if "--check" in sys.argv:
        sys.exit(
            target.read_text(encoding="utf-8") != text
            and "lr_bands.yaml is not what recipes.yaml gives: run tools/learning_rate_bands.py"
        )
    target.write_text(text, encoding="utf-8")


def _cells(recipe: dict[str, Any]) -> list[tuple[str, str, int | None]]:
    """The cell of a recipe; preference and reinforcement learning have too few for sizes."""
    optimizer = str(recipe.get("optimizer", "adamw")).lower()
    objective = next((name for name, words in OBJECTIVES.items() if recipe["objective"] in words), None)
    if objective is None or not optimizer.startswith(ADAMW) or recipe["method"] not in ("full", "lora", "qlora"):
        return []
    if objective != "sft":
        return [(objective, recipe["method"], None)]
    size = recipe.get("billions")
    if size is None:
        return []
    start = max(bound for bound in SIZES[:-1] if bound is not None and bound <= size)
    return [(objective, recipe["method"], start)]


def _row(cell: tuple[str, str, int | None], rates: list[tuple[float, str]]) -> dict[str, Any]:
    objective, method, start = cell
    files = Counter(project for _, project in rates)
    weighted = sorted((rate, 1 / files[project]) for rate, project in rates)
    highest = max(rate for rate, _ in rates)
    low, median, high = (_quantile(weighted, share) for share in (0.25, 0.5, 0.75))
    row: dict[str, Any] = {"objective": objective, "method": method}
    if start is not None:
        row |= {"from": start, "below": SIZES[SIZES.index(start) + 1]}
    row |= {"projects": len(files), "recipes": len(rates), "typical_low": low, "median": median, "typical_high": high}
    if (objective, method) in SILENT or len(files) < 2 or len(rates) < 4:
        return row | {"alarm": None}
    above, below = _round(max(LEAST * high, min(ABOVE[method] * high, MEDIANS * median))), _below(low, method)
    if objective == "online-rl" or cell in HINT:
        above = max(above, highest)
    outside = sum(rate > above for rate, _ in rates), sum(rate <= below for rate, _ in rates)
    often = outside[0] > OFTEN * len(rates)
    severity = "info" if cell in HINT or often or len(rates) < 6 else "warning"
    row |= {"alarm_below": below, "alarm_above": above, "outside_below": outside[1], "outside_above": outside[0]}
    return row | {"severity": severity}


def _family(family: dict[str, Any]) -> dict[str, Any]:
    row = {
        key: family[key]
        for key in ("types", "objective", "method", "typical_low", "median", "typical_high")
        if key in family
    }
    above = _round(ABOVE[family["method"]] * family["typical_high"])
    row |= {"alarm_below": _below(family["typical_low"], family["method"]), "alarm_above": above}
    return row | {"severity": "info", "source": family["source"]}


def _adapter(adapter: dict[str, Any]) -> dict[str, Any]:
    rates = [run["lr"] for run in adapter["runs"]]
    row = {"type": adapter["type"], "name": adapter["name"], "typical_low": min(rates), "typical_high": max(rates)}
    return row | {"alarm_above": _round(PUBLISHED * max(rates)), "severity": "warning" if len(rates) > 1 else "info"}


def _below(low: float, method: str) -> float:
    """Of adapters at most the usual rate of full fine-tuning."""
    bound = _round(low / BELOW[method])
    return bound if method == "full" else min(bound, 1e-5)


def _quantile(weighted: list[tuple[float, float]], share: float) -> float:
    """The smallest rate below which at least this share of the weight lies."""
    total, reached = sum(weight for _, weight in weighted), 0.0
    for rate, weight in weighted:
        reached += weight
        if reached >= share * total - 1e-9:
            return rate
    return weighted[-1][0]


def _round(rate: float) -> float:
    """To one significant digit."""
    return float(f"{rate:.0e}")


def _order(cell: tuple[str, str, int | None]) -> tuple[int, int, int]:
    objective, method, start = cell
    return list(OBJECTIVES).index(objective), ("full", "lora", "qlora").index(method), start or 0


def _flow(row: dict[str, Any]) -> str:
    return ", ".join(f"{key}: {_scalar(value)}" for key, value in row.items())


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, float):
        digits, _, exponent = f"{value:.3e}".partition("e")
        return f"{float(digits)}e{int(exponent):+d}"
    return str(value)


if __name__ == "__main__":
    main()
