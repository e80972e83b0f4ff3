"""Copies of libraries that come before the installed ones: a folder that a program puts on the path before it imports them, or that a script
names in PYTHONPATH. A folder of the repository itself holds its own modules; what lies elsewhere may be a clone of any library."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from stablint.run.framework import BY_MODULE

_LIBRARIES = ("accelerate", "deepspeed", "peft", "transformers", "trl")
_NAMES = "|".join(_LIBRARIES)
_COPIED = (*_LIBRARIES, *BY_MODULE)
# A copy of a library by its name, wherever it comes.
_BY_NAME = rf"\bsys\.path\.(?:insert|append)\([^\n]{{0,120}}?[\"'/]({_NAMES})(?:/src)?/?[\"']"
_IN_A_SCRIPT = rf"\bPYTHONPATH=[^\s;]{{0,200}}?[/:\"'=]({'|'.join(_COPIED)})(?:/src)?/?(?=[\"':;\s]|$)"
# Folders beside the script that come first, by their names there: `PYTHONPATH=$PWD/fork:$PYTHONPATH`.
_FIRST = r"\bPYTHONPATH=[\"']?([^\s;\"'&|]{1,300})"
_BESIDE = r"(?:\$\{?PWD\}?/|\$\(pwd\)/|`pwd`/)?((?:\.{1,2}/){0,4}[A-Za-z][\w.-]*(?:/[\w.-]+){0,6})/?"
_PUT = r"^[ \t]*sys\.path\.(?:insert\(\s*\d\s*,|append\()\s*([^\n]{1,300})\)[ \t]*(?:#[^\n]*)?$"
# The one folder of a rented machine that its user's own files lie in.
_OF_THE_USER = ("/content", "/kaggle", "/workspace")
_IMPORTED = rf"^[ \t]*(?:from|import)[ \t]+({_NAMES})\b"
_TEXT = r"[\"']([^\"'\n]{1,200})[\"']"
_NAMED = r"(?:str\()?(\w{1,80})\)?"
_FROM_OUTSIDE = r"\benviron\b|\bgetenv\(|\bargs\.|\bargv\b|\bhome\(\)|expanduser"
_MOST_ABOVE = 6  # folders above a program that its repository may reach up to


def before_the_installed(text: str, path: str) -> set[str]:
    """The libraries whose copy, of which no release is known, a program or a script may take in the place of the installed one."""
    found: set[str] = set()
    if "sys.path" in text:
        found |= set(re.findall(_BY_NAME, text))
        for one in re.finditer(_PUT, text, re.MULTILINE):
            if _leads_out(text[: one.start()], one[1], path):
                found |= {name[1] for name in re.compile(_IMPORTED, re.MULTILINE).finditer(text, one.end())}
    if "PYTHONPATH" in text:
        found |= set(re.findall(_IN_A_SCRIPT, text, re.MULTILINE))
        for one in re.finditer(_FIRST, text):
            for entry in one[1].split(":"):
                beside = re.fullmatch(_BESIDE, entry)
                found |= _held_by(beside[1], path) if beside is not None else set()
    return found


def _held_by(folder: str, path: str) -> set[str]:
    """The libraries of which a copy lies in a folder that a script names; any of them, where the folder is not at hand."""
    above = os.path.dirname(os.path.abspath(path))
    for _ in range(_MOST_ABOVE):
        place = os.path.join(above, *folder.split("/"))
        if os.path.isdir(place):
            return {name for name in _COPIED if os.path.isfile(os.path.join(place, name, "__init__.py"))}
        if os.path.lexists(os.path.join(above, ".git")) or above == os.path.dirname(above):
            break
        above = os.path.dirname(above)
    return set(_COPIED)


def _leads_out(above: str, given: str, path: str) -> bool:
    """Whether the folder is none of the repository: it is called as no folder in sight is, or nobody at hand says it."""
    names = list(_words(above, given, 0))
    if any(re.search(_FROM_OUTSIDE, one) for one in names):
        return True
    folders = [one for name in names for one in re.findall(_TEXT, name)]
    if any(one.startswith(_OF_THE_USER) for one in folders):
        return False
    parts = [part for folder in folders for part in folder.replace("\\", "/").split("/") if part.strip(". ")]
    return bool(parts) and "__file__" not in parts[-1] and not _is_in_sight(parts[-1], path)


def _words(above: str, given: str, depth: int) -> Iterator[str]:
    """The expression, and what the name stands for that it consists of."""
    yield given
    name = re.fullmatch(_NAMED, given.strip())
    if name is not None and depth < 3:
        said = re.findall(rf"^[ \t]*{name[1]}[ \t]*=[ \t]*([^=\n][^\n]{{0,300}})$", above, re.MULTILINE)
        if said:
            yield from _words(above, said[-1], depth + 1)


def _is_in_sight(folder: str, path: str) -> bool:
    """Whether a folder of this name lies beside the program or above it, or is one of those above."""
    above = os.path.dirname(os.path.abspath(path))
    for _ in range(_MOST_ABOVE):
        if os.path.basename(above) == folder or os.path.isdir(os.path.join(above, folder)):
            return True
        if os.path.lexists(os.path.join(above, ".git")) or above == os.path.dirname(above):
            return False
        above = os.path.dirname(above)
    return False
