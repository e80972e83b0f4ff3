"""Paths as the user names them → files, and files → documents. Only regular files under the root; nothing is executed, nothing is fetched."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator

from stablint.base.language import gettext
from stablint.base.libraries import difflib
from stablint.base.light import Pattern
from stablint.files import gitignore
from stablint.syntax import limits
from stablint.syntax import text as source_text
from stablint.syntax.json import reader as json_reader
from stablint.syntax.notebook import large as large_notebook
from stablint.syntax.notebook import reader as notebook_reader
from stablint.syntax.python import reader as python_reader
from stablint.syntax.recipes import dockerfile, guide, justfile, makefile, workflow, workload
from stablint.syntax.shell import reader as shell_reader
from stablint.syntax.tree import Document, Mapping, Text
from stablint.syntax.yaml import reader as yaml_reader

SUFFIXES = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".py": "python",
    ".ipynb": "notebook",
    ".sh": "shell",
    ".bash": "shell",
    ".slurm": "shell",
    ".sbatch": "shell",
    ".mk": "make",
    ".just": "just",
    ".dockerfile": "docker",
}
_NAMES = {
    "makefile": "make",
    "gnumakefile": "make",
    "justfile": "just",
    "dockerfile": "docker",
    "containerfile": "docker",
}
"""Files that have their format by their name, whatever stands behind its first point: `Dockerfile.train`."""
_JSON = frozenset({".conf", ".config"})  # DeepSpeed files are called so
_DATABRICKS = "# Databricks notebook source"
# Folders that hold no training configuration of the user's; `.`-folders are skipped as well.
_SKIPPED = frozenset({
    "node_modules", "__pycache__", "venv", "site-packages", "wandb", "mlruns", "dist", "build", "unsloth_compiled_cache",
})  # fmt: skip
# Libraries that repositories carry a copy of, each with a file that only it has.
_LIBRARIES = {
    "accelerate": "accelerator.py",
    "deepspeed": "runtime/engine.py",
    "peft": "peft_model.py",
    "transformers": "modeling_utils.py",
    "trl": "trainer/utils.py",
}


class NoSuchPath(Exception):
    """A path that was named and does not exist."""


class Refusal(str):
    """Why the system does not list a folder that is there."""


class LinkOut(str):
    """Why something that was named is not read."""


CARRIED = "a copy of the library {}: its own files are not checked unless it is named"
HALF_DONE = "a repair of several files is under way here, or was killed: then the next --fix puts its files back"
IGNORED_IN_PART = "too many patterns, or too long ones: those beyond the limits do not count, and the files that they name are checked as well"
Missed = list[tuple[str, str]]
"""What the reader should know of and will not find in the report: folders that could not be listed, repairs half done; each with words."""


def files(paths: list[str], base: str, missed: Missed | None = None) -> Iterator[tuple[str, bool]]:
    """`(path, was it named)`, each file once, in the same order whatever the order of `paths`. What cannot be listed goes to `missed`."""
    missed = [] if missed is None else missed
    found: dict[str, bool] = {}
    for path in paths:
        absolute = os.path.normpath(os.path.join(base, path))
        try:
            os.lstat(absolute)
        except PermissionError:  # it may be there: reading it says why not
            found[absolute] = True
            continue
        except (OSError, ValueError):
            raise NoSuchPath(path) from None
        if os.path.isdir(absolute):
            for file in _walk(absolute, missed):
                found.setdefault(file, False)
        else:
            found[absolute] = True
    yield from sorted(found.items())


Passed = list[tuple[str, limits.Limit]]
"""Folders that were not looked into, or not all of what lies below them, each with the limit that it reached."""


def within(folder: str, passed: Passed) -> list[str]:
    """The files of a folder that a check would read, folder by folder from the top until a limit of entries is reached; in the same order always.
    Data sets of a million files lie in some repositories."""
    return sorted(_walk(folder, [], passed))


def _walk(folder: str, missed: Missed, passed: Passed | None = None) -> Iterator[str]:
    """With `passed` from the top and within limits, else each folder to its end."""
    root = os.path.realpath(root_of(folder))
    top = repository(folder)
    git = gitignore.Repository(top) if top is not None else None
    pending = deque([(folder, git.above(folder) if git is not None else ())])
    left = limits.ENTRIES.most
    while pending:
        current, rules = pending.pop() if passed is None else pending.popleft()
        try:
            with os.scandir(current) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            missed.append((current, Refusal(f"not read: {source_text.why(error, current)}")))
            continue
        if passed is not None:
            left -= min(len(listed), limits.CROWDED.most)
            if left < 0:
                passed.append((folder, limits.ENTRIES))
                return
            if len(listed) > limits.CROWDED.most and current != folder:
                if any(_kind(entry) != "other" for entry in listed):  # a folder of pictures alone holds nothing to read
                    passed.append((current, limits.CROWDED))
                continue
        if current != folder and (library := _carried(current, [entry.name for entry in listed])):
            missed.append((current, CARRIED.format(library)))
            continue
        if git is not None and any(entry.name == ".gitignore" for entry in listed):
            rules = git.of(current, rules)
        while git is not None and git.cut:
            missed.append((git.cut.pop(), IGNORED_IN_PART))
        folders = []
        for entry in listed:
            kind = _kind(entry)
            if git is not None and rules and kind != "other" and git.ignores(entry.path, kind == "folder", rules):
                continue
            if kind == "folder" and entry.name not in _SKIPPED and not entry.name.startswith("."):
                folders.append(entry.path)
            elif kind == "file":
                if entry.is_symlink() and not _inside(entry.path, root):
                    continue  # a link out of the tree, which nobody named
                yield entry.path
            elif kind == "unknown":
                yield entry.path  # whoever reads it is told why it cannot be
            elif entry.name.startswith(".stablint-") and entry.name.endswith(".journal"):
                missed.append((entry.path, HALF_DONE))
        pending.extend((path, rules) for path in (folders if passed is not None else reversed(folders)))


def _carried(folder: str, names: list[str]) -> str:
    """The library whose package or whose whole project this folder is; empty if it is none."""
    name = os.path.basename(folder)
    inside = ["src"] if "src" in names else []
    if "setup.py" in names or "pyproject.toml" in names:
        inside.append("")
    found = [(name, folder)] if name in _LIBRARIES and "__init__.py" in names else []
    found += [(one, os.path.join(folder, inner, one)) for inner in inside for one in _LIBRARIES]
    for library, package in found:
        if os.path.isfile(os.path.join(package, "__init__.py")) and os.path.isfile(
            os.path.join(package, *_LIBRARIES[library].split("/"))
        ):
            return library
    return ""


def _kind(entry: os.DirEntry[str]) -> str:
    """folder, file (of a configuration's suffix), other; unknown where the system does not say: a link to itself, a stale handle."""
    configuration = is_configuration(entry.name)
    try:
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if configuration and entry.is_file(follow_symlinks=True) else "other"
    except OSError:
        return "unknown" if configuration else "other"


def root_of(path: str) -> str:
    """The nearest folder at or above `path` that is a repository; else the folder itself. Linked files must lie below it."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    return repository(folder) or folder


def repository(folder: str) -> str | None:
    """The nearest folder at or above this one that is a repository."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def is_link_out(path: str) -> bool:
    """Whether a link leads the path out of the repository in which it is named; a checkout may hold a link under any name."""
    absolute, root = _at_home(path)
    return root is not None and absolute != root and not source_text.is_inside(absolute, root)


def leads_out(path: str, base: str) -> str | None:
    """Where a file that is to be written would really lie, if a link leads it out of the repository that it is named in (else out of
    `base`); None where no link does that. A checkout may hold a link under any name that a report usually has.
    """
    absolute, root = _at_home(os.path.join(base, path))
    if root is None and absolute.startswith(os.path.join(base, "")):
        root = base
    return None if root is None or source_text.is_inside(absolute, root) else os.path.realpath(absolute)


def _at_home(path: str) -> tuple[str, str | None]:
    """The absolute path, no link followed but those that `..` stands behind, and the repository in which it is named.

    The system follows a link before it goes up from it: `link/../x` lies beside what the link leads to.
    """
    absolute = os.path.abspath(path)
    if os.pardir in path.split(os.sep) and os.path.realpath(path) != os.path.realpath(absolute):
        return os.path.realpath(path), repository(os.path.dirname(absolute))
    return absolute, repository(os.path.dirname(absolute))


class Roots:
    """Below which folder the files lie that a file may name: its repository, else the outermost folder that it lies in of those that are
    named and the one in which it is asked (`show conf/train.yaml`), if that is not everybody's."""

    def __init__(self, paths: Iterable[str], base: str) -> None:
        absolute = [os.path.normpath(os.path.join(base, path)) for path in paths]
        named = {path if os.path.isdir(path) else os.path.dirname(path) for path in absolute}
        here = os.path.normpath(os.path.abspath(base))
        shared = here in (os.path.expanduser("~"), os.path.dirname(here), "/tmp")
        self.named = sorted(named if shared else {*named, here})
        self._of: dict[str, str] = {}

    def of(self, path: str) -> str:
        folder = os.path.dirname(path)
        if folder not in self._of:
            above = (one for one in self.named if os.path.join(folder, "").startswith(os.path.join(one, "")))
            self._of[folder] = repository(folder) or next(above, folder)
        return self._of[folder]


def locate(wanted: str, beside: str, root: str) -> str | None:
    """The file that a config means by `wanted`: beside it, then in each folder up to the root. None where it is not there.

    Never outside the root: neither by `..` nor through a symbolic link.
    """
    if not wanted or "\0" in wanted or len(wanted) > 1000:
        return None
    real_root = os.path.realpath(root)
    folder = os.path.dirname(beside)
    while True:
        candidate = os.path.normpath(
            os.path.join(folder, os.path.expanduser(wanted) if wanted.startswith("~") else wanted)
        )
        if _inside(candidate, real_root):
            return candidate
        if os.path.normpath(folder) == os.path.normpath(root) or os.path.isabs(wanted):
            return None
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


_BELOW = Pattern(r"""\A["']?\$(?:\{[^{}]*\}|\w*)["']?/(.+)\Z""")
_LONGEST_TAIL = 6  # names of a path


def by_its_end(wanted: str, beside: str, root: str) -> str | None:
    """The program that a path means on somebody's machine: the words behind a variable (`$BASE/src/train.py`), or the longest end of an
    absolute path, of a folder and a file at least, that leads somewhere here. None where nothing does."""
    below = _BELOW.match(wanted)
    if below is not None:
        return None if "$" in below[1] else locate(below[1], beside, root)
    if not os.path.isabs(wanted):
        return None
    names = [name for name in wanted.split("/") if name]
    for first in range(max(1, len(names) - _LONGEST_TAIL), len(names) - 1):
        found = locate("/".join(names[first:]), beside, root)
        if found is not None:
            return found
    return None


def is_only(wanted: str, beside: str, root: str, folder: str = "") -> bool:
    """Whether no other file between the config's folder and the root could be meant by `wanted`; `folder` is where the script has gone."""
    if os.path.isabs(wanted):
        return True
    top, at, found = os.path.normpath(root), os.path.dirname(beside), set()
    while True:
        for place in (at, os.path.join(at, folder)):
            candidate = os.path.normpath(os.path.join(place, wanted))
            if os.path.isfile(candidate):
                found.add(os.path.realpath(candidate))
        if os.path.normpath(at) == top or os.path.dirname(at) == at:
            return len(found) == 1
        at = os.path.dirname(at)


_MOST = 2_000  # names of a folder that are compared, for the words `did you mean` alone


def hint(wanted: str, beside: str, root: str) -> str:
    """Behind the name of a file that was not read: that it lies outside the root, or what of its folder may be meant."""
    if "\0" in wanted:  # the system takes no such name
        return ""
    path = os.path.normpath(os.path.join(os.path.dirname(beside), os.path.expanduser(wanted)))
    folder, name = os.path.split(path)
    real, inside = os.path.realpath(path), os.path.join(os.path.realpath(root), "")
    if not real.startswith(inside):
        return "; outside the repository, which --allow-outside lets be read" if os.path.isfile(path) else ""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MOST), strict=False)]
    except OSError:
        return ""
    kind = os.path.splitext(name)[1]
    near = difflib.get_close_matches(name, sorted(one for one in names if one.endswith(kind)), 1, 0.7)
    return gettext("; did you mean {names}?").format(names=f"`{near[0]}`") if near else ""


