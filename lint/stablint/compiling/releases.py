"""knowledge/releases/ → what a run looks up: defaults and existence of a class's fields in one small file, types and choices in another.

Spans are written as `[first, last, …]`, indices into the library's releases, `last` -1 while it still holds.
"""

from __future__ import annotations

import json
from collections.abc import Container
from datetime import date
from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml
from stablint.run.releases.pep440 import matcher, minor_of, release_key

READS = ("releases",)

_NAMESPACE_CLASSES = ("TrainingArguments", "Seq2SeqTrainingArguments")
_EXTRA = ("ge", "gt", "le", "lt", "deprecated", "new_param", "block", "refused", "from_kwargs", "init")
Spans = list[list[Any]]
# How the annotation of a field is written that is only asked for its truth.
_SWITCH = frozenset(["bool", "bool | None", "Optional[bool]"])


def compile_releases(folder: Path) -> dict[str, object]:
    """Everything under `folder`/releases, by the name of the compiled file."""
    source = folder / "releases"
    libraries = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(source.glob("*.json"))]
    versions: dict[str, list[str]] = read_yaml(source / "versions.yaml")
    read = {document["library"]: document["releases"] for document in libraries}
    for name, releases in read.items():  # one that was just read need not be listed yet
        versions[name] = sorted({*versions.get(name, ()), *releases}, key=release_key)
    dates: dict[str, dict[str, date]] = read_yaml(source / "dates.yaml")
    bounds: dict[str, dict[str, dict[str, str]]] = read_yaml(source / "bounds.yaml")
    known = {name: read.get(name) or _offered(listed, bounds.get(name, {})) for name, listed in versions.items()} | read
    result: dict[str, object] = {
        "releases": known,
        "release-days": {
            name: [
                dates[name][version].toordinal() if version in dates.get(name, ()) else 0
                for version in map(str, listed)
            ]
            for name, listed in versions.items()
        },
        "release-keys": {name: [release_key(version) for version in listed] for name, listed in known.items()},
        "releases-all": versions,
        "release-keys-all": {name: [release_key(version) for version in listed] for name, listed in versions.items()},
        "releases-meant": {
            name: release_key(str(version)) for name, version in read_yaml(source / "meant.yaml").items()
        },
        "releases-read": list(read),
        "release-bounds": bounds,
        **{f"bounds/{name}": _first_and_last(rows, versions) for name, rows in bounds.items()},
        "spellings": read_yaml(source / "spellings.yaml"),
        "renames": _renames(read_yaml(source / "renames.yaml")),
    }
    classes = {f"{d['library']}.{name}" for d in libraries for name in d["classes"]}
    keys: dict[str, list[str]] = {}
    written: dict[str, dict[str, set[str]]] = {"training": {}, "lora": {}}
    for document in libraries:
        for name, entry in document["classes"].items():
            full = f"{document['library']}.{name}"
            result[f"fields/{full}"] = _fields(document, entry, classes)
            result[f"types/{full}"] = _types(document, entry)
            if entry["kind"] == "fields" and (document["library"] == "trl" or name in _NAMESPACE_CLASSES):
                for field, spans in entry["fields"].items():
                    keys.setdefault(field, []).append(full)
                    written["training"].setdefault(field, set()).update(str(span.get("type")) for span in spans)
            elif entry["kind"] == "fields" and document["library"] == "peft":
                for field, spans in entry["fields"].items():
                    written["lora"].setdefault(field, set()).update(str(span.get("type")) for span in spans)
    spellings: dict[str, dict[str, str]] = result["spellings"]  # type: ignore[assignment]
    spellings["deepspeed"] = {**_short_names(libraries), **spellings.get("deepspeed", {})}
    named = sorted({name for owners in keys.values() for name in owners})
    numbers = {name: index for index, name in enumerate(named)}
    result["field-names"] = sorted(
        {
            field.rpartition(".")[2]
            for one in libraries
            for entry in one["classes"].values()
            for field in entry["fields"]
        }
    )
    result["keys"] = {
        "classes": named,
        "keys": {field: [numbers[n] for n in owners] for field, owners in sorted(keys.items())},
        "switches": {
            namespace: sorted(field for field, types in fields.items() if types <= _SWITCH)
            for namespace, fields in written.items()
        },
    }
    return result


def _offered(listed: list[str], bounding: Container[str]) -> list[str]:
    """Of a library that only stands in ranges: every release if it counts by dates, else the newest of each minor, and those that bound
    others in their own way."""
    if listed and int(listed[-1].split(".")[0]) >= 2000:
        return listed
    newest = {tuple(version.split(".")[:2]): version for version in listed}.values()
    return [version for version in listed if version in newest or version in bounding]


