"""A progress bar on standard error, only for somebody who looks at it and has waited for a second."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar

_PATIENCE = 1.0  # seconds before the bar appears
_INTERVAL = 0.1  # seconds between two drawings of it
_WIDTH = 30

T = TypeVar("T")


def progress(items: Iterable[T], total: int, stream: TextIO, noun: str = "files") -> Iterator[T]:
    """The items as they come; how many of the `total` are done is drawn on `stream` meanwhile, and wiped off at the end."""
    if not stream.isatty():
        yield from items
        return
    due, drawn = time.monotonic() + _PATIENCE, False
    try:
        for done, item in enumerate(items):
            now = time.monotonic()
            if now >= due:
                stream.write(f"\r\x1b[K{bar(done, total)} {done:,} of {total:,} {noun}")
                stream.flush()
                due, drawn = now + _INTERVAL, True
            yield item
    finally:
        if drawn:
            stream.write("\r\x1b[K")
            stream.flush()


def bar(done: int, total: int) -> str:
    filled = _WIDTH * done // max(total, 1)
    return f"[{'#' * filled}{'.' * (_WIDTH - filled)}]"