def _inside(path: str, real_root: str) -> bool:
    if not os.path.exists(path):
        return False
    real = os.path.realpath(path)
    if real != real_root and not real.startswith(real_root.rstrip(os.sep) + os.sep):
        return False
    try:
        return stat.S_ISREG(os.stat(real).st_mode) or (
            os.path.isdir(real) and os.path.isfile(os.path.join(real, "config.json"))
        )
    except OSError:
        return False


_MANIFEST = frozenset({"kind", "run"})  # a key of every manifest


def kind_of(path: str) -> str:
    """The text format, by the suffix or the name; a file without a known one is read as YAML if it is named."""
    return _known_kind(path) or "yaml"


def is_configuration(path: str) -> bool:
    """Whether a file has a suffix or a name that configurations, scripts and programs have."""
    return _known_kind(path) is not None


def _known_kind(path: str) -> str | None:
    found = SUFFIXES.get(os.path.splitext(path)[1].lower())
    return found or _NAMES.get(os.path.basename(path).lower().strip(".").partition(".")[0])


def written_kind(name: str) -> str:
    """The format of a file that a notebook writes, by its name; empty for what no training reads (`index.js`, `pyproject.toml`)."""
    suffix = os.path.splitext(name)[1].lower()
    return SUFFIXES.get(suffix, "json" if suffix in _JSON else "")


