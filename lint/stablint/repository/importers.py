"""Who imports a module of a repository, and how. Unsloth replaces classes of other libraries when it is imported, so that a module which is imported
behind it has Unsloth's; a module that is imported within a `try` may fail without harm.

Asked only of a Python file that a finding stands in.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Iterable, Iterator

from stablint.assemble.files import Files
from stablint.files import discover
from stablint.repository.programs import programs_of
from stablint.repository.referrers import content
from stablint.syntax.limits import IMPORTS
from stablint.syntax.python.names import goes_on
from stablint.syntax.python.parse import tree_of
from stablint.syntax.python.scope import dotted


def _patterns(begins: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Any import, Unsloth's, and one of a library whose classes that replaces."""
    return (
        re.compile(
            begins
            + r"(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^()]{0,2000}\)|[^\n]{1,400})|import[ \t]+([\w., \t]{1,400}))",
            re.MULTILINE,
        ),
        re.compile(
            begins
            + r"(?:(?:from|import)[ \t]+unsloth\b|(?:importlib\.import_module|import_module|__import__)\([\"']unsloth\b)",
            re.MULTILINE,
        ),
        re.compile(begins + r"(?:from|import)[ \t]+(?:trl|transformers|peft)\b", re.MULTILINE),
    )


_AT_ONCE = _patterns("^")  # when the module is imported
_AT_ALL = _patterns("^[ \t]*")  # or when a function of it is called, in the order of the text as far as anybody can say
_FAR = 3  # importers of importers, and modules that are imported by what is imported


