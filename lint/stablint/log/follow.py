"""A log that is still written: what has come since the last look, through truncation and rotation.

A message that is written in pieces must arrive whole: lines behind a word of trouble wait until the log is quiet, or for three looks.
"""

from __future__ import annotations

import codecs
import os
from typing import BinaryIO, NamedTuple

from stablint.log.reading import TROUBLE
from stablint.log.source import BLOCK, BOMS, Block, behind_hole, opened

_LOOKS = 3  # for which lines behind trouble wait at most
_TAIL = 24  # lines behind a word of trouble that may belong to it
_LARGEST = 8 << 20  # bytes that wait at most
_AT_ONCE = 4 * BLOCK  # bytes of a look; of a log that has long been written, one look follows the other without a pause


class Look(NamedTuple):
    blocks: tuple[Block, ...]
    grown: bool
    more: bool = False  # there was more to read than a look takes
    anew: str = ""  # `truncated` or `rotated`: the lines count from 1 again


class Buffer:
    """Bytes as they come → blocks of whole lines."""

    def __init__(self) -> None:
        self._left = b""
        self._first = 1
        self._looks = 0
        self._decoder: codecs.IncrementalDecoder | None = None
        self._begun = False

    def take(self, data: bytes, *, quiet: bool = False, end: bool = False) -> tuple[Block, ...]:
        """`quiet`: nothing came since the last look; `end`: nothing will, so that a line without an end is one."""
        quiet = quiet or end
        if data and not self._begun:
            self._begun = True
            encoding = next((encoding for bom, encoding in BOMS if data.startswith(bom)), "")
            self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace") if encoding else None
        if self._decoder is not None:
            data = self._decoder.decode(data).encode("utf-8", "replace")
        self._left += data
        cut = len(self._left) if end else self._left.rfind(b"\n") + 1
        if not cut and len(self._left) > _LARGEST:
            cut = len(self._left)  # a line without an end
        if not cut:
            return ()
        self._looks += 1
        tail = self._left[:cut].rsplit(b"\n", _TAIL + 1)[-_TAIL - 1 :]
        waits = (
            not quiet
            and self._looks < _LOOKS
            and cut < _LARGEST
            and any(mark in line for line in tail for mark in TROUBLE)
        )
        if waits:
            return ()
        self._looks = 0
        ready, self._left = self._left[:cut], self._left[cut:]
        found = Block(self._first, ready)
        self._first += ready.count(b"\n")
        return (found,)


class Tail:
    """A file that grows. It need not be there yet."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._stream: BinaryIO | None = None
        self._buffer = Buffer()
        self._identity: tuple[int, int] | None = None

    def look(self) -> Look:
        """Raises OSError or Unreadable where the file is there and cannot be read."""
        try:
            there: os.stat_result | None = os.stat(self._path)
        except FileNotFoundError:
            there = None
        if self._stream is None:
            if there is None:
                return Look((), False)
            self._open()
        assert self._stream is not None
        found: list[Block] = []
        anew = ""
        if there is not None and (there.st_dev, there.st_ino) != self._identity:
            found += self._buffer.take(
                self._stream.read(64 * BLOCK), end=True
            )  # what was written before it was moved away
            self.close()
            self._open()
            anew = "rotated"
        elif there is not None and there.st_size < self._stream.tell():
            self.close()
            self._open()
            anew = "truncated"
        data = self._stream.read(_AT_ONCE)
        if len(data) == _AT_ONCE == data.count(0):  # a hole, of which no writer fills that much again
            behind_hole(self._stream)
            data = self._stream.read(_AT_ONCE)
        found += self._buffer.take(data, quiet=not data)
        return Look(tuple(found), bool(data), len(data) == _AT_ONCE, anew)

    def end(self) -> tuple[Block, ...]:
        """What still waits, when nobody looks any more."""
        return self._buffer.take(b"", end=True)

    def _open(self) -> None:
        self._stream = opened(self._path, grows=True)  # it stays open between looks
        state = os.fstat(self._stream.fileno())
        self._identity = (state.st_dev, state.st_ino)
        self._buffer = Buffer()

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
