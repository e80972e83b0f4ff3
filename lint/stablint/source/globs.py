"""Globs of settings: `*` within a name, `**` any depth; a name without `/` counts in every folder, a folder for all that is in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache


def matches(path: str, folder: str, globs: Iterable[str]) -> bool:
    """Whether an absolute path matches one of the globs, which are relative to `folder` (or absolute)."""
    return any(_compiled(glob, folder).match(path.replace(os.sep, "/")) for glob in globs)


@lru_cache(maxsize=256)
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
