"""The files that name another one: who reads a DeepSpeed file cannot be seen in it, and a pre-commit hook is given the changed files only."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable

from stablint.assemble.files import Files
from stablint.syntax import limits

_INNER = frozenset(bytes([code]) for code in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
# A link is not followed, and what became a pipe meanwhile is not waited for.
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def referrers(paths: Iterable[str], root: str, files: Files, known: Container[str] = ()) -> list[str]:
    """The files below `root` in whose bytes the name of one of `paths` stands, without those in `known`.

    Candidates only: whether a file really reads the other shows when it is parsed. Sorted folder by folder; unreadable files are passed over.
    """
    by_name: dict[bytes, list[str]] = {}
    for path in paths:
        by_name.setdefault(os.path.basename(path).encode("utf-8", "surrogatepass"), []).append(path)
    found: list[str] = []
    for path in files.entries(root) if by_name else ():
        if path in known:
            continue
        text = content(path, files)
        named = [name for name in by_name if names(name, text)]
        if named and len(found) == limits.REFERRERS.most:
            for name in named:
                for one in by_name.pop(name):
                    files.cut_program(one, limits.REFERRERS)
            if not by_name:
                break
        elif named:
            found.append(path)
    return found


def guides(path: str, root: str, files: Files) -> list[str]:
    """The Markdown files in the folders from this one's up to the root in which the name of the file stands."""
    name = os.path.basename(path).encode("utf-8", "surrogatepass")
    found: list[str] = []
    folder = os.path.dirname(path)
    while folder == root or folder.startswith(os.path.join(root, "")):
        try:
            listed = sorted(one for one in os.listdir(folder) if one.lower().endswith(".md"))
        except OSError:
            listed = []
        if len(listed) > limits.GUIDES.most:
            files.cut_program(path, limits.GUIDES)
        several = (os.path.join(folder, one) for one in listed[: limits.GUIDES.most])
        found += [one for one in several if names(name, content(one, files))]
        folder = os.path.dirname(folder)
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


def content(path: str, files: Files) -> bytes:
    """The bytes of a regular file, so many as a limit says; nothing of what cannot be read."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return b""
    try:
        size = os.fstat(descriptor).st_size
        if size > limits.LOOKED_AT.most:
            files.cut_unread(path, limits.LOOKED_AT)
        # As much as there is: memory for whole megabytes would cost more than the reading.
        return os.read(descriptor, min(size, limits.LOOKED_AT.most))
    except OSError:
        return b""
    finally:
        os.close(descriptor)
