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
_MOST_PINS = 50  # of one library: no release satisfies so many that differ
# Texts, not compiled: most projects have none of these files, and a pattern costs more than the look for them. Every one of them is tried
# at one place of a line or a word, so that no text takes more than its length.
_NAME = r'name = "([^"]+)"'
_VERSION = r'version = "([^"+]+)'
_REQUIREMENT = (
    r"([A-Za-z0-9][A-Za-z0-9._-]*) ?(?:\[[^\]]*\])? ?\(?((?:===|==|~=|!=|<=|>=|<|>)[^;#()]*)\)? ?(?:;.*)?(?:#.*)?\Z"
)
_ARRAY = r"[ \t]*dependencies[ \t]*=[ \t]*\["
_IN_ARRAY = r"\"([^\"\n]*)\"|'([^'\n]*)'|#[^\n]*|(\])"
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
        for library, pin in _agreeing(said).items():
            found.setdefault(library, pin)
    return found


def _pairs(name: str, text: str) -> Iterable[tuple[str, str]]:
    if name.endswith(".lock"):
        return _locked(text)
    return _required(text.splitlines() if name.endswith(".txt") else _dependencies(text))


# In a notebook the command stands in a JSON string, which ends or breaks its line at a quote or a backslash.
_INSTALLS = r"pip3?\s+install\s+((?:[^\\\n\"]|\\\")*)"
_BETWEEN = r"[\s'\"\\()]+"
_BARE = r"[A-Za-z][A-Za-z0-9._-]*(?:\[[^\]]*\])?\Z"
_ASKED = r"([A-Za-z][A-Za-z0-9._-]*)(?:\[[^\]]*\])?((?:===|==|~=|!=|<=|>=|<|>)[0-9][0-9A-Za-z.,*<>=!~]*)"


def installed(text: str, path: str) -> dict[str, Pin]:
    """What a notebook or a script installs by itself before it trains (`!pip install trl==0.22.2`)."""
    if "install" not in text:
        return {}
    said = [
        (library, Pin(specifier.rstrip(","), path))
        for command in re.findall(_INSTALLS, text)
        for word in re.split(_BETWEEN, command)
        for name, specifier in (found.groups() for found in (re.match(_ASKED, word),) if found is not None)
        if (library := _library(name))
    ]
    return _agreeing(said)


def installed_as_they_come(text: str) -> set[str]:
    """What a notebook installs without a word on the release: the newest of its day, whatever the repository pins."""
    if "install" not in text:
        return set()
    words = [
        word for command in re.findall(_INSTALLS, text) for word in re.split(_BETWEEN, command) if re.match(_BARE, word)
    ]
    return {library for word in words if (library := _library(word.partition("[")[0]))}


def required(text: str, path: str) -> dict[str, Pin]:
    """What a program asks for by transformers' `require_version("trl>=0.8.6,<=0.9.6")` before it goes on."""
    if "require_version(" not in text:
        return {}
    said = [(name, Pin(specifier, path)) for name, specifier in _required(re.findall(_REQUIRES, text))]
    return _agreeing(said)


def _agreeing(said: Iterable[tuple[str, Pin]]) -> dict[str, Pin]:
    """What is said of each library, if all of it agrees."""
    pins: dict[str, list[Pin]] = {}
    for library, pin in said:
        pins.setdefault(library, []).append(pin)
    agreed = {library: _agreed(library, found) for library, found in pins.items()}
    return {library: pin for library, pin in agreed.items() if pin is not None}


def _agreed(library: str, pins: list[Pin]) -> Pin | None:
    """All of them together, if a release satisfies them; two environments that contradict each other say nothing."""
    different = list(dict.fromkeys(pin.specifier for pin in pins))
    if len(different) > _MOST_PINS:
        return None
    text = ",".join(different)
    try:
        Releases.known().restrict(library, text)
    except ValueError:
        return None
    return pins[0]._replace(specifier=text)


def _locked(text: str) -> Iterator[tuple[str, str]]:
    inside, name = False, ""
    for line in text.splitlines():
        if line.startswith("["):
            inside, name = line.rstrip() == "[[package]]", ""
        elif inside and (found := re.match(_NAME, line)):
            name = found[1]
        elif inside and name and (found := re.match(_VERSION, line)):
            if library := _library(name):
                yield library, f"=={found[1]}"
            inside = False


def _required(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        words = " ".join(line.partition(" #")[0].split()).rstrip("\\").rstrip()
        match = re.match(_REQUIREMENT, re.sub(_LOCAL, "", words))
        if match and (library := _library(match[1])):
            yield library, match[2].strip()


def _dependencies(text: str) -> list[str]:
    """The strings of `dependencies = […]` of the project itself."""
    inside, at = False, 0
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            if inside:
                break
            inside = line.rstrip() == "[project]"
        elif inside and (array := re.match(_ARRAY, line)):
            found: list[str] = []
            for token in re.compile(_IN_ARRAY).finditer(text, at + array.end()):
                if token[3]:
                    return found
                found += [token[1] or token[2]] if token[1] or token[2] else []
            break
        at += len(line)
    return []


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
