"""Shell scripts → their commands with flags and environment, as far as the script itself says them. Nothing is ever run.

Variables hold what the script gave them last; what a branch, a loop or the caller decides is unknown.
"""

from __future__ import annotations

import re

from stablint.source.shell_blocks import (
    Close,
    Middle,
    Open,
    Simple,
    assigned_in_loops,
    assigned_name,
    assignment,
    items,
)
from stablint.source.shell_flags import arguments
from stablint.source.shell_launch import split_launch
from stablint.source.shell_tokens import Array, Piece, Word
from stablint.source.shell_values import Definition, Held, Items, Variables, scalar, unknown_in
from stablint.source.shell_words import Lexer
from stablint.source.tree import (
    Command,
    Document,
    Entry,
    Mapping,
    Node,
    Problem,
    Scalar,
    Script,
    Sequence,
    Text,
    Unknown,
)

__all__ = ["LARGEST", "document", "split_launch"]

LARGEST = 1_000_000
"""Characters of the longest script that is read."""

_MOST_EXPORTS = 100
_SPACE = re.compile(r"\s*")
_DECLARES = frozenset({"export", "declare", "typeset", "readonly", "local"})
_CHANGES = frozenset({"read", "unset", "mapfile", "readarray", "let", "getopts"})


def document(text: Text) -> Document:
    """A shell script. A quote or bracket that is not closed is a `syntax-error`; the commands before it are still read."""
    source = text.text
    if len(source) > LARGEST:
        problem = Problem("too-large", f"longer than {LARGEST // 1_000_000} million characters", 0, 0)
        return Document(text, "shell", 0, None, (problem,))
    lexer = Lexer(source)
    reader = _Reader(source, lexer.problems)
    reader.read(items(lexer.tokens))
    commands = tuple(sorted(reader.commands, key=lambda command: command.start))
    problems = sorted((*lexer.problems, *reader.problems), key=lambda problem: problem.start)
    return Document(text, "shell", 0, Script(commands, reader.names()), tuple(problems))


