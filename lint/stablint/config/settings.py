"""The settings of a project: the nearest stablint.toml or pyproject.toml with `[tool.stablint]`, checked against its JSON Schema.

A project without any pays for a few `stat` calls; TOML is only read where there is something to read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module

from stablint.base import consulted
from stablint.base.language import told
from stablint.base.light import Any, NamedTuple
from stablint.config import schema_check
from stablint.syntax import text as source_text

NAMES = ("stablint.toml", "pyproject.toml")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SCHEMAS = (
    os.path.join(_PACKAGE, "schemas"),
    os.path.join(_PACKAGE, "..", "..", "schemas"),
)  # of a wheel, of a checkout
_LONGEST_CHAIN = 20
LARGEST = 1_000_000
"""Bytes of the largest settings file that is read, a pyproject.toml included."""

_DOTS = 100  # of one key; the readers of TOML take time with the square of them
_DEEPEST = 20  # parts of a dotted key that are told apart when its line is looked for
# Both are matched against the beginning of one line without its indentation: a pattern that looks for a line is quadratic on blank ones.
_TABLE = r"\[{1,2}\s*[\"']?tool[\"']?\s*\.\s*[\"']?stablint[\"']?\s*[\].]|tool\s*\.\s*stablint\b"
_HEADER = r"\s*\[(\[)?([^\[\]]+)\]"
_KEY = r"\s*([A-Za-z0-9_.\"'-]+)\s*="


Path = tuple["str | int", ...]


class BadSettings(Exception):
    """Settings that cannot be used: `stablint.toml:3: unknown setting …`."""


class Settings(NamedTuple):
    """`values` as in the file, kebab-case; `folder` is what its globs and paths are relative to; `text` is that of the file itself.

    `said`: file and line of each setting, and of those one table down (`house.packages`), of the files that it extends as well."""

    path: str
    folder: str
    values: dict[str, Any]
    text: str = ""
    said: dict[str, str] = {}  # noqa: RUF012

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    @property
    def name(self) -> str:
        return shown_path(self.path, os.getcwd())

    def resolve(self, path: str) -> str:
        return _resolved(self.folder, path)

    def line(self, *where: str | int) -> int:
        return line_of(self.text, (*self.head, *where))

    def place(self, *where: str | int) -> str:
        """File and line that say a setting, `stablint.toml:3`: its own line, or that of the table where a file that this one extends says it."""
        names = [str(one) for one in where]
        known = self.said.get(".".join(names[:2])) or self.said.get(names[0], "")
        own = f"{self.name}:{self.line(*where)}"
        return known if known and known.rpartition(":")[0] != self.name else own

    @property
    def head(self) -> tuple[str, ...]:
        """The table that holds them."""
        return _head(self.path)


def nearest(folder: str, known: dict[str, str | None]) -> str | None:
    """The settings file that counts for a folder: the first on the way up, not above the repository. `known` remembers folders."""
    folder = os.path.abspath(folder)
    climbed: list[str] = []
    found = None
    while found is None and folder not in known:
        climbed.append(folder)
        found, parent = _of_folder(folder), os.path.dirname(folder)
        if parent == folder or os.path.lexists(os.path.join(folder, ".git")):
            break
        folder = parent
    else:
        found = found or known[folder]
    known.update(dict.fromkeys(climbed, found))
    return found


def _of_folder(folder: str) -> str | None:
    for name in NAMES:
        path = os.path.join(folder, name)
        # One that is a broken link or a pipe is told when it is read: it is not as if there were none.
        if os.path.lexists(path) if name == "stablint.toml" else os.path.isfile(path) and _has_table(path):
            return path
    return None


def read(path: str, base: str | None = None, root: str | None = None) -> Settings:
    """Raises BadSettings with file and line for what is unreadable, unknown or of the wrong type.

    With `root`, a folder, so is what lies outside of it, links followed: the file itself, and every file and folder that it names.
    """
    base = base or os.getcwd()
    said: dict[str, str] = {}
    values = _read(path, base, root, (), said)
    return Settings(path, os.path.dirname(os.path.abspath(path)), values, text_of(path, shown_path(path, base)), said)


def _read(path: str, base: str, root: str | None, chain: tuple[str, ...], said: dict[str, str]) -> dict[str, Any]:
    """The values of a file laid over those that it extends. `said` takes the place of each that no file above it has said."""
    shown = shown_path(path, base)
    if os.path.realpath(path) in chain or len(chain) > _LONGEST_CHAIN:
        raise BadSettings(f"{shown}: `extend` leads back to itself")
    if root is not None and not within(path, root):
        raise BadSettings(f"{shown}: {outside('a link that leads')}")
    text = text_of(path, shown)
    head = _head(path)
    values: Any = parsed(text, shown)
    for key in head:
        values = values.get(key, {}) if isinstance(values, dict) else {}
    for where, fault in schema_check.faults(values, _schema()):
        raise BadSettings(f"{shown}:{line_of(text, (*head, *where))}: {told(fault)}")
    folder = os.path.dirname(os.path.abspath(path))
    if root is not None:
        for key, name in named(values):
            if not within(_resolved(folder, name), root):
                place = f"{shown}:{line_of(text, (*head, key))}"
                raise BadSettings(f"{place}: `{key}`: `{name}` {outside('leads')}")
    for where in _settings(values):
        said.setdefault(".".join(where), f"{shown}:{line_of(text, (*head, *where))}")
    values = _absolute(values, folder) if chain else values
    if "extend" not in values:
        return dict(values)
    below = _resolved(folder, values["extend"])
    if not os.path.isfile(below):
        place = f"{shown}:{line_of(text, (*head, 'extend'))}"
        there = (
            "is not a regular file"
            if os.path.exists(below)
            else "leads to nothing"
            if os.path.islink(below)
            else "does not exist"
        )
        raise BadSettings(f"{place}: `extend`: `{values['extend']}` {there}")
    return _merged(
        _read(below, base, root, (*chain, os.path.realpath(path)), said),
        {k: v for k, v in values.items() if k != "extend"},
    )


def _settings(values: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Every setting, and those of its table."""
    for key, value in values.items():
        yield (key,)
        if isinstance(value, dict):
            yield from ((key, inner) for inner in value)


