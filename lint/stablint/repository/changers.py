"""Whether what a configuration says is what a run reads: whoever of its repository names the file is understood, or what it says is presumed.

Asked only of a configuration that an error rests on. Understood is a command that was read as a run, one that starts a training with the file and
says nothing beside it, and what only looks at the file. Whatever else names it, or may mean it, may change it: nobody lists the ways.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache

from stablint.assemble.files import Files
from stablint.base import knowledge
from stablint.base.light import NamedTuple, Pattern
from stablint.files import discover
from stablint.repository.programs import LOADS, NAMES, TESTS, programs_of
from stablint.repository.referrers import content
from stablint.run.framework import package_names
from stablint.syntax import limits
from stablint.syntax.shell.launchers import PROGRAMS, starters
from stablint.syntax.tree import Mapping, Scalar


def edited(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those of the configurations of which nobody can say that a run reads what stands in them."""
    by_root: dict[str, list[str]] = {}
    found: set[str] = set()
    for path in paths:
        host, within, name = path.partition("\0")
        if within:
            found |= {path, host} if _is_written_anew(os.path.basename(name), host, files) else set()
            continue
        root = files.root(path)
        if os.path.isdir(root):
            by_root.setdefault(root, []).append(path)
    for root, several in by_root.items():
        uses: dict[str, set[str]] = {path: set() for path in several}
        for text in _texts(root, several, files):
            for path in several:
                if _DOUBTED not in uses[path]:
                    uses[path].update(text.uses(path, files))
        found |= {path for path, said in uses.items() if said and said != {_TRAINED} and said != {_TRAINED, _OTHER}}
    return frozenset(found)


def _is_written_anew(name: str, notebook: str, files: Files) -> bool:
    """Whether a cell writes the file once more that a cell has written: `json.dump(config, open("ds.json", "w"))`, `!sed -i … c.yaml`."""
    text = content(notebook, files).decode("utf-8", "replace").replace('\\"', '"')
    named = rf"(?:[\w./-]{{0,200}}/)?{re.escape(name)}"
    again = (
        rf"\(\s{{0,20}}[\"']{named}[\"'],\s{{0,20}}(?:mode\s{{0,3}}=\s{{0,3}})?[\"'][rb]?[wa+]|\b(?:{_EDITORS})\b[^\n]{{0,300}}\b{named}"
        rf"|>\s{{0,3}}[\"']?{named}|[\"']{named}[\"']\)\.write_text\("
    )
    return re.search(again, text) is not None


_EDITORS = "sed|perl|yq|jq|sponge|crudini"


def _is_written_down(path: str, files: Files) -> bool:
    """Whether it is what a program has written down of a run, with all that its classes filled in."""
    roots = [document.root for document in files.documents(path) if isinstance(document.root, Mapping)]
    entries = max((root.entries for root in roots), key=len, default=())
    return (
        len(entries) >= _ALL
        and sum(isinstance(one.value, Scalar) and one.value.value is None for one in entries) >= _UNSET
    )


