"""What a repair leaves beside the files while it writes them, and what becomes of it when the process was killed.

Three kinds of files, whose names say which process made them: the new texts (`tmp`), the old files under a second name (`old`), and for a
repair of several files a journal, which says which old files belong together. Of a dead process the journal is undone and the rest removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

from stablint.base.whole import lives, machine
from stablint.files import gitignore
from stablint.syntax.text import bytes_of, is_inside

_NAME = re.compile(r"\.stablint-(?P<process>\d+)-(?P<host>[0-9a-f]{8})-\d+\.(?P<kind>tmp|old|journal)")
_LONGEST = 24 * 3600  # seconds after which no process is at work any more, whoever has its number now
_numbers = count(1)


class Step(NamedTuple):
    """One file of a repair. Paths are absolute, links followed; the hashes are those of its bytes."""

    target: str
    old: str
    before: str
    after: str


def beside(target: str, kind: str) -> str:
    """A new name in the folder of a file, short whatever its own name is, and of no configuration's suffix."""
    return os.path.join(os.path.dirname(target), f".stablint-{os.getpid()}-{machine()}-{next(_numbers)}.{kind}")


def ours(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def journal(steps: Iterable[Step], path: str) -> bytes:
    """What a journal at this path says of a repair; paths are relative to it."""
    folder = os.path.dirname(path)
    rows = [
        {**step._asdict(), "target": os.path.relpath(step.target, folder), "old": os.path.relpath(step.old, folder)}
        for step in steps
    ]
    return json.dumps({"stablint": 1, "files": rows}, indent=1).encode("utf-8", "surrogateescape")


def recover(folders: Iterable[str], root: str) -> Iterator[tuple[str, str]]:
    """Undo what killed processes left half done in these folders, and remove what they left behind; says which files were put back.

    Nothing outside of `root` is touched, whatever a journal says: it may have come with the repository.
    """
    left = [os.path.join(folder, name) for folder in sorted(set(folders)) for name in _names(folder)]
    git = gitignore.Repository(root)
    dead = [
        path for path in left if not (_at_work(path) or git.tracks(path, unsure=False))
    ]  # no repair has left what git tracks
    for path in dead:
        if path.endswith(".journal") and is_inside(path, root):
            yield from _undo(path, root)
    for path in dead:
        if is_inside(
            os.path.dirname(path) + os.sep + "x", root
        ):  # the place of the name, wherever a link of that name leads
            with contextlib.suppress(OSError):
                os.unlink(path)


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if ours(name))
    except OSError:
        return []


def _at_work(path: str) -> bool:
    """Whether the process that made it may still be writing."""
    found = _NAME.fullmatch(os.path.basename(path))
    assert found is not None
    try:
        times = os.lstat(path)
    except OSError:
        return True  # gone meanwhile: its process has removed it
    if time.time() - max(times.st_mtime, times.st_ctime) > _LONGEST:
        return False
    if found["host"] != machine() or os.name != "posix":
        return True  # there is no asking after its number
    if not lives(int(found["process"])):
        return False
    return int(found["process"]) != os.getpid()  # this process has written nothing yet


def _undo(path: str, root: str) -> Iterator[tuple[str, str]]:
    """Every file of a half written repair becomes what it was. One that somebody has edited since stays as it is, and is named."""
    folder = os.path.dirname(path)
    try:
        rows = json.loads(bytes_of(path) or b"")["files"]
        steps = [Step(**{key: str(row[key]) for key in Step._fields}) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return  # no journal, or cut off while it was written: nothing was exchanged by then
    for step in steps:
        target, old = (
            os.path.normpath(os.path.join(folder, step.target)),
            os.path.normpath(os.path.join(folder, step.old)),
        )
        if not (
            ours(os.path.basename(old)) and os.path.dirname(old) == os.path.dirname(target) and is_inside(target, root)
        ):
            continue
        there = hash_of(target)
        if there == step.after and hash_of(old) == step.before and not (os.path.islink(target) or os.path.islink(old)):
            with contextlib.suppress(OSError):
                os.replace(old, target)
                yield target, "put back as it was: a repair of several files was interrupted"
        elif there != step.before:
            yield (
                target,
                "left as it is: it was edited after a repair of several files was interrupted; look whether they belong together",
            )


def hash_of(path: str) -> str:
    """Of the bytes of a regular file of a size that is read at all; empty where there is none. It never waits for a pipe's other end."""
    try:
        data = bytes_of(path)
    except OSError:
        return ""
    return "" if data is None else digest(data)
