"""The compiled knowledge, one file a need: JSON, or rows of which a check reads those that it asks for. In a checkout it is compiled again
when a YAML under knowledge/ is newer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

from stablint.base.light import Any
from stablint.compiling import compile

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMPILED = os.path.join(_PACKAGE, "_compiled")
SOURCES = os.path.join(os.path.dirname(os.path.dirname(_PACKAGE)), "knowledge")


class BrokenKnowledge(ValueError):
    """A file under knowledge/ is not as its model says: the text names it."""


_loaded: dict[str, Any] = {}
_fresh = False


class MissingKnowledge(Exception):
    """The compiled knowledge is not where it should be: the installation is broken."""


def load(name: str) -> Any:
    """The content of `_compiled/<name>.json`, read once a process; None where a file of that name does not exist."""
    if name not in _loaded:
        content = _content(name + ".json")
        if content is None and not os.path.isdir(COMPILED):
            raise MissingKnowledge(f"{COMPILED} does not exist: reinstall stablint")
        _loaded[name] = None if content is None else json.loads(content)
    return _loaded[name]


class Rows(Mapping[str, Any]):
    """A table whose rows are parsed when they are asked for. A line is a key, a tab, and what it stands for as JSON."""

    def __init__(self, text: bytes) -> None:
        self._text = b"\n" + text
        self._known: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self._known:
            head = b"\n%s\t" % key.encode("utf-8", "surrogatepass")
            at = self._text.find(head) if "\n" not in key else -1
            end = self._text.find(b"\n", at + 1)
            self._known[key] = json.loads(self._text[at + len(head) : end]) if at >= 0 else None
        found = self._known[key]
        return default if found is None else found

    def whole(self) -> dict[str, Any]:
        """All rows, for who goes through them."""
        found: dict[str, Any] = {}
        for line in self._text[1:].splitlines():
            key, _, value = line.partition(b"\t")
            name = key.decode("utf-8", "surrogatepass")
            found[name] = self._known.get(name) or self._known.setdefault(name, json.loads(value))
        return found

    def __iter__(self) -> Iterator[str]:
        return (line.partition(b"\t")[0].decode() for line in self._text.split(b"\n") if line)

    def __len__(self) -> int:
        return self._text.count(b"\n") - 1


def rows(name: str) -> Rows:
    """The content of `_compiled/<name>.rows`."""
    key = name + ".rows"
    if key not in _loaded:
        _loaded[key] = Rows(_bytes(key))
    found: Rows = _loaded[key]
    return found


def lines(name: str) -> bytes:
    """The content of `_compiled/<name>.lines`: a JSON value a line."""
    key = name + ".lines"
    if key not in _loaded:
        _loaded[key] = _bytes(key)
    found: bytes = _loaded[key]
    return found


def _bytes(name: str) -> bytes:
    content = _content(name)
    if content is None:
        raise MissingKnowledge(f"{COMPILED} is not whole: reinstall stablint")
    return content


def _content(name: str) -> bytes | None:
    """None where the file does not exist."""
    if not _fresh:
        _refresh()
    path = os.path.join(COMPILED, name)
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        if os.path.isdir(COMPILED) or not os.path.isdir(os.path.join(SOURCES, "hazards")):
            return None
    _compile()  # another process has just taken the folder away, to put its own there
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


_CODE = (os.path.join(_PACKAGE, "compiling"), os.path.join(_PACKAGE, "schema"))  # what makes the tables of the sources


def _refresh() -> None:
    """In a checkout, compile when the newest source is younger than the stamp; an installed package has no sources beside it."""
    global _fresh
    _fresh = True
    if not os.path.isdir(os.path.join(SOURCES, "hazards")):
        return
    try:
        stamp = os.stat(os.path.join(COMPILED, "stamp")).st_mtime
    except FileNotFoundError:
        stamp = 0.0
    if any(_newest(folder) > stamp for folder in (SOURCES, *_CODE)):
        _compile()


def _compile() -> None:
    try:
        compile.compile_all(SOURCES, COMPILED)
    except ValueError as error:
        lines = [line.strip() for line in str(error).splitlines() if "errors.pydantic.dev" not in line]
        raise BrokenKnowledge(f"knowledge/{'; '.join(lines)}") from error


def _newest(folder: str) -> float:
    """The latest change below a folder; a removed file shows in its folder's own time."""
    newest = os.stat(folder).st_mtime
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == "__pycache__":
                continue
            changed = _newest(entry.path) if entry.is_dir() else entry.stat().st_mtime
            newest = max(newest, changed)
    return newest