def written_down(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those of the files that a program has written down of a run, and that no command names and no program that loads one."""
    found = {path for path in paths if _is_written_down(path, files)}
    for root in {files.root(path) for path in found}:
        several = [path for path in found if files.root(path) == root]
        for text in _texts(root, several, files) if os.path.isdir(root) else ():
            if text.kind != _PROGRAM or _READS.search(text.text):
                found -= {path for path in several if os.path.basename(path) in text.text and text.path != path}
    return frozenset(found)


_ALL = 90  # keys: the arguments of transformers alone are more, and who writes a file by hand says fewer
_UNSET = 20  # of them null, which nobody writes so often
_READS = re.compile(r"load|parse_(?:json|yaml|args)|subprocess|\bsystem\(")
_TRAINED, _OTHER, _DOUBTED = "a training reads it", "a command reads it that trains nothing", "nobody knows"
_PROGRAM, _SHELL, _GUIDE, _DATA = "program", "shell", "guide", "data"
# Texts that say how a file is used, and that no check reads by itself.
_GUIDES = Pattern(
    r"(?i)(?:readme.*|.*\.(?:md|rst|txt|toml|ini|cfg|conf|ps1|bat|cmd|fish|smk)|taskfile\.ya?ml|procfile|jenkinsfile|snakefile|mlproject)\Z"
)
_WORKFLOWS = (
    ".github/workflows", ".gitlab-ci.yml", ".circleci/config.yml", "azure-pipelines.yml", ".buildkite", ".vscode/launch.json",
    ".vscode/tasks.json", ".devcontainer/devcontainer.json",
)  # fmt: skip
_COMMENT = Pattern(r'^[ \t"]*#(?!!)[^\n]*|[ \t]#[^\n]*|^[ \t]*[rRuU]?"""[^"]*(?:"{1,2}(?!")[^"]*)*"""', re.MULTILINE)
_FENCE = Pattern(
    r"^[ \t]*(?:```|~~~)[^\n]*\n(.*?)(?:^[ \t]*(?:```|~~~)|\Z)|`([^`\n]+)`|^(?: {4}|\t)(.*)$", re.MULTILINE | re.DOTALL
)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _code_alone(text: str) -> str:
    """A guide without its prose, each letter where it stood."""
    kept, last = [], 0
    for found in _FENCE.finditer(text):
        group = found.lastindex or 0
        kept += [re.sub(r"[^\n]", " ", text[last : found.start(group)]), found[group]]
        last = found.end(group)
    return "".join([*kept, re.sub(r"[^\n]", " ", text[last:])])


def _texts(root: str, paths: list[str], files: Files) -> Iterator[_Text]:
    """The texts of a repository, without comments and prose; configurations among them where they name one of these."""
    programs = set(programs_of(root, files))
    folders: dict[str, None] = {}
    for path in paths:
        folder = os.path.dirname(path)
        while folder.startswith(root):
            folders[folder] = None
            folder, last = os.path.dirname(folder), folder
            if folder == last:
                break
    every = [(path, _kind(path, root, programs)) for path in files.entries(root)]
    for folder in folders:
        listed = [name for name in _listed(folder) if _GUIDES.match(name)]
        every += [(os.path.join(folder, name), _GUIDE) for name in listed[: limits.GUIDES.most]]
        for path in paths if len(listed) > limits.GUIDES.most else ():
            if path.startswith(os.path.join(folder, "")):
                files.cut_program(path, limits.GUIDES)
    for name in _WORKFLOWS:
        at = os.path.join(root, name)
        every += [(os.path.join(at, one), _SHELL) for one in _listed(at)] or [(at, _SHELL)]
    called = {os.path.basename(path).encode("utf-8", "surrogatepass") for path in paths}
    for path, kind in every:
        raw = content(path, files) if kind else b""
        if any(name in raw for name in called) or (_may_start(raw, path, kind) and _MAY_MEAN.search(raw)):
            text = raw.decode("utf-8", "replace")
            if path.endswith(".ipynb"):
                text = text.replace('\\"', ' "').replace("\\n", "\n ")
            if kind == _GUIDE:
                text = _code_alone(text) if path.endswith((".md", ".rst")) else text
            if kind != _DATA or not path.endswith(".json"):
                text = _COMMENT.sub(_blank, text)
            yield _Text(path, kind, text.replace("\\\n", "  "))


def _kind(path: str, root: str, programs: set[str]) -> str:
    if path.endswith((".py", ".ipynb")):
        return _PROGRAM if path in programs else ""
    if TESTS.search(path[len(root) :]):
        return ""
    return _DATA if path.endswith((".json", ".yaml", ".yml")) else _SHELL


def _may_start(raw: bytes, path: str, kind: str) -> bool:
    """Whether a text that does not name a file may do something with it all the same: where it is no program, by a command."""
    if kind == _PROGRAM:
        return True
    return kind != _GUIDE and not path.endswith(".json") and _starts_in_bytes().search(raw) is not None


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


# Names of files that a loop, a variable or a pattern fills in, and whatever file a caller names.
_PATTERNS = Pattern(r"""[^\s"'`(),;|&<>=]{0,200}\.(?:ya?ml|json)(?![\w.-])""")
_HOLES = Pattern(r"\$\{[^{}]{0,80}\}|\$\(?\w+\)?|\{[^{}]{0,80}\}|%s|[*?]+|\$[@*]")
_MAY_MEAN = re.compile(
    rb"[*}$%?\w][\w-]{0,80}\.(?:ya?ml|json)\b|[\"']\.(?:ya?ml|json)\b|\$|\bhf_d|\bDeepSpeedConfig\b|\bloads?\(|\benviron\b|[{%]"
)
_ASSIGNED = Pattern(r"(?:^|(?<=[\s;]))(\w{1,80})\s{0,3}(?::[^=\n]{1,60})?=\s{0,3}[rf]?[\"']?[^\s\"'=(\[,]{0,200}\Z")
_INTO = Pattern(r"(?:>\|?|\btee\b(?:\s+-a)?)\s*[\"']?[^\s\"'>|;&]{0,200}\Z")


# A command that is told the name of another file as well, into which it writes what it makes of the first.
_WRITES_FILE = Pattern(
    r"(?:^|\s)(?:-o|--(?:out|save|dest|write|target)[\w-]{0,30})[ =][\"']?[^\s\"']{1,200}\.(?:ya?ml|json)(?![\w.-])"
)


class _Text(NamedTuple):
    """One text of a repository: `text` without its comments, with everything else where it stood."""

    path: str
    kind: str
    text: str

    def uses(self, path: str, files: Files) -> Iterator[str]:
        """What is done with the file, each time that this text names it or may mean it."""
        name = os.path.basename(path)
        if path == self.path:
            return
        if self.kind == _PROGRAM and _CHANGES_READ.search(self.text):
            yield _DOUBTED
        fragments = files.lowered(self.path) if self.kind in (_SHELL, _DATA, _PROGRAM) else ()
        known = [
            (link.place.start, link.place.end)
            for fragment in fragments
            for link in fragment.links
            if os.path.basename(link.path) == name
            and discover.locate(os.path.join(link.folder, link.path), self.path, files.reach(self.path)) == path
        ]
        places = list(self._names(path, files))
        if len(places) > limits.PLACES.most:
            files.cut_program(path, limits.PLACES)
        for start, end in places[: limits.PLACES.most]:
            held = _ASSIGNED.search(self.text, max(0, self.text.rfind("\n", 0, start)), start)
            if held is None or any(first <= start < last for first, last in known):
                yield from self._done(start, end, known)
                continue
            sign = r"\$\{?" if self.kind != _PROGRAM else r"(?<![\w.])"
            again = [one for one in re.finditer(rf"{sign}{held[1]}(?!\w)", self.text) if one.start() != held.start(1)]
            for one in again[: limits.PLACES.most]:
                yield from self._done(one.start(), one.end(), known)
            if not again and self.kind != _GUIDE:
                yield _DOUBTED
        if self.kind != _GUIDE and (not places or self._may_mean(path)):
            yield from self._done_with_any(path, files)

    def _names(self, path: str, files: Files) -> Iterator[tuple[int, int]]:
        """Where the file's name stands, but behind another folder's."""
        folder, name = os.path.split(path)
        if name not in self.text:
            return
        ours, here = ("", ".", "..", os.path.basename(folder)), os.path.join(os.path.dirname(self.path), "")
        is_near = here.startswith(os.path.join(os.path.dirname(folder), "")) or path.startswith(here)
        for found in re.finditer(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", self.text):
            before = re.search(r"[^\s\"'`=(,;|&<>]{0,200}/\Z", self.text[max(0, found.start() - 200) : found.start()])
            above = before[0].rstrip("/").rpartition("/")[2] if before is not None else ""
            if before is None:
                beside = os.path.join(here, name)
                means_it = is_near or (self.kind == _PROGRAM and _is_alone(path, files))
                if not means_it or (self.kind == _SHELL and beside not in (path, self.path) and os.path.exists(beside)):
                    continue  # a script means the file of that name that lies beside it
            elif _HOLES.search(above):
                if not _fits(above, os.path.basename(folder)):
                    continue
            elif above not in ours and not before[0].startswith(("/", "~")) and not _HOLES.search(before[0]):
                continue
            yield found.start(), found.end()

    def _may_mean(self, path: str) -> bool:
        """Whether a name with holes in this text may be the file's, with some of its letters."""
        folder, name = os.path.split(path)
        for word in _with_holes(self.text):
            above, last = ["", *word.split("/")][-2:]
            if not _letters(above) and not _letters(os.path.splitext(last)[0]):
                continue
            if _fits(last, name) and (above in ("", ".", "..") or _fits(above, os.path.basename(folder))):
                return True
        return False

    def _done(self, start: int, end: int, known: list[tuple[int, int]]) -> Iterator[str]:
        """What is done with the file at one place."""
        line = self.text[self.text.rfind("\n", 0, start) + 1 : (self.text + "\n").find("\n", end)]
        if _INTO.search(self.text, max(0, start - 300), start) or _WRITES_FILE.search(line):
            yield _DOUBTED
            return
        is_read = any(first <= start < last for first, last in known)
        commands = list(_commands(self.text, start, end) if self.kind == _PROGRAM else _segments(line))
        named = self.text[start:end]
        said = {_outcome(words, lambda word: named in word) for words in commands if any(named in one for one in words)}
        said -= {""}
        if _OTHER in said:
            yield _OTHER
        elif is_read:
            yield _TRAINED
        elif said:
            yield _DOUBTED if _DOUBTED in said or self._sets_environment() else _TRAINED
        elif self.kind == _PROGRAM and (loaded := _LOADED.search(line)) and _HANDS_OVER.search(self.text):
            yield _TRAINED if _is_handed_whole(self.text, loaded[1]) else _DOUBTED
        elif self.kind == _PROGRAM and _PARSES.search(self.text, max(0, start - 60), start):
            yield _DOUBTED if any(_is_of_settings(one) for one in _ATTRIBUTE.findall(self.text)) else _TRAINED
        elif self.kind == _SHELL and _is_only_read(line, named):
            yield _OTHER
        elif self.kind in (_GUIDE, _DATA):  # which do nothing by themselves
            if (_CHANGES if self.kind == _GUIDE else _BUILDS_ON).search(line):
                yield _DOUBTED
        elif self.kind == _PROGRAM or not _LOOKS.match(line.strip()) or _MAKES.search(line):
            yield _DOUBTED

    def _done_with_any(self, path: str, files: Files) -> Iterator[str]:
        """What is done with whichever file is meant."""
        if self.kind == _PROGRAM:
            commands = _commands_of(self.text, True)
            loads = LOADS.search(self.text.encode("utf-8", "replace")) is not None
            starts = any(_outcome(words, _MAY_BE_A_FILE) in (_TRAINED, _DOUBTED) for words in commands)
            if (loads and starts and _WRITES.search(self.text)) or self._changes_loaded(loads):
                yield _DOUBTED
            if _HANDS_OVER.search(self.text) and self._sets_environment():
                yield _DOUBTED
        else:
            commands = _commands_of(self.text, False)
        reads = {one.dialect for one in files.lowered(path)}
        for words in commands:
            named = {
                one
                for before, one in zip(["", *words], words, strict=False)
                if _HOLES.search(one) and _FILE.match(f"{before} {one}")
            }
            said = _outcome(words, named.__contains__) if named else ""
            if said == _DOUBTED or (said == _TRAINED and self._sets_environment()):
                if "accelerate" not in words or "accelerate" in reads:
                    yield _DOUBTED

    def _sets_environment(self) -> bool:
        return self.kind == _PROGRAM and any(
            not _HARMLESS.match("".join(one)) for one in _SETS_VARIABLE.findall(self.text)
        )

    def _changes_loaded(self, loads: bool) -> bool:
        """Whether a program hands a library what it has loaded of a file that it does not name, and may have changed."""
        parses = "parse_yaml_file(" in self.text or "parse_json_file(" in self.text
        if not (loads or parses) or NAMES.search(self.text) or not _HANDS_OVER.search(self.text):
            return False
        if not loads:
            return any(_is_of_settings(one) for one in _ATTRIBUTE.findall(self.text))
        loaded = {name for name in _LOADED.findall(self.text) if name}
        return not loaded or any(not _is_handed_whole(self.text, name) for name in loaded)


# The same for each of the files that are asked about, one after the other.
@lru_cache(maxsize=1)
def _with_holes(text: str) -> frozenset[str]:
    return frozenset(found for found in _PATTERNS.findall(text) if _HOLES.search(found))


@lru_cache(maxsize=2)
def _commands_of(text: str, is_program: bool) -> list[list[str]]:
    if is_program:
        return [words for found in _WORDS.finditer(text) for words in _commands(text, found.start(), found.end())]
    return [words for line in text.splitlines() for words in _segments(line)]


def _is_alone(path: str, files: Files) -> bool:
    """Whether no other file of its repository is called so: a program elsewhere that names it without a folder means this one."""
    end = os.sep + os.path.basename(path)
    return sum(one.endswith(end) for one in files.entries(files.root(path))) == 1


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", _HOLES.sub("", text))


def _fits(pattern: str, name: str) -> bool:
    parts = [re.escape(part) for part in _HOLES.split(pattern)]
    return re.fullmatch(".{0,200}".join(parts), name) is not None


# Commands that only look at a file, or lay it beside others.
_LOOKS = Pattern(
    r"""[\s"!%$-]{0,40}(?:sudo\s{1,3})?(?:echo|printf|cat|ls|test|\[{1,2}|if\s{1,3}!?\s{0,3}\[{1,2}|diff|head|tail|less|more|vim?|nano|code|git|COPY|ADD"""
    r"""|(?:cp|scp|rsync)\s(?=[^;|&]{1,300}\s[^\s;|&.]{0,200}/?\s{0,3}$)|[├└│|+`─]|[\w./-]{1,200}\.(?:ya?ml|json)\s{0,3}$)(?:\s|[├└│─])?"""
)
_MAKES = Pattern(r"[>`]|\$\(|\|\s*(?:tee|sed|awk|perl|yq|jq|python)")
# Commands that read a file and write what they make of it elsewhere.
_FILTERS = frozenset(["cp", "cat", "grep", "egrep", "sed", "awk", "head", "tail", "cut", "sort", "jq", "yq", "envsubst", "md5sum", "sha256sum"])  # fmt: skip
_PARSES = Pattern(r"\bparse_(?:yaml|json)_file\([^()]{0,40}\Z")
_CHANGES = Pattern(
    r"(?<![<-])>(?![=>]{0,1}\s*$)|\b(?:sed|gsed|perl|awk|ruby|yq|jq|dasel|envsubst|tee|mv|patch|sponge|crudini|python[0-9.]{0,4}|docker|make)\s"
)
_BUILDS_ON = Pattern(
    r"(?i)^[\s\"'-]{0,80}(?:_?base_?|extends|include|inherits?|import|parent|defaults|template|overrides)[\w\"']{0,20}\s{0,3}[:=]"
)
# Variables that change nothing of what a framework takes for its settings.
_HARMLESS = Pattern(
    r"(?:CUDA|NCCL|WANDB|HF|HUGGING|TOKENIZERS|OMP|MASTER|TORCH|PYTORCH|PYTHON(?!PATH)|TRANSFORMERS_(?:OFFLINE|CACHE|VERBOSITY)|FORCE_TORCHRUN|NNODES|NPROC|NODE_RANK|RANK|LOCAL_RANK|WORLD_SIZE|MLFLOW|COMET|LD_|PATH|GLOO|DISABLE_VERSION)"
)
_SETS_VARIABLE = Pattern(
    r"""\bos\.environ(?:\.setdefault\(|\[)\s*["'](\w+)|\bos\.(environ\.update|putenv)\(|\b(env)\s*=(?!=)"""
)
_A_WORD = Pattern(r"""[^\s"']{1,400}""")
_MAY_BE_A_FILE = re.compile(r".{1,400}\.(?:ya?ml|json)\Z|[^{]{0,200}[${]").match
_FILE = Pattern(r"--config(?:_file)?[ =]|-c |(?:train|sft|run) ")  # what stands before a file that is to be trained by
_BREAKS = Pattern(r"[;|]|&&|(?<![>&0-9])&(?![>&0-9])")


def _is_only_read(line: str, name: str) -> bool:
    """Whether each command of a line that names the file writes another one, or none."""
    parts = [_A_WORD.findall(part) for part in _BREAKS.split(line) if name in part]
    return all(
        words[0] in _FILTERS
        and not any(one.startswith(("-i", "--in-place")) for one in words)
        and not (words[0] == "cp" and name in words[-1])
        for words in parts
    )


def _segments(line: str) -> Iterator[list[str]]:
    """The words of each command of a line."""
    if _starts().search(line) is None:
        return
    line = re.sub(r"\\[nt]|[\[\],]", " ", line) if "[" in line else line
    for part in _BREAKS.split(line):
        words = _A_WORD.findall(part)
        if words:
            yield words


_WORDS = Pattern(r"\b(?:axolotl|llamafactory-cli|lmf|tune|swift|litgpt|trl|accelerate|xtuner|automodel)\b")
_TEXT = Pattern(r'"""(.{1,3000}?)"""|"((?:[^"\\\n]|\\.){1,900})"|\'((?:[^\'\\\n]|\\.){1,900})\'', re.DOTALL)
_AROUND = 600  # characters of a command that are looked at, before and behind a name


def _commands(text: str, start: int, end: int) -> Iterator[list[str]]:
    """The words of the command that a program holds as a list or as one text around this place; one that is added to has a hole more."""
    begin = max(0, start - _AROUND)
    head, tail = text[begin:start], text[end : end + _AROUND]
    first, last = head.rfind("["), tail.find("]")
    if first >= 0 and last >= 0 and "]" not in head[first:] and _starts().search(head[first:] + text[start:end]):
        inside = f"{head[first + 1 :]}{text[start:end]}{tail[:last]}"
        words: list[str] = []
        for part in inside.split(","):
            quoted = _TEXT.search(part)
            words += (
                _A_WORD.findall(next(filter(None, quoted.groups()), ""))
                if quoted
                else ["$" + part.strip()] * bool(part.strip())
            )
        name = re.search(r"\b(\w{1,80})\s{0,3}(?::[^=\n]{1,60})?=\s{0,3}\Z", head[:first])
        more = rf"\b{name[1]}\s{{0,3}}(?:\+|\.(?:append|extend|insert)\b|\[)|\*{name[1]}\b" if name else r"(?!)"
        if re.search(more, text) or re.match(r"\s*\+", tail[last + 1 : last + 40]):
            words.append("$more")
        yield words
        return
    for found in _TEXT.finditer(
        text, max(0, text.rfind("\n", 0, start) - 3000 if '"""' in head else text.rfind("\n", 0, start))
    ):
        if found.start() > start:
            return
        if found.end() >= end:
            said = next(filter(None, found.groups()), "")
            for line in said.split("\n"):
                yield from _segments(
                    line + (" $more" if re.match(r"\s*[+%]|\.format", text[found.end() : found.end() + 20]) else "")
                )
            return


@cache
def _starts() -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\w.-])(?:{'|'.join(map(re.escape, sorted(starters() | {'lmf'})))}|python[0-9.]*)(?![\w.=-])"
    )


