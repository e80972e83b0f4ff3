"""The words of the libraries: names of settings, and the parts of their names and values. What is neither may be anybody's secret."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml
from stablint.run.framework import Framework

READS = (
    "advice", "frameworks", "gpus", "hazards", "keys", "knobs.yaml", "messages", "models", "open_settings.yaml", "releases", "shipped.yaml",
    "words.json", "words_for_secrets.txt", "words_of_comments.txt",
)  # fmt: skip

_SOURCES = (
    "releases/*.json", "keys/*", "words.json", "frameworks/*", "gpus/*", "shipped.yaml", "knobs.yaml",
)  # fmt: skip
_CALLED = ("models/*",)
"""Names of models are words that anybody may think of: `firefly`. They stay where a model is named."""
_ONE_WORD = re.compile(r"[a-z][a-z0-9]*\Z")
_OF_TABLES = frozenset(
    re.findall(
        r"\w+",
        "args capabilities choices commands default env ge gt help is key keys kind last le library lt names not options other present proxies refused releases"
        " required settled shapes short since token tokens user value values",
    )
)
"""Keys of our own tables, or too general to name a setting of a library."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROSE = re.compile(r"[A-Za-z]{3,}")
_PART = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")


def _names(sources: Path, patterns: Iterable[str]) -> set[str]:
    return {
        name
        for pattern in patterns
        for path in sorted(sources.glob(pattern))
        if path.is_file()
        for name in _NAME.findall(path.read_text(encoding="utf-8"))
    }


def _parts(names: set[str]) -> set[str]:
    return {part.lower() for name in names for part in _PART.findall(name) if len(part) > 2}


def _keys(tree: Any) -> Iterator[str]:
    """Keys of one word, at any depth: `optim`, `lr`."""
    if isinstance(tree, dict):
        for key, below in tree.items():
            if _ONE_WORD.match(key) and key not in _OF_TABLES:
                yield key
            yield from _keys(below)
    elif isinstance(tree, list):
        for below in tree:
            yield from _keys(below)


_PLAIN_TYPES = frozenset({"bool", "int", "float", "None"})


def _closed(sources: Path) -> dict[str, str]:
    """Settings that take numbers, truth values, members of an enumeration or words of a list, whichever class has one of that name; and the words."""
    types: dict[str, set[str]] = {}
    members: dict[str, set[str]] = {}
    enumerated: dict[str, set[str]] = {}
    for path in sorted(sources.glob("releases/*.json")):
        library = json.loads(path.read_text(encoding="utf-8"))
        enums = {
            name: {str(value) for row in rows for value in row["values"]}
            for name, rows in library.get("enums", {}).items()
        }
        for one in library.get("classes", {}).values():
            for name, rows in one.get("fields", {}).items():
                for row in rows:
                    kinds = {part.strip() for part in row.get("type", "").split("|")}
                    if row.get("enum") in enums:
                        members.setdefault(name, set()).update(enums[row["enum"]])
                        enumerated.setdefault(name, set()).add(row["enum"])
                        kinds -= {row["enum"], "str"}
                    types.setdefault(name, set()).update(kinds)
    words = json.loads((sources / "words.json").read_text(encoding="utf-8"))
    lists = {
        key: {word for span in row["spans"] for word in span["words"]} for key, row in words.items() if "." not in key
    }
    taken = {name: set[str]() for name, kinds in types.items() if kinds <= _PLAIN_TYPES}
    taken |= {
        name: those for name, those in members.items() if types[name] <= _PLAIN_TYPES or enumerated[name] & set(lists)
    }
    taken |= {name: those for name, those in lists.items() if name == name.lower()}
    return {name: " ".join(sorted(those | members.get(name, set()))) for name, those in taken.items()}


def _said_in_comments(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            yield from line.split()


def _said_of_secrets(path: Path) -> list[str]:
    """Each word once, without marks over capitals that not all who write in capitals set."""
    rows = [
        line.partition(":")[2] for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    return sorted({word.strip() for row in rows for word in row.split("|")})


def compile_vocabulary(sources: Path) -> dict[str, object]:
    names = _names(sources, _SOURCES) - {name for name in Framework._fields if "_" in name}
    parts = _parts(names)
    settings = {name for name in names if "_" in name.strip("_") and name == name.lower() and len(name) < 60}
    for path in (*sorted(sources.glob("keys/*.json")), *sorted(sources.glob("releases/*.json"))):
        settings |= set(_keys(json.loads(path.read_text(encoding="utf-8"))))
    for table in read_yaml(sources / "keys" / "kinds.yaml").values():
        settings |= set(table)
    opened = read_yaml(sources / "open_settings.yaml")
    settings |= {name for row in opened["settings"] for name in row["names"]}
    prose = {
        word.lower()
        for pattern in ("hazards/**/*.yaml", "advice/**/*.yaml", "messages/**/*.yaml")
        for path in sorted(sources.glob(pattern))
        for word in _PROSE.findall(path.read_text(encoding="utf-8"))
    }
    prose |= set(opened["prose"].split()) | set(_said_in_comments(sources / "words_of_comments.txt"))
    return {
        "vocabulary": {
            "words": " ".join(sorted(parts)),
            "called": " ".join(sorted(_parts(_names(sources, _CALLED)) - parts)),
            "settings": " ".join(sorted(settings)),
            "prose": " ".join(sorted(prose - parts)),
            "of_secrets": _said_of_secrets(sources / "words_for_secrets.txt"),
            "closed": _closed(sources),
            "environment": " ".join(sorted(name.lower() for row in opened["environment"] for name in row["prefixes"])),
        }
    }
