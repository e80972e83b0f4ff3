"""knowledge/ → the tables that a check loads in a millisecond (`_compiled/`). Runs when a wheel is built, and in a checkout when a source is newer.

Each module of `compiling/` makes the tables of the sources that its READS name. In a checkout what has not changed, by content, is taken over
from the last time: a module's tables where its sources are the same, and of the hazards each file (`recall`). The stamp says what was read.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import pkgutil
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from stablint import compiling
from stablint.report.progress import progress
from stablint.secrets import exit

if sys.platform != "win32":
    import fcntl

_PREFIX = "_compiled-"
_ABANDONED = 600.0  # seconds; a whole compilation takes some three
_STAMP = "stamp"
_RECALLED = "_recalled"
"""What single files came to, by their text. It and other tables whose name begins so are for the next compilation, and in no wheel."""


def _sweep(parent: str) -> None:
    """Take away what processes that were killed have left."""
    with os.scandir(parent) as entries:
        left = [entry.path for entry in entries if entry.name.startswith(_PREFIX) and _age(entry) > _ABANDONED]
    for path in left:
        shutil.rmtree(path, ignore_errors=True)


def _age(entry: os.DirEntry[str]) -> float:
    try:
        return time.time() - entry.stat(follow_symlinks=False).st_mtime
    except FileNotFoundError:  # another process sweeps as well
        return 0.0


def rows(table: Mapping[str, object]) -> bytes:
    """A line for each row, as knowledge.Rows reads it."""
    lines = [f"{key}\t{json.dumps(row, separators=(',', ':'))}\n" for key, row in table.items()]
    return "".join(lines).encode()


def compile_all(sources: str, target: str, *, incremental: bool = True) -> None:
    """Write every table into a new folder, then put it in the place of `target`: a check never sees half of it.

    `incremental` takes over what did not change, and leaves in `target` what the next time needs for that; a wheel is made without. Raises
    ValueError that names the file which is not as its model says.
    """
    began = time.time()
    parent = os.path.dirname(target)
    with _alone(parent):
        found = _Digests(Path(sources))
        before = _Before(Path(target)) if incremental else _Before(None)
        if before.whole == found.whole():
            with contextlib.suppress(OSError):  # a checkout that may not be written is right nevertheless
                os.utime(Path(target, _STAMP), (began, began))
            return
        _sweep(parent)
        fresh = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
        try:
            stamp = _compile_into(Path(fresh), Path(sources), found, before, incremental)
            Path(fresh, _STAMP).write_text(json.dumps(stamp if incremental else {}), encoding="utf-8")
            os.utime(Path(fresh, _STAMP), (began, began))  # what is saved while the sources are read is read next time
            os.chmod(fresh, 0o755)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        _put_in_place(fresh, target)


def _compile_into(fresh: Path, sources: Path, found: _Digests, before: _Before, incremental: bool) -> dict[str, Any]:
    """Writes the tables and returns the stamp."""
    contents = _Contents(fresh)
    keys: dict[str, str] = {}
    parts: dict[str, Any] = {}
    compilers = list(_compilers())
    for name, compiler in progress(compilers, len(compilers), exit.stream(error=True), "knowledge"):
        joined: tuple[str, ...] = getattr(compiler, "COMBINES", ())
        keys[name] = _digest((keys[part] for part in joined) if joined else (found.of(compiler.READS),))
        made = before.names(name, keys[name])
        if made is None or not _taken_over(before.folder, made, contents):
            if joined:
                tables = getattr(compiler, f"combine_{name}")(contents)
            elif getattr(compiler, "RECALLS", False):
                recall = _Recall(before.recalled(found.code))
                tables = getattr(compiler, f"compile_{name}")(sources, recall)
                tables[_RECALLED] = recall.now
            else:
                tables = getattr(compiler, f"compile_{name}")(sources)
            made = [file for table, content in tables.items() for file in contents.write(table, content, incremental)]
        parts[name] = {"key": keys[name], "files": made}
    return {"whole": found.whole(), "code": found.code, "parts": parts}


def _compilers() -> Iterator[tuple[str, ModuleType]]:
    """The modules that make tables, those that combine the tables of others behind the rest."""
    modules = [
        (one.name, importlib.import_module(f"stablint.compiling.{one.name}"))
        for one in pkgutil.iter_modules(compiling.__path__)
        if one.name != "compile"
    ]
    yield from (one for one in modules if hasattr(one[1], "READS"))
    yield from (one for one in modules if hasattr(one[1], "COMBINES"))


class _Contents(Mapping[str, Any]):
    """The tables so far. One that was taken over is read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tables: dict[str, Any] = {}
        self._files: dict[str, Path] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._tables:
            self._tables[name] = json.loads(self._files[name].read_bytes())
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files.keys() | self._tables.keys())

    def __len__(self) -> int:
        return len(self._files.keys() | self._tables.keys())

    def take(self, file: str) -> Path:
        """Where a table that is taken over belongs."""
        place = self._folder / file
        place.parent.mkdir(parents=True, exist_ok=True)
        self._files[file.removesuffix(".json")] = place
        return place

    def write(self, name: str, content: object, incremental: bool) -> Iterator[str]:
        """The file that was written; of what is for the next compilation none, where there is none."""
        self._tables[name] = content
        if name.startswith("_") and not incremental:
            return
        file = name if name.endswith((".rows", ".lines")) else name + ".json"
        path = self._folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif name.endswith(".rows"):
            path.write_bytes(rows(cast("dict[str, object]", content)))
        else:
            text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, sort_keys=False)
            path.write_text(text, encoding="utf-8")
        yield file


