"""Who of a repository changes its configurations before they are read: a program that loads them, a script that writes them, a command that a
guide gives.

Asked only of a configuration that an error rests on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache

from stablint.assemble.files import Files
from stablint.base.light import Pattern
from stablint.repository.programs import CONFIG, LOADS, NAMES, OBJECTS, programs_of, scripts_of
from stablint.repository.referrers import content
from stablint.syntax import limits
from stablint.syntax.shell.launchers import starters

# Names of what a program loads, and others that are called like settings.
_LOADED = Pattern(
    r"\b(\w+)(?::[ \t]*(\w+)(?:\[[\w., \[\]]*\])?)?[ \t]*=\s*(?:[\w.]+\(\s*){0,3}"
    r"(?:(?:h?json5?|yaml|toml|tomllib|OmegaConf)\.)?(?:safe_|full_|unsafe_)?loads?\("
)
_CALLED = Pattern(
    r"\b(\w{0,60}(?:cfg|conf|param|setting|arg|option)\w{0,60})(?::[ \t]*[\w.\[\], ]{1,100}?)?[ \t]*=(?!=)",
    re.IGNORECASE,
)
_PARSES_FILE = re.compile(rb"\bparse_(?:yaml|json)_file\(")
# What hands a loaded configuration to whoever trains with it.
_HANDS_OVER = Pattern(
    r"(?:Config|Arguments|Args)\([^()]*\*\*|\bparse_(?:yaml_file|json_file|dict)\(|\brun_exp\(|\bdeepspeed\.initialize\(|\bdeepspeed\s*=\s*\w+\s*[,)\n]"
)


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
    uses: dict[str, set[bool]] = {}  # of each, whether commands that are given it may train
    for root, several in by_root.items():
        for text, any_file in _editors(root, files):
            named: dict[str, set[str]] = {}  # names of files, each with the folders that stand before it
            for one in NAMES.findall(text):
                folder, name = os.path.split(one)
                named.setdefault(name, set()).add(os.path.basename(folder))
            for path in several:
                name = os.path.basename(path)
                folders = named.get(name, set())
                by_name = not folders.isdisjoint(_may_stand_before(path)) and not _only_others(text, name)
                by_any = not named and _HANDS_OVER.search(text) and (any_file or _hands_loaded(text))
                if by_name or by_any or _makes_another(text):
                    found.add(path)
        if any(_given_any(content(one, files)) for one in scripts_of(root, files)):
            found.update(several)
        left = [path for path in several if path not in found]
        called = sorted({os.path.basename(path) for path in left})
        for text, kind, folder in _texts(root, left, called, files) if left else ():
            crowded: set[str] = set()
            doubted = {name for name in called if name in text and _changes(text, name, kind, crowded)}
            elsewhere = _Elsewhere(text, doubted if kind == _PROGRAM_TEXT else (), crowded)
            for path in left if crowded else ():
                if os.path.basename(path) in crowded:
                    files.cut_program(path, limits.PLACES)
            # a script means the file of that name that lies beside it, where one does
            beside = {name for name in doubted if kind == _SCRIPT and os.path.exists(os.path.join(folder, name))}
            found |= {
                path
                for path in left
                if (name := os.path.basename(path)) in doubted
                and (name not in beside or os.path.dirname(path) == folder)
                and not elsewhere.means_others(path)
            }
            for path in left:
                name = os.path.basename(path)
                if name in text and (
                    kind != _SCRIPT or folder == os.path.dirname(path) or not os.path.exists(os.path.join(folder, name))
                ):
                    uses.setdefault(path, set()).update(_uses(text, name))
    return frozenset(found) | {path for path, said in uses.items() if said == {False}}


def _hands_loaded(text: str) -> bool:
    """Whether a name that something is loaded into is what DeepSpeed or a library's arguments are given."""
    names = {name for one in _LOADED.findall(text) for name in one if name}
    return bool(names) and not names.isdisjoint(_HANDED.findall(text))


# A program that writes what it made of a file which it is told, or finds, and starts a command.
_MAKES_FILES = (
    Pattern(r"\b(?:json|yaml|OmegaConf)\.(?:safe_)?(?:dump|save)\("),
    Pattern(r"\bi?glob\(|\blistdir\(|\biterdir\(|\bsys\.argv\b|\bArgumentParser\("),
    Pattern(r"\bos\.(?:system|popen)\(|\bsubprocess\b"),
)
_A_NAME = Pattern(r"[\w.-]{1,80}\.(?:ya?ml|json)\b")


