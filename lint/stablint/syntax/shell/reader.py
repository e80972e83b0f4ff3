"""Shell scripts → their commands with flags and environment, as far as the script itself says them. Nothing is ever run.

Variables hold what the script gave them last; what a branch, a loop or the caller decides is unknown.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache, lru_cache

from stablint.syntax import limits
from stablint.syntax.embedded import Parse, start_in_file
from stablint.syntax.shell.blocks import Script as Blocks
from stablint.syntax.shell.blocks import Simple, script_of
from stablint.syntax.shell.embedded import Inner, placed_tokens
from stablint.syntax.shell.embedded import documents as inner_documents
from stablint.syntax.shell.flags import arguments
from stablint.syntax.shell.header import header
from stablint.syntax.shell.inner import runs_its_input, scripts_in, started_by
from stablint.syntax.shell.inner import text_of as words_of
from stablint.syntax.shell.launch import split_launch, starts_program
from stablint.syntax.shell.run import Runner
from stablint.syntax.shell.sourced import SOURCES, Locate, brought, nowhere, sourced
from stablint.syntax.shell.tokens import Body, Word
from stablint.syntax.shell.values import Chunk, Definition, Field, one_field, text_of
from stablint.syntax.shell.words import Lexer
from stablint.syntax.shell.written import Writer
from stablint.syntax.tree import NO_FOLDER, Command, Document, Entry, Mapping, Problem, Scalar, Script, Text, Unknown

__all__ = ["LARGEST", "document", "documents", "split_launch"]

LARGEST = 1_000_000
"""Characters of the longest script that is read."""

_SLURM = {
    "nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), "ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"), "ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "gres": ("SLURM_GPUS_ON_NODE",), "gpus-per-node": ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"), "cpus-per-task": ("SLURM_CPUS_PER_TASK",),
}  # fmt: skip
_FOLDER, _BEFORE = "#folder", "#before"  # no names of variables
# Files of the machine, which set up what programs are found in and no variable of the script's.
_SETS_UP = re.compile(r"conda|mamba|ssh-agent|brew|direnv|pyenv|modulecmd|\bhook\b|argcomplete")
_OF_THE_MACHINE = re.compile(
    r"(?:activate|rc|profile|conda\.sh|mamba\.sh|setvars\.sh|/init/\w{1,20}|cargo/env)$|^/(?:etc|usr)/"
)
# They start what another machine or an image has: which files it finds there nobody here knows.
_ELSEWHERE = frozenset(["ssh", "docker", "podman", "nerdctl", "kubectl"])
# Of git: another state of the files than the one at hand.
_OTHER_FILES = frozenset(["checkout", "switch", "apply", "am", "stash", "cherry-pick", "revert"])
_PUTS = frozenset(["cp", "mv", "ln", "install", "sed", "wget", "curl", "tee", "patch", "envsubst"])
_SPACE = re.compile(r"\s*")
_A_FILE = 2_000  # characters that reading a file counts for, however short it is
_LONGEST_PATH = 4_096  # of any system at hand
_A_SCRIPT = 40  # characters that another shell costs by itself


def documents(text: Text, parse: Parse, locate: Locate = nowhere) -> tuple[Document, ...]:
    """The script, and the configurations that it writes, which `parse` reads. `locate` finds the files that it reads into itself."""
    script, written = _read(text, locate)
    numbered = [script]
    for content, format, certain in written:
        inner = inner_documents(content, format, text, len(numbered), parse)
        if certain or all(document.root is not None for document in inner):
            numbered += inner
    return tuple(numbered)


def document(text: Text) -> Document:
    """A shell script. A quote or bracket that is not closed is a `syntax-error`; the commands before it are still read."""
    return _read(text)[0]


def _read(text: Text, locate: Locate = nowhere) -> tuple[Document, list[tuple[Inner, str, bool]]]:
    """The script, and what it writes: the text, its format, and whether that is certain."""
    source = text.text
    if len(source) > LARGEST:
        problem = Problem("too-large", f"longer than {LARGEST // 1_000_000} million characters", 0, 0)
        return Document(text, "shell", 0, None, (problem,)), []
    lexer = Lexer(source)
    reader = _Reader(text, lexer, cache(locate))  # a script may name one file again and again
    options = header(source)
    reader.know(options)
    reader.go_through(script_of(lexer.tokens))
    commands = tuple(sorted(reader.commands, key=lambda command: command.start))
    found = [*lexer.problems, *reader.problems, *reader.state.spent.problems.values(), *_returns(lexer, commands)]
    problems = sorted(dict.fromkeys(found), key=lambda problem: problem.start)
    names = tuple(entry for entry in reader.once.values() if entry is not None)
    script = Script(commands, Mapping(names, 0, len(source)), options, tuple(reader.texts.values()))
    return Document(text, "shell", 0, script, tuple(problems)), [
        (content, format, reader.writer.is_certain(content)) for content, format in reader.writer.written
    ]


def is_code(source: str, at: int) -> bool:
    """Whether an operator begins there: it stands in no quotes and no here-document."""
    return any(at <= token.start < at + 7 and type(token) is not Word for token in Lexer(source).tokens)


def _returns(lexer: Lexer, commands: tuple[Command, ...]) -> list[Problem]:
    """A command over several lines that end as Windows ends them."""
    if not any(command.start <= lexer.returns < command.end for command in commands):
        return []
    told = Problem(
        "shell-windows-lines",
        "the lines end with a carriage return, so that bash ends the command at the first backslash",
        lexer.returns,
        lexer.returns + 1,
    )
    return [told]


@lru_cache(maxsize=16)  # scripts of a folder read the same files
def _read_in(source: str) -> tuple[Lexer, Blocks]:
    lexer = Lexer(source)
    return lexer, script_of(lexer.tokens)


class _Reader(Runner):
    depth: int

    def __init__(self, text: Text, lexer: Lexer, locate: Locate = nowhere, outer: _Reader | None = None) -> None:
        super().__init__()
        self.outermost: _Reader = self if outer is None else outer.outermost
        self.brought = 0  # characters of the files that are read into the script
        self.texts: dict[str, Text] = {}  # these files, by their paths
        self.handed = 0  # characters of the commands that other shells run
        depth = 0 if outer is None else outer.depth + 1
        self.text, self.locate, self.depth = text, locate, depth
        self.source = text.text
        # orphans of a broken continuation
        self.explained = {_next_word(self.source, problem.end) for problem in lexer.problems}
        self.commands: list[Command] = []
        self.broken = 0
        self.ends_early = [problem.start for problem in lexer.problems if problem.kind == BROKEN]
        self.problems: list[Problem] = []
        self.writer = Writer(text, self.state)
        self.bodies: dict[int, Body] = lexer.bodies
        self.inside = 0
        self.ends = -1  # where the whole script ends by an `exit`; not looked for yet
        self.piped: Inner | None = None  # what `cat <<EOF |` hands on
        self.put: set[str] = set()  # programs that the script puts where they are started: `cp variants/train.py .`
        self.others = False  # other files than those at hand may lie there by now

    def command(self, words: tuple[Word, ...], environment: list[Entry], item: Simple) -> None:
        if not words:
            return
        fields = [field for word in words for field in self.state.fields(word)]
        self.writer.look(fields, item, self.bodies)
        for name, held in self.writer.read_into(words, item, self.bodies):
            self.hold(name, held)
            self.once[name] = None
        if not fields:
            return
        texts = [words_of(field) for field in fields]
        self.put_there(texts)
        if texts[0] in ("cd", "pushd"):
            self.go_to(fields)
        elif texts[0] == "popd":
            self.state.hold(_FOLDER, self.state.held.get(_BEFORE))
            self.state.hold(_BEFORE, Unknown("the folder is not known"))
        elif texts[0] in SOURCES:
            self.read_in(fields)
        elif texts[0] == "eval" and self._may_set_anything(fields[1:]):
            self.presume()
        there, self.others = self.others, self.others or texts[0].rpartition("/")[2] in _ELSEWHERE
        before, self.piped = self.piped, self.writer.handed(item, self.bodies) if texts[0] == "cat" else None
        if (before or item.redirections) and runs_its_input(texts):
            if before is not None and words[0].start >= start_in_file(before.view, 0):
                before = None  # a pipe stands in the line above the here-document
            if script := self.writer.handed(item, self.bodies) or before:
                self.inner(script, fields[0].start)
        for inner in scripts_in(fields, texts):
            self.inner(inner, fields[0].start)
        start = environment[0].key_start if environment else words[0].start
        mapping = Mapping((*self.exported(), *environment), start, words[0].start)
        own, started = started_by(fields, texts)
        for part in started:
            self.append(part, mapping, part[0].start, max(part[-1].end, part[0].start))
        self.others = there
        end = fields[own].start if started else words[-1].end
        flags = self.append(fields[:own], mapping, words[0].start, max(end, words[0].start))
        if (flags is not None and flags.entries) or (texts and _SETTING.match(texts[0] or "")):
            self.orphan(words)

    def append(self, fields: list[Field], environment: Mapping, start: int, end: int) -> Mapping | None:
        """One more command; the flags of what has no words, and so is none."""
        read = arguments(self.source, fields, end)
        if not read.words:
            return read.flags
        gone = self.state.held.get(_FOLDER)
        unknown = isinstance(gone, Unknown) or self.others or not self.put.isdisjoint(read.words)
        folder = NO_FOLDER if unknown else text_of(gone) or ""
        flags = read.flags
        if any(end <= at and not self.source[end:at].strip() for at in self.ends_early):
            flags = flags._replace(open=True)
        command = Command(read.words, flags, read.positionals, environment, start, end, folder, self.is_idle())
        if read.problems and starts_program(command):
            self.problems += read.problems
        self.commands.append(command)
        return None

    def is_empty(self) -> bool:
        return not self.commands

    def put_there(self, texts: list[str]) -> None:
        """Files that a command changes, or puts where others lay: what is started from there later is not what is at hand."""
        name = texts[0].rpartition("/")[2]
        if name == "git" and len(texts) > 1:
            here = text_of(self.state.held.get(_FOLDER)) in (None, "", ".")
            self.others = self.others or (here and texts[1] in _OTHER_FILES and "--recurse-submodules" not in texts)
        elif name in _PUTS and (name != "sed" or any(text.startswith(("-i", "--in-place")) for text in texts)):
            last = texts[-1].rstrip("/")
            put = texts[1:] if name in ("sed", "patch", "tee", "wget", "curl") else [last]
            if name in ("cp", "mv", "ln", "install") and not last.endswith(".py"):
                put = [posixpath.join(last, text.rpartition("/")[2]) for text in texts[1:-1]]
            for text in put:
                if text.endswith(".py"):
                    path = posixpath.normpath(text)
                    self.put |= {path, "./" + path, path.rpartition("/")[2] if "://" in text else path}

    def know(self, options: Mapping) -> None:
        """The variables that Slurm sets to what the header asks for."""
        for entry in options.entries:
            node = entry.value
            text = node.value if isinstance(node, Scalar) else None
            if entry.key == "gres" and isinstance(text, str):
                text = text.rpartition(":")[2]
            if not isinstance(text, str) or not text.isdigit():
                continue
            start = node.end - len(text)
            for name in _SLURM.get(entry.key, ()):
                self.state.hold(name, Definition((Chunk(text, start, node.end),), start, node.end, True))

    def read_in(self, fields: list[Field]) -> None:
        """`source file`: its variables are this script's from here on."""
        most = self.outermost
        if most.brought > limits.SOURCED.most:
            return
        text = sourced(fields, self.text, text_of(self.state.held.get(_FOLDER)) or "", self.locate)
        if text is None:
            name = words_of(fields[1]) if len(fields) > 1 else ""
            again = posixpath.basename(name) == posixpath.basename(self.text.path)  # a file that reads itself in
            if len(fields) > 1 and not again and not _OF_THE_MACHINE.search(name):
                self.presume()
            return
        if len(text.text) > LARGEST:
            return
        if self.depth >= limits.SOURCED_DEEP.most:
            self.state.spent.reached(limits.SOURCED_DEEP, fields[0].start, fields[1].end)
            return
        most.brought += len(text.text) + _A_FILE
        if most.brought > limits.SOURCED.most:
            self.state.spent.reached(limits.SOURCED, fields[0].start, fields[1].end)
            return
        most.texts[text.path] = text
        lexer, script = _read_in(text.text)
        other = _Reader(text, lexer, self.locate, self)
        before = dict(self.state.held)
        other.state.work, other.calls, other.done = self.state.work, self.calls, self.done
        other.state.held.update(before)
        other.go_through(script)
        self.state.work, self.calls, self.done = other.state.work, other.calls, other.done
        for limit in other.state.spent.problems:
            self.state.spent.reached(limit, fields[0].start, fields[1].end)
        for name, held in other.state.held.items():
            if name not in (_FOLDER, _BEFORE) and held is not before.get(name):
                self.assign(name, brought(held, fields[1]), None)
        for name in other.exports:
            self.exports[name] = (fields[1].start, fields[1].end)
            self.environment = None

    def _may_set_anything(self, fields: list[Field]) -> bool:
        """Whether what is evaluated is made when the script runs, by what does not only set up an environment: `eval "$(conda shell.bash hook)"`."""
        unknown = any(isinstance(part.value, Unknown) for one in fields for part in one.chunks)
        return unknown and not _SETS_UP.search(self.source[fields[0].start : fields[-1].end])

    def presume(self) -> None:
        """A file that is not at hand, or a text that nobody knows, may set any variable anew: what was set stands for the usual value."""
        for name, held in list(self.state.held.items()):
            if isinstance(held, Definition) and name.isidentifier():
                self.state.hold(name, held._replace(presumed=True))

    def inner(self, content: Inner, place: int) -> None:
        """The commands of `bash -c "…"` and `eval`, which stand at `place`."""
        if self.inside >= limits.NESTED.most:
            self.state.spent.reached(limits.NESTED, place, place)
            return
        if len(content.view.source) > limits.INNER_LONG.most:
            self.state.spent.reached(limits.INNER_LONG, place, place)
            return
        most = self.outermost
        most.handed += len(content.view.source) + _A_SCRIPT
        if most.handed > limits.INNER.most:
            self.state.spent.reached(limits.INNER, place, place)
            return
        self.inside += 1
        bodies, self.bodies = self.bodies, {}
        self.state.enter("group", "-c")
        self.go_through(script_of(placed_tokens(content, Lexer(content.view.source).tokens)))
        self.state.leave()
        self.bodies = bodies
        self.inside -= 1

    def go_to(self, fields: list[Field]) -> None:
        """`cd folder`: files that later commands name are looked up from there."""
        before, place = self.state.held.get(_FOLDER), fields[0]
        target = one_field(fields[1]) if len(fields) == 2 else None
        text = text_of(target)
        if text == "-":
            held = self.state.held.get(_BEFORE)
        elif text is None or text.startswith("~"):
            held = Unknown("the folder is not known")
        else:
            path = posixpath.normpath(posixpath.join(text_of(before) or "", text))
            held = Definition((Chunk(path, place.start, place.end),), place.start, place.end, False)
            if len(path) > _LONGEST_PATH:
                held = Unknown("the folder is not known")
        self.state.hold(_FOLDER, held)
        self.state.hold(_BEFORE, before)

    def orphan(self, words: tuple[Word, ...]) -> None:
        """A line that begins with a flag, or with a setting of Hydra's: the command above ended too early."""
        start = words[0].start
        above = self.source.rfind("\n", 0, start)
        if self.source[above + 1 : start].strip() or start in self.explained:
            return  # `[ -e a && ! -e b ]`: an operator made it a command of its own
        commented = _COMMENT.search(self.source, self.source.rfind("\n", 0, above) + 1, above) is not None
        again = commented and self.broken == len(
            self.commands
        )  # one remark a command: comments between all of its lines
        if self.ends < 0:
            end = _EXIT.search(self.source)
            self.ends = end.start() if end is not None else len(self.source)
        if self.ends < start:
            return  # nothing below is run: flags are parked there
        if self.commands and not again:
            self.broken = len(self.commands)
            last = words[-1].end
            self.problems.append(
                Problem(BROKEN, "the comment above ends the command: these flags are given to nothing", start, last)
                if commented
                else Problem(BROKEN, "these flags belong to no command: the line above has no backslash", start, last)
            )


BROKEN = "shell-broken-continuation"
_COMMENT = re.compile(r"(?:^|[ \t])#", re.MULTILINE)
# `actor.optim.lr=1e-6`: no name of a variable has a dot, so that bash takes it for a command.
_SETTING = re.compile(r"\+{0,2}[A-Za-z_]\w{0,80}(?:[.][A-Za-z_]\w{0,80}){1,12}=")
_EXIT = re.compile(r"^exit\b", re.MULTILINE)  # of the whole script


def _next_word(source: str, at: int) -> int:
    found = _SPACE.match(source, at)
    return found.end() if found else at
