"""What git leaves alone: `.gitignore` files from the root of a repository down, and `.git/info/exclude`. Files that git tracks are not ignored,
whatever a pattern says (gitignore(5)). Every match takes at most pattern times name steps.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from functools import lru_cache

from stablint.base import consulted
from stablint.base.light import NamedTuple

_MOST = 1_000  # patterns of one file; behind them nothing is ignored, so that more is checked
_LONGEST = 200_000  # characters of one file
_DEEPEST = 40  # names in one pattern; no path that people make is as deep
_MOST_AT_ONCE = 4_000  # patterns that hold in one folder, of all files above it
_WILD = 100  # of these with several `**`, each of which may stand for any number of names
_LARGEST_INDEX = 50_000_000  # bytes
_CLASS = re.compile(r"\[(!|\^)?(\]?[^\]]*)\]")


class Rule(NamedTuple):
    """One pattern of the file in `folder`, as names between slashes; `anchored`: they begin in that folder."""

    folder: str
    names: tuple[str, ...]
    anchored: bool
    only_folders: bool
    keeps: bool  # `!`


class _Read(NamedTuple):
    path: str
    rules: tuple[Rule, ...]
    cut: bool  # not all of its patterns are among them


class Repository:
    """The patterns of one repository, and what of it is tracked."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.cut: list[str] = []  # the files of which not every pattern counts
        self._tracked: list[str] | None = None

    def above(self, folder: str) -> tuple[Rule, ...]:
        """The rules that hold in a folder by the files above it."""
        rules = self._bounded(_read(os.path.join(self.root, ".git", "info", "exclude"), self.root))
        current = self.root
        for name in os.path.relpath(folder, self.root).split(os.sep):
            if current == folder:
                break
            rules = self.of(current, rules)
            current = os.path.join(current, name)
        return rules

    def of(self, folder: str, above: tuple[Rule, ...] = ()) -> tuple[Rule, ...]:
        """Those that hold above and those of the folder's own file, as many as are looked at."""
        return self._bounded(_read(os.path.join(folder, ".gitignore"), folder), above)

    def _bounded(self, read: _Read, above: tuple[Rule, ...] = ()) -> tuple[Rule, ...]:
        """The first of them: what lies behind is as if it were not there, and a file more is looked at."""
        rules = (*above, *read.rules)[:_MOST_AT_ONCE]
        wild = [rule for rule in rules if rule.names.count("**") > 1]
        left_out = set(wild[_WILD:])
        kept = tuple(rule for rule in rules if rule not in left_out) if left_out else rules
        if read.cut or len(kept) < len(above) + len(read.rules):
            self.cut.append(read.path)
        return kept

    def ignores(self, path: str, is_folder: bool, rules: tuple[Rule, ...]) -> bool:
        name = os.path.basename(path)
        known: dict[str, bool] = {}  # a hostile tree has one pattern in each of a thousand folders above
        for rule in reversed(rules):
            if rule.only_folders and not is_folder:
                continue
            first = rule.names[0]
            if rule.anchored:
                found = _follow(rule.names, path[len(rule.folder) :].strip(os.sep).split(os.sep))
            elif first in known:
                found = known[first]
            else:
                found = known[first] = _fits(first, name)
            if found:
                return not rule.keeps and not self.tracks(path)
        return False

    def tracks(self, path: str, unsure: bool = True) -> bool:
        """Whether git has the file, or a file in the folder; `unsure` where the index is of a kind that is not read."""
        if self._tracked is None:
            self._tracked = _index(os.path.join(self.root, ".git", "index"))
        name = os.path.relpath(path, self.root).replace(os.sep, "/")
        if self._tracked == _EVERYTHING:
            return unsure
        return _begins(self._tracked, name) or _begins(self._tracked, name + "/")


def _read(path: str, folder: str) -> _Read:
    try:
        if not os.path.isfile(path):
            return _Read(path, (), False)
        consulted.note(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_LONGEST + 1)
    except OSError:
        return _Read(path, (), False)
    lines = text[:_LONGEST].split("\n")
    rules = tuple(rule for line in lines[:_MOST] if (rule := _rule(line, folder)) is not None)
    cut = len(text) > _LONGEST or any(map(_said, lines[_MOST:])) or sum(map(_said, lines[:_MOST])) > len(rules)
    return _Read(path, rules, cut)


def _said(line: str) -> bool:
    """Whether a line holds a pattern: neither blank nor a comment, and more than slashes."""
    return line[:1] != "#" and bool(line.strip().lstrip("!").strip("/"))