def _makes_another(text: str) -> bool:
    """Whether a program writes what it made of a file which it is told, and starts a training by what it wrote."""
    return all(one.search(text) for one in _MAKES_FILES) and any(
        True in _uses(text, name) for name in sorted(set(_A_NAME.findall(text)))[: limits.PLACES.most]
    )


# A command of a script that is given a file by the script's caller, and settings beside it: `llamafactory-cli train "$1" reward_model=saves/r`.
_BY_CALLER = re.compile(
    rb"""^[ \t]*(?!\#)[^\n#]{0,200}?\b(?:llamafactory-cli|lmf|axolotl|litgpt|tune|swift)[ \t][^\n;|&]{0,200}?\$\{?[1-9][^\n;|&]{0,200}""",
    re.MULTILINE,
)


def _given_any(script: bytes) -> bool:
    """Whether a script hands settings over beside a file that its caller names."""
    commands = (found[0].decode("utf-8", "replace") for found in _BY_CALLER.finditer(script.replace(b"\\\n", b"  ")))
    return any(_SETS.search(one) for one in commands)


_HANDED = Pattern(r"(?:\b(?:config|config_params|deepspeed)\s*=\s*|\*\*\s*)(\w+)")


# Commands of the frameworks that read a recipe and train nothing by it: they export, merge, serve, talk, measure, copy or check.
_OTHER_COMMANDS = Pattern(
    r"\b(?:llamafactory-cli|lmf|llamafactory\.cli)\s+(?:export|chat|api|eval|webchat|webui|env|version)\b"
    r"|\baxolotl\s+(?:merge[-_]lora|merge-sharded-fsdp-weights|preprocess|inference|evaluate|lm-eval|vllm-serve|quantize|fetch|config-schema|agent-docs)\b"
    r"|\baxolotl\.cli\.(?:merge_lora|merge_sharded_fsdp_weights|preprocess|inference|evaluate|quantize|vllm_serve)\b"
    r"|\bswift\s+(?:export|infer|app|deploy|eval|sample|merge-lora|web-ui)\b"
    r"|\btune\s+(?:validate|ls|cp|download|cat)\b|\btune\s+run\s+(?:\S+\s+){0,3}(?:generate|eleuther_eval|quantize|dev/generate\S*)\b"
    r"|\blitgpt\s+(?:generate|chat|serve|evaluate|merge_lora|download|convert_\w+)\b"
    r"|\baccelerate\s+(?:env|config|estimate-memory|merge-weights|to-fsdp2)\b"
)


# Commands that make another file of the one that they are given: `sed "s/N/4/" c.yaml > run.yaml`. Then the other one is what is trained by.
_FILLED = Pattern(
    r"<\(|\b(?:sed|gsed|awk|gawk|perl|envsubst|yq|jq|gomplate|jinja2?|j2|m4|cat|[ef]?grep|head|tail)\b[^>]{0,600}(?:(?<![0-9&])>{1,2}\|?\s*[^\s&>]|\|\s*tee\s)"
)


def _uses(text: str, name: str) -> Iterator[bool]:
    """Of each command of the text that is given the file whether it may train by it; one that makes another file of it does not."""
    joined = re.sub(r"""[rbf]?["'],?""", " ", text.replace("\\\n", "  "))
    lines = [line for line in joined.splitlines() if not line.lstrip().startswith("#")]
    here = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
    held = {
        one
        for line in lines
        if here.search(line)
        for one in re.findall(rf"\b(\w+)=\s*(?:\S{{0,200}}/)?{re.escape(name)}(?![\w.-])", line)
    }
    for line in lines:
        if not (here.search(line) or (held and not held.isdisjoint(_HELD.findall(line)))):
            continue
        if _OTHER_COMMANDS.search(line) or _FILLED.search(line):
            yield False
        elif _starts().search(line):
            yield True


_HELD = Pattern(r"\$\{?(\w+)")  # a variable of a shell, where its value is used


