"""A log file → blocks of numbered lines in UTF-8, whatever it was written as: text, `trainer_state.json`, a notebook, a folder of a run."""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import stat
import time
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, cast

from stablint.base.language import gettext

BLOCK = 1 << 20  # bytes that are looked at together
LARGEST_JSON = 200 << 20  # bytes of a JSON document, which must be read whole
_HOLE = b"\0" * 8  # in no text of any encoding
_TEXTS = (".log", ".out", ".txt", ".err", ".jsonl")
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_PATIENCE = 2.0  # seconds in which somebody must begin to write into a pipe that is named as a log
BOMS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"), (codecs.BOM_UTF8, "utf-8-sig"))


class Unreadable(Exception):
    """A log that cannot be read: the text names it and says why."""


class Block(NamedTuple):
    first: int  # number of its first line, from 1
    data: bytes  # whole lines, but where one is longer than a block


class _Begun(io.RawIOBase):
    """A pipe of which the first bytes have been read."""

    def __init__(self, descriptor: int, head: bytes) -> None:
        self._descriptor, self._head = descriptor, head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        data = self._head[: len(buffer)] or os.read(self._descriptor, len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


def opened(path: str, *, grows: bool = False) -> BinaryIO:
    """A log as a stream. Nobody is waited for who may never come: a pipe without a writer, a device without an end and, where a file that grows is
    wanted, any pipe are refused. Raises OSError, Unreadable."""
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return os.fdopen(descriptor, "rb")
        if grows and stat.S_ISFIFO(mode):
            raise Unreadable(
                gettext("{path}: a pipe; it is watched as standard input: `stablint watch - < {path}`").format(
                    path=path
                )
            )
        if stat.S_ISFIFO(mode):
            head = _first_of_pipe(descriptor, path)
            os.set_blocking(descriptor, True)
            return cast("BinaryIO", io.BufferedReader(_Begun(descriptor, head), BLOCK))
        if os.isatty(descriptor):
            os.set_blocking(descriptor, True)
            return os.fdopen(descriptor, "rb")
        raise Unreadable(gettext("{path}: this is no file").format(path=path))
    except BaseException:
        os.close(descriptor)
        raise


def _first_of_pipe(descriptor: int, path: str) -> bytes:
    """What stands in the pipe by now; nothing where its writer has not written yet."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            head = os.read(descriptor, BLOCK)
        except BlockingIOError:
            return b""
        if head:
            return head
        if time.monotonic() > end:
            raise Unreadable(gettext("{path}: a pipe into which nobody writes").format(path=path))
        time.sleep(0.05)


def logs(path: str) -> list[str]:
    """The file itself; of a folder its newest text and the states of its trainer. Raises Unreadable where there is none."""
    if path == "-" or not os.path.isdir(path):
        return [path]
    entries = sorted(entry.path for entry in os.scandir(path) if entry.is_file())
    texts = [name for name in entries if name.endswith(_TEXTS)]
    states = [name for name in entries if os.path.basename(name) == "trainer_state.json"]
    if not texts and not states:
        for inner in sorted(os.scandir(path), key=lambda entry: _number(entry.name)):
            if inner.is_dir() and os.path.isfile(os.path.join(inner.path, "trainer_state.json")):
                states = [os.path.join(inner.path, "trainer_state.json")]  # the last checkpoint's
    newest = sorted(texts, key=lambda name: os.stat(name).st_mtime)[-1:]
    if not newest and not states:
        raise Unreadable(f"{path}: no log in this folder ({', '.join(_TEXTS)}) and no trainer_state.json")
    return [*newest, *states]


def _number(name: str) -> tuple[int, str]:
    digits = "".join(letter for letter in name if letter.isdigit())
    return (int(digits[:18] or -1), name)


def blocks(stream: BinaryIO, name: str) -> Iterator[Block]:
    """What a stream holds. Raises Unreadable for a JSON document that is none of a run."""
    head = stream.read(BLOCK)
    if name.endswith((".json", ".ipynb")) and head.lstrip()[:1] in (b"{", b"[") and _HOLE not in head:
        rest = stream.read(LARGEST_JSON)
        lines = _of_document(head + rest, name)
        if lines is not None:
            yield from lines
            return
        yield from _numbered(iter((head, rest)))
        return
    encoding = next((encoding for bom, encoding in BOMS if head.startswith(bom)), "")
    pieces = _pieces(head, stream)
    yield from _numbered(_decoded(pieces, encoding) if encoding else pieces)


def _pieces(head: bytes, stream: BinaryIO) -> Iterator[bytes]:
    while head:
        if head[0] == 0 and head.count(0) == len(head):  # where a file has a hole there may be terabytes of nothing
            behind_hole(stream)
        else:
            yield head
        head = stream.read(BLOCK)


def behind_hole(stream: BinaryIO) -> None:
    """To the next place where the file holds something, where the system knows."""
    if not hasattr(os, "SEEK_DATA"):
        return
    try:
        stream.seek(os.lseek(stream.fileno(), stream.tell(), os.SEEK_DATA))
    except OSError as error:
        if error.errno == errno.ENXIO:  # there is none
            stream.seek(0, os.SEEK_END)


def _decoded(pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "replace")


def _numbered(pieces: Iterator[bytes]) -> Iterator[Block]:
    first, left = 1, b""
    for piece in pieces:
        data = left + piece
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) < BLOCK:
            left = data
            continue
        cut = cut or len(data)  # a line without an end is cut where the block ends
        yield Block(first, data[:cut])
        first += data.count(b"\n", 0, cut)
        left = data[cut:]
    if left:
        yield Block(first, left)


def _of_document(data: bytes, name: str) -> list[Block] | None:
    """The rows of a trainer's history, each at its `step`; the outputs of a notebook, each at the line that holds it. None for other JSON."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    if isinstance(document.get("log_history"), list):
        return _history(document["log_history"], data)
    if isinstance(document.get("cells"), list):
        return _outputs(document["cells"], data)
    return None


def _history(rows: list[object], data: bytes) -> list[Block]:
    lines = data.split(b"\n")
    starts = [number for number, line in enumerate(lines, 1) if b'"step":' in line]
    found = []
    at = iter(starts)
    for row in rows:
        number = next(at, 1)
        if isinstance(row, dict):
            found.append(Block(number, json.dumps(row).encode() + b"\n"))
    return found


def _outputs(cells: list[object], data: bytes) -> list[Block]:
    lines = data.decode("utf-8", "replace").split("\n")
    found: list[Block] = []
    number = 1
    for cell in cells:
        outputs = cell.get("outputs", ()) if isinstance(cell, dict) else ()
        for output in outputs if isinstance(outputs, list) else ():
            for text in _texts(output):
                for piece in text.splitlines():
                    inside = json.dumps(piece, ensure_ascii=False)[1:-1]
                    near = next(
                        (n for n in range(number - 1, min(len(lines), number + 2000)) if inside and inside in lines[n]),
                        None,
                    )
                    if near is None and not piece and number < len(lines) and lines[number].strip().startswith('"\\n"'):
                        near = number
                    line = number if near is None else near + 1
                    data = piece.encode("utf-8", "replace") + b"\n"
                    if found and line == found[-1].first + found[-1].data.count(
                        b"\n"
                    ):  # a message may go on in the next line
                        found[-1] = found[-1]._replace(data=found[-1].data + data)
                    else:
                        found.append(Block(line, data))
                    number = line
    return found


def _texts(output: object) -> Iterator[str]:
    if not isinstance(output, dict):
        return
    for part in (output.get("text"), output.get("traceback"), (output.get("data") or {}).get("text/plain")):
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            yield "\n".join(str(one).rstrip("\n") for one in part)