@cache
def _starts_in_bytes() -> re.Pattern[bytes]:
    return re.compile(_starts().pattern.encode())


@cache
def _training() -> frozenset[str]:
    records = knowledge.load("frameworks").values()
    words = {word for record in records for several in record.get("commands", {}).values() for word in several}
    return frozenset(words | {"train", "reward", "rloo"})


_PLAIN = Pattern(r"[0-9]?>{1,2}(?:&?[0-9]|\S*)|--config|-c|\\|[\])}`]+|--")
_SETTING = Pattern(r"[-+~]|.*[=$<{]")


def _outcome(words: list[str], is_file: Callable[[str], object]) -> str:
    """What becomes of the file that this command is given; empty where it is no command that is known, or given no such file."""
    at = next((n for n, word in enumerate(words) if _starts().fullmatch(word.rpartition("/")[2])), None)
    if at is None or not any(map(is_file, words[at:])):
        return ""
    before = words[:at]
    sets = any(re.match(r"[A-Z_]+=", one) and not _HARMLESS.match(one) for one in before) or "--env-file" in before
    called, rest = words[at].rpartition("/")[2], words[at + 1 :]
    if called in PROGRAMS or called.startswith("python") or called == "accelerate":
        if called == "accelerate" and rest[:1] != ["launch"]:
            return _OTHER
        program = next((n for n, one in enumerate(rest) if one.endswith(".py") or one == "-m"), len(rest))
        own = rest[called == "accelerate" : program]
        if any(map(is_file, own)):
            others = [one for n, one in enumerate(own) if not is_file(one) and not one.startswith("--config")]
            return _DOUBTED if sets or any(map(_SETTING.match, others)) else _TRAINED
        module, rest = rest[program : program + 2], rest[program + 1 :]
        if module[:1] != ["-m"] or module[-1].partition(".")[0] not in package_names():
            file = next((n for n, one in enumerate(rest) if is_file(one)), 0)
            if "deepspeed" in "".join(rest[max(0, file - 1) : file + 1]).split("=")[0]:
                return _TRAINED
            others = [one for n, one in enumerate(rest) if n != file and not one.startswith("--config")]
            return _DOUBTED if sets or any(map(_SETTING.match, others)) else _TRAINED
        rest = [one for one in module[-1].split(".")[1:] if one not in ("cli", "main", "launcher")][-1:] + rest[1:]
    if not rest or rest[0] not in _training():
        return _OTHER
    left = [one for one in rest[1:] if not is_file(one) and not _PLAIN.fullmatch(one)]
    if not is_file(rest[1]) and "--config" not in rest and called not in ("tune", "litgpt"):
        return "" if not any(one.endswith((".yaml", ".yml", ".json")) for one in rest) else _DOUBTED
    return _DOUBTED if sets or any(map(_SETTING.match, left)) else _TRAINED