def _changes(text: str, name: str, kind: str, crowded: set[str]) -> bool:
    """Whether a program, a script or a guide makes something else of this file than it holds, before or while it is read. Names that stand in
    the text too often go to `crowded`."""
    if kind == _SCRIPT:  # the commands of one are read as runs, with all that they say
        return _rewritten(text, name)
    if kind == _PROGRAM_TEXT:
        return _given_beside(text, name, True, crowded) or _takes_apart(text, name) or _in_a_text(text, name)
    return _given_beside(text, name, False, crowded) or _rewritten(text, name)


_PROGRAM_TEXT, _SCRIPT, _GUIDE_TEXT = "program", "script", "guide"
_FOLDERS = 20  # in which a program names files of one name, and for each of which its text is looked at again


def _may_stand_before(path: str) -> tuple[str, ...]:
    """What the folder before a file's name is called where it may be this file; a bare name may be any."""
    return "", ".", "..", os.path.basename(os.path.dirname(path))


class _Elsewhere:
    """The folders in which a program's text says that files of these names stand: `"runs/c.yaml"`."""

    def __init__(self, text: str, names: Iterable[str], crowded: set[str]) -> None:
        self._text, self._crowded = text, crowded
        self._folders = {
            name: frozenset(re.findall(rf"""(?<=["'/])([\w-][\w.-]{{0,100}})/{re.escape(name)}(?=["'])""", text))
            for name in names
        }
        self._without: dict[tuple[str, frozenset[str]], bool] = {}

    def means_others(self, path: str) -> bool:
        """Whether all that the program does with files of this name it does with those of other folders."""
        name = os.path.basename(path)
        folders = self._folders.get(name, frozenset())
        others = folders.difference(_may_stand_before(path))
        if not others or len(folders) > _FOLDERS:
            return False
        if (name, others) not in self._without:  # the same for most files of a name
            words = "|".join(map(re.escape, sorted(others)))
            left = re.sub(rf"""(?<=["'/])(?:{words})/{re.escape(name)}(?=["'])""", "", self._text)
            self._without[name, others] = name not in left or not _changes(left, name, _PROGRAM_TEXT, self._crowded)
        return self._without[name, others]


# Commands that change the files that they are given: `sed -i`, `perl -pi -e`, `yq -i`, `yq eval --inplace`.
_IN_PLACE = Pattern(
    r"\b(?:sed|gsed|perl|ruby|yq|crudini|dasel|jq|sponge)\b[^;|&]{0,300}?\s(?:-[a-zA-Z]*i|--in-?place)|\b(?:sponge|crudini\s+--set|patch)\b"
)


def _rewritten(text: str, name: str) -> bool:
    """Whether a command of this text writes the file, whole or in place: `sed -i … c.yaml`, `… > c.yaml`, `tee c.yaml`, `mv new c.yaml`; the
    name may stand behind a variable."""
    lines = [line for line in text.replace("\\\n", "  ").splitlines() if not line.lstrip().startswith("#")]
    file = rf"""(?<![\w.-])(?:[^\s"'=<>|;&]{{0,200}}/)?{re.escape(name)}(?![\w.-])"""
    held = {found for line in lines if name in line for found in re.findall(rf"""\b(\w+)=["']?{file}""", line)}
    here = re.compile(file)
    into = re.compile(
        rf"""(?:(?<![0-9&])>{{1,2}}\|?\s*|\btee\s+(?:-a\s+)?|\b(?:mv|cp|install|rsync)\s[^;|&]{{0,300}}\s)["']?(?:{file}|\$\{{?(\w+)\}}?)["']?\s*(?:[;|&<)]|\Z)"""
    )
    return any(
        (here.search(line) is not None or (held and not held.isdisjoint(_HELD.findall(line))))
        and (_IN_PLACE.search(line) is not None or any(one[1] is None or one[1] in held for one in into.finditer(line)))
        for line in lines
    )


# Texts that say how a file is used, and are no configurations: in the folders from a configuration's up to the root.
_GUIDE = Pattern(
    r"(?i)(?:readme.*|.*\.(?:md|rst|mk|just)|(?:gnu)?makefile|justfile|taskfile\.ya?ml|dockerfile.*|noxfile\.py|tox\.ini)\Z"
)


