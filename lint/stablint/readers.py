"""Programs of a repository that read its configurations themselves: what their dataclasses declare, or what they take from a dict, are their
own names, whichever framework has such keys too.

Asked only where a file that no command names has something wrong with it, or is shown: most files are read by what they look like.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import islice

from stablint import discover
from stablint.assemble.files import Files
from stablint.dialect.at_hand import PACKAGES, Program, read
from stablint.dialect.fragment import Fragment
from stablint.referrers import content
from stablint.run.fields import field
from stablint.source.tree import Mapping

_FILES = 5_000  # of a repository are looked at
_PROGRAMS = 50  # that may be readers are read
_LOADS = re.compile(rb"\b(?:json|yaml|toml|tomllib)\.(?:safe_|full_|unsafe_)?loads?\(|\bOmegaConf\.load\(|\bBox\.from_")
_TAKES = re.compile(r"""\[\s*["'](\w+)["']\s*\]|\.(?:get|pop)\(\s*["'](\w+)["']""")
# What makes an object with attributes of what was loaded.
_OBJECTS = re.compile(
    r"\bOmegaConf\b|Namespace\(\s*\*\*|\b(?:edict|EasyDict|AttrDict|DotMap|Munch|munchify|Box|ConfigDict|Dict2Obj|AttributeDict)\("
)
# What hands all of it on to a library, which then reads it.
_HANDS_ON = re.compile(
    r"(?:Config|Arguments|Args)\([^()]*\*\*|\bparse_(?:yaml_file|json_file|dict)\b|\bTrlParser\b|\bsubprocess\b|\bos\.system\b"
    r"|^[ \t]*(?:from|import)\s+(?:llamafactory|llmtuner|swift|axolotl)\b",
    re.MULTILINE,
)
_NAMES = re.compile(r"""["']((?:[\w.-]+/)*[\w.-]+\.(?:ya?ml|json|toml))["']""")
_ATTRIBUTES = re.compile(r"\.([a-z]\w+)\b(?!\s*\()")
# Names of what a program loads, and others that are called like settings.
_LOADED = re.compile(
    r"\b(\w+)(?::[ \t]*(\w+)(?:\[[\w., \[\]]*\])?)?[ \t]*=\s*(?:[\w.]+\(\s*){0,3}(?:json|yaml|toml|tomllib|OmegaConf)\.(?:safe_|full_|unsafe_)?loads?\("
)
_CALLED = re.compile(
    r"\b(\w{0,60}(?:cfg|conf|param|setting|arg|option)\w{0,60})(?::[ \t]*[\w.\[\], ]{1,100}?)?[ \t]*=(?!=)",
    re.IGNORECASE,
)
_PARSES_FILE = re.compile(rb"\bparse_(?:yaml|json)_file\(")
# What hands a loaded configuration to whoever trains with it.
_HANDS_OVER = re.compile(
    r"(?:Config|Arguments|Args)\([^()]*\*\*|\bparse_(?:yaml_file|json_file|dict)\(|\brun_exp\(|\bdeepspeed\.initialize\(|\bdeepspeed\s*=\s*\w+\s*[,)\n]"
)
_TESTS = re.compile(r"(?:^|[/\\])(?:tests?[/\\]|test_|conftest\b)")
_MOST_NAMES = 40
_DIALECTS = frozenset({"llamafactory", "ms-swift", "hf-args", "trl", "axolotl"})
_ARGUMENTS = "transformers.TrainingArguments"
_ENOUGH = 3  # keys that a program takes one by one


def asks(fragment: Fragment) -> bool:
    """Whether a configuration may be one for a program of the repository's own."""
    return fragment.block.kind == "document" and fragment.entry and fragment.dialect in _DIALECTS


def own_readers(paths: Iterable[str], files: Files) -> dict[str, Program]:
    """The programs that read these configurations, by the path of the configuration."""
    found: dict[str, Program] = {}
    wanted = [(path, keys) for path in paths if len(keys := _keys(files, path)) >= 2]
    by_root: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for path, keys in wanted:
        root = files.root(path)
        if os.path.isdir(root):  # a text from elsewhere may be called anything
            by_root.setdefault(root, []).append((path, keys))
    for root, several in by_root.items():
        declared: dict[str, tuple[str, Program]] = {}
        takers: list[tuple[str, frozenset[str], Program]] = []
        namers: list[tuple[frozenset[str], Program]] = []
        every: frozenset[str] = frozenset().union(*(keys for _, keys in several))
        called = frozenset(os.path.basename(path) for path, _ in several)
        for program, text in _programs(root, every, called, files):
            declared |= {name: (owner, program) for name, owner in program.declared.items() if owner[:1].isupper()}
            taken = _taken(text)
            if taken:
                takers.append((program.document.text.path, taken, program))
            if text and not _HANDS_ON.search(text):
                namers.append((frozenset(_NAMES.findall(text)), program))
        for path, keys in several:
            given = files.handed.get(path)
            text = given.document.text.text if given is not None else ""
            started = [(path, _taken(text), given)] if given is not None and not _HANDS_ON.search(text) else []
            owner = _declares(keys, declared) or _takes(keys, [*takers, *started]) or _loads(path, keys, root, namers)
            if owner is not None:
                found[path] = owner
    return found


def edited(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those of the configurations that a program of their repository loads and changes before it hands them on.

    A program that names none of its own is taken for one that loads any that its caller names.
    """
    by_root: dict[str, list[str]] = {}
    for path in paths:
        root = files.root(path)
        if os.path.isdir(root):
            by_root.setdefault(root, []).append(path)
    found: set[str] = set()
    for root, several in by_root.items():
        for text, any_file in _editors(root):
            named = {os.path.basename(name) for name in _NAMES.findall(text)}
            for path in several:
                if os.path.basename(path) in named or (any_file and not named and _HANDS_OVER.search(text)):
                    found.add(path)
    return frozenset(found)


def _editors(root: str) -> Iterable[tuple[str, bool]]:
    """The programs that load a configuration and change it, and whether what they change is called like settings."""
    paths = (path for path, _ in islice(discover.files([root], root), _FILES) if path.endswith((".py", ".ipynb")))
    for path in paths:
        if _of_a_framework(path[len(root) :]) or _TESTS.search(path[len(root) :]):
            continue
        raw = content(path)
        if path.endswith(".ipynb"):
            raw = raw.replace(b'\\"', b'"').replace(b"\\n", b"\n")
        parses = _PARSES_FILE.search(raw) is not None
        if not (parses or _LOADS.search(raw)):
            continue
        text = raw.decode("utf-8", "replace")
        called = sorted(set(_CALLED.findall(text)))
        loaded = [] if parses else sorted({name for one in _LOADED.findall(text) for name in one if name} - set(called))
        attributes = parses or _OBJECTS.search(text) is not None
        if _edits(text, called, attributes):
            yield text, True
        elif _edits(text, loaded, attributes):
            yield text, False


def _edits(text: str, names: list[str], attributes: bool) -> bool:
    """Whether a dict of one of these names is changed: `config["lr"] = …`, `config.update(…)`, `{**config, …}`, `config.lr = …`."""
    if not names:
        return False
    one = rf"\b(?:{'|'.join(map(re.escape, names[:_MOST_NAMES]))})\b"
    kinds = [
        rf"{one}(?:\[[^\]\n]+\])+\s*(?:[-+*/|]|//)?=(?!=)",
        rf"{one}(?:\[[^\]\n]+\])*\.(?:update|setdefault|pop|popitem|clear)\(",
        rf"\bdel\s+{one}\s*\[",
        rf"\{{\s*\*\*\s*{one}|,\s*\*\*\s*{one}|\(\s*\*\*\s*{one}\s*,\s*\w|\bdict\(\s*{one}\s*,",
        rf"\bsetattr\(\s*{one}|\bOmegaConf\.(?:merge|update|set\w*)\([^)\n]*{one}",
    ]
    if attributes:
        kinds.append(rf"{one}(?:\.\w+)+\s*=(?!=)")
    return re.search("|".join(kinds), text) is not None


def _keys(files: Files, path: str) -> frozenset[str]:
    """The keys of a configuration, of its sections as well."""
    names: set[str] = set()
    for document in files.documents(path):
        pending = [document.root] if isinstance(document.root, Mapping) else []
        while pending:
            mapping = pending.pop()
            assert isinstance(mapping, Mapping)
            names.update(entry.key for entry in mapping.entries)
            pending += [entry.value for entry in mapping.entries if isinstance(entry.value, Mapping)]
    return frozenset(names)


def _programs(root: str, keys: frozenset[str], called: frozenset[str], files: Files) -> Iterable[tuple[Program, str]]:
    """The Python files that declare arguments or load a file, and name some of the keys, or that load a file which is called so."""
    words, names = [key.encode() for key in keys], [name.encode() for name in called]
    paths = (path for path, _ in islice(discover.files([root], root), _FILES) if path.endswith(".py"))
    read_so_far = 0
    for path in paths:
        if _of_a_framework(path[len(root) :]):
            continue
        text = content(path)
        loads = _LOADS.search(text) is not None
        if b"dataclass" not in text and not loads:
            continue
        if sum(word in text for word in words) < 2 and not (loads and any(name in text for name in names)):
            continue
        read_so_far += 1
        if read_so_far > _PROGRAMS:
            return
        program = read(files.documents(path))
        if program is not None:
            yield program, program.document.text.text if loads else ""


_FOLDERS = frozenset(package for packages in PACKAGES.values() for package in packages) | {
    "site-packages",
    "trl",
    "transformers",
}


def _of_a_framework(path: str) -> bool:
    """A copy of a framework in the repository is that framework."""
    return not _FOLDERS.isdisjoint(path.replace(os.sep, "/").split("/"))


def _taken(text: str) -> frozenset[str]:
    names = {one or other for one, other in _TAKES.findall(text)}
    if _OBJECTS.search(text):
        names |= set(_ATTRIBUTES.findall(text))
    return frozenset(names)


def _declares(keys: frozenset[str], declared: dict[str, tuple[str, Program]]) -> Program | None:
    """The program whose dataclasses have most of what the library's arguments do not."""
    foreign = [key for key in keys if field(_ARGUMENTS, key) is None]
    own = [key for key in foreign if key in declared]
    if len(own) < 2 or len(own) * 2 < len(foreign):
        return None
    return declared[own[0]][1]._replace(declared={key: declared[key][0] for key in own}, loop="", parser=False)


def _takes(keys: frozenset[str], takers: list[tuple[str, frozenset[str], Program]]) -> Program | None:
    """The program that takes the keys one by one; what is handed on whole (`SFTConfig(**config)`) it does not name."""
    best = max(takers, key=lambda taker: len(taker[1] & keys), default=None)
    if best is None or len(best[1] & keys) < _ENOUGH:
        return None
    return best[2]._replace(declared=dict.fromkeys(keys, "dict"), loop="", parser=True, library=False)


def _loads(path: str, keys: frozenset[str], root: str, namers: list[tuple[frozenset[str], Program]]) -> Program | None:
    """The program that loads this very file, and hands it on to no library: what it makes of the keys is its own business."""
    for names, program in namers:
        folders = {os.path.dirname(program.document.text.path), root}
        if any(
            os.path.normpath(os.path.join(folder, name)) == os.path.normpath(path)
            for name in names
            for folder in folders
        ):
            return program._replace(declared=dict.fromkeys(keys, "dict"), loop="", parser=True, library=False)
    return None