# What hands a loaded configuration to whoever trains with it.
_HANDS_OVER = Pattern(
    r"(?:Config|Arguments|Args)\([^()]*\*\*|\bparse_(?:yaml_file|json_file|dict)\(|\brun_exp\(|\bdeepspeed\.initialize\(|\bdeepspeed\s*=\s*\w+\s*[,)\n]"
)
_LOADED = Pattern(
    r"\b(\w+)(?::[ \t]*\w+(?:\[[\w., \[\]]*\])?)?[ \t]*=\s*"
    r"(?:(?:dict|list|cast|(?:copy\.)?deepcopy|(?:\w+\.){0,3}[A-Z]\w*(?:\.\w+)?)\(\s*){0,3}"  # another function may change it
    r"(?:(?:h?json5?|yaml|toml|tomllib|OmegaConf)\.)?(?:safe_|full_|unsafe_)?loads?\("
)
_ATTRIBUTE = Pattern(r"(?<![\w.])(\w+)(?:\.\w+)*\.\w+\s*=(?!=)")
_WRITES = Pattern(r"\b(?:json|yaml|OmegaConf)\.(?:safe_)?(?:dump|save)\(|\.write(?:_text)?\(")
# What transformers has read of DeepSpeed's file, where a program changes it, hands it to a function, or replaces what compares it.
_CHANGES_READ = Pattern(
    r"\bhf_(?:deepspeed|ds)_config(?:\.(?:config|mismatches)\b|\s*=(?!=)|\s*[,)])|\bHf(?:Trainer)?DeepSpeedConfig\.\w+\s*=(?!=)"
)


