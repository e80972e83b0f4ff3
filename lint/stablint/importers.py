"""Who imports a module of a repository, and what those have imported before: Unsloth replaces classes of other libraries when it is imported, so
that a module which is imported behind it has Unsloth's.

Asked only of a Python file that a finding stands in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from stablint import discover
from stablint.assemble.files import Files
from stablint.referrers import content
from stablint.repository import programs_of

_IMPORT = re.compile(
    r"^(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]{0,2000}\)|[^\n]{1,400})|import[ \t]+([\w., \t]{1,400}))",
    re.MULTILINE,
)
_UNSLOTH = re.compile(r"^(?:from|import)[ \t]+unsloth\b", re.MULTILINE)
_FAR = 3  # importers of importers, and modules that are imported by what is imported
_MOST = 60  # imports of one text


def behind_unsloth(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those of these Python files that are imported when Unsloth has been, by every program of their repository that imports them."""
    return frozenset(path for path in paths if os.path.isdir(files.root(path)) and _is_behind(path, files, _FAR))


def _is_behind(path: str, files: Files, far: int) -> bool:
    root = files.root(path)
    name = os.path.basename(path)[:-3]
    if name == "__init__":
        return False
    found = False
    for other in programs_of(root, files):
        if other == path or not other.endswith(".py"):
            continue
        raw = content(other)
        if name.encode("utf-8", "surrogatepass") not in raw:
            continue
        text = raw.decode("utf-8", "replace")
        at = next((start for start, one in _imports(text, other, root) if one == path), None)
        if at is None:
            continue
        found = True
        if not (_unsloth_above(text, at, other, root, far) or (far > 1 and _is_behind(other, files, far - 1))):
            return False
    return found


def _unsloth_above(text: str, at: int, path: str, root: str, far: int) -> bool:
    """Whether Unsloth is imported above this place, by the text itself or by a module that it imports there."""
    own = _UNSLOTH.search(text)
    if own is not None and own.start() < at:
        return True
    for start, other in _imports(text, path, root) if far > 0 else ():
        if start < at:
            inner = content(other).decode("utf-8", "replace")
            if _unsloth_above(inner, len(inner), other, root, far - 1):
                return True
    return False


def _imports(text: str, path: str, root: str) -> Iterable[tuple[int, str]]:
    """The modules of the repository that a text imports, and where; what stands inside a function is not meant."""
    for index, found in enumerate(_IMPORT.finditer(text)):
        if index >= _MOST:
            return
        if found[3]:
            named = [part.split()[0] for part in found[3].split(",") if part.split()]
        else:
            names = [part.split()[0] for part in found[2].strip("()").split(",") if part.split()]
            module = found[1].lstrip(".")
            named = [module, *(f"{module}.{name}".lstrip(".") for name in names)]
        for name in named:
            own = discover.locate(name.replace(".", "/") + ".py", path, root) if name else None
            if own is not None and not os.path.isdir(own):
                yield found.start(), own