def _taken_over(folder: Path, files: list[str], contents: _Contents) -> bool:
    """Not where one of them is missing: then all are made again, and none is written through a link to what others still read."""
    if not all((folder / file).is_file() for file in files):
        return False
    for file in files:
        place = contents.take(file)
        try:
            os.link(folder / file, place)
        except OSError:  # a file system without links
            shutil.copyfile(folder / file, place)
    return True


class _Recall:
    """What the work behind a text came to is remembered by the text."""

    def __init__(self, before: Mapping[str, Any]) -> None:
        self._before, self.now = before, dict[str, Any]()

    def __call__(self, text: str, work: Callable[[], Any]) -> Any:
        key = _digest((text,))
        self.now[key] = self._before[key] if key in self._before else work()
        return self.now[key]


class _Before:
    """The last compilation: nothing, where there was none or its stamp cannot be read."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder or Path()
        stamp: Any = None
        with contextlib.suppress(OSError, ValueError):
            stamp = json.loads(Path(folder, _STAMP).read_text(encoding="utf-8")) if folder else None
        self.whole: str | None = stamp.get("whole") if isinstance(stamp, dict) else None
        self._code: object = stamp.get("code") if isinstance(stamp, dict) else None
        self._parts: dict[str, Any] = stamp.get("parts", {}) if isinstance(stamp, dict) else {}

    def names(self, part: str, key: str) -> list[str] | None:
        """The files of a part, where it was made of the same."""
        made = self._parts.get(part)
        return made["files"] if made is not None and made["key"] == key else None

    def recalled(self, code: str) -> dict[str, Any]:
        """What the texts came to; nothing where other code did the work."""
        if self._code != code:
            return {}
        try:
            found: dict[str, Any] = json.loads((self.folder / f"{_RECALLED}.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return found


class _Digests:
    """The content of the sources and of our own code, by which what is made of both is known to be the same."""

    def __init__(self, sources: Path) -> None:
        code = _contents(Path(__file__).parent, (".py",)) | _contents(Path(__file__).parents[1] / "schema", (".py",))
        self.code = _digest(f"{name} {digest}" for name, digest in code.items())
        self._sources = _contents(sources, ("",))

    def whole(self) -> str:
        return self.of(("",))

    def of(self, reads: Iterable[str]) -> str:
        """The digest of the files that these paths name, or that lie below them."""
        below = tuple(f"{path}/" if path else "" for path in reads)
        named = (f"{name} {digest}" for name, digest in self._sources.items() if f"{name}/".startswith(below))
        return _digest((self.code, *named))


def _contents(folder: Path, suffixes: tuple[str, ...]) -> dict[str, str]:
    """The digest of each file below the folder, by its path there. Compiled tables and Python's own are none."""
    found = {}
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(("_compiled", "__pycache__")))
        for name in sorted(files):
            if name.endswith(suffixes):
                path = Path(top, name)
                found[path.relative_to(folder).as_posix()] = hashlib.blake2b(path.read_bytes()).hexdigest()
    return found


def _digest(parts: Iterable[str]) -> str:
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _put_in_place(fresh: str, target: str) -> None:
    old = tempfile.mkdtemp(prefix=_PREFIX, dir=os.path.dirname(target))
    try:
        if os.path.isdir(target):
            os.replace(target, os.path.join(old, "old"))
        os.replace(fresh, target)
    except OSError:  # another process was faster: its folder is as good as this one
        shutil.rmtree(fresh, ignore_errors=True)
        if not os.path.isdir(target):
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def _alone(folder: str) -> Iterator[None]:
    """One process compiles at a time, where the system knows locks; the others find that nothing is left to do."""
    if sys.platform == "win32":
        yield
        return
    place = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a network's file system
            fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)
