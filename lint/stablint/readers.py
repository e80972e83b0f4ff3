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
from stablint.dialect.at_hand import Program, read
from stablint.dialect.fragment import Fragment
from stablint.dialect.packages import PACKAGES
from stablint.record import NamedTuple
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
_CONFIG = r"""(?:[\w.@:-]*/)*[\w.-]+\.(?:ya?ml|json|toml)"""
# Files that a program says it loads: `open("c.yaml")` but for writing, `load_config("c.yaml")`, and those that a caller may replace by another one
# of their folder: `add_argument("--config", default="configs/c.yaml")`, `CONFIG = "configs/c.yaml"`.
_LOADS_THIS = re.compile(
    rf"""\b(?:open|load\w*|read\w*|from_file|Path)\(\s*[rf]?["']({_CONFIG})["'](?!\s*,\s*(?:mode\s*=\s*)?["'][wax])(?!\)\.(?:write|open\(["'][wax]))"""
)
_LOADS_BY_DEFAULT = re.compile(
    rf"""(?:\bdefault\s*=|(?<!\w)\w{{0,40}}?(?:cfg|conf|setting|recipe|yaml)\w{{0,40}}(?:\s{{0,9}}:\s{{0,9}}\w{{1,40}})?\s{{0,9}}=)\s*(?:Path\(\s*)?[rf]?["']({_CONFIG})["']""",
    re.IGNORECASE,
)
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
_FIELD = re.compile(r"^[ \t]+(\w+)[ \t]*:", re.MULTILINE)
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
        every: frozenset[str] = frozenset().union(*(keys for _, keys in several))
        called = frozenset(os.path.basename(path) for path, _ in several)
        candidates = list(_candidates(root, every, called, files))
        declared = _declared(candidates, every, files)
        takers = [_Taker(one.path, taken, *_named(one.text)) for one in candidates if (taken := _taken(one.text))]
        namers = [
            (one.path, frozenset(_NAMES.findall(one.text)))
            for one in candidates
            if one.text and not _HANDS_ON.search(one.text)
        ]
        for path, keys in several:
            given = files.handed.get(path)
            text = given.document.text.text if given is not None else ""
            started = (
                [_Taker(given.document.text.path, _taken(text), frozenset([os.path.basename(path)]))]
                if given is not None and not _HANDS_ON.search(text)
                else []
            )
            owner = (
                _declares(keys, declared)
                or _takes(path, keys, [*takers, *started], files)
                or _loads(path, keys, root, namers, files)
                or _composes(path, root, files)
                or _loads_by_constant(path, keys, root, files)
            )
            if owner is not None:
                found[path] = owner
    return found