def _texts(root: str, paths: list[str], called: list[str], files: Files) -> Iterable[tuple[str, str, str]]:
    """The texts of a repository in which one of these names stands, whether it is a program, a script or a guide, and its folder."""
    names = [name.encode("utf-8", "surrogatepass") for name in called]
    programs = [(path, _PROGRAM_TEXT) for path in programs_of(root, files)]
    scripts = [(path, _SCRIPT) for path in scripts_of(root, files)]
    folders: dict[str, None] = {}
    for path in paths:
        folder = os.path.dirname(path)
        while folder.startswith(root):
            folders[folder] = None
            folder, last = os.path.dirname(folder), folder
            if folder == last:
                break
    guides: list[tuple[str, str]] = []
    for folder in folders:
        found = [name for name in sorted(_listed(folder)) if _GUIDE.match(name)]
        guides += [(os.path.join(folder, name), _GUIDE_TEXT) for name in found[: limits.GUIDES.most]]
        for path in paths if len(found) > limits.GUIDES.most else ():
            if path.startswith(os.path.join(folder, "")):
                files.cut_program(path, limits.GUIDES)
    for path, kind in (*programs, *scripts, *guides):
        raw = content(path, files)
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
_SETS = Pattern(
    r"""(?<![\w-])--(?!(?:config|config[_-]file)\b)[a-z][\w.-]*|(?<![\w./=-])\+{0,2}(?![A-Z0-9_]+=)[A-Za-z_][\w.]*=(?=[^=\s]|\Z)"""
)
_COMMAND = 600  # characters of one that are looked at, before and behind the name of the file


def _given_beside(text: str, name: str, is_program: bool, crowded: set[str]) -> bool:
    """Whether a command of this text hands flags or settings over beside the file: `--config_file acc.yaml --num_processes 8 t.py`,
    `["llamafactory-cli", "train", "a.yaml", f"eval_dataset={name}"]`."""
    at = text.find(name)
    for _ in range(limits.PLACES.most):
        if at < 0:
            return False
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
        if _starts().search(words) and _SETS.search(_PROGRAM.split(words, maxsplit=1)[0]):
            return True
        at = text.find(name, at + len(name))
    if at >= 0:
        crowded.add(name)
    return False


# A text of a program that holds a command: what `os.system` or a shell is given.
_TEXTS = Pattern(r'"""(.{1,3000}?)"""|"((?:[^"\\\n]|\\.){1,900})"|\'((?:[^\'\\\n]|\\.){1,900})\'', re.DOTALL)
_HOLE = Pattern(r"\{[^{}]{1,80}\}|%s|\$\{?\w")


def _in_a_text(text: str, name: str) -> bool:
    """Whether a program holds a command as one text that hands settings over beside this file, or beside one that it fills in."""
    for found in _TEXTS.finditer(text):
        words = (found[1] or found[2] or found[3] or "").replace("\\\n", "  ")
        if (name in words or _HOLE.search(words)) and _starts().search(words):
            if _SETS.search(_PROGRAM.split(words, maxsplit=1)[0]):
                return True
    return False


@cache
def _starts() -> re.Pattern[str]:
    words = "|".join(map(re.escape, sorted(starters())))
    return re.compile(rf"\b(?:{words}|python[0-9.]*|srun|uv|launch|train)(?![\w.-])")


_PROGRAM = Pattern(r"(?<=\s)(?:-m\s|[\w./-]+\.py\b)")
# Functions that are given a file's name and make nothing of their own of it.
_PLAIN_CALLS = frozenset(("open", "join", "exists", "isfile", "print", "copy", "copyfile", "remove", "write"))
# What makes another text of a text: of a template that is read so, the run reads what was made of it.
_FILLS_IN = Pattern(r"\.(?:replace|substitute|safe_substitute|render|format|format_map)\(|\bre\.subn?\(")


