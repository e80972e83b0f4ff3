"""Releases merged into spans, and the files that hold them: knowledge/releases/<library>.json, one line a field.

`releases` are the releases that were read, oldest first; a span runs from `since` to `last` among these, and a span without `last`
reaches the newest one. Whatever lies between two releases that were read has the boundary at the later one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from packaging.version import Version

# one release: {"classes": {name: {"module", "bases", "kind", "settled", "fields"}}, "enums": {name: values}}
Release = dict[str, Any]
TRACKS = ("module", "bases", "settled")


def merge(library: str, releases: dict[str, Release]) -> dict[str, Any]:
    """All releases of a library as one document of spans."""
    order = sorted(releases, key=Version)
    classes: dict[str, Any] = {}
    for name in sorted({n for r in releases.values() for n in r["classes"]}):
        readings = [releases[v]["classes"].get(name) for v in order]
        kind = next(r["kind"] for r in reversed(readings) if r is not None)
        entry: dict[str, Any] = {"kind": kind, "present": _spans(order, [None if r is None else {} for r in readings])}
        for track in TRACKS:
            spans = _spans(order, [None if r is None or not r.get(track) else {"is": r[track]} for r in readings])
            if spans:
                entry[track] = spans
        names = sorted({f for r in readings if r for f in r["fields"]})
        entry["fields"] = {f: _spans(order, [r["fields"].get(f) if r else None for r in readings]) for f in names}
        classes[name] = entry
    enums = {
        name: _spans(
            order, [{"values": r["enums"][name]} if name in r["enums"] else None for r in (releases[v] for v in order)]
        )
        for name in sorted({n for r in releases.values() for n in r["enums"]})
    }
    return {"library": library, "releases": order, "enums": enums, "classes": classes}


def _spans(order: list[str], values: list[dict[str, Any] | None]) -> list[dict[str, Any]]:
    spans: list[dict[str, Any]] = []
    current: str | None = None
    for version, value in zip(order, values, strict=True):
        key = None if value is None else json.dumps(value, sort_keys=True)
        if value is not None and key != current:
            spans.append({"since": version, "last": version, **value})
        elif value is not None:
            spans[-1]["last"] = version
        current = key
    if spans and spans[-1]["last"] == order[-1]:
        del spans[-1]["last"]
    return spans


def at(spans: list[dict[str, Any]], order: list[str], version: str) -> dict[str, Any] | None:
    """The span that covers a release that was read."""
    place = order.index(version)
    for span in spans:
        last = order.index(span["last"]) if "last" in span else len(order) - 1
        if order.index(span["since"]) <= place <= last:
            return span
    return None


def expand(document: dict[str, Any]) -> dict[str, Release]:
    """The releases that were merged, apart again."""
    order = document["releases"]

    def payload(spans: list[dict[str, Any]], version: str) -> dict[str, Any] | None:
        span = at(spans, order, version)
        return None if span is None else {k: v for k, v in span.items() if k not in ("since", "last")}

    releases: dict[str, Release] = {}
    for version in order:
        classes: dict[str, Any] = {}
        for name, entry in document["classes"].items():
            if at(entry["present"], order, version) is None:
                continue
            reading: dict[str, Any] = {"kind": entry["kind"], "fields": {}}
            for track in TRACKS:
                reading[track] = (payload(entry.get(track, []), version) or {}).get("is")
            for field, spans in entry["fields"].items():
                value = payload(spans, version)
                if value is not None:
                    reading["fields"][field] = value
            classes[name] = reading
        enums = {n: v["values"] for n, s in document["enums"].items() if (v := payload(s, version)) is not None}
        releases[version] = {"classes": classes, "enums": enums}
    return releases


def write(document: dict[str, Any], path: Path) -> None:
    """As JSON, indented down to the field and one line below, so that a new release shows in a diff field by field."""
    lines = [
        "{",
        f' "library": {dump(document["library"])},',
        f' "releases": {dump(document["releases"])},',
        ' "enums": {',
    ]
    lines += _joined([f"  {dump(name)}: {dump(spans)}" for name, spans in document["enums"].items()])
    lines += [" },", ' "classes": {']
    blocks = []
    for name, entry in document["classes"].items():
        block = [f"  {dump(name)}: {{"]
        block += [f'   "{key}": {dump(value)},' for key, value in entry.items() if key != "fields"]
        block.append('   "fields": {')
        block += _joined([f"    {dump(field)}: {dump(spans)}" for field, spans in entry["fields"].items()])
        block.append("   }\n  }")
        blocks.append("\n".join(block))
    lines += [",\n".join(blocks), " }", "}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _joined(lines: list[str]) -> list[str]:
    return [line + "," for line in lines[:-1]] + lines[-1:]


def load(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document
