"""knowledge/frameworks/NAME.yaml → what the engine asks about each framework, and what each fills in: only runs of it load the latter.

A row of `defaults` gives `is` (a value), `as` (what another fact is), `times: [fact, number]` or `unknown` (why it cannot be told), in the words of
facts; of several rows the first whose `when` holds, or whose `unless` does not. Keys of TrainingArguments that are handed on unchanged are not listed.
`read` names the releases whose source was opened, all with this value unless a row says `since`; `at` is file and line below `source`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml
from stablint.run.forms import Form
from stablint.run.framework import Framework, KeyedFiles, Launch, OwnKeys, Rollout

READS = ("frameworks",)

_GIVES = ("is", "as", "times", "unknown")
_KEYS = {*_GIVES, "since", "when", "unless", "at"}
_OF_READING = {"source", "read", "defaults", "forms", "reads"}
_WORDS: dict[str, set[str | None]] = {
    "processes": {"visible", "one"},
    "rest": {"split", "none", None},
    "sharding": {"file", "launcher"},
}


def compile_frameworks(root: Path) -> dict[str, object]:
    """`frameworks`: name → properties; `frameworks/<name>`: fact → rows; `reads/<name>`: its tables and lists of keys; `forms`: the kinds of
    files (run/forms.py).

    Raises ValueError for a property that there is not, a value of another kind, and a row that says nothing, too much, or not where it was read.
    """
    records = {path.stem: read_yaml(path) for path in sorted((root / "frameworks").glob("*.yaml"))}
    tables: dict[str, object] = {
        "frameworks": {name: _properties(name, record) for name, record in records.items()},
        "forms": {
            form: _form(name, record, form, row)
            for name, record in records.items()
            for form, row in record.get("forms", {}).items()
        },
    }
    for name, record in records.items():
        if "defaults" in record:
            tables[f"frameworks/{name}"] = {
                fact: [_row(name, fact, row) for row in rows] for fact, rows in record["defaults"].items()
            }
        if "reads" in record:
            tables[f"reads/{name}"] = {part: _read(name, keys) for part, keys in record["reads"].items()}
    return tables


def _form(name: str, record: dict[str, Any], form: str, row: dict[str, Any]) -> dict[str, Any]:
    """One kind of file; of the framework's own dialect, and for its own readers, where it names no others."""
    odd = [key for key in row if key not in Form._fields]
    if odd or not row.get("title"):
        raise ValueError(f"{name}, forms, {form}: {', '.join(odd) or 'it has a title'}")
    own = {} if row.get("readers") or row.get("classes") else {"readers": record["readers"]}
    return {"dialect": name, **own, **row}


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
        if key == "keys":
            found[key] = _keys(name, value)
        if key == "files":
            found[key] = _files(name, value)
    if found.get("module") and found.get("files"):
        raise ValueError(f"{name}: its files are read by a module or by `files`, not by both")
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


def _keys(name: str, row: dict[str, Any]) -> dict[str, Any]:
    odd = [key for key in row if key not in {*OwnKeys._fields, "at"}]
    if odd or not row.get("at"):
        raise ValueError(f"{name}, keys: {', '.join(odd) or 'it says `at`, where that was read'}")
    return {key: row[key] for key in OwnKeys._fields if key in row}


def _files(name: str, row: dict[str, Any]) -> dict[str, Any]:
    """The part of a record that says what its files' keys are; a key alone is one fact that is read as it stands."""
    needed = {"told_by", "beside", "keys", "closed"}
    if not needed <= row.keys() <= {*KeyedFiles._fields, "at"} or not row.get("at"):
        raise ValueError(
            f"{name}, files: it has {', '.join(sorted(needed))} and `at`, and beside them {KeyedFiles._fields}"
        )
    found = {key: row[key] for key in KeyedFiles._fields if key in row}
    found["sections"] = row.get("sections", {})
    for part in ("keys", "flags"):
        found[part] = {key: _facts(name, key, said) for key, said in row.get(part, {}).items()}
    return found


def _facts(name: str, key: str, said: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"fact": one} if isinstance(one, str) else one for one in (said if isinstance(said, list) else [said])
    ]
    for one in rows:
        if "fact" not in one or not one.keys() <= {"fact", "as", "words"} or {"as", "words"} <= one.keys():
            raise ValueError(f"{name}, {key}: `fact`, and `as` a codec or `words` and what they mean: {one}")
    # JSON's keys are text alone: words are pairs
    return [{**one, "words": [*map(list, one["words"].items())]} if "words" in one else one for one in rows]


def _read(name: str, keys: Any) -> Any:
    """A list as it stands, or the facts of each key of a table, with their codecs."""
    if isinstance(keys, list):
        return keys
    rows = {key: _facts(name, key, said) for key, said in keys.items()}
    return {key: [[one["fact"], one.get("as", "plain")] for one in several] for key, several in rows.items()}


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
