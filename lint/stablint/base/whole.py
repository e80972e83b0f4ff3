"""Files that are written whole or not at all, also where a signal or a kill comes in the middle."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections.abc import Iterator
from types import FrameType

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


def beside(target: str) -> str:
    """A name for the new text of a file, in its folder. What a killed process of this machine has left under such a name is removed."""
    folder, name = os.path.split(target)
    left = re.compile(re.escape(name) + rf"\.(\d+)-{machine()}\.new")
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            found = left.fullmatch(entry.name)
            if found is not None and not lives(int(found[1])):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
    return f"{target}.{os.getpid()}-{machine()}.new"


def machine() -> str:
    """Of the machine or the container: process numbers of another one say nothing here."""
    import platform
    import zlib

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
