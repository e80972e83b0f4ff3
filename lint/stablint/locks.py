"""Releases that a project has pinned: uv.lock, poetry.lock, requirements*.txt and pyproject.toml, from a config's folder up to the root.

Within a folder a lock file knows better than a requirement; a nearer folder knows better than one above. Lock files are read line by line
(both have one `name` and one `version` line a package): parsing TOML would cost more than the whole check.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stablint.run.releases import Releases

_LARGEST = 20_000_000
# Texts, not compiled: most projects have none of these files, and a pattern costs more than the look for them.
_PACKAGE = r"(?m)^\[\[package\]\]\s*$\n((?:(?!\[).*\n?)*)"
_NAME = r'(?m)^name = "([^"]+)"'
_VERSION = r'(?m)^version = "([^"+]+)'
_REQUIREMENT = (
    r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?((?:===|==|~=|!=|<=|>=|<|>)[^;#()]*)\)?\s*(?:;.*)?(?:#.*)?\Z"
)
_PROJECT = r"(?ms)^\[project\]\s*$(.*?)(?=^\[|\Z)"
_ARRAY = r"(?ms)^\s*dependencies\s*=\s*\[(.*?)\s*\]\s*(?:#[^\n]*)?$"
_QUOTED = r"\"([^\"\n]*)\"|'([^'\n]*)'"
_REQUIRES = r"\brequire_version\(\s*[\"']([^\"'\n]+)[\"']"
_LOCAL = r"\+[A-Za-z0-9._]+"


class Pin(NamedTuple):
    """What a file says about a library's releases."""

    specifier: str
    file: str


def stated(folder: str, root: str, read: dict[str, dict[str, Pin]]) -> dict[str, Pin]:
    """By library, of the libraries that stablint knows. Files outside `root` are not read, links included.

    `read` remembers the folders that were looked at: a thousand configs below one lock file read it once.
    """
    folder = os.path.normpath(folder)
    if folder not in read:
        inside, here = os.path.join(os.path.realpath(root), ""), os.path.join(os.path.realpath(folder), "")
        if not here.startswith(inside):
            read[folder] = {}
        else:
            parent = os.path.dirname(folder)
            above = {} if here == inside or parent == folder else stated(parent, root, read)
            read[folder] = {**above, **_of_folder(folder, inside)}
    return read[folder]


def _of_folder(folder: str, inside: str) -> dict[str, Pin]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return {}
    requirements = [name for name in names if name.startswith("requirements") and name.endswith(".txt")]
    found: dict[str, Pin] = {}
    for kind in (("uv.lock", "poetry.lock"), requirements, ("pyproject.toml",)):
        said = [
            (library, Pin(specifier, os.path.join(folder, name)))
            for name in kind
            if name in names
            for library, specifier in _pairs(name, _text(folder, name, inside))
        ]
        for library in dict.fromkeys(library for library, _ in said):
            agreed = _agreed(library, [pin for name, pin in said if name == library])
            if agreed is not None and library not in found:
                found[library] = agreed
    return found


def _pairs(name: str, text: str) -> Iterable[tuple[str, str]]:
    if name.endswith(".lock"):
        return _locked(text)
    return _required(text.splitlines() if name.endswith(".txt") else _dependencies(text))


# In a notebook the command stands in a JSON string, which ends or breaks its line at a quote or a backslash.
_INSTALLS = r"pip3?\s+install\s+((?:[^\\\n\"]|\\\")*)"
_BARE = r"[A-Za-z][A-Za-z0-9._-]*(?:\[[^\]]*\])?\Z"
_ASKED = r"([A-Za-z][A-Za-z0-9._-]*)(?:\[[^\]]*\])?((?:===|==|~=|!=|<=|>=|<|>)[0-9][0-9A-Za-z.,*<>=!~]*)"


def installed(text: str, path: str) -> dict[str, Pin]:
    """What a notebook or a script installs by itself before it trains (`!pip install trl==0.22.2`)."""
    if "install" not in text:
        return {}
    said = [
        (library, Pin(specifier.rstrip(","), path))
        for command in re.findall(_INSTALLS, text)
        for name, specifier in re.findall(_ASKED, command)
        if (library := _library(name))
    ]
    agreed = {name: _agreed(name, [pin for other, pin in said if other == name]) for name, _ in said}
    return {name: pin for name, pin in agreed.items() if pin is not None}


def installed_as_they_come(text: str) -> set[str]:
    """What a notebook installs without a word on the release: the newest of its day, whatever the repository pins."""
    if "install" not in text:
        return set()
    words = [
        word
        for command in re.findall(_INSTALLS, text)
        for word in re.split(r"[\s'\"]+", command)
        if re.match(_BARE, word)
    ]
    return {library for word in words if (library := _library(word.partition("[")[0]))}


def required(text: str, path: str) -> dict[str, Pin]:
    """What a program asks for by transformers' `require_version("trl>=0.8.6,<=0.9.6")` before it goes on."""
    if "require_version(" not in text:
        return {}
    said = [(name, Pin(specifier, path)) for name, specifier in _required(re.findall(_REQUIRES, text))]
    agreed = {name: _agreed(name, [pin for other, pin in said if other == name]) for name, _ in said}
    return {name: pin for name, pin in agreed.items() if pin is not None}


def _agreed(library: str, pins: list[Pin]) -> Pin | None:
    """All of them together, if a release satisfies them; two environments that contradict each other say nothing."""
    text = ",".join(dict.fromkeys(pin.specifier for pin in pins))
    try:
        Releases.known().restrict(library, text)
    except ValueError:
        return None
    return pins[0]._replace(specifier=text)


def _locked(text: str) -> Iterator[tuple[str, str]]:
    for package in re.finditer(_PACKAGE, text):
        name, version = re.search(_NAME, package[1]), re.search(_VERSION, package[1])
        if name and version and (library := _library(name[1])):
            yield library, f"=={version[1]}"


def _required(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        match = re.match(_REQUIREMENT, re.sub(_LOCAL, "", line.partition(" #")[0].strip().rstrip("\\").strip()))
        if match and (library := _library(match[1])):
            yield library, match[2].strip()


def _dependencies(text: str) -> list[str]:
    """The strings of `dependencies = […]` of the project itself."""
    section = re.search(_PROJECT, text)
    array = re.search(_ARRAY, section[1]) if section else None
    return [one or other for one, other in re.findall(_QUOTED, array[1])] if array else []


def _library(name: str) -> str:
    library = re.sub(r"[-_.]+", "-", name).lower()
    return library if library in Releases.known().libraries() else ""


def _text(folder: str, name: str, inside: str) -> str:
    path = os.path.join(folder, name)
    real = os.path.realpath(path)
    try:
        if not real.startswith(inside) or not os.path.isfile(real) or os.path.getsize(real) > _LARGEST:
            return ""
        with open(real, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
