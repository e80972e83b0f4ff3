"""knowledge/frameworks/NAME.yaml → what the engine asks about each framework, and what each fills in: only runs of it load the latter.

A row of `defaults` gives `is` (a value), `as` (what another fact is), `times: [fact, number]` or `unknown` (why it cannot be told), in the words of
facts; of several rows the first whose `when` holds, or whose `unless` does not. Keys of TrainingArguments that are handed on unchanged are not listed.
`read` names the releases whose source was opened, all with this value unless a row says `since`; `at` is file and line below `source`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml
from stablint.run.framework import Framework, Launch, Rollout

READS = ("frameworks",)

_GIVES = ("is", "as", "times", "unknown")
_KEYS = {*_GIVES, "since", "when", "unless", "at"}
_OF_READING = {"source", "read", "defaults"}
_WORDS: dict[str, set[str | None]] = {
    "processes": {"visible", "one"},
    "rest": {"split", "none", None},
    "sharding": {"file", "launcher"},
}


def compile_frameworks(root: Path) -> dict[str, object]:
    """`frameworks`: name → properties; `frameworks/<name>`: fact → rows. Raises ValueError for a property that there is not, a value of another
    kind, and a row that says nothing, too much, or not where it was read."""
    records = {path.stem: read_yaml(path) for path in sorted((root / "frameworks").glob("*.yaml"))}
    tables: dict[str, object] = {
        "frameworks": {name: _properties(name, record) for name, record in records.items()},
    }
    for name, record in records.items():
        if "defaults" in record:
            tables[f"frameworks/{name}"] = {
                fact: [_row(name, fact, row) for row in rows] for fact, rows in record["defaults"].items()
            }
    return tables


def _properties(name: str, record: dict[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in record.items() if key not in _OF_READING}
    defaults = Framework._field_defaults
    for key, value in found.items():
        if key not in defaults:
            raise ValueError(f"{name}: a framework has no property `{key}`")
        kind = list if isinstance(defaults[key], tuple) else type(defaults[key])
        if defaults[key] is not None and type(value) is not kind:
            raise ValueError(f"{name}, {key}: {value!r} is of another kind")
        if key == "launch":
            found[key] = _launch(name, value)
        if key == "rollout":
            found[key] = _rollout(name, value)
    return found


def _launch(name: str, row: dict[str, Any]) -> dict[str, Any]:
    odd = [f"{key}: {row.get(key)}" for key, words in _WORDS.items() if row.get(key) not in words]
    if odd or not row.keys() <= {*Launch._fields, "source", "note"} or not row.get("source"):
        raise ValueError(f"{name}, launch: {', '.join(odd) or 'it has a source and no other keys'}")
    return {key: row[key] for key in Launch._fields if key in row}


def _rollout(name: str, row: dict[str, Any]) -> dict[str, Any]:
    odd = [key for key in row if key not in {*Rollout._fields, "source"}]
    if odd or not row.get("source") or not {"prompt", "answer", "share"} <= row.keys():
        raise ValueError(
            f"{name}, rollout: {', '.join(odd) or 'it has a source, and says where prompt, answer and share stand'}"
        )
    return {key: row[key] for key in Rollout._fields if key in row}


def _row(framework: str, fact: str, row: dict[str, Any]) -> dict[str, Any]:
    said = [key for key in _GIVES if key in row]
    if (
        len(said) != 1
        or not row.keys() <= _KEYS
        or "at" not in row
        or len({**row.get("when", {}), **row.get("unless", {})}) > 1
    ):
        raise ValueError(f"{framework}, {fact}: a row has one of {', '.join(_GIVES)}, and `at`: {row}")
    return {key: row[key] for key in (*said, "since", "when", "unless") if key in row}
