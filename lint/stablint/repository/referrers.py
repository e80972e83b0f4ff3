"""The files that name another one: who reads a DeepSpeed file cannot be seen in it, and a pre-commit hook is given the changed files only."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable

from stablint.files import discover

_BYTES = 1_000_000  # of a file
_FOUND = 200
_INNER = frozenset(bytes([code]) for code in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
# A link is not followed, and what became a pipe meanwhile is not waited for.
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def referrers(paths: Iterable[str], root: str, known: Container[str] = ()) -> list[str]:
    """The files below `root` in whose bytes the name of one of `paths` stands, without those in `known`.

    Candidates only: whether a file really reads the other shows when it is parsed. Sorted folder by folder; unreadable files are passed over.
    """
    wanted = sorted({os.path.basename(path).encode("utf-8", "surrogatepass") for path in paths})
    if not wanted:
        return []
    found = []
    for path in discover.within(root):
        if path in known:
            continue
        text = content(path)
        if any(names(name, text) for name in wanted):
            found.append(path)
            if len(found) == _FOUND:
                break
    return found


def names(name: bytes, content: bytes) -> bool:
    """Whether `name` stands in `content` as a file's whole name; a plain search is many times as fast as a pattern."""
    at = content.find(name)
    while at >= 0:
        end = at + len(name)
        if content[at - 1 : at] not in _INNER and content[end : end + 1] not in _INNER:
            return True
        at = content.find(name, end)
    return False


def content(path: str) -> bytes:
    """The bytes of a regular file, a million at most; nothing of what cannot be read."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return b""
    try:
        # As much as there is: memory for a whole megabyte would cost more than the reading.
        return os.read(descriptor, min(os.fstat(descriptor).st_size, _BYTES))
    except OSError:
        return b""
    finally:
        os.close(descriptor)