def _takes_apart(text: str, name: str) -> bool:
    """Whether a program loads this file and hands on something else than what it holds: values one by one, a part of it, what a function of
    its own makes of it."""
    file = rf"""["'](?:[\w./-]{{0,200}}/)?{re.escape(name)}["']"""
    if _FILLS_IN.search(text) and re.search(
        rf"\bopen\(\s*{file}[^\n]{{0,200}}\.read\(|\bPath\(\s*{file}\s*\)\.read_text\(|\bopen\(\s*{file}[^\n]{{0,200}}?\bas\s+\w+[^\n]{{0,100}}\n[^\n]{{0,100}}\.read\(",
        text,
    ):
        return True
    if re.search(rf"\bOmegaConf\.(?:unsafe_)?merge\([^\n]{{0,200}}{file}", text):
        return True
    beside = rf"(?<![.\w])(?!open\b)[a-z_]\w{{0,80}}\(\s*{file}\s*,\s*(?:\*\*|(?!encoding\b|mode\b)\w{{1,80}}\s*=(?!=))"
    if re.search(beside, text):  # `load_cfg("a.yaml", deepspeed=…)`
        return True
    among = (
        r"(?<![.\w])([a-z_]\w{0,80})\(\s*(?:[^()\n]{0,200},\s*)?(?:\*\*|\w{1,80}\s*=\s*)?"  # what a function is given
    )
    called = {call[1] for call in re.finditer(among + file, text)} - _PLAIN_CALLS
    if called and not (called.isdisjoint(_DEFINED.findall(text)) and called.isdisjoint(_of_modules(text))):
        return True
    loads = r"(?:[\w.]+\(\s*){0,3}(?:json|yaml|toml|tomllib|OmegaConf)\.(?:safe_|full_|unsafe_)?loads?\("
    if re.search(rf"\{{\s*(?:\*\*|[^{{}}\n]{{1,200}}\bin\s)\s*{loads}[^\n]{{0,80}}{file}", text):
        return True
    foreign = _of_modules(text)
    if any(call[1] in foreign for call in re.finditer(rf"{among}{loads}[^\n]{{0,80}}{file}", text)):
        return True
    direct = re.findall(rf"\b(\w+)[ \t]*=\s*{loads}[^\n]{{0,80}}{file}", text)
    opened = set(re.findall(rf"\bopen\(\s*{file}[^\n]{{0,200}}?\bas\s+(\w+)", text))
    if opened:
        direct += [
            loaded for loaded, handle in re.findall(rf"\b(\w+)[ \t]*=\s*{loads}\s*(\w+)", text) if handle in opened
        ]
    loaded = set(direct)
    if not loaded or not loaded.isdisjoint(_ITEMS.findall(text)):
        return bool(loaded)
    words = "|".join(map(re.escape, sorted(loaded)))
    if any(call[1] in foreign for call in re.finditer(rf"{among}(?:{words})\b(?!\s*[\[.(])", text)):
        return True
    return not (loaded - set(_WHOLE.findall(text))).isdisjoint(_PART.findall(text))


_DEFINED = Pattern(r"\bdef (\w+)\(")
_ITEMS = Pattern(r"\bfor\s+\w+\s*,\s*\w+\s+in\s+(\w+)\.items\(")
_WHOLE = Pattern(r"(?<!print)(?<!len)(?:\*\*\s*|[(,=:]\s*)(\w+)(?=\s{0,80}(?:[,)\n}]|\Z))")
_PART = Pattern(r"\b(\w+)(?:\[|\.\w)")
_KNOWN = (
    r"(?:json|yaml|toml|tomllib|hjson|omegaconf|shutil|os|pathlib|transformers|trl|peft|accelerate|deepspeed|torch|datasets|llamafactory|swift|axolotl"
    r"|unsloth|lightning|pytorch_lightning)\b"
)


_IMPORTED = Pattern(rf"^[ \t]*from[ \t]+(?!{_KNOWN})[\w.]+[ \t]+import\b([^\n]*)", re.MULTILINE)
_WORD = Pattern(r"\w+")


def _of_modules(text: str) -> frozenset[str]:
    """What a text imports from modules which may do anything with what they are given."""
    return frozenset(word for words in _IMPORTED.findall(text) for word in _WORD.findall(words))


# What transformers has read of DeepSpeed's file, where a program changes it, hands it to a function, or replaces what compares it.
_CHANGES_READ = Pattern(
    r"\bhf_(?:deepspeed|ds)_config(?:\.(?:config|mismatches)\b|\s*=(?!=)|\s*[,)])|\bHf(?:Trainer)?DeepSpeedConfig\.\w+\s*=(?!=)"
)