def behind_unsloth(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those of these Python files that are imported when Unsloth has been, by every program of their repository that imports them, or may be: what
    functions import, they import when they are called."""
    by_root: dict[str, list[str]] = {}
    for path in paths:
        by_root.setdefault(files.root(path), []).append(path)
    found: set[str] = set()
    for root, several in by_root.items():
        programs = [one for one in programs_of(root, files) if one.endswith(".py")] if os.path.isdir(root) else []
        if not any(b"unsloth" in content(one, files) for one in programs):  # hardly any repository goes on from here
            continue
        for patterns in (_AT_ONCE, _AT_ALL):
            if left := [path for path in several if path not in found]:
                imports = _Imports(root, programs, patterns, files)
                found.update(path for path in left if imports.brings(path) or imports.is_behind(path, _FAR))
    return frozenset(found)


def optional(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those of these Python files that the repository imports within a `try` only, and goes on without: the models of a collection of which each
    wants other releases."""
    found: set[str] = set()
    for path in paths:
        root = files.root(path)
        programs = [one for one in programs_of(root, files) if one.endswith(".py")] if os.path.isdir(root) else []
        if _is_optional(path, root, programs, files):
            found.add(path)
    return frozenset(found)


def _is_optional(path: str, root: str, programs: list[str], files: Files) -> bool:
    name = os.path.basename(path)[:-3]
    word, tried = name.encode(), False
    if name == "__init__" or b"__main__" in content(path, files):
        return False
    for other in programs:
        read = content(other, files) if other != path else b""
        beside = os.path.basename(other) == "__init__.py" and os.path.dirname(other) == os.path.dirname(path)
        if b"import" not in read or not (word in read or beside):
            continue
        text = read.decode("utf-8", "replace")
        if any(_locate(one, other, root) == path for _, one in _names(text, other, files)):
            return False  # above any `try`, in the first column
        tried = tried or (b"try" in read and _tries(text, other, path, root, beside))
    return tried


def _locate(name: str, importer: str, root: str) -> str | None:
    return discover.locate(name.replace(".", "/") + ".py", importer, root)


def _tries(text: str, importer: str, path: str, root: str, beside: bool) -> bool:
    """Whether the text imports the module within a `try` that goes on: by its name, or all that stand `beside` it by names that it works out."""
    tree = tree_of(text)
    if tree is None:
        return False
    for node in ast.walk(tree):
        if not isinstance(node, ast.Try) or not any(goes_on(handler, _FAILURES) for handler in node.handlers):
            continue
        for one in (inner for statement in node.body for inner in ast.walk(statement)):
            if isinstance(one, ast.Call) and beside and (dotted(one.func) or [""])[-1] in _BY_NAME:
                return True
            if isinstance(one, ast.Import):
                named = [alias.name for alias in one.names]
            elif isinstance(one, ast.ImportFrom):
                module = one.module or ""
                named = [module, *(f"{module}.{alias.name}".lstrip(".") for alias in one.names)]
            else:
                continue
            if any(name and _locate(name, importer, root) == path for name in named):
                return True
    return False


_BY_NAME = frozenset(["exec", "import_module", "__import__"])
# A name that a library lacks is an ImportError; a ModuleNotFoundError is of a library that is not there.
_FAILURES = frozenset(["ImportError", "Exception", "BaseException"])


class _Imports:
    """What the programs of a repository import: each is read once, however many of its modules are asked about."""

    def __init__(
        self,
        root: str,
        programs: list[str],
        patterns: tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]],
        files: Files,
    ) -> None:
        self._root, self._files = root, files
        self._import, self._unsloth, self._patched = patterns
        self._naming: dict[
            str, list[str]
        ] = {}  # last word of a module's name → the programs that import one of that name
        self._read: dict[str, tuple[int, list[tuple[int, str]]]] = {}
        for path in programs:
            for word in {
                name.rpartition(".")[2] for _, name in _names(_text(path, self._files), path, files, self._import)
            }:
                self._naming.setdefault(word, []).append(path)

    def brings(self, path: str) -> bool:
        """Whether whoever imports it imports Unsloth first: a module that it imports itself above the library does, or its package."""
        library = self._patched.search(_text(path, self._files))
        if library is not None and self._unsloth_above(path, library.start(), _FAR):
            return True
        folder = os.path.dirname(path)
        while os.path.isfile(package := os.path.join(folder, "__init__.py")):
            if package != path and self._unsloth_above(package, math.inf, _FAR):
                return True
            if folder == self._root or folder == os.path.dirname(folder):
                break
            folder = os.path.dirname(folder)
        return False

    def is_behind(self, path: str, far: int) -> bool:
        name = os.path.basename(path)[:-3]
        if name == "__init__":
            return False
        found = False
        for other in self._naming.get(name, ()):
            at = next((start for start, one in self._of(other)[1] if one == path), None)
            if at is None or other == path:
                continue
            found = True
            if not (self._unsloth_above(other, at, far) or (far > 1 and self.is_behind(other, far - 1))):
                return False
        return found

    def _unsloth_above(self, path: str, at: float, far: int) -> bool:
        """Whether Unsloth is imported above this place, by the text itself or by a module that it imports there."""
        own, imports = self._of(path)
        if 0 <= own < at:
            return True
        return far > 0 and any(start < at and self._unsloth_above(other, math.inf, far - 1) for start, other in imports)

    def _of(self, path: str) -> tuple[int, list[tuple[int, str]]]:
        """Where a text imports Unsloth, -1 where it does not; the modules of the repository that it imports, and where."""
        if path not in self._read:
            text = _text(path, self._files)
            own = self._unsloth.search(text)
            located = (
                (start, discover.locate(name.replace(".", "/") + ".py", path, self._root))
                for start, name in _names(text, path, self._files, self._import)
            )
            imports = [(start, one) for start, one in located if one is not None and not os.path.isdir(one)]
            self._read[path] = own.start() if own is not None else -1, imports
        return self._read[path]


def _text(path: str, files: Files) -> str:
    return content(path, files).decode("utf-8", "replace")


def _names(text: str, path: str, files: Files, pattern: re.Pattern[str] = _AT_ONCE[0]) -> Iterator[tuple[int, str]]:
    """What a text imports, and where; what stands inside a function is meant only where the pattern says so."""
    left = IMPORTS.most
    for found in pattern.finditer(text):
        if found[3]:
            named = [part.split()[0] for part in found[3].split(",") if part.split()]
        else:
            names = [part.split()[0] for part in found[2].strip("()").split(",") if part.split()]
            module = found[1].lstrip(".")
            named = [module, *(f"{module}.{name}".lstrip(".") for name in names)]
        yield from ((found.start(), name) for name in named[:left] if name)
        left -= len(named)
        if left < 0:
            files.cut_program(path, IMPORTS)
            break
