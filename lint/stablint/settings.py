"""The settings of a project: the nearest stablint.toml or pyproject.toml with `[tool.stablint]`, checked against its JSON Schema.

A project without any pays for a few `stat` calls; TOML is only read where there is something to read.
"""

from __future__ import annotations

import json
import os
import re
from importlib import import_module
from typing import Any, NamedTuple

NAMES = ("stablint.toml", "pyproject.toml")
_HERE = os.path.dirname(os.path.abspath(__file__))
_SCHEMAS = (os.path.join(_HERE, "schemas"), os.path.join(_HERE, "..", "..", "schemas"))  # of a wheel, of a checkout
_LONGEST_CHAIN = 20
_TABLE = r"(?m)^\s*\[\s*tool\s*\.\s*[\"']?stablint[\"']?\s*[\].]|^\s*tool\.stablint\b"
_HEADER = r"\s*\[(\[)?([^\[\]]+)\]"
_KEY = r"\s*([A-Za-z0-9_.\"'-]+)\s*="


Path = tuple["str | int", ...]


class BadSettings(Exception):
    """Settings that cannot be used: `stablint.toml:3: unknown setting …`."""


class Settings(NamedTuple):
    """`values` as in the file, kebab-case; `folder` is what its globs and paths are relative to."""

    path: str
    folder: str
    values: dict[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    @property
    def name(self) -> str:
        return shown_path(self.path, os.getcwd())

    def resolve(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.folder, path))


def nearest(folder: str, known: dict[str, str | None]) -> str | None:
    """The settings file that counts for a folder: the first on the way up, not above the repository. `known` remembers folders."""
    folder = os.path.abspath(folder)
    if folder not in known:
        known[folder] = _of_folder(folder)
        parent = os.path.dirname(folder)
        if known[folder] is None and parent != folder and not os.path.lexists(os.path.join(folder, ".git")):
            known[folder] = nearest(parent, known)
    return known[folder]


def _of_folder(folder: str) -> str | None:
    for name in NAMES:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and (name == "stablint.toml" or _has_table(path)):
            return path
    return None


def read(path: str, base: str | None = None) -> Settings:
    """Raises BadSettings with file and line for what is unreadable, unknown or of the wrong type."""
    values = _read(path, base or os.getcwd(), ())
    return Settings(path, os.path.dirname(os.path.abspath(path)), values)


def _read(path: str, base: str, chain: tuple[str, ...]) -> dict[str, Any]:
    from stablint.conform import faults

    shown = shown_path(path, base)
    if os.path.realpath(path) in chain or len(chain) > _LONGEST_CHAIN:
        raise BadSettings(f"{shown}: `extend` leads back to itself")
    text = _text(path, shown)
    head: Path = ("tool", "stablint") if os.path.basename(path) == "pyproject.toml" else ()
    values: Any = _parse(text, shown)
    for key in head:
        values = values.get(key, {}) if isinstance(values, dict) else {}
    for where, fault in faults(values, _schema()):
        raise BadSettings(f"{shown}:{line_of(text, (*head, *where))}: {fault}")
    folder = os.path.dirname(os.path.abspath(path))
    values = _absolute(values, folder) if chain else values
    if "extend" not in values:
        return dict(values)
    below = os.path.normpath(os.path.join(folder, os.path.expanduser(values["extend"])))
    return _merged(
        _read(below, base, (*chain, os.path.realpath(path))), {k: v for k, v in values.items() if k != "extend"}
    )


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Tables are merged key by key; every other value is replaced whole."""
    both = {
        key: {**below[key], **above[key]}
        for key in above
        if isinstance(above[key], dict) and isinstance(below.get(key), dict)
    }
    return {**below, **above, **both}


def _absolute(values: dict[str, Any], folder: str) -> dict[str, Any]:
    """Paths of an extended file are meant from its own folder."""
    moved = dict(values)
    for key in ("hazards", "exclude"):
        if key in moved:
            moved[key] = [_from(folder, one) for one in moved[key]]
    if "baseline" in moved:
        moved["baseline"] = _from(folder, moved["baseline"])
    if "per-path" in moved:
        moved["per-path"] = [
            {**row, "paths": [_from(folder, one) for one in row["paths"]]} for row in moved["per-path"]
        ]
    if "accept" in moved:
        moved["accept"] = [
            {**row, "file": _from(folder, row["file"])} if row.get("file") else row for row in moved["accept"]
        ]
    return moved


def _from(folder: str, path: str) -> str:
    return path if "/" not in path.rstrip("/") and "*" in path else os.path.join(folder, path)


def _text(path: str, shown: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"{shown}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from error


def _parse(text: str, shown: str) -> dict[str, Any]:
    try:
        toml = import_module("tomllib")
    except ModuleNotFoundError:  # Python 3.10
        toml = import_module("tomli")
    try:
        values: dict[str, Any] = toml.loads(text)
    except ValueError as error:
        line = re.search(r"line (\d+)", str(error))
        raise BadSettings(f"{shown}:{line[1] if line else text.count(chr(10)) + 1}: {error}") from error
    return values


def _has_table(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return False
    return "stablint" in text and re.search(_TABLE, text) is not None


def shown_path(path: str, base: str) -> str:
    """A path as the user sees it: relative to `base` where it lies below, with forward slashes."""
    absolute = os.path.abspath(path)
    inside = absolute.startswith(os.path.join(base, ""))
    return (os.path.relpath(absolute, base) if inside else absolute).replace(os.sep, "/")


def _schema() -> dict[str, Any]:
    for folder in _SCHEMAS:
        path = os.path.join(folder, "settings.schema.json")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                schema: dict[str, Any] = json.load(file)
            return schema
    raise BadSettings("settings.schema.json is missing: reinstall stablint")


def line_of(text: str, path: Path) -> int:
    """The line of a TOML text where a setting stands, or the table or list that it stands in. 1 if nothing of it is found."""
    best, best_length = 1, 0
    header: Path = ()
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.match(_HEADER, line):
            header = _parts(found[2])
            if found[1]:
                seen[found[2]] = seen.get(found[2], -1) + 1
                header = (*header, seen[found[2]])
            here = header
        elif found := re.match(_KEY, line):
            here = (*header, *_parts(found[1]))
        else:
            continue
        length = len(here) if path[: len(here)] == here else 0
        if length > best_length:
            best, best_length = number, length
    return best


def _parts(dotted: str) -> Path:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
