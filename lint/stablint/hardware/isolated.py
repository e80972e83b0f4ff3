"""Child processes that nothing of a checked repository can steer: no program, module or setting of it reaches them.

The current folder is most often the checkout, and a checkout is not trusted: what a child finds there by name is somebody else's code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

FOLDER = os.path.abspath(os.sep)
"""Where children run: the root of the file system, in which no checkout lies."""

_ISOLATED = "-I"  # no PYTHON* variables, no user site, neither the current folder nor the script's in sys.path
# Lists of folders or files in which a child's loader or shell searches: a relative entry is meant from the current folder.
_SEARCHED = frozenset({"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT", "DYLD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"})  # fmt: skip


def python(program: str) -> list[str]:
    """The words that run a Python text in an isolated interpreter: of its site-packages, and of nothing else."""
    return [sys.executable, _ISOLATED, "-c", program]


def untrusted(folder: str) -> str:
    """What must not steer a child that is started from this folder: its repository, or the folder itself where it is in none."""
    top = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(top, ".git")):
        above = os.path.dirname(top)
        if above == top:
            return os.path.realpath(folder)
        top = above
    return top


class Outside:
    """The environment and the programs of this machine without what lies in the untrusted folders (the current one's repository)."""

    def __init__(self, folders: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> None:
        self._given = os.environ if environment is None else environment
        self._folders = {untrusted(folder) for folder in (os.getcwd(), *folders)}

    def allows(self, path: str) -> bool:
        """Whether an absolute path leads, links followed, out of the untrusted folders."""
        real = os.path.normcase(os.path.realpath(path))
        for folder in map(os.path.normcase, self._folders):
            # In `/` itself a container is at work, and no checkout: all programs of the machine lie below it.
            if real == folder or (os.path.dirname(folder) != folder and real.startswith(os.path.join(folder, ""))):
                return False
        return True

    def environment(self) -> dict[str, str]:
        """The variables of this process without Python's own, and without the entries that lead into the untrusted folders."""
        kept = {}
        for name, value in self._given.items():
            if name.upper().startswith("PYTHON"):
                continue
            entries = value.split(os.pathsep)
            left = [entry for entry in entries if self._harmless(entry, name.upper() in _SEARCHED)]
            if left:
                kept[name] = os.pathsep.join(left)
        return kept

    def _harmless(self, entry: str, searched: bool) -> bool:
        if os.path.isabs(entry):
            return self.allows(entry)
        return not searched

    def program(self, name: str) -> str | None:
        """The first executable file of this name in the absolute folders of the PATH that may be trusted; None if there is none."""
        endings = self._given.get("PATHEXT", ".EXE").split(os.pathsep) if os.name == "nt" else [""]
        for folder in self._given.get("PATH", os.defpath).split(os.pathsep):
            if not os.path.isabs(folder) or not self.allows(folder):
                continue
            for path in (os.path.join(folder, name + ending) for ending in endings):
                if os.path.isfile(path) and os.access(path, os.X_OK) and self.allows(path):
                    return path
        return None