def read(path: str, name: str, format: str | None = None) -> tuple[Document, ...]:
    """The documents of one file; what cannot be read is one document without a root and with its problem."""
    kind = format or kind_of(path)
    content = source_text.read(path, name)
    if kind == "notebook" and isinstance(content, source_text.Unreadable) and content.problem.kind == "too-large":
        return large_notebook.documents(path, name, content, lambda slim: parse(slim, kind))
    if isinstance(content, source_text.Unreadable):
        return (Document(content.text, kind, 0, None, (content.problem,)),)
    if kind == "yaml" and content.text.startswith("{") and not path.endswith((".yaml", ".yml")):
        kind = "json"  # a DeepSpeed file called `stage3.conf`: `1e9` is a number in it
    return parse(content, kind)


def parse(content: Text, kind: str) -> tuple[Document, ...]:
    """What a text is read into. Of one with a merge conflict nothing is: whatever else is wrong in it comes of that."""
    found = _parsed(content, kind)
    conflict = source_text.conflict(content.text)
    if conflict is None or not _is_in_code(conflict.start, found):
        return found
    return (Document(content, kind, 0, None, (conflict,)),)


def _is_in_code(at: int, found: tuple[Document, ...]) -> bool:
    """Whether what stands there is no part of a text that the file only quotes: no reader takes the file, or the shell comes upon it."""
    if found[0].format == "shell" and found[0].root is not None:
        return shell_reader.is_code(found[0].text.text, at)
    return any(document.root is None for document in found)