def within(path: str, root: str) -> bool:
    """Whether a path leads, all links followed, to the folder `root` or to something in it."""
    return source_text.is_inside(path, root) or source_text.is_inside(os.path.join(path, "x"), root)


def _head(path: str) -> tuple[str, ...]:
    return ("tool", "stablint") if os.path.basename(path) == "pyproject.toml" else ()


def _resolved(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))


def named(values: dict[str, Any]) -> list[tuple[str, str]]:
    """The files and folders that settings name, with their keys."""
    found = [(key, values[key]) for key in ("extend", "baseline") if key in values]
    return [*found, *(("hazards", folder) for folder in values.get("hazards", ()))]


def outside(verb: str) -> str:
    """What to do about a path of a repository's settings that leads elsewhere."""
    return (
        f"{verb} out of the repository: settings that come with it name only what lies in it. "
        "Where you mean it, say so yourself: --allow-outside, --config FILE, or `trusted` in your own settings (docs/settings.md)"
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


def text_of(path: str, shown: str) -> str:
    """The text of a regular file of at most `LARGEST` bytes. Raises BadSettings for any other."""
    consulted.note(path)
    content = source_text.read(path, shown, LARGEST)
    if isinstance(content, source_text.Unreadable):
        raise BadSettings(f"{shown}: {content.problem.message}")
    return content.text


def parsed(text: str, shown: str) -> dict[str, Any]:
    """The values of a TOML text. Raises BadSettings with the line where it is none."""
    for number, line in enumerate(text.splitlines(), 1):
        dots = line.count(".")
        if dots > _DOTS and (line.partition("=")[0].count(".") > _DOTS or dots > 20 * _DOTS):  # a list may hold many
            raise BadSettings(f"{shown}:{number}: a key of more than {_DOTS} parts")
    try:
        toml = import_module("tomllib")
    except ModuleNotFoundError:  # Python 3.10
        toml = import_module("tomli")
    try:
        values: dict[str, Any] = toml.loads(text)
    except ValueError as error:
        place = re.search(r"line (\d+)", str(error))
        raise BadSettings(f"{shown}:{place[1] if place else text.count(chr(10)) + 1}: {error}") from error
    except RecursionError as error:
        raise BadSettings(f"{shown}: nested too deep") from error
    return values


def _has_table(path: str) -> bool:
    """Raises BadSettings for a file that is too large to be looked into."""
    content = source_text.read(path, path, LARGEST)
    if isinstance(content, source_text.Unreadable) and content.problem.kind == "too-large":
        raise BadSettings(f"{shown_path(path, os.getcwd())}: {content.problem.message}: --isolated reads no settings")
    text = content.text.text if isinstance(content, source_text.Unreadable) else content.text
    return "stablint" in text and any(
        re.match(_TABLE, line.lstrip()) for line in text.splitlines() if "stablint" in line
    )


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
    lines = _lines(text)
    for length in range(min(len(path), _DEEPEST), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


@lru_cache(maxsize=4)
def _lines(text: str) -> dict[Path, int]:
    """The first line of every table and key, by its path."""
    found: dict[Path, int] = {}
    header: Path = ()
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if head := re.match(_HEADER, line):
            header = _parts(head[2])
            if head[1]:
                seen[head[2]] = seen.get(head[2], -1) + 1
                header = (*header, seen[head[2]])
            found.setdefault(header, number)
        elif key := re.match(_KEY, line):
            found.setdefault((*header, *_parts(key[1])), number)
    return found


def _parts(dotted: str) -> Path:
    return tuple(part.strip().strip("\"'") for part in dotted.split(".", _DEEPEST)[:_DEEPEST])
