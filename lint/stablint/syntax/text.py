"""Files in and out: decode a regular file, find lines in it, write it back as it was encoded."""

from __future__ import annotations

import bisect
import codecs
import errno
import os
import re
import stat

from stablint.base.light import NamedTuple
from stablint.syntax.tree import Problem, Text

LARGEST = 5_000_000
"""Bytes of the largest file that is read. Configurations are a thousand times smaller."""

_BREAK = re.compile(r"\r\n|\r|\n")
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_WHY = {
    errno.EACCES: "this user may not read it",
    errno.EPERM: "this user may not read it",
    errno.ELOOP: "a link that leads back to itself",
    errno.ENAMETOOLONG: "its name is too long for this system",
    errno.EIO: "the disk failed: input/output error",
}
# A name behind which no file is; whatever else the system answers keeps back a file that is there.
_NAMELESS = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL, errno.EISDIR, errno.ENXIO}
)
UNOPENED = "unopened-file"
# What git writes around the two sides of a conflict, in this order, each at the begin of a line.
_CONFLICT = (r"^<{7}(?= |\r?$)", r"^={7}\r?$", r"^>{7}(?= |\r?$)")
if hasattr(errno, "ESTALE"):
    _WHY[errno.ESTALE] = "a stale handle of a network folder: try again"


class Unreadable(NamedTuple):
    """A file that gave no text. `text` holds what could be decoded, up to the fault: there the problem has its line and column."""

    text: Text
    problem: Problem


def read(path: str, name: str, largest: int = LARGEST) -> Text | Unreadable:
    """The text of a regular file of at most `largest` bytes in UTF-8 or (with its byte order mark) UTF-16. No other encoding is guessed; a shell
    takes bytes as they are, and a Python program may name its own."""
    try:
        data = bytes_of(path, largest)
    except OSError as error:
        kind = "unreadable-file" if error.errno in _NAMELESS else UNOPENED
        return _unreadable(path, name, "", kind, why(error, path))
    except ValueError:  # a NUL or a lone surrogate in the path itself
        return _unreadable(path, name, "", "unreadable-file", "no possible path")
    if data is None:
        return _unreadable(path, name, "", "unreadable-file", "not a regular file")
    if len(data) > largest:
        return _unreadable(path, name, "", "too-large", f"larger than {largest / 1_000_000:g} MB")
    return decode(data, path, name)


def why(error: OSError, path: str) -> str:
    """Why something cannot be read, in words that tell the causes apart."""
    if isinstance(error, FileNotFoundError):
        return "a link to nothing" if os.path.islink(path) else "it vanished while stablint worked"
    return _WHY.get(error.errno or 0) or error.strerror or "it cannot be opened"


def decode(data: bytes, path: str, name: str) -> Text | Unreadable:
    """The same for bytes that came another way (standard input)."""
    mark, encoding = next(((mark, encoding) for mark, encoding in _BOMS if data.startswith(mark)), (b"", "utf-8"))
    body = data[len(mark) :] if mark else data
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        own = "" if mark else _runs_in(body, name)
        if own:
            return Text(path, name, body.decode(own), own)
        before = body[: error.start].decode(encoding, "replace")
        where = f"byte {len(mark) + error.start} is not {'UTF-16' if mark and encoding != 'utf-8' else 'UTF-8'}"
        return _unreadable(path, name, before, "unreadable-file", where)
    nul = text.find("\0")
    if nul >= 0 and not (encoding == "utf-8" and _runs_in(body, name)):
        return _unreadable(path, name, text[:nul], "unreadable-file", "a NUL character: this is no text file")
    return Text(path, name, text, encoding, bool(mark))


_SHELLS = (".sh", ".bash", ".zsh", ".slurm", ".sbatch")
_SHELL = rb"#![^\n]*\b(?:ba|da|k|z)?sh\b"
_ENDS = re.compile(rb"^(?:exit|exec)\b[^\n]*$", re.MULTILINE)
_PYTHON = rb"#![^\n]*\bpython"
# PEP 263: in a comment of the first or second line.
_COOKIE = rb"(?:[ \t\f]*(?:#[^\n]*)?\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)"


def _runs_in(data: bytes, name: str) -> str:
    """The encoding in which a program that is no UTF-8 runs all the same; empty where there is none. To a shell a byte is a byte."""
    shell = name.endswith(_SHELLS) or re.match(_SHELL, data) is not None
    nul = data.find(b"\0")
    if nul >= 0:  # an archive may lie behind the end of a script
        return "latin-1" if shell and _ENDS.search(data, 0, nul) else ""
    if shell:
        return "latin-1"
    found = re.match(_COOKIE, data) if name.endswith(".py") or re.match(_PYTHON, data) else None
    if found is None:
        return ""
    try:
        data.decode(found[1].decode("ascii"))
    except (LookupError, ValueError):
        return ""
    return found[1].decode("ascii")


def encode(text: Text, new_text: str) -> bytes:
    """`new_text` in the encoding of `text`, with its byte order mark if it had one. A lone surrogate raises UnicodeEncodeError."""
    mark = next(mark for mark, encoding in _BOMS if encoding == text.encoding) if text.bom else b""
    return mark + new_text.encode(text.encoding)


def is_inside(path: str, root: str) -> bool:
    """Whether a path leads, all links followed, to something in the folder `root`. What is no possible path leads nowhere."""
    try:
        return os.path.realpath(path).startswith(os.path.join(os.path.realpath(root), ""))
    except ValueError:  # a NUL or a lone surrogate
        return False


class Lines:
    """The lines of a text, counted from 1; breaks are LF, CRLF and CR, as editors count them. Built when first asked."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = []

    def _table(self) -> list[int]:
        if not self._starts:
            self._starts = [0, *(match.end() for match in _BREAK.finditer(self._text))]
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """(line, column) of an offset, both from 1, columns in code points. An offset past the end is the end."""
        starts = self._table()
        offset = min(max(offset, 0), len(self._text))
        line = bisect.bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line_text(self, number: int) -> str:
        """The line without its break; empty for a line that does not exist."""
        starts = self._table()
        if not 1 <= number <= len(starts):
            return ""
        end = starts[number] if number < len(starts) else len(self._text)
        return self._text[starts[number - 1] : end].rstrip("\r\n")


def newline_of(text: str) -> str:
    """The line break that a text uses: that of its first line, LF where it has none."""
    found = _BREAK.search(text)
    return found.group() if found else "\n"


def bytes_of(path: str, largest: int = LARGEST) -> bytes | None:
    """At most one byte more than `largest`; None for what is no regular file. A FIFO is opened without waiting for its writer."""
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        parts, left = [], largest + 1
        while left and (part := os.read(descriptor, left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def conflict(source: str) -> Problem | None:
    """Where the first merge conflict stands that nobody has resolved. What only quotes one (a string, a here-document) has it as well: the
    reader of the language knows."""
    if "<<<<<<<" not in source:
        return None
    at, start = 0, -1
    for mark in _CONFLICT:
        found = re.compile(mark, re.MULTILINE).search(source, at)
        if found is None:
            return None
        at, start = found.end(), found.start() if start < 0 else start
    line_end = re.compile(r"[^\r\n]*").match(source, start)
    end = line_end.end() if line_end else at
    return Problem("merge-conflict", "the file holds a merge conflict that was not resolved", start, end)


def _unreadable(path: str, name: str, before: str, kind: str, message: str) -> Unreadable:
    return Unreadable(Text(path, name, before), Problem(kind, message, len(before), len(before)))
