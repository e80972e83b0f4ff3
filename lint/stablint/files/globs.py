"""Globs of settings: `*` within a name, `**` any depth; a name without `/` counts in every folder, a folder for all that is in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache

from stablint.base.light import NamedTuple


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
    """The same as `_compiled`, for a glob of many stars: goes through the path once. The bits of a number are the places of the glob at which it
    may be."""
    if not os.path.isabs(glob):
        start = folder.replace(os.sep, "/").rstrip("/") + "/"
        if not path.startswith(start):
            return False
        path = path[len(start) :]
        glob = glob if "/" in glob else f"**/{glob}"
    masks = _masks(glob)
    places, end = _passing(1, masks.stars), 1 << masks.length
    for character in path:
        if places & end and character == "/":  # all that is in a folder
            return True
        after = (places & masks.steps.get(character, 0)) << 1 | places & masks.any_stays
        within = places & masks.folders  # `**/`: only where a folder ends may the next name begin
        if character == "/":
            after |= within << 1
        else:
            after |= (places & masks.one) << 1 | places & masks.stays
        places = _passing(after, masks.stars) | within
        if not places:
            return False
    return bool(places & end)


class _Masks(NamedTuple):
    """The tokens of a glob as bits: which of them take a character, any one of a name, any number of them, and which may stand for nothing."""

    length: int
    steps: dict[str, int]
    one: int
    stays: int
    any_stays: int
    folders: int
    stars: int


@lru_cache(maxsize=2_048)
def _masks(glob: str) -> _Masks:
    parts = [piece for piece in re.split(r"(\*\*/|\*\*|\*|\?)", glob) if piece]
    tokens = [token for part in parts for token in ((part,) if part[0] in "*?" else part)]
    of: dict[str, int] = {}
    for place, token in enumerate(tokens):
        of[token] = of.get(token, 0) | 1 << place
    one, name, whole, folders = (of.pop(token, 0) for token in ("?", "*", "**", "**/"))
    return _Masks(len(tokens), of, one, name, whole, folders, name | whole | folders)


def _passing(places: int, stars: int) -> int:
    """Those places, and those behind stars that stand for nothing."""
    while more := (places & stars) << 1 & ~places:
        places |= more
    return places


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