def _rule(line: str, folder: str) -> Rule | None:
    text = line.rstrip("\r")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    keeps = text.startswith("!")
    text = text[keeps:]
    text = text[1:] if text.startswith(("\\#", "\\!")) else text
    only_folders = text.endswith("/")
    names = text.rstrip("/")
    anchored = "/" in names
    parts = tuple(name for name in names.split("/") if name)
    # Several `**` one behind the other stand for what one stands for.
    parts = tuple(name for before, name in zip(("", *parts), parts) if (before, name) != ("**", "**"))  # noqa: B905
    if len(parts) > _DEEPEST:
        return None
    return Rule(folder, parts, anchored, only_folders, keeps) if parts else None


def _follow(pattern: tuple[str, ...], names: list[str]) -> bool:
    """Whether names fit a pattern of names; `**` is any number of them, at least one at its end."""
    stars = pattern.count("**")
    if stars > 1:
        return _follow_any(pattern, names)
    if not stars:
        return len(pattern) == len(names) and all(map(_fits, pattern, names))
    at = pattern.index("**")
    before, behind = pattern[:at], pattern[at + 1 :]
    return (
        len(names) >= len(before) + max(1, len(behind))
        and all(map(_fits, before, names))
        and all(map(_fits, behind, names[len(names) - len(behind) :]))
    )


def _follow_any(pattern: tuple[str, ...], names: list[str]) -> bool:
    places = {0}
    for name in names:
        after: set[int] = set()
        for place in _past(places, pattern):
            if place < len(pattern):
                if pattern[place] == "**":
                    after.add(place)
                    if place == len(pattern) - 1:
                        after.add(place + 1)
                elif _fits(pattern[place], name):
                    after.add(place + 1)
        places = after
        if not places:
            return False
    return len(pattern) in places


def _past(places: set[int], pattern: tuple[str, ...]) -> set[int]:
    """Those places, and those behind a `**` that stands for no name."""
    found = set(places)
    for place in sorted(places):
        while place < len(pattern) - 1 and pattern[place] == "**" and place + 1 not in found:
            place += 1
            found.add(place)
    return found


def _fits(pattern: str, name: str) -> bool:
    """One name and one pattern of a name. What follows a star is tried further on, never twice at one place."""
    if not any(character in "*?[\\" for character in pattern):
        return pattern == name
    tokens = _tokens(pattern)
    place = at = 0
    star, back = -1, 0
    while at < len(name):
        if place < len(tokens) and tokens[place] == "*":
            star, back = place, at
            place += 1
        elif place < len(tokens) and _is_one(tokens[place], name[at]):
            place, at = place + 1, at + 1
        elif star >= 0:
            back += 1
            place, at = star + 1, back
        else:
            return False
    return all(token == "*" for token in tokens[place:])


@lru_cache(maxsize=2_048)
def _tokens(pattern: str) -> list[str]:
    tokens: list[str] = []
    at, last = 0, pattern.rfind("]")
    while at < len(pattern):
        found = _CLASS.match(pattern, at) if pattern[at] == "[" and at < last else None
        width = found.end() - at if found else 2 if pattern[at] == "\\" and at + 1 < len(pattern) else 1
        token = pattern[at : at + width]
        if token != "*" or not tokens or tokens[-1] != "*":
            tokens.append(token)
        at += width
    return tokens


def _is_one(token: str, character: str) -> bool:
    if token == "?" or token == character:
        return True
    if token[0] == "\\":
        return token[1:] == character
    found = _CLASS.fullmatch(token)
    if found is None:
        return False
    inside, at, words = False, 0, found[2]
    while at < len(words):
        if words[at + 1 : at + 2] == "-" and at + 2 < len(words):
            inside = inside or words[at] <= character <= words[at + 2]
            at += 3
        else:
            inside = inside or words[at] == character
            at += 1
    return inside != bool(found[1])


_EVERYTHING = [""]


def _begins(files: list[str], name: str) -> bool:
    """Whether a file of the sorted list has that name, or lies in the folder whose name ends with a slash."""
    at = bisect_left(files, name)
    return at < len(files) and (files[at].startswith(name) if name.endswith("/") else files[at] == name)


def _index(path: str) -> list[str]:
    """The tracked files, sorted; a folder that holds one is tracked as well. The name `""` alone stands for all, where the index is of a kind
    that is not read."""
    try:
        if not os.path.isfile(path):
            return []
        if os.path.getsize(path) > _LARGEST_INDEX:
            return _EVERYTHING
        consulted.note(path)
        with open(path, "rb") as file:
            data = file.read(_LARGEST_INDEX)
    except OSError:
        return _EVERYTHING
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3):
        return _EVERYTHING
    files: list[str] = []
    at = 12
    for _ in range(int.from_bytes(data[8:12], "big")):
        if at + 62 > len(data):
            return _EVERYTHING
        start = at + (64 if version == 3 and data[at + 60] & 0x40 else 62)
        end = data.find(b"\0", start)
        if end < 0:
            return _EVERYTHING
        files.append(data[start:end].decode("utf-8", "surrogateescape"))
        at += (end - at + 8) // 8 * 8
    return sorted(files)