def _is_of_settings(name: str) -> bool:
    return re.search(r"cfg|conf|param|setting|arg|option", name, re.IGNORECASE) is not None


def _is_handed_whole(text: str, name: str) -> bool:
    """Whether a program does nothing with what it has loaded but look at it, and give it away as it is."""
    word = re.escape(name)
    part = r"(?:\[[^\[\]\n]{1,80}\])"
    whole = (
        rf"\(\s{{0,40}}\*\*[ \t]{{0,3}}{word}{part}?,?\s{{0,40}}\)|\b(?:deepspeed|config|config_params)[ \t]{{0,3}}=[ \t]{{0,3}}{word}\b(?![ \t]{{0,3}}[\[.(])"
        rf"|\b(?:print|len|isinstance|parse_dict|run_exp)\({word}\b|\breturn {word}\b(?![ \t]{{0,3}}[|\[.(])"
        rf"|(?<!del )\b{word}{part}{{1,5}}(?![ \t]{{0,3}}(?:\[|(?:[-+*/|]|//)?=(?!=)|\.))|\b{word}\.get\(|\bin {word}\b(?!\.)"
        rf"|\b{word}(?::[^=\n]{{1,60}})?[ \t]{{0,3}}=[ \t]{{0,3}}(?:[\w.]{{1,40}}\(){{0,3}}(?:\w{{1,20}}\.)?(?:safe_|full_|unsafe_)?loads?\("
    )
    left = re.sub(rf"{whole}|[(,][ \t]{{0,3}}{word}[ \t]{{0,3}}=(?!=)", "", text)
    return re.search(rf"(?<![\w.\"'-]){word}(?![\w\"'-])", left) is None