def _editors(root: str, files: Files) -> Iterable[tuple[str, bool]]:
    """The programs that load a configuration and change it, and whether what they change is called like settings."""
    for path in programs_of(root, files):
        raw = content(path, files)
        if path.endswith(".ipynb"):
            raw = raw.replace(b'\\"', b'"').replace(b"\\n", b"\n")
        parses = _PARSES_FILE.search(raw) is not None
        changes = b"hf_d" in raw or b"DeepSpeedConfig." in raw
        if not (parses or changes or LOADS.search(raw)):
            continue
        text = raw.decode("utf-8", "replace")
        if changes and _CHANGES_READ.search(text):
            yield text, True
            continue
        called, loaded, attributes = _names_of_settings(text, parses)
        if _edits(text, called, attributes):
            yield text, True
        elif _edits(text, loaded, attributes):
            yield text, False


def _names_of_settings(text: str, parses: bool) -> tuple[list[str], list[str], bool]:
    """Names that are called like settings, others that something is loaded into, and whether settings may be attributes."""
    called = sorted(set(_CALLED.findall(text)))
    loaded = [] if parses else sorted({name for one in _LOADED.findall(text) for name in one if name} - set(called))
    return called, loaded, parses or OBJECTS.search(text) is not None


# What a name is loaded from, where the call says it: `rows = json.load(open("rows.json"))`.
_FROM_FILE = Pattern(
    r"\b(\w+)[ \t]*=\s*(?:[\w.]+\(\s*){0,3}(?:json|yaml|toml|tomllib|OmegaConf)\.(?:safe_|full_|unsafe_)?loads?\(\s*(?:open\(\s*)?"
    rf"""[rf]?["']({CONFIG})["']"""
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


_ITEM = Pattern(r"\b(\w+)(?:\[[^\]\n]+\])+\s*(?:[-+*/|]|//)?=(?!=)")
_METHOD = Pattern(r"\b(\w+)(?:\[[^\]\n]+\])*\.(?:update|setdefault|pop|popitem|clear)\(")
_DELETED = Pattern(r"\bdel\s+(\w+)\s*\[")
_SPREAD = Pattern(r"[{,]\s*\*\*\s*(\w+)|\(\s*\*\*\s*(\w+)\s*,\s*\w|\bdict\(\s*(\w+)\s*,|\bsetattr\(\s*(\w+)")
_MERGED = Pattern(r"\bOmegaConf\.(?:merge|update|set\w*)\(([^)\n]*)")
# What a function makes of it, under the same name: `config = cleaned(config)`. A copy holds what the original does, and a parser reads words.
_REMADE = Pattern(
    r"^[ \t]*(\w+)[ \t]*=[ \t]*(?!(?:dict|(?:copy\.)?(?:deep)?copy|[\w.]*\bparse\w*)\()[a-z_][\w.]*\([ \t]*(?:[\w.]+\()?\1[ \t]*[,)](?!\)\s*$)",
    re.MULTILINE,
)
# What a function is given that does not say what it makes of it: `clean(config)`.
_GIVEN = Pattern(r"^[ \t]*([a-z_]\w*)\([ \t]*(\w+)[ \t]*\)[ \t]*$", re.MULTILINE)
_ATTRIBUTE = Pattern(r"(?<![\w.])((?:\w+\.)+)\w+\s*=(?!=)")


def _edits(text: str, names: list[str], attributes: bool) -> bool:
    """Whether a dict of one of these names is changed: `config["lr"] = …`, `config.update(…)`, `{**config, …}`, `config.lr = …`."""
    known = frozenset(names)
    if not known:
        return False
    if any(name in known for pattern in (_ITEM, _METHOD, _DELETED) for name in pattern.findall(text)):
        return True
    if any(name in known for found in _SPREAD.findall(text) for name in found):
        return True
    if any(name in known for name in _REMADE.findall(text)) or _given_away(text, known):
        return True
    if any(not known.isdisjoint(re.findall(r"\w+", words)) for words in _MERGED.findall(text)):
        return True
    return attributes and any(not known.isdisjoint(path.split(".")) for path in _ATTRIBUTE.findall(text))


def _given_away(text: str, known: frozenset[str]) -> bool:
    """Whether a loaded dict is given to a function of another module, and used again behind it: the function may have changed it."""
    loaded = {name for one in _LOADED.findall(text) for name in one if name in known}
    given = [one for one in _GIVEN.finditer(text) if one[2] in loaded] if loaded else []
    foreign = _of_modules(text) if given else frozenset()
    given = [one for one in given if one[1] in foreign]
    last = {one[0]: one.start() for one in _WORD.finditer(text)} if given else {}
    return any(last[one[2]] >= one.end() for one in given)