def _parsed(content: Text, kind: str) -> tuple[Document, ...]:
    """Imports only the reader that is needed: a YAML check never loads `ast`."""
    if kind == "yaml":
        return _with_commands(content, yaml_reader.documents(content))
    if kind == "json":
        return _with_commands(content, (json_reader.document(content),))
    if kind == "python" and is_notebook(content):
        kind = "notebook"
    if kind == "python":
        return python_reader.documents(content)
    if kind == "notebook":
        return notebook_reader.documents(content, parse, written_kind)
    if kind == "make":
        return makefile.documents(content, parse)
    if kind == "just":
        return justfile.documents(content, parse)
    if kind == "docker":
        return dockerfile.documents(content, parse)
    if kind == "guide":
        return guide.documents(content, parse)
    return shell_reader.documents(content, parse, lambda wanted, beside: locate(wanted, beside, root_of(beside)))


def is_notebook(content: Text) -> bool:
    """Whether a Python file is a notebook that Databricks has written."""
    return content.text.startswith(_DATABRICKS)


def _with_commands(content: Text, found: tuple[Document, ...]) -> tuple[Document, ...]:
    """A manifest of a cluster or of Docker Compose holds commands, and files; a workflow of a forge holds commands."""
    for document in found:
        root = document.root
        if type(root) is not Mapping:
            continue
        for entry in root.entries:
            if entry.key in _MANIFEST or (entry.key == "services" and type(entry.value) is Mapping):
                return workload.documents(content, found, parse, written_kind)
            if type(entry.value) is Mapping and (entry.key == "jobs" or entry.value.get("script") is not None):
                return workflow.documents(content, found, parse)
    return found
