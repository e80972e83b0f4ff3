"""Programs of a repository that read its configurations themselves: what their dataclasses declare, or what they take from a dict, are their
own names, whichever framework has such keys too.

Asked only where a file that no command names has something wrong with it, or is shown: most files are read by what they look like.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import islice

from stablint.assemble.files import Files
from stablint.base.light import NamedTuple, Pattern
from stablint.frameworks.launch.at_hand import Program, read
from stablint.repository import computed, passing
from stablint.repository.programs import CONFIG, LOADS, NAMES, OBJECTS, programs_of
from stablint.repository.referrers import content
from stablint.run.releases.fields import field
from stablint.syntax import limits
from stablint.syntax.tree import Mapping

_TAKES = Pattern(r"""\[\s*["'](\w+)["']\s*\]|\.(?:get|pop)\(\s*["'](\w+)["']""")
# What hands all of it on to a library, which then reads it.
HANDS_ON = Pattern(
    r"(?:Config|Arguments|Args)\([^()]*\*\*|\bparse_(?:yaml_file|json_file|dict)\b|\bTrlParser\b|\bsubprocess\b|\bos\.system\b"
    r"|^[ \t]*(?:from|import)\s+(?:llamafactory|llmtuner|swift|axolotl)\b",
    re.MULTILINE,
)
# Files that a program says it loads: `open("c.yaml")` but for writing, `load_config("c.yaml")`, and those that a caller may replace by another one
# of their folder: `add_argument("--config", default="configs/c.yaml")`, `CONFIG = "configs/c.yaml"`.
_LOADS_THIS = Pattern(
    rf"""\b(?:open|load\w*|read\w*|from_file|Path)\(\s*[rf]?["']({CONFIG})["'](?!\s*,\s*(?:mode\s*=\s*)?["'][wax])(?!\)\.(?:write|open\(["'][wax]))"""
)
_PARSES_THIS = Pattern(
    rf"""\bparse_(?:json|yaml)_file\(\s{{0,40}}(?:\w{{1,20}}\s?=\s?)?(?:[\w.]{{1,40}}\(\s?)?[rf]?["']({CONFIG})["']"""
)
_LOADS_BY_DEFAULT = Pattern(
    rf"""(?:\bdefault\s*=|(?<!\w)\w{{0,40}}?(?:cfg|conf|setting|recipe|yaml)\w{{0,40}}(?:\s{{0,9}}:\s{{0,9}}\w{{1,40}})?\s{{0,9}}=)\s*(?:(?:\[|Path\()\s*)?[rf]?["']({CONFIG})["']""",
    re.IGNORECASE,
)
_ATTRIBUTES = Pattern(r"\.([a-z]\w+)\b(?!\s*\()")
_FIELD = Pattern(r"^[ \t]+(\w+)[ \t]*:", re.MULTILINE)
_ARGUMENTS = "transformers.TrainingArguments"
ENOUGH = 3  # keys that a program takes one by one
_MANY = 8  # keys of a file that are more than a chance meeting


def own_readers(paths: Iterable[str], files: Files) -> dict[str, Program]:
    """The programs that read these configurations, by the path of the configuration."""
    found: dict[str, Program] = {}
    wanted = [(path, keys) for path in paths if len(keys := keys_of(files, path)) >= 2]
    by_root: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for path, keys in wanted:
        root = files.root(path)
        if os.path.isdir(root):  # a text from elsewhere may be called anything
            by_root.setdefault(root, []).append((path, keys))
    for root, several in by_root.items():
        every: frozenset[str] = frozenset().union(*(keys for _, keys in several))
        called = frozenset(os.path.basename(path) for path, _ in several)
        candidates = list(_candidates(root, several[0][0], every, called, files))
        declared = _declared(candidates, every, files)
        takers = [
            _Taker(one.path, said, *_named(one.text), computed.folders(one.text, one.path, files), root)
            for one in candidates
            if (said := taken(one.text))
        ]
        namers = [
            (one.path, frozenset(NAMES.findall(one.text)))
            for one in candidates
            if one.text and not HANDS_ON.search(one.text)
        ]
        names_before = {**passing.renamed(root, every, files), **passing.extended(root, every, files)}
        words = _as_flags(root, files)
        for path, keys in several:
            given = files.handed.get(path)
            text = given.document.text.text if given is not None else ""
            started = (
                [_Taker(given.document.text.path, taken(text), frozenset([os.path.basename(path)]))]
                if given is not None and not HANDS_ON.search(text)
                else []
            )
            # What takes nearly every key is the reader, whichever class of another module has the same names.
            whole = [one for one in takers if len(keys) >= _MANY and 10 * len(keys - one.keys) <= len(keys)]
            owner = (
                _takes(path, keys, whole, files)
                or _declares(keys, declared)
                or _takes(path, keys, [*takers, *started], files)
                or _loads(path, keys, root, namers, files)
                or _composes(path, root, files)
                or _loads_by_constant(path, keys, root, files)
                or _computes(path, keys, root, files)
            )
            renamed = keys & names_before.keys()
            if owner is None and renamed:
                owner = read(files.documents(names_before[min(renamed)]))
                owner = owner and owner._replace(declared={}, loop="", parser=False)
            owner = owner if words is None else owner._replace(casts=True) if owner is not None else words
            if owner is not None:
                found[path] = owner._replace(declared={**owner.declared, **dict.fromkeys(renamed, "dict")})
    return found


def keys_of(files: Files, path: str) -> frozenset[str]:
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


class _Candidate(NamedTuple):
    """A Python file that may read a configuration, by its text alone. `text` is empty where it loads none."""

    path: str
    text: str
    fields: frozenset[str]  # what may be declared in it: `name: type`, indented


def _candidates(
    root: str, first: str, keys: frozenset[str], called: frozenset[str], files: Files
) -> Iterable[_Candidate]:
    """The Python files that declare arguments or load a file, and name some of the keys, or that load a file which is called so. `first`: the
    configuration of which it is told that there are too many of them."""
    words, names = ([one.encode("utf-8", "surrogatepass") for one in several] for several in (keys, called))
    so_far = 0
    for path in programs_of(root, files):
        if not path.endswith(".py"):
            continue
        raw = content(path, files)
        loads = LOADS.search(raw) is not None
        declares = b"dataclass" in raw or b"(BaseModel" in raw or b"(BaseSettings" in raw
        if not declares and not loads:
            continue
        if sum(word in raw for word in words) < 2 and not (loads and any(name in raw for name in names)):
            continue
        so_far += 1
        if so_far > limits.READERS.most:
            files.cut_program(first, limits.READERS)
            return
        text = raw.decode("utf-8", "replace")
        yield _Candidate(path, text if loads else "", fields(text) if declares else frozenset())


def _declared(candidates: Iterable[_Candidate], keys: frozenset[str], files: Files) -> dict[str, tuple[str, Program]]:
    """What the dataclasses of these programs declare of the keys that no library's arguments have. Only such a program is parsed."""
    foreign = frozenset(key for key in keys if field(_ARGUMENTS, key) is None)
    found: dict[str, tuple[str, Program]] = {}
    for one in candidates:
        program = None if foreign.isdisjoint(one.fields) else read(files.documents(one.path))
        if program is not None:
            found |= {name: (owner, program) for name, owner in program.declared.items() if owner[:1].isupper()}
    return found


def taken(text: str) -> frozenset[str]:
    names = {one or other for one, other in _TAKES.findall(text)}
    if OBJECTS.search(text):
        names |= set(_ATTRIBUTES.findall(text))
    return frozenset(names)


def fields(text: str) -> frozenset[str]:
    """What the classes of a program may declare, by its text alone."""
    return frozenset(_FIELD.findall(text))


def _declares(keys: frozenset[str], declared: dict[str, tuple[str, Program]]) -> Program | None:
    """The program whose class has most of what the library's arguments do not."""
    foreign = [key for key in keys if field(_ARGUMENTS, key) is None]
    own = [key for key in foreign if key in declared]
    if len(own) < 2 or len(own) * 2 < len(foreign):
        return None
    # a model of pydantic's is made of the whole file, which no library's arguments are made of then
    whole = [key for key in own if (of := declared[key])[0] in of[1].models and keys <= of[1].declared.keys()]
    owners = sorted(declared[key][0] for key in whole or own)
    most = max(owners, key=owners.count)  # the first by name of several: the same one whatever the order of the keys
    program = next(declared[key][1] for key in sorted(own) if declared[key][0] == most)
    return program._replace(
        declared={key: declared[key][0] for key in own},
        loop="",
        parser=bool(whole),
        library=program.library and not whole,
    )


class _Taker(NamedTuple):
    """A program that takes keys one by one. It reads the files of these names and others in the folders of its defaults; one that names none
    may be given any."""

    path: str
    keys: frozenset[str]
    names: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    within: frozenset[computed.Folder] = frozenset()  # where it computes the names of what it reads
    root: str = ""

    def may_read(self, path: str, keys: frozenset[str]) -> bool:
        """Whether it is a reader of this file, by the names that it has for its files, else by how much of it it takes."""
        common = len(self.keys & keys)
        if common < ENOUGH:
            return False
        if any(path.endswith(one.ending) and (not one.parts or one.may_hold(path, self.root)) for one in self.within):
            return True
        if self.names or self.folders:
            folder = os.path.basename(os.path.dirname(path))
            return os.path.basename(path) in self.names or folder in self.folders
        return 2 * common >= len(keys)


def _loads_by_constant(path: str, keys: frozenset[str], root: str, files: Files) -> Program | None:
    """The program that loads this file by a name which another module of its own gives to the path: `from paths import CONFIG_FILE`. Nothing
    that imports the program may hand on what it loads."""
    name = os.path.basename(path)
    raw_name = name.encode("utf-8", "surrogatepass")
    said = Pattern(
        rf"""^([A-Za-z_]\w*)\b[^=\n]{{0,80}}=(?!=)[^\n]{{0,200}}["'](?:[^"'\n]{{0,200}}/)?{re.escape(name)}["']""",
        re.MULTILINE,
    )
    programs = [one for one in programs_of(root, files) if one.endswith(".py")]
    constants = {
        os.path.basename(one)[:-3]: found
        for one in programs
        if raw_name in (raw := content(one, files)) and (found := said.findall(raw.decode("utf-8", "replace")))
    }
    if len(constants) > limits.NAMED.most:
        files.cut_program(path, limits.NAMED)
    for module, names in islice(constants.items(), limits.NAMED.most):
        one_of, own = "|".join(names), re.escape(module)
        imports = re.compile(
            rf"^[ \t]*from[ \t]+[\w.]*\b{own}[ \t]+import\b(?:[ \t]*\([^)]*|[^\n]*)\b(?:{one_of})\b|\b{own}\.(?:{one_of})\b",
            re.MULTILINE,
        )
        for one in programs:
            raw = content(one, files)
            if module.encode() not in raw or LOADS.search(raw) is None:
                continue
            text = raw.decode("utf-8", "replace")
            if imports.search(text) is None or HANDS_ON.search(text) or _is_handed_on(one, programs, files):
                continue
            program = read(files.documents(one))
            if program is not None:
                return program._replace(declared=dict.fromkeys(keys, "dict"), loop="", parser=True, library=False)
    return None


def _computes(path: str, keys: frozenset[str], root: str, files: Files) -> Program | None:
    """The program that loads files of this folder and ending by names that it computes. Neither it nor what imports it may hand on what is loaded."""
    ending = os.path.splitext(path)[1].encode()
    programs = programs_of(root, files)
    for one in programs:
        raw = content(one, files) if one.endswith(".py") else b""
        if ending not in raw or computed.HINT.search(raw) is None or LOADS.search(raw) is None:
            continue
        text = raw.decode("utf-8", "replace")
        if (
            not computed.holds(computed.folders(text, one, files), path, root)
            or HANDS_ON.search(text)
            or _is_handed_on(one, programs, files)
        ):
            continue
        program = read(files.documents(one))
        if program is not None:
            return program._replace(declared=dict.fromkeys(keys, "dict"), loop="", parser=True, library=False)
    return None


def _is_handed_on(loader: str, programs: Iterable[str], files: Files) -> bool:
    """Whether a program that imports this one gives a library all of what it may have loaded."""
    module = os.path.basename(loader)[:-3]
    imports = re.compile(rf"^[ \t]*(?:from|import)[ \t]+[\w.]*\b{re.escape(module)}\b", re.MULTILINE)
    for one in programs:
        raw = content(one, files)
        if one == loader or module.encode("utf-8", "surrogatepass") not in raw:
            continue
        text = raw.decode("utf-8", "replace")
        if imports.search(text) and HANDS_ON.search(text):
            return True
    return False


# `args.append(f"--{k}")`, of a program that starts another one: each value becomes a word, and the other's parser makes a number of it.
_FLAG_OF_KEY = re.compile(rb"""f["']--\{\w+\}|["']--["'][ \t]*\+[ \t]*\w|["']--(?:%s|\{\})["']""")
_TOLD_ITS_FILE = re.compile(rb"\badd_argument\(|\bsys\.argv\b|\bargparse\b")


def _as_flags(root: str, files: Files) -> Program | None:
    """The program that makes a command's words of whichever file it is told, and starts that command."""
    for one in programs_of(root, files):
        raw = content(one, files)
        if _FLAG_OF_KEY.search(raw) and b"subprocess" in raw and _TOLD_ITS_FILE.search(raw) and LOADS.search(raw):
            return Program(files.documents(one)[0], {}, library=True, parser=False, loop="", driver=None, casts=True)
    return None


_HYDRA = Pattern(r"""@hydra\.main\s*\([^()]*?\bconfig_path\s*=\s*f?["']([\w./-]+)["']""")


def _composes(path: str, root: str, files: Files) -> Program | None:
    """The program whose Hydra decorator names a folder above this file: it is read by OmegaConf, and what becomes of it nobody says."""
    for reader in programs_of(root, files) if path.endswith((".yaml", ".yml")) else ():
        raw = content(reader, files)
        main = _HYDRA.search(raw.decode("utf-8", "replace")) if b"hydra.main" in raw else None
        if main is None or reader.endswith(".ipynb"):
            continue
        folder = os.path.normpath(os.path.join(os.path.dirname(reader), main[1]))
        if os.path.normpath(path).startswith(folder + os.sep):
            return Program(
                files.documents(reader)[0], {}, library=False, parser=False, loop="", driver=None, casts=True
            )
    return None


def loaded(text: str) -> list[str]:
    """The names of the files that a program says it loads, and of those that its caller may replace by others."""
    return [*_LOADS_THIS.findall(text), *_PARSES_THIS.findall(text), *_LOADS_BY_DEFAULT.findall(text)]


def _named(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names of the files that a program loads, and of the folders that its defaults stand in."""
    defaults = _LOADS_BY_DEFAULT.findall(text)
    names = frozenset(os.path.basename(name) for name in (*_LOADS_THIS.findall(text), *defaults))
    return names, frozenset(folder for name in defaults if (folder := os.path.basename(os.path.dirname(name))))


def _takes(path: str, keys: frozenset[str], takers: list[_Taker], files: Files) -> Program | None:
    """The program that takes the keys one by one; what is handed on whole (`SFTConfig(**config)`) it does not name."""
    able = sorted((one for one in takers if one.may_read(path, keys)), key=lambda one: -len(one.keys & keys))
    programs = (read(files.documents(one.path)) for one in able)
    best = next((program for program in programs if program is not None), None)
    if best is None and able:  # its text reads the file, though no Python can run it
        best = Program(files.documents(able[0].path)[0], {}, library=False, parser=True, loop="", driver=None)
    if best is None:
        return None
    own = passing.replaced(best.document.text.text, keys)
    return best._replace(declared=dict.fromkeys(keys, "dict"), loop="", parser=True, library=False, replaced=own)


def _loads(
    path: str, keys: frozenset[str], root: str, namers: list[tuple[str, frozenset[str]]], files: Files
) -> Program | None:
    """The program that loads this very file, and hands it on to no library: what it makes of the keys is its own business."""
    wanted = os.path.normpath(path)
    for reader, names in namers:
        folders = {os.path.dirname(reader), root}
        if any(os.path.normpath(os.path.join(folder, name)) == wanted for name in names for folder in folders):
            program = read(files.documents(reader))
            if program is not None:
                return program._replace(declared=dict.fromkeys(keys, "dict"), loop="", parser=True, library=False)
    return None


def placed(name: str, program: str, root: str) -> str | None:
    """The file or folder that is meant: beside the program, or below one of the folders around it."""
    folder = os.path.dirname(program)
    while True:
        found = os.path.normpath(os.path.join(folder, name))
        if os.path.exists(found):
            return found
        if folder == os.path.normpath(root) or os.path.dirname(folder) == folder or os.path.isabs(name):
            return None
        folder = os.path.dirname(folder)
