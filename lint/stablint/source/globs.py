"""Globs of settings: `*` within a name, `**` any depth; a name without `/` counts in every folder, a folder for all that is in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache


def matches(path: str, folder: str, globs: Iterable[str]) -> bool:
    """Whether an absolute path matches one of the globs, which are relative to `folder` (or absolute)."""
    path = path.replace(os.sep, "/")
    return any(
        _walked(_text(glob), folder, path)
        if glob.count("*") > _FEW
        else _compiled(glob, folder).match(path) is not None
        for glob in globs
    )


_FEW = 2  # stars: each one more is one more power of the path's length, for an engine that goes back


def _text(glob: str) -> str:
    return glob.replace(os.sep, "/").removeprefix("./").rstrip("/")


def _walked(glob: str, folder: str, path: str) -> bool:
    """The same as `_compiled`, for a glob of many stars: goes through the path once and keeps all places of the glob at which it may be."""
    if not os.path.isabs(glob):
        start = folder.replace(os.sep, "/").rstrip("/") + "/"
        if not path.startswith(start):
            return False
        path = path[len(start) :]
        glob = glob if "/" in glob else f"**/{glob}"
    parts = [piece for piece in re.split(r"(\*\*/|\*\*|\*|\?)", glob) if piece]
    tokens = [token for part in parts for token in ((part,) if part[0] in "*?" else part)]
    places = _skipped({0}, tokens)
    for character in path:
        if len(tokens) in places and character == "/":  # all that is in a folder
            return True
        after: set[int] = set()
        within: set[int] = set()  # `**/`: only where a folder ends may the next name begin
        for place in places:
            token = tokens[place] if place < len(tokens) else ""
            if token == character or (token == "?" and character != "/"):
                after.add(place + 1)
            elif token == "**" or (token == "*" and character != "/"):
                after.add(place)
            elif token == "**/":
                within.add(place)
                after |= {place + 1} if character == "/" else set()
        places = _skipped(after, tokens) | within
    return len(tokens) in places


def _skipped(places: set[int], tokens: list[str]) -> set[int]:
    """Those places, and those behind stars that stand for nothing."""
    found, pending = set(places), list(places)
    while pending:
        place = pending.pop()
        if place < len(tokens) and tokens[place][0] == "*" and place + 1 not in found:
            found.add(place + 1)
            pending.append(place + 1)
    return found


@lru_cache(maxsize=8_192)
def _compiled(glob: str, folder: str) -> re.Pattern[str]:
    glob = glob.replace(os.sep, "/").removeprefix("./")
    anchored = "/" in glob.rstrip("/")
    start = re.escape(folder.replace(os.sep, "/").rstrip("/")) + "/"
    if os.path.isabs(glob):
        start = ""
    elif not anchored:
        start += "(?:.*/)?"
    return re.compile(start + _pattern(glob.rstrip("/")) + r"(?:/.*)?\Z", re.DOTALL)


def _pattern(glob: str) -> str:
    parts = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", glob):
        parts.append({"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece)))
    return "".join(parts)
