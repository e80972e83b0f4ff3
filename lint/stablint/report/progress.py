"""A progress bar on standard error, only for somebody who looks at it and has waited for a second."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TextIO, TypeVar

from stablint.base.language import gettext

_PATIENCE = 1.0  # seconds before the bar appears
_INTERVAL = 0.1  # seconds between two drawings of it
_WIDTH = 30

T = TypeVar("T")

_COUNTED: dict[str, Callable[[], str]] = {
    "files": lambda: gettext("{done} of {total} files"),
    "runs": lambda: gettext("{done} of {total} runs"),
    "findings": lambda: gettext("{done} of {total} findings"),
    "knowledge": lambda: "{done} of {total} parts of the knowledge",  # sentences in other languages are among them
}


class Watch(Protocol):
    """Hands on the items of a stage as they come, and may show how many of them are done; `noun` is a key of `_COUNTED`."""

    def __call__(self, items: Iterable[T], total: int, noun: str) -> Iterable[T]: ...


def watching(stream: TextIO) -> Watch:
    """The stages of one command, which share their first second."""
    began = time.monotonic()

    def watch(items: Iterable[T], total: int, noun: str) -> Iterable[T]:
        return progress(items, total, stream, noun, began)

    return watch


def progress(
    items: Iterable[T], total: int, stream: TextIO, noun: str = "files", began: float | None = None
) -> Iterator[T]:
    """The items as they come; how many of the `total` are done is drawn on `stream` meanwhile, and wiped off at the end."""
    if not stream.isatty() or os.environ.get("TERM") == "dumb":  # such a terminal wipes nothing off
        yield from items
        return
    due, drawn = (time.monotonic() if began is None else began) + _PATIENCE, False
    try:
        for done, item in enumerate(items):
            now = time.monotonic()
            if now >= due:
                counted = _COUNTED[noun]().format(done=f"{done:,}", total=f"{total:,}")
                stream.write(f"\r\x1b[K{bar(done, total)} {counted}")
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
