"""A line of a log without what terminals, schedulers and launchers put around it."""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST = 65_536  # characters of a line that are looked at

# What terminals take for colours and movements, of a whole block.
_ESCAPED = re.compile(rb"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[()][A-Z0-9])")
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
_BEGINNING = 8192  # bytes
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[()][A-Z0-9])|\\u001b\[[0-9;]{0,20}m|\\x1b\[[0-9;]{0,20}m"
)
# `[rank3]:` torchrun, `worker-1: ` DeepSpeed's launcher, `3: ` srun, `(WorkerDict pid=12)` Ray, `[1,2]<stderr>:` mpirun.
_PREFIXES = re.compile(
    r"\s*(?:\[rank(?P<a>\d+)\]:?|[\w.-]{1,60}-(?P<b>\d+): (?=\S)|(?P<c>\d{1,4}): (?=\S)"
    r"|\([\w.: ]{1,60}\bpid=(?P<d>\d+)[^)]{0,60}\)|\[\d+,(?P<e>\d+)\]<std(?:err|out)>:)\s?"
)
_BOX = "│┃║|"
_POINTER = "❱"


class Plain(NamedTuple):
    rank: str  # as the prefix numbers it, empty without one; Ray's prefix numbers processes
    text: str
    boxed: bool  # inside a frame that a terminal drew, and therefore broken at its width


def decoded(data: bytes) -> str:
    """UTF-8, or the Chinese encoding that consoles still write, or what of UTF-8 can be read."""
    for encoding in ("utf-8", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace")


def uncoloured(data: bytes) -> bytes:
    """Lines without colours. Those that the text begins with come again and again, and are left out by their bytes, ten times as fast as by the pattern."""
    if b"\x1b" not in data:
        return data
    for colour in set(_COLOUR.findall(data, 0, _BEGINNING)):
        data = data.replace(colour, b"")
    return _ESCAPED.sub(b"", data) if b"\x1b" in data else data


def plain(line: str) -> Plain:
    """Colours, prefixes and frames taken away; of a bar that was drawn over itself all segments, one behind the other."""
    line = line[:LONGEST]
    if "\x1b" in line or "\\u001b" in line or "\\x1b" in line:
        line = _ESCAPES.sub("", line)
    if "\r" in line:
        line = " ".join(line.split("\r"))
    rank = ""
    found = _PREFIXES.match(line)
    if found is not None:
        rank = next((found[name] for name in "abce" if found[name] is not None), "")
        line = line[found.end() :]
    stripped = line.strip()
    if len(stripped) > 1 and stripped[0] in _BOX and stripped[-1] in _BOX and stripped[0] != "|":
        return Plain(rank, stripped[1:-1].strip().lstrip(_POINTER).strip(), True)
    return Plain(rank, stripped if line[:1] not in " \t" else line.rstrip(), False)


def joined(texts: list[str]) -> str:
    """Several lines as one, blanks collapsed."""
    return " ".join(" ".join(texts).split())


def closed(text: str) -> str:
    """Without any blank: a terminal breaks inside words as well."""
    return "".join(text.split())