def _span(document: dict[str, Any], span: dict[str, Any]) -> list[Any]:
    order = document["releases"]
    return [order.index(span["since"]), order.index(span["last"]) if "last" in span else -1]


def _track(document: dict[str, Any], entry: dict[str, Any], name: str) -> Spans:
    return [[*_span(document, span), span["is"]] for span in entry.get(name, [])]


def _merged(spans: Spans) -> Spans:
    """Neighbours that say the same become one. `1` and `1.0` are the same default, `1` and `true` are not."""
    result: Spans = []
    for span in spans:
        before = result[-1] if result else None
        if before and before[1] + 1 == span[0] and _same(before[2:], span[2:]):
            before[1] = span[1]
        else:
            result.append(span)
    return result


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _fields(document: dict[str, Any], entry: dict[str, Any], classes: set[str]) -> dict[str, Any]:
    bases = []
    for first, last, names in _track(document, entry, "bases"):
        owned = [f"transformers.{name}" for name in names if f"transformers.{name}" in classes]
        if owned:
            bases.append([first, last, owned])
    fields = {
        name: _merged([[*_span(document, span), *([span["default"]] if "default" in span else [])] for span in spans])
        for name, spans in entry["fields"].items()
    }
    content: dict[str, Any] = {"library": document["library"], "kind": entry["kind"]}
    content["present"] = [_span(document, span) for span in entry["present"]]
    content["bases"] = _merged(bases)
    settled = _track(document, entry, "settled")
    return {**content, **({"settled": settled} if settled else {}), "fields": fields}


def _types(document: dict[str, Any], entry: dict[str, Any]) -> dict[str, Spans]:
    """Field → [first, last, annotation, choices, what else is said]."""
    result: dict[str, Spans] = {}
    for name, spans in entry["fields"].items():
        rows: Spans = []
        for span in spans:
            extra = {key: span[key] for key in _EXTRA if key in span}
            for first, last, choices in _choices(document, span):
                rows.append(
                    [first, last, span.get("type"), choices, {**extra, "words": True} if "items" in span else extra]
                )
        rows = _merged(rows)
        result[name] = [row if row[4] else row[:4] for row in rows]
    return result


def _choices(document: dict[str, Any], span: dict[str, Any]) -> Spans:
    """The span, cut where the enumeration that it names changes."""
    first, last = _span(document, span)
    enum = span.get("enum") or span.get("items")
    if enum is None:
        return [[first, last, span.get("choices")]]
    end = len(document["releases"]) - 1
    cut: Spans = []
    for part in document["enums"].get(enum, []):
        low, high = _span(document, part)
        low, high = max(low, first), min(end if high < 0 else high, end if last < 0 else last)
        if low <= high:
            cut.append([low, high, part["values"]])
    if cut and last < 0 and cut[-1][1] == end:
        cut[-1][1] = -1
    return cut or [[first, last, None]]


def _short_names(libraries: list[dict[str, Any]]) -> dict[str, str]:
    """DeepSpeed's models take a field by its name in the source as well as by its name in the JSON."""
    short: dict[str, str] = {}
    for document in libraries:
        for path, spans in document["classes"].get("json", {"fields": {}})["fields"].items():
            for span in spans:
                if "short" in span:
                    short[".".join([*path.split(".")[:-1], span["short"]])] = path
    return short


def _first_and_last(rows: dict[str, dict[str, str]], versions: dict[str, list[str]]) -> dict[str, object]:
    """What the releases of a framework take of each library: the first and the last minor release of which some listed release satisfies the
    specifier, None where none does."""
    taken = []
    for row in rows.values():
        found = {}
        for library, specifier in row.items():
            if not specifier:
                continue
            test = matcher(specifier)
            minors = [minor_of(key) for version in versions.get(library, ()) if test(key := release_key(str(version)))]
            found[library] = [min(minors), max(minors)] if minors else None
        taken.append(found)
    return {"releases": [release_key(release) for release in rows], "taken": taken}


def _renames(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for row in rows:
        said = {
            key: row[key]
            for key in ("new", "kind", "deprecated_in", "removed_in", "values", "note", "source")
            if row.get(key) is not None
        }
        for name in row["class"] if isinstance(row["class"], list) else [row["class"]]:
            table.setdefault(f"{row['library']}.{name}", {})[row["old"]] = {"new": None, **said}
    return table
