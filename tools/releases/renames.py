"""knowledge/releases/renames.yaml against what was read: does the old name end where a row says, and does the new one exist there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from . import spans

KINDS = {"renamed", "moved", "removed", "deprecated", "value-renamed", "value-removed", "value-changed"}
Row = dict[str, Any]


def check(folder: Path) -> list[str]:
    """One line for everything that is wrong."""
    documents = {path.stem: spans.load(path) for path in sorted(folder.glob("*.json"))}
    rows = yaml.safe_load((folder / "renames.yaml").read_text(encoding="utf-8"))
    wrong: list[str] = []
    for row in rows:
        for name in row["class"] if isinstance(row["class"], list) else [row["class"]]:
            wrong += [
                f"{row['library']}.{name}.{row['old']}: {said}" for said in _wrong(documents, {**row, "class": name})
            ]
    return wrong


def _wrong(documents: dict[str, Any], row: Row) -> list[str]:
    document = documents.get(row["library"])
    if document is None or row["class"] not in document["classes"]:
        return ["no such class was read"]
    order, entry = document["releases"], document["classes"][row["class"]]
    wrong = [] if row["kind"] in KINDS else [f"unknown kind {row['kind']}"]
    for key in ("deprecated_in", "removed_in"):
        if row.get(key) is not None and row[key] not in order:
            return [*wrong, f"{key} {row[key]} was not read"]
    usable = [s for s in entry["fields"].get(row["old"], []) if not s.get("refused")]
    if not usable:
        return [*wrong, "never was a field"]
    last = order.index(usable[-1]["last"]) if "last" in usable[-1] else len(order) - 1
    gone = order[last + 1] if last + 1 < len(order) else None
    if gone != row.get("removed_in"):
        wrong.append(f"removed_in is {gone}, not {row.get('removed_in')}")
    if row.get("deprecated_in") and not order.index(usable[0]["since"]) <= order.index(row["deprecated_in"]) <= last:
        wrong.append(f"was not there in {row['deprecated_in']}, where it is said to be deprecated")
    return wrong + _wrong_values(document, row, usable) + _wrong_new(documents, row, order, last)


def _wrong_values(document: dict[str, Any], row: Row, usable: list[dict[str, Any]]) -> list[str]:
    """A removed value must be no choice of the newest release any more, what takes its place must be one."""
    if row["kind"] != "value-removed":
        return []
    enum, choices = usable[-1].get("enum"), usable[-1].get("choices")
    if enum is not None:
        choices = document["enums"][enum][-1]["values"]
    wrong = [f"{old} is still a choice" for old in row["values"] if old in (choices or [])]
    return wrong + [f"{new} is no choice" for new in row["values"].values() if new not in (choices or [])]


def _wrong_new(documents: dict[str, Any], row: Row, order: list[str], last: int) -> list[str]:
    """The new name must exist in the last release with the old one, or in the first without it: in the class, its bases, or elsewhere."""
    new = row.get("new")
    if new is None:
        return []
    when = [order[last], *order[last + 1 : last + 2]]
    owner, _, name = new.rpartition(".")
    places = [(row["library"], row["class"], new)]
    if owner:
        made = "".join(part.capitalize() for part in owner.split("_")).replace(
            "DataloaderConfig", "DataLoaderConfiguration"
        )
        places += [(row["library"], owner, name), (row["library"], made, name), ("transformers", owner, name)]
    places += [("transformers", "TrainingArguments", new)]
    for library, class_name, field in places:
        document = documents[library]
        found = document["classes"].get(class_name, {"fields": {}})["fields"].get(field, [])
        usable = [s for s in found if not s.get("refused")]
        if usable and (library != row["library"] or any(spans.at(usable, order, version) for version in when)):
            return []
    if owner in ("fsdp_config",) and any(
        spans.at(documents["transformers"]["classes"]["TrainingArguments"]["fields"][owner], order, v) for v in when
    ):
        return []  # a free dictionary
    return [f"{new} is not there in {' or '.join(when)}"]
