"""Files that are written whole or not at all, also where a signal or a kill comes in the middle."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from types import FrameType

from stablint.base.libraries import ctypes

if sys.platform == "linux":
    import fcntl  # no part of Python elsewhere

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))


class Stopped(KeyboardInterrupt):
    """A signal came while files were written: they were finished, or left as they were. `number` is the signal's."""

    number: int = signal.SIGINT


@contextlib.contextmanager
def deferred(done: str = "") -> Iterator[list[int]]:
    """Signals that end a program wait until the files are whole; then they end it, with words for what was done."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    here = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in _SIGNALS} if here else {}
    ignored = {number for number, handler in handlers.items() if handler is signal.SIG_IGN or handler is None}
    for number in handlers.keys() - ignored:
        signal.signal(number, note)
    try:
        yield came
    finally:
        for number in handlers.keys() - ignored:
            signal.signal(number, handlers[number])
    if came:
        stopped = Stopped(done)
        stopped.number = came[0]
        raise stopped


class Changed(Exception):
    """Somebody has written a file, or a file in its place, since it was looked at."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


def beside(target: str) -> str:
    """A name for the new text of a file, in its folder. What a killed process of this machine has left under such a name is removed."""
    sweep(target)
    return f"{target}.{os.getpid()}-{machine()}.new"


def sweep(target: str) -> None:
    """Remove what killed processes of this machine have left beside a file that they were to write."""
    folder, name = os.path.split(target)
    left = re.compile(re.escape(name) + rf"\.(\d+)-{machine()}\.new")
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            found = left.fullmatch(entry.name)
            if found is not None and not lives(int(found[1])):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def state(path: str) -> tuple[int, ...]:
    """What changes where a file is written or another one takes its place; empty where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_dev, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


_PATIENCE = 1.0  # seconds for somebody who is in the middle of writing
_PAUSE = 0.002


def rests(old: str) -> bool:
    """Whether nobody has the old file open to write into it, where the system can say so (Linux: no lease is given on such a file). Its name belongs
    to the new one by now, so that nobody else comes."""
    if sys.platform != "linux":
        return True
    try:
        descriptor = os.open(old, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # a link, which nobody writes into
        return True
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # ignored: that of a lease would end the process
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except BlockingIOError:
                time.sleep(_PAUSE)
            else:
                return True
        return False
    except OSError:  # another user's file, or a file system without leases
        return True
    finally:
        os.close(descriptor)  # and the lease with it


_EXCHANGE = 2  # renameat2(2), RENAME_EXCHANGE
_HERE = -100  # fcntl(2), AT_FDCWD


def exchanged(one: str, other: str) -> bool:
    """Whether the system could exchange the two names in one step: Linux, on most file systems."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    return rename is not None and rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0


def take_place(new: str, target: str, before: tuple[int, ...]) -> None:
    """The new file in the place of what was there, or was not. Raises Changed where that is no longer so."""
    if before:
        if state(target) != before:
            raise Changed(target)
        if not exchanged(new, target):
            os.replace(new, target)
            return
        if not rests(new) or state(new)[:-1] != before[:-1]:  # which a rename does not change, but for the last
            exchanged(new, target)
            raise Changed(target)
        os.unlink(new)
        return
    try:
        os.link(new, target, follow_symlinks=False)  # refuses what is there
    except FileExistsError:
        raise Changed(target) from None
    except (OSError, NotImplementedError):  # a file system without second names
        if state(target):
            raise Changed(target) from None
        os.replace(new, target)
    else:
        os.unlink(new)


@contextlib.contextmanager
def scratch(purpose: str) -> Iterator[str]:
    """A folder for the time being. Those of killed processes of this machine and user go first."""
    mine = re.compile(rf"stablint-{purpose}-(\d+)-{machine()}-\w+")
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            found = mine.fullmatch(entry.name)
            if found is not None and not lives(int(found[1])) and _is_own_folder(entry):
                shutil.rmtree(entry.path, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"stablint-{purpose}-{os.getpid()}-{machine()}-") as folder:
        yield folder


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) and (
        not hasattr(os, "getuid") or entry.stat(follow_symlinks=False).st_uid == os.getuid()
    )


def machine() -> str:
    """Of the machine or the container: process numbers of another one say nothing here."""
    return f"{zlib.crc32(platform.node().encode('utf-8', 'surrogateescape')):08x}"


def lives(process: int) -> bool:
    """Whether a process of this machine has that number."""
    if os.name == "nt":  # there the question would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
