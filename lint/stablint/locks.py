"""Releases that a project has pinned: uv.lock, poetry.lock, requirements*.txt and pyproject.toml, from a config's folder up to the root.

Within a folder a lock file knows better than a requirement; a nearer folder knows better than one above. Lock files are read line by line
(both have one `name` and one `version` line a package): parsing TOML would cost more than the whole check.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stablint.pins import commands
from stablint.pins.requirement import ANY, UNREAD, library_of, requirement
from stablint.run.releases import EITHER, Releases

_LARGEST = 20_000_000
_MOST_PINS = 50  # of one library: no release satisfies so many that differ
# Texts, not compiled: most projects have none of these files, and a pattern costs more than the look for them. Every one of them is tried
# at one place of a line or a word, so that no text takes more than its length.
_NAME = r'name = "([^"]+)"'
_VERSION = r'version = "([^"+]+)'
_ARRAY = r"[ \t]*dependencies[ \t]*=[ \t]*\["
_IN_ARRAY = r"\"([^\"\n]*)\"|'([^'\n]*)'|#[^\n]*|(\])"
_REQUIRES = r"\brequire_version\(\s*[\"']([^\"'\n]+)[\"']"


class Pin(NamedTuple):
    """What a file says about a library's releases."""

    specifier: str  # alternatives are separated by `EITHER`; `UNREAD` where a commit is named, `ANY` where nothing more than the name
    file: str
    presumed: bool = False  # said where it need not be what runs


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
            one
            for name in kind
            if name in names
            for one in _said(_requirements(name, _text(folder, name, inside)), os.path.join(folder, name))
        ]
        for library, pin in _agreeing(said).items():
            found.setdefault(library, pin)
    return found


def _requirements(name: str, text: str) -> Iterable[str]:
    if name.endswith(".lock"):
        return _locked(text)
    return _required(text.splitlines() if name.endswith(".txt") else _dependencies(text))


def installed(text: str, path: str) -> dict[str, Pin]:
    """What a notebook or a script installs by itself before it trains (`!pip install trl==0.22.2`), command after command.

    A bare name stands without a specifier: it takes the newest release of its day, whatever the repository pins.
    """
    found = commands.installed(text, path.endswith(".ipynb"))
    pins: dict[str, Pin] = {}
    for library, specifiers in found.specifiers.items():
        pin = _agreed([Pin(one, path, library in found.presumed) for one in specifiers], library)
        if pin is not None:
            pins[library] = pin
    return pins


def required(text: str, path: str) -> dict[str, Pin]:
    """What a program asks for by transformers' `require_version("trl>=0.8.6,<=0.9.6")` before it goes on."""
    if "require_version(" not in text:
        return {}
    return _agreeing(_said(re.findall(_REQUIRES, text), path))


def _said(requirements: Iterable[str], path: str) -> Iterator[tuple[str, Pin]]:
    for text in requirements:
        found = requirement(text)
        if found is not None and found.specifier != ANY:
            yield found.library, Pin(found.specifier, path)


def _agreeing(said: Iterable[tuple[str, Pin]]) -> dict[str, Pin]:
    """What is said of each library."""
    pins: dict[str, list[Pin]] = {}
    for library, pin in said:
        pins.setdefault(library, []).append(pin)
    agreed = {library: _agreed(found, library) for library, found in pins.items()}
    return {library: pin for library, pin in agreed.items() if pin is not None}


def _agreed(pins: list[Pin], library: str) -> Pin | None:
    """All of them together, if a release satisfies them; else any of them: two environments, or one installed after the other."""
    different = list(dict.fromkeys(pin.specifier for pin in pins))
    if UNREAD in different or ANY in different:
        return pins[0]._replace(specifier=UNREAD if UNREAD in different else ANY)
    if len(different) > _MOST_PINS:
        return None
    for text in (",".join(different), EITHER.join(different)):
        try:
            Releases.known().restrict(library, text)
        except ValueError:
            continue
        return pins[0]._replace(specifier=text)
    return None


def _locked(text: str) -> Iterator[str]:
    inside, name = False, ""
    for line in text.splitlines():
        if line.startswith("["):
            inside, name = line.rstrip() == "[[package]]", ""
        elif inside and (found := re.match(_NAME, line)):
            name = found[1]
        elif inside and name and (found := re.match(_VERSION, line)):
            if library_of(name):
                yield f"{name}=={found[1]}"
            inside = False


def _required(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield " ".join(line.partition(" #")[0].split()).partition(" --hash")[0].rstrip("\\").rstrip()


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