class _Block:
    """A block that is open: what its variables were before it, and which it has changed."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.before: dict[str, Held | None] = {}
        self.changed: set[str] = set()


class _Reader:
    def __init__(self, source: str, problems: list[Problem]) -> None:
        self.source = source
        self.explained = {_next_word(source, problem.end) for problem in problems}  # orphans of a broken continuation
        self.variables = Variables()
        self.blocks: list[_Block] = []
        self.exports: dict[str, tuple[int, int]] = {}
        self.environment: tuple[Entry, ...] | None = ()
        self.commands: list[Command] = []
        self.problems: list[Problem] = []
        self.once: dict[str, Entry | None] = {}  # None: set again, or not at top level

    def read(self, script: list[Simple | Open | Middle | Close]) -> None:
        """The commands in order; bodies of functions last, as they are called when the variables around them are set."""
        loops = assigned_in_loops(script)
        later: list[tuple[int, int]] = []
        function, depth = -1, 0
        for number, item in enumerate(script):
            if function >= 0:
                depth += isinstance(item, Open) - isinstance(item, Close)
                self.inside_function(item)
                if not depth:
                    later.append((function, number))
                    function = -1
            elif isinstance(item, Open) and item.kind == "function":
                function, depth = number, 1
            else:
                self.item(item, loops.get(number, frozenset()))
        several = [name for name, entry in self.once.items() if entry is None]
        for name in several:
            self.hold(name, Unknown(f"`${name}` is set several times"))
        for start, end in later:
            self.item(Open("branch"), frozenset())
            for number in range(start + 1, end):
                item = script[number]
                if isinstance(item, (Open, Close)) and item.kind == "function":
                    continue
                self.item(item, loops.get(number, frozenset()))
            self.item(Close("branch"), frozenset())

    def inside_function(self, item: Simple | Open | Middle | Close) -> None:
        """What a function assigns is not known outside it."""
        if isinstance(item, Simple) and item.words:
            for name in {assigned_name(word) for word in item.words} - {""}:
                if not isinstance(item.words[0], Word) or item.words[0].plain() not in ("local", "declare", "typeset"):
                    self.change(name)

    def item(self, item: Simple | Open | Middle | Close, assigned: frozenset[str]) -> None:
        if isinstance(item, Simple):
            self.simple(item)
        elif isinstance(item, Open):
            self.blocks.append(_Block(item.kind))
            for name in {*assigned, item.variable} - {""}:
                self.hold(name, Unknown(f"`${name}` changes in a loop"))
        elif isinstance(item, Middle):
            self.back(self.blocks[-1])
        elif self.blocks:
            self.leave(self.blocks.pop())

    def back(self, block: _Block) -> None:
        for name, held in block.before.items():
            self.forget(name)
            if held is None:
                self.variables.held.pop(name, None)
            else:
                self.variables.held[name] = held
        block.changed |= block.before.keys()
        block.before = {}

    def leave(self, block: _Block) -> None:
        if block.kind == "group":
            for name, held in block.before.items():
                self.note(name, held)
            return
        self.back(block)
        if block.kind != "subshell":
            for name in block.changed:
                self.hold(name, Unknown(f"`${name}` is set in a {block.kind}"))

    def note(self, name: str, held: Held | None) -> None:
        """What a variable was before it is changed, for the block that is open."""
        if self.blocks:
            self.blocks[-1].before.setdefault(name, held)

    def hold(self, name: str, held: Held) -> None:
        self.note(name, self.variables.held.get(name))
        self.variables.held[name] = held
        self.forget(name)

    def forget(self, name: str) -> None:
        if name in self.exports:
            self.environment = None

    def simple(self, item: Simple) -> None:
        environment: list[Entry] = []
        words = item.words
        first = next((place for place, word in enumerate(words) if not assigned_name(word)), len(words))
        for word in words[:first]:
            entry = self.assignment(word, item.conditional, first < len(words))
            environment += [entry] if entry else []
        if first == len(words):
            return
        program = words[first]
        name = program.plain() if isinstance(program, Word) else ""
        if name in _DECLARES:
            self.declare(name, words[first + 1 :], item.conditional)
        elif name in _CHANGES:
            for word in words[first + 1 :]:
                if isinstance(word, Word) and word.plain().isidentifier():
                    self.change(word.plain())
        else:
            self.command(tuple(word for word in words[first:] if isinstance(word, Word)), environment)

    def change(self, name: str) -> None:
        self.hold(name, Unknown(f"`${name}` is set when the script runs"))
        self.once[name] = None

    def assignment(self, word: Word | Array, conditional: bool, prefix: bool) -> Entry | None:
        """`NAME=value`; in front of a command it holds for that command alone, else from here on."""
        if isinstance(word, Array):
            held: Held = self.variables.array(word)
            self.assign(word.name, held, conditional, None)
            values = tuple(scalar(field) for field in held.fields) if isinstance(held, Items) else ()
            items = Sequence(values, word.start + len(word.name) + 1, word.end, False)
            return Entry(word.name, word.start, word.start + len(word.name), items)
        found = assignment(word)
        if not found:
            return None
        name, cut = found[1], found.end()
        head = word.pieces[0]
        rest = Piece("text", head.text[cut:], head.start + cut, head.end)
        value = Word((rest, *word.pieces[1:]) if rest.text else word.pieces[1:], word.start + cut, word.end)
        held = self.variables.define(value, value.start)
        if found[2]:
            before = self.variables.held.get(name)
            chunks = (
                before.chunks + held.chunks if isinstance(before, Definition) and isinstance(held, Definition) else ()
            )
            held = Definition(chunks, value.start, value.end, False) if chunks else Unknown(f"`${name}` is added to")
        start, end = (held.start, held.end) if isinstance(held, Definition) else (value.start, value.end)
        node = (
            _text(held, start, end)
            if isinstance(held, Definition)
            else Scalar(_reason(held), start, end, "unknown", False)
        )
        entry = Entry(name, word.start, word.start + len(name), node)
        if not prefix:
            self.assign(name, held, conditional, entry)
        return entry

    def assign(self, name: str, held: Held, conditional: bool, entry: Entry | None) -> None:
        self.hold(name, Unknown(f"`${name}` is set under a condition") if conditional else held)
        fresh = name not in self.once and not self.blocks and not conditional
        self.once[name] = entry if fresh else None

    def declare(self, command: str, words: tuple[Word | Array, ...], conditional: bool) -> None:
        for word in words:
            entry = self.assignment(word, conditional, False)
            name = entry.key if entry else word.plain() if isinstance(word, Word) else ""
            exports = command == "export" or (command in ("declare", "typeset") and _exporting(words))
            if exports and name.isidentifier() and len(self.exports) < _MOST_EXPORTS:
                start = entry.key_start if entry else word.start
                self.exports[name] = (start, start + len(name))
                self.environment = None

    def command(self, words: tuple[Word, ...], environment: list[Entry]) -> None:
        fields = [field for word in words for field in self.variables.fields(word)]
        if not fields:
            return
        read = arguments(self.source, fields, words[-1].end)
        if not read.words:
            self.orphan(words, read.flags)
            return
        self.problems += read.problems
        start = environment[0].key_start if environment else words[0].start
        mapping = Mapping((*self.exported(), *environment), start, words[0].start)
        self.commands.append(Command(read.words, read.flags, read.positionals, mapping, words[0].start, words[-1].end))

    def orphan(self, words: tuple[Word, ...], flags: Mapping) -> None:
        """A line that begins with a flag: the command above ended too early."""
        if flags.entries and self.commands and words[0].start not in self.explained:
            message = "these flags belong to no command: the line above ends without a backslash, or with a comment"
            self.problems.append(Problem("shell-broken-continuation", message, words[0].start, words[-1].end))

    def exported(self) -> tuple[Entry, ...]:
        """What is exported here; worked out anew only where something was assigned since."""
        if self.environment is None:
            self.environment = tuple(
                Entry(name, *place, self.value(name, place)) for name, place in self.exports.items()
            )
        return self.environment

    def value(self, name: str, place: tuple[int, int]) -> Node:
        held = self.variables.held.get(name)
        if not isinstance(held, Definition):
            reason = held if isinstance(held, Unknown) else Unknown(f"`${name}` is not set in this file")
            return Scalar(reason, *place, "unknown", False)
        return _text(held, held.start, held.end)

    def names(self) -> Mapping:
        entries = tuple(entry for entry in self.once.values() if entry is not None)
        return Mapping(entries, 0, len(self.source))


def _reason(held: Held) -> Unknown:
    return held if isinstance(held, Unknown) else Unknown("a list")


def _exporting(words: tuple[Word | Array, ...]) -> bool:
    return any(isinstance(word, Word) and word.plain().startswith("-") and "x" in word.plain() for word in words)


def _next_word(source: str, at: int) -> int:
    found = _SPACE.match(source, at)
    return found.end() if found else at


def _text(held: Definition, start: int, end: int) -> Scalar:
    """What a variable holds as a value, which is text whatever it looks like."""
    unknown = unknown_in(held.chunks)
    if unknown is not None:
        return Scalar(unknown, start, end, "unknown", False)
    value = "".join(str(chunk.value) for chunk in held.chunks)
    quoted = any(chunk.source == "quoted" for chunk in held.chunks)
    return Scalar(value, start, end, "quoted" if quoted else "plain", held.editable)
