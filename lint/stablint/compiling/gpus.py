"""knowledge/gpus/*.yaml → gpus.json: one row a card, and every name by which a card or an instance type is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml
from stablint.hardware.gpu import FIELDS
from stablint.hardware.names import instance_key, squeeze, take_apart

READS = ("gpus",)

_CARD_KEYS = frozenset(("name", "called", "form", "later", "source", *FIELDS))


def compile_gpus(folder: Path) -> dict[str, object]:
    """`gpus.json`: cards (name, the FIELDS, form words, maker's words, later), exact and core names, instance types."""
    cards: list[list[Any]] = []
    exact: dict[str, int] = {}
    names: dict[str, list[int]] = {}
    labels: dict[str, str] = {}
    for path in sorted((folder / "gpus").glob("*.yaml")):
        content = read_yaml(path)
        for generation in content.get("generations", ()):
            for card in generation["cards"]:
                _check(card, path)
                index = len(cards)
                cards.append(_row(card, generation))
                exact[squeeze(card["name"])] = index
                for called in card["called"]:
                    for name in sorted({take_apart(called).core, squeeze(called)}):
                        labels.setdefault(name, _label(called, card["name"]))
                        if index not in names.setdefault(name, []):
                            names[name].append(index)
    instances = _instances(folder / "gpus" / "instances.yaml", cards, exact, names)
    return {"gpus": {"cards": cards, "exact": exact, "names": names, "labels": labels, "instances": instances}}


def _row(card: dict[str, Any], generation: dict[str, Any]) -> list[Any]:
    values = [card.get(field, generation.get(field)) for field in FIELDS]
    brands = sorted(take_apart(card["name"]).brands)
    return [card["name"], *values, card.get("form", []), brands, bool(card.get("later"))]


def _label(called: str, name: str) -> str:
    """How a name that several cards share is written: `RTX 4060 Ti`, `A100`."""
    maker = next((word for word in ("RTX", "GTX") if word in name.split()), "") if called[0].isdigit() else ""
    return f"{maker} {called}".strip()


def _instances(
    path: Path, cards: list[list[Any]], exact: dict[str, int], names: dict[str, list[int]]
) -> dict[str, tuple[str, list[int], int]]:
    instances: dict[str, tuple[str, list[int], int]] = {}
    for cloud in read_yaml(path)["clouds"]:
        for card, types in cloud["types"].items():
            whole = exact.get(squeeze(card))
            indices = [whole] if whole is not None else names[take_apart(card).core]
            label = card if whole is not None else take_apart(card).core.upper()
            for name, count in types.items():
                key = instance_key(name)
                if key in instances:
                    raise ValueError(f"{path}: {name} stands there twice")
                instances[key] = (label, indices, count)
    return instances


def _check(card: dict[str, Any], path: Path) -> None:
    odd = card.keys() - _CARD_KEYS
    if odd or not card.get("called") or "memory_gib" not in card:
        raise ValueError(f"{path}: {card.get('name')}: {sorted(odd) or 'needs called and memory_gib'}")