def edited(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those of the configurations that somebody of their repository changes before they are read: a program that loads them, or a command
    that hands flags over beside them.

    A program that names none of its own is taken for one that loads any that its caller names.
    """
    by_root: dict[str, list[str]] = {}
    for path in paths:
        root = files.root(path)
        if os.path.isdir(root):
            by_root.setdefault(root, []).append(path)
    found: set[str] = set()
    for root, several in by_root.items():
        for text, any_file in _editors(root, files):
            named = {os.path.basename(name) for name in _NAMES.findall(text)}
            for path in several:
                name = os.path.basename(path)
                by_name = name in named and not _only_others(text, name)
                if by_name or (any_file and not named and _HANDS_OVER.search(text)):
                    found.add(path)
        left = [path for path in several if path not in found]
        called = sorted({os.path.basename(path) for path in left})
        for text, kind, folder in _texts(root, left, called, files) if left else ():
            doubted = {name for name in called if name in text and _changes(text, name, kind)}
            # a script means the file of that name that lies beside it, where one does
            beside = {name for name in doubted if kind == _SCRIPT and os.path.exists(os.path.join(folder, name))}
            found |= {
                path
                for path in left
                if (name := os.path.basename(path)) in doubted
                and (name not in beside or os.path.dirname(path) == folder)
            }
    return frozenset(found)


def _changes(text: str, name: str, kind: str) -> bool:
    """Whether a program, a script or a guide makes something else of this file than it holds, before or while it is read."""
    if kind == _SCRIPT:  # the commands of one are read as runs, with all that they say
        return _rewritten(text, name)
    if kind == _PROGRAM_TEXT:
        return _given_beside(text, name, True) or _takes_apart(text, name)
    return _given_beside(text, name, False) or _rewritten(text, name)


_PROGRAM_TEXT, _SCRIPT, _GUIDE_TEXT = "program", "script", "guide"
_SHELL = (".sh", ".bash", ".slurm", ".sbatch", ".zsh")
# Commands that change the files that they are given: `sed -i`, `perl -pi -e`, `yq -i`, `yq eval --inplace`.
_IN_PLACE = re.compile(
    r"\b(?:sed|gsed|perl|ruby|yq|crudini|dasel|jq|sponge)\b[^;|&]*?\s(?:-[a-zA-Z]*i|--in-?place)|\b(?:sponge|crudini\s+--set|patch)\b"
)


def _rewritten(text: str, name: str) -> bool:
    """Whether a command of this text writes the file, whole or in place: `sed -i … c.yaml`, `… > c.yaml`, `tee c.yaml`, `mv new c.yaml`; the
    name may stand behind a variable."""
    lines = [line for line in text.replace("\\\n", "  ").splitlines() if not line.lstrip().startswith("#")]
    file = rf"""(?<![\w.-])(?:[^\s"'=<>|;&]*/)?{re.escape(name)}(?![\w.-])"""
    held = sorted({found for line in lines if name in line for found in re.findall(rf"""\b(\w+)=["']?{file}""", line)})
    word = "|".join([file, *(rf"\$\{{?{one}\b\}}?" for one in held[:_MOST_NAMES])])
    here = re.compile(word)
    into = re.compile(
        rf"""(?:(?<![0-9&])>{{1,2}}\|?\s*|\btee\s+(?:-a\s+)?|\b(?:mv|cp|install|rsync)\s[^;|&]*\s)["']?(?:{word})["']?\s*(?:[;|&<)]|\Z)"""
    )
    return any(
        here.search(line) is not None and (_IN_PLACE.search(line) is not None or into.search(line) is not None)
        for line in lines
    )


# Texts that say how a file is used, and are no configurations: in the folders from a configuration's up to the root.
_GUIDE = re.compile(
    r"(?i)(?:readme.*|.*\.(?:md|rst|mk|just)|(?:gnu)?makefile|justfile|taskfile\.ya?ml|dockerfile.*|noxfile\.py|tox\.ini)\Z"
)
_GUIDES = 60  # of one folder are looked at


def _texts(root: str, paths: list[str], called: list[str], files: Files) -> Iterable[tuple[str, str, str]]:
    """The texts of a repository in which one of these names stands, whether it is a program, a script or a guide, and its folder."""
    names = [name.encode("utf-8", "surrogatepass") for name in called]
    programs = [(path, _PROGRAM_TEXT) for path in _programs(root, files)]
    scripts = [(path, _SCRIPT) for path in files.scripts[root]]
    folders: dict[str, None] = {}
    for path in paths:
        folder = os.path.dirname(path)
        while folder.startswith(root):
            folders[folder] = None
            folder, last = os.path.dirname(folder), folder
            if folder == last:
                break
    guides = [
        (os.path.join(folder, name), _GUIDE_TEXT)
        for folder in folders
        for name in islice((name for name in sorted(_listed(folder)) if _GUIDE.match(name)), _GUIDES)
    ]
    for path, kind in (*programs, *scripts, *guides):
        raw = content(path)
        if any(name in raw for name in names):
            if path.endswith(".ipynb"):
                raw = raw.replace(b'\\"', b'"').replace(b"\\n", b"\n")
            yield raw.decode("utf-8", "replace"), kind, os.path.dirname(path)


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


# Flags, and settings but for variables of the environment.
_SETS = re.compile(
    r"""(?<![\w-])--(?!(?:config|config[_-]file)\b)[a-z][\w.-]*|(?<![\w./=-])\+{0,2}(?![A-Z0-9_]+=)[A-Za-z_][\w.]*=(?=[^=\s]|\Z)"""
)
_MOST_PLACES = 200  # of a name in one text
_COMMAND = 600  # characters of one that are looked at, before and behind the name of the file


def _given_beside(text: str, name: str, is_program: bool) -> bool:
    """Whether a command of this text hands flags or settings over beside the file: `--config_file acc.yaml --num_processes 8 t.py`,
    `["llamafactory-cli", "train", "a.yaml", f"eval_dataset={name}"]`."""
    at = text.find(name)
    for _ in range(_MOST_PLACES):
        if at < 0:
            break
        if text[at - 1 : at].isalnum() or text[at - 1 : at] in ("_", "-"):  # `data.yaml`
            at = text.find(name, at + 1)
            continue
        begin, end = max(0, at - _COMMAND), min(len(text), at + len(name) + _COMMAND)
        head, tail = text[begin:at], text[at + len(name) : end]
        if is_program:  # the words of a list
            first, last = head.rfind("["), tail.find("]")
            words = f"{head[first + 1 :]} {tail[:last]}" if first >= 0 and last >= 0 and "]" not in head[first:] else ""
            words = re.sub(r"""[rbf]?["'],?""", " ", words)
        else:
            head, tail = (part.replace("\\\n", "  ") for part in (head, tail))
            words = f"{head[head.rfind(chr(10)) + 1 :]} {tail.partition(chr(10))[0]}"
        # behind the program stand its own flags, not the launcher's
        if _STARTED.search(words) and _SETS.search(_PROGRAM.split(words, maxsplit=1)[0]):
            return True
        at = text.find(name, at + len(name))
    return False


_STARTED = re.compile(
    r"\b(?:accelerate|torchrun|deepspeed|python[0-9.]*|llamafactory-cli|axolotl|tune|trl|swift|litgpt|xtuner|srun|uv|launch|train)(?![\w.-])"
)
_PROGRAM = re.compile(r"(?<=\s)(?:-m\s|[\w./-]+\.py\b)")

# Functions that are given a file's name and make nothing of their own of it.
_PLAIN_CALLS = frozenset(
    ("open", "load", "loads", "safe_load", "join", "exists", "isfile", "print", "copy", "copyfile", "remove", "write")
)
_MOST_CALLS = 20


def _takes_apart(text: str, name: str) -> bool:
    """Whether a program loads this file and hands on something else than what it holds: values one by one, a part of it, what a function of
    its own makes of it."""
    file = rf"""["'](?:[\w./-]{{0,200}}/)?{re.escape(name)}["']"""
    for call in islice(re.finditer(rf"\b([a-z_]\w{{0,80}})\(\s*{file}", text), _MOST_CALLS):
        function = call[1]
        if function not in _PLAIN_CALLS and re.search(
            rf"\bdef {function}\(|^[ \t]*from[ \t]+(?!{_KNOWN})[\w.]+[ \t]+import\b[^\n]*\b{function}\b",
            text,
            re.MULTILINE,
        ):
            return True
    loads = r"(?:[\w.]+\(\s*){0,3}(?:json|yaml|toml|tomllib|OmegaConf)\.(?:safe_|full_|unsafe_)?loads?\("
    if re.search(rf"\{{\s*\*\*\s*{loads}[^\n]{{0,80}}{file}", text):
        return True
    direct = re.findall(rf"\b(\w+)[ \t]*=\s*{loads}[^\n]{{0,80}}{file}", text)
    opened = re.findall(rf"\bopen\(\s*{file}[^\n]*\bas\s+(\w+)", text)
    for handle in opened[:_MOST_CALLS]:
        direct += re.findall(rf"\b(\w+)[ \t]*=\s*{loads}\s*{handle}\b", text)
    for loaded in list(dict.fromkeys(direct))[:_MOST_CALLS]:
        one = rf"\b{re.escape(loaded)}\b"
        if re.search(rf"\bfor\s+\w+\s*,\s*\w+\s+in\s+{one}\.items\(", text):
            return True
        whole = re.search(rf"(?<!print)(?<!len)(?:\*\*\s*|[(,=:]\s*){one}\s*(?:[,)\n}}]|\Z)", text)
        if whole is None and re.search(rf"{one}(?:\[|\.get\(|\.pop\(|\.\w+\b)", text):
            return True
    return False


_KNOWN = r"(?:transformers|trl|peft|accelerate|deepspeed|torch|datasets|llamafactory|swift|axolotl|unsloth|lightning|pytorch_lightning)\b"


def _editors(root: str, files: Files) -> Iterable[tuple[str, bool]]:
    """The programs that load a configuration and change it, and whether what they change is called like settings."""
    for path in _programs(root, files):
        raw = content(path)
        if path.endswith(".ipynb"):
            raw = raw.replace(b'\\"', b'"').replace(b"\\n", b"\n")
        parses = _PARSES_FILE.search(raw) is not None
        if not (parses or _LOADS.search(raw)):
            continue
        text = raw.decode("utf-8", "replace")
        called, loaded, attributes = _names_of_settings(text, parses)
        if _edits(text, called, attributes):
            yield text, True
        elif _edits(text, loaded, attributes):
            yield text, False


def _names_of_settings(text: str, parses: bool) -> tuple[list[str], list[str], bool]:
    """Names that are called like settings, others that something is loaded into, and whether settings may be attributes."""
    called = sorted(set(_CALLED.findall(text)))
    loaded = [] if parses else sorted({name for one in _LOADED.findall(text) for name in one if name} - set(called))
    return called, loaded, parses or _OBJECTS.search(text) is not None


# What a name is loaded from, where the call says it: `rows = json.load(open("rows.json"))`.
_FROM_FILE = re.compile(
    r"\b(\w+)[ \t]*=\s*(?:[\w.]+\(\s*){0,3}(?:json|yaml|toml|tomllib|OmegaConf)\.(?:safe_|full_|unsafe_)?loads?\(\s*(?:open\(\s*)?"
    rf"""[rf]?["']({_CONFIG})["']"""
)


def _only_others(text: str, name: str) -> bool:
    """Whether all that this program changes was loaded from other files than this one."""
    loads = _FROM_FILE.findall(text)
    others = {one for one, file in loads if os.path.basename(file) != name} - {
        one for one, file in loads if os.path.basename(file) == name
    }
    if not others:
        return False
    called, loaded, attributes = _names_of_settings(text, _PARSES_FILE.search(text.encode()) is not None)
    return not _edits(text, [one for one in (*called, *loaded) if one not in others], attributes)


_ITEM = re.compile(r"\b(\w+)(?:\[[^\]\n]+\])+\s*(?:[-+*/|]|//)?=(?!=)")
_METHOD = re.compile(r"\b(\w+)(?:\[[^\]\n]+\])*\.(?:update|setdefault|pop|popitem|clear)\(")
_DELETED = re.compile(r"\bdel\s+(\w+)\s*\[")
_SPREAD = re.compile(r"[{,]\s*\*\*\s*(\w+)|\(\s*\*\*\s*(\w+)\s*,\s*\w|\bdict\(\s*(\w+)\s*,|\bsetattr\(\s*(\w+)")
_MERGED = re.compile(r"\bOmegaConf\.(?:merge|update|set\w*)\(([^)\n]*)")
_ATTRIBUTE = re.compile(r"(?<![\w.])((?:\w+\.)+)\w+\s*=(?!=)")


def _edits(text: str, names: list[str], attributes: bool) -> bool:
    """Whether a dict of one of these names is changed: `config["lr"] = …`, `config.update(…)`, `{**config, …}`, `config.lr = …`."""
    known = frozenset(names[:_MOST_NAMES])
    if not known:
        return False
    if any(name in known for pattern in (_ITEM, _METHOD, _DELETED) for name in pattern.findall(text)):
        return True
    if any(name in known for found in _SPREAD.findall(text) for name in found):
        return True
    if any(not known.isdisjoint(re.findall(r"\w+", words)) for words in _MERGED.findall(text)):
        return True
    return attributes and any(not known.isdisjoint(path.split(".")) for path in _ATTRIBUTE.findall(text))


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


class _Candidate(NamedTuple):
    """A Python file that may read a configuration, by its text alone. `text` is empty where it loads none."""

    path: str
    text: str
    fields: frozenset[str]  # what may be declared in it: `name: type`, indented


def _candidates(root: str, keys: frozenset[str], called: frozenset[str], files: Files) -> Iterable[_Candidate]:
    """The Python files that declare arguments or load a file, and name some of the keys, or that load a file which is called so."""
    words, names = ([one.encode("utf-8", "surrogatepass") for one in several] for several in (keys, called))
    so_far = 0
    for path in _programs(root, files):
        if not path.endswith(".py"):
            continue
        raw = content(path)
        loads = _LOADS.search(raw) is not None
        declares = b"dataclass" in raw
        if not declares and not loads:
            continue
        if sum(word in raw for word in words) < 2 and not (loads and any(name in raw for name in names)):
            continue
        so_far += 1
        if so_far > _PROGRAMS:
            return
        text = raw.decode("utf-8", "replace")
        yield _Candidate(path, text if loads else "", frozenset(_FIELD.findall(text)) if declares else frozenset())


def _declared(candidates: Iterable[_Candidate], keys: frozenset[str], files: Files) -> dict[str, tuple[str, Program]]:
    """What the dataclasses of these programs declare of the keys that no library's arguments have. Only such a program is parsed."""
    foreign = frozenset(key for key in keys if field(_ARGUMENTS, key) is None)
    found: dict[str, tuple[str, Program]] = {}
    for one in candidates:
        program = None if foreign.isdisjoint(one.fields) else read(files.documents(one.path))
        if program is not None:
            found |= {name: (owner, program) for name, owner in program.declared.items() if owner[:1].isupper()}
    return found


def _programs(root: str, files: Files) -> tuple[str, ...]:
    """Python files and notebooks of a repository that are neither tests nor a copy of a framework; looked for once. What a test writes down and
    takes apart is its own example."""
    if root not in files.programs:
        found = [path for path, _ in islice(discover.files([root], root), _FILES)]
        inner = ((path, path[len(root) :]) for path in found if path.endswith((".py", ".ipynb")))
        files.programs[root] = tuple(path for path, name in inner if not (_TESTS.search(name) or _of_a_framework(name)))
        files.scripts[root] = tuple(path for path in found if path.endswith(_SHELL))
    return files.programs[root]


_FOLDERS = PACKAGES | {
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


class _Taker(NamedTuple):
    """A program that takes keys one by one. It reads the files of these names and others in the folders of its defaults; one that names none
    may be given any."""

    path: str
    keys: frozenset[str]
    names: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()

    def may_read(self, path: str, keys: frozenset[str]) -> bool:
        """Whether it is a reader of this file, by the names that it has for its files, else by how much of it it takes."""
        taken = len(self.keys & keys)
        if taken < _ENOUGH:
            return False
        if self.names or self.folders:
            folder = os.path.basename(os.path.dirname(path))
            return os.path.basename(path) in self.names or folder in self.folders
        return 2 * taken >= len(keys)


def _loads_by_constant(path: str, keys: frozenset[str], root: str, files: Files) -> Program | None:
    """The program that loads this file by a name which another module of its own gives to the path: `from paths import CONFIG_FILE`. Nothing
    that imports the program may hand on what it loads."""
    name = os.path.basename(path)
    raw_name = name.encode("utf-8", "surrogatepass")
    said = re.compile(
        rf"""^([A-Za-z_]\w*)\b[^=\n]{{0,80}}=(?!=)[^\n]{{0,200}}["'](?:[^"'\n]{{0,200}}/)?{re.escape(name)}["']""",
        re.MULTILINE,
    )
    programs = [one for one in _programs(root, files) if one.endswith(".py")]
    constants = {
        os.path.basename(one)[:-3]: found
        for one in programs
        if raw_name in (raw := content(one)) and (found := said.findall(raw.decode("utf-8", "replace")))
    }
    for module, names in islice(constants.items(), _MOST_NAMES):
        one_of, own = "|".join(names), re.escape(module)
        imports = re.compile(
            rf"^[ \t]*from[ \t]+[\w.]*\b{own}[ \t]+import\b(?:[ \t]*\([^)]*|[^\n]*)\b(?:{one_of})\b|\b{own}\.(?:{one_of})\b",
            re.MULTILINE,
        )
        for one in programs:
            raw = content(one)
            if module.encode() not in raw or _LOADS.search(raw) is None:
                continue
            text = raw.decode("utf-8", "replace")
            if imports.search(text) is None or _HANDS_ON.search(text) or _is_handed_on(one, programs):
                continue
            program = read(files.documents(one))
            if program is not None:
                return program._replace(declared=dict.fromkeys(keys, "dict"), loop="", parser=True, library=False)
    return None


def _is_handed_on(loader: str, programs: Iterable[str]) -> bool:
    """Whether a program that imports this one gives a library all of what it may have loaded."""
    module = os.path.basename(loader)[:-3]
    imports = re.compile(rf"^[ \t]*(?:from|import)[ \t]+[\w.]*\b{re.escape(module)}\b", re.MULTILINE)
    for one in programs:
        raw = content(one)
        if one == loader or module.encode("utf-8", "surrogatepass") not in raw:
            continue
        text = raw.decode("utf-8", "replace")
        if imports.search(text) and _HANDS_ON.search(text):
            return True
    return False


_HYDRA = re.compile(r"""@hydra\.main\s*\([^()]*?\bconfig_path\s*=\s*f?["']([\w./-]+)["']""")


def _composes(path: str, root: str, files: Files) -> Program | None:
    """The program whose Hydra decorator names a folder above this file: it is read by OmegaConf, and what becomes of it nobody says."""
    for reader in _programs(root, files) if path.endswith((".yaml", ".yml")) else ():
        raw = content(reader)
        main = _HYDRA.search(raw.decode("utf-8", "replace")) if b"hydra.main" in raw else None
        if main is None or reader.endswith(".ipynb"):
            continue
        folder = os.path.normpath(os.path.join(os.path.dirname(reader), main[1]))
        if os.path.normpath(path).startswith(folder + os.sep):
            return Program(
                files.documents(reader)[0], {}, library=False, parser=False, loop="", driver=None, casts=True
            )
    return None


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
    return best and best._replace(declared=dict.fromkeys(keys, "dict"), loop="", parser=True, library=False)


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
