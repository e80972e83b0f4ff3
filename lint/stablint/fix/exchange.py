"""The files of one repair exchanged for their new texts: all of them or none, and none that somebody has changed meanwhile.

The new texts are written and synced first, beside their files. Then, file by file, the old one gets a second name, is compared with what was
read, byte by byte, and the new one takes its place; what was written into the old one in that moment is seen at the end, and comes back.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from typing import NamedTuple

from stablint.base.whole import Changed, exchanged, rests
from stablint.fix import strays
from stablint.syntax.text import is_inside

CHANGED = "it was changed while stablint worked on it: nothing of this repair was written; run stablint again"
_BINARY = getattr(os, "O_BINARY", 0)


class Part(NamedTuple):
    """One file of a repair, ready to be exchanged."""

    path: str  # as it was read
    target: str  # links followed
    before: bytes
    after: bytes
    new: str  # the file with the new text
    found: os.stat_result  # of the target, when the new file was made like it


def closed(path: str, root: str) -> str:
    """Why a file is not to be written; empty where it may be."""
    target = os.path.realpath(path)
    if not is_inside(path, root):
        return f"it leads outside {root}"
    try:
        found = os.stat(target)
    except OSError as error:
        return error.strerror or "it is not there"
    if not stat.S_ISREG(found.st_mode):
        return "it is not a regular file"
    if not found.st_mode & 0o222 or not os.access(target, os.W_OK):
        return "it is read-only"
    if not os.access(os.path.dirname(target), os.W_OK | os.X_OK):
        return "its folder may not be written, and a repair puts a new file in its place"
    links = found.st_nlink
    if links > 1 and links > 1 + _second_names(target, found):
        return f"it has {links} hard links, and a new file in its place would part them"
    return ""


def _second_names(target: str, found: os.stat_result) -> int:
    """How many of its names another stablint has given it for a moment."""
    names = 0
    with contextlib.suppress(OSError), os.scandir(os.path.dirname(target)) as entries:
        for entry in entries:
            names += strays.ours(entry.name) and entry.inode() == found.st_ino
    return names


def prepared(path: str, before: bytes, after: bytes) -> tuple[Part, str]:
    """The new text in a file of its own, with mode, owner and attributes of the old one; what of these could not be kept, in words.

    Raises OSError, with nothing left behind.
    """
    target = os.path.realpath(path)
    found = os.stat(target)
    new = strays.beside(target, "tmp")
    try:
        _write(new, after)
        note = _like(new, target, found)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise
    return Part(path, target, before, after, new, found), note


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _like(new: str, target: str, found: os.stat_result) -> str:
    note = ""
    made = os.stat(new)
    if hasattr(os, "chown") and (made.st_uid, made.st_gid) != (found.st_uid, found.st_gid):
        try:
            os.chown(new, found.st_uid, found.st_gid)
        except OSError:
            with contextlib.suppress(OSError):
                os.chown(new, -1, found.st_gid)
            note = "it belonged to somebody else, and is yours now"
    os.chmod(new, stat.S_IMODE(found.st_mode))
    for name in _attributes(target):
        with contextlib.suppress(OSError):  # some are the system's own
            os.setxattr(new, name, os.getxattr(target, name))
    return note


def _attributes(path: str) -> list[str]:
    """The names of its extended attributes: lists of who may read it are among them."""
    try:
        return os.listxattr(path) if hasattr(os, "listxattr") else []
    except OSError:
        return []


class Repair:
    """The exchange of the files of one repair. `begin`, then `end`; each raises with every file as it was found."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self._old: dict[str, str] = {part.target: strays.beside(part.target, "old") for part in parts}
        self._done: list[Part] = []
        self._journal = ""

    def begin(self) -> None:
        """Exchange them. Raises Changed or OSError."""
        for part in self.parts:
            _compare(part.target, part.before, part.path)
        try:
            if len(self.parts) > 1:
                self._write_journal()
            for part in self.parts:
                self._exchange(part)
        except BaseException:
            self.undo()
            raise

    def end(self) -> None:
        """Forget the old files. Raises Changed if somebody wrote into one of them while it was exchanged."""
        for part in self.parts:
            try:
                if not rests(self._old[part.target]):
                    raise Changed(part.path)
                _compare(self._old[part.target], part.before, part.path)
            except Changed:
                self.undo()
                raise
        self._forget()

    def undo(self) -> None:
        """Every file as it was: the old ones take their places again, with whatever was written into them, but for a place that is somebody else's now."""
        for part in reversed(self._done):
            if strays.hash_of(part.target) == strays.digest(part.after):
                os.replace(self._old[part.target], part.target)
        self._done = []
        self._forget()

    def _exchange(self, part: Part) -> None:
        old = self._old[part.target]
        try:
            os.link(part.target, old, follow_symlinks=False)
        except (OSError, NotImplementedError):  # a file system without second names
            shutil.copy2(part.target, old)
        _compare(old, part.before, part.path)
        _same(old, part)
        _like_found(part)
        _take_place(part, old)
        self._done.append(part)

    def _write_journal(self) -> None:
        folder = os.path.commonpath([os.path.dirname(part.target) for part in self.parts])
        if not os.access(folder, os.W_OK):
            folder = os.path.dirname(self.parts[0].target)
        path = strays.beside(os.path.join(folder, "x"), "journal")
        steps = (
            strays.Step(part.target, self._old[part.target], strays.digest(part.before), strays.digest(part.after))
            for part in self.parts
        )
        self._journal = path
        _write(path, strays.journal(steps, path))

    def _forget(self) -> None:
        """The journal first: without it, what is left is rubbish, and with it a repair to be undone."""
        for path in (self._journal, *self._old.values(), *(part.new for part in self.parts)):
            with contextlib.suppress(OSError):
                if path:
                    os.unlink(path)
        self._journal = ""


def _compare(place: str, before: bytes, path: str) -> None:
    try:
        with open(place, "rb") as file:
            same = file.read() == before
    except FileNotFoundError:
        same = False
    if not same:
        raise Changed(path)


def _take_place(part: Part, old: str) -> None:
    """The new file in the place of the old one. Where the system can exchange two names, what an editor has put there in the last moment is seen,
    and put back."""
    if not exchanged(part.new, part.target):
        os.replace(part.new, part.target)
        return
    try:
        if not os.path.samestat(os.lstat(part.new), os.lstat(old)):
            _compare(part.new, part.before, part.path)
    except Changed:
        exchanged(part.new, part.target)
        raise
    os.unlink(part.new)


def _like_found(part: Part) -> None:
    """Whoever has changed its mode or owner meanwhile, or given it another name, means the file that is there."""
    try:
        now = os.stat(part.target)
    except FileNotFoundError:
        raise Changed(part.path) from None
    kept = (now.st_mode, now.st_uid, now.st_gid) == (part.found.st_mode, part.found.st_uid, part.found.st_gid)
    if not kept or (now.st_nlink > 1 and now.st_nlink > 1 + _second_names(part.target, now)):
        raise Changed(part.path)


def _same(old: str, part: Part) -> None:
    """An editor that puts a new file in the place of the old one is seen by the place, not by the old file."""
    try:
        if os.path.samestat(os.lstat(part.target), os.lstat(old)):
            return
    except FileNotFoundError:
        raise Changed(part.path) from None
    _compare(part.target, part.before, part.path)
