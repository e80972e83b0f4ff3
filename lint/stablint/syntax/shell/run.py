"""The commands of a script in the order in which they would be run, with what the script's variables hold at each. Nothing is ever run.

Functions are gone through where they are called, with what they are called with.
"""

from __future__ import annotations

from stablint.syntax import limits
from stablint.syntax.shell.blocks import (
    Arm,
    Open,
    Script,
    Simple,
    Then,
    assigned_name,
    assignment,
    changed_by,
)
from stablint.syntax.shell.conditions import Test, examine
from stablint.syntax.shell.pieces import GIVEN
from stablint.syntax.shell.state import State
from stablint.syntax.shell.tokens import Array, Piece, Word
from stablint.syntax.shell.values import (
    Definition,
    Field,
    Held,
    Items,
    as_text,
    grown,
    one_field,
    scalar,
    text_of,
    unknown_in,
)
from stablint.syntax.tree import Entry, Node, Scalar, Sequence, Unknown

_A_CALL = 4  # commands that a call counts for, however short the function is
_DECLARES = frozenset({"export", "declare", "typeset", "readonly", "local"})
_ENDS = frozenset({"exit", "return", "break", "continue"})
_FAILS = _ENDS | {"false", "kill", "die", "fail", "abort", "error"}
_POSITIONS = "123456789"


class Runner:
    """Goes through the items. `command` is called for every simple command that is no assignment and no builtin of variables."""

    def __init__(self) -> None:
        self.state = State()
        self.exports: dict[str, tuple[int, int]] = {}
        self.environment: tuple[Entry, ...] | None = ()
        self.once: dict[str, Entry | None] = {}  # None: set again, or not at top level
        self.functions: dict[str, tuple[Script, int, int]] = {}
        self.called: set[str] = set()
        self.active: list[str] = []
        self.locals: list[dict[str, Held | None]] = []
        self.calls = 0
        self.done = 0  # commands
        self.script = Script([], {}, {})
        self.tests: list[Test | None] = []  # of the condition that is open
        self.test: Test | None = None  # what stands in front of `&&`
        self.over = False  # behind an `exit` of the whole script
        self.uncalled = 0  # functions that nothing calls and that are gone through all the same
        self.outlived = False  # another command takes its place where it fails: `… || true`
        self.sure = False  # the command there fails only where the whole script is of no use

    def command(self, words: tuple[Word, ...], environment: list[Entry], item: Simple) -> None:
        raise NotImplementedError

    def go_through(self, script: Script) -> None:
        """The commands in order; functions that nothing in the script calls come last."""
        outer, self.script = self.script, script
        self._run(0, len(script.items))
        main = not self.is_empty()  # a script of functions alone is there for others to read in
        self.uncalled += main
        for name in [
            name for name, body in self.functions.items() if body[0] is self.script and name not in self.called
        ]:
            self._call(name, None, 0)
        self.uncalled -= main
        self.script = outer

    def is_empty(self) -> bool:
        """Whether no command was found so far."""
        raise NotImplementedError

    def is_idle(self) -> bool:
        """Whether the script as it stands does not come here, or comes past it."""
        never = (block.taken is False and not block.defaulted and not block.filled for block in self.state.blocks)
        return self.over or self.uncalled > 0 or self.outlived or any(never)

    def _is_outlived(self, at: int, end: int) -> bool:
        """Whether the script knows what to do where the command is refused, and is no worse for it. What ends the script there, or calls a function
        that may, is no such thing, and blocks are not looked into."""
        after = self.script.items[at + 1] if at + 1 < end else None
        if isinstance(after, Then):
            return self._goes_on(at)
        if not isinstance(after, Simple) or after.joint != "||" or not after.words:
            return False
        word = after.words[0].plain() if isinstance(after.words[0], Word) else ""
        return bool(word) and word not in self.functions and word not in _FAILS

    def _goes_on(self, at: int) -> bool:
        """Whether the command is what an `if` asks, no branch of which ends the script: `if train; then …; else other; fi`."""
        opened = self.script.items[at - 1] if at > 0 else None
        if not isinstance(opened, Open) or opened.word != "if":
            return False
        for item in self.script.items[at + 1 : self.script.ends.get(at - 1, at + 1)]:
            word = item.words[0] if isinstance(item, Simple) and item.words else None
            plain = word.plain() if isinstance(word, Word) else ""
            if plain in _FAILS or plain in self.functions:
                return False
        return at - 1 in self.script.ends

    def _run(self, at: int, end: int) -> None:
        while at < end:
            item = self.script.items[at]
            if isinstance(item, Simple):
                self.done += 1
                if self.done > limits.COMMANDS.most:
                    start = next((word.start for word in item.words), 0)
                    self.state.spent.reached(limits.COMMANDS, start, start)
                    return
                self.outlived = self._is_outlived(at, end)
                self._simple(item)
            elif isinstance(item, Open) and item.kind == "function":
                close = self.script.ends.get(at, end)
                self.functions[item.variable] = (self.script, at + 1, close)
                self.called.discard(item.variable)
                at = close
            elif isinstance(item, Open):
                self._open(item, at)
            elif isinstance(item, Then):
                self._then()
            elif isinstance(item, Arm):
                self._arm(item)
            elif self.state.blocks:
                self.state.leave()
                self.environment = None
            at += 1

    def _open(self, item: Open, at: int) -> None:
        """A block begins. A loop over one known word is gone through once."""
        self.tests = []
        if item.kind != "loop":
            self.state.enter(item.kind, item.word)
            return
        fields = [field for word in item.words if isinstance(word, Word) for field in self.state.fields(word)]
        once = len(fields) == 1 == len(item.words) and unknown_in(fields[0].chunks) is None
        self.state.enter("group" if once else "loop", item.word)
        if once:
            self.hold(item.variable, one_field(fields[0]))
            return
        for name, change in self.script.loops.get(at, {}).items():
            before = self.state.held.get(name)
            given = change.given
            if before is not None and change.adds:
                self.hold(name, grown(before, f"`${name}` grows in a loop", change.apart))
            elif given and text_of(before) == "":
                self.hold(name, Unknown(f"`${name}`{GIVEN}"))
            elif given and isinstance(before, Definition):
                self.hold(name, before._replace(presumed=True))
            else:
                self.hold(name, Unknown(f"`${name}` changes in a loop"))
        if item.variable:
            values = [text for field in fields if (text := text_of(one_field(field))) is not None]
            takes = f": {', '.join(values[:4])}"[:80] if values else ""
            self.hold(item.variable, Unknown(f"`${item.variable}` changes in a loop{takes}"))

    def _then(self) -> None:
        if not self.state.blocks:
            return
        block = self.state.blocks[-1]
        test = self.tests[0] if len(self.tests) == 1 else None
        if test is not None and block.word == "if":
            block.taken = False if block.settled else test.result
            block.likely = False if block.chosen else test.likely
            block.defaulted = test.empty
            block.filled = test.filled
            block.usual = test.usual if test.likely else ""

    def _arm(self, item: Arm) -> None:
        self.tests = []
        if self.state.blocks:
            self.state.arm(item.final)
            self.environment = None

    def hold(self, name: str, held: Held | None) -> None:
        self.state.hold(name, held)
        if name in self.exports:
            self.environment = None

    def _simple(self, item: Simple) -> None:
        before, self.test = self.test, examine(item.words, self.state)
        sure, self.sure = self.sure, _succeeds(item)
        self.tests.append(self.test)
        if self.test is not None and not item.joint:
            return
        if not item.joint:
            self._plain(item)
            return
        if item.joint == "?":
            before = Test()
        elif before is None:
            before = Test(True) if sure and item.joint == "&&" else Test()
        taken = before.result if item.joint == "&&" else None if before.result is None else not before.result
        if self.test is not None:
            self.test = Test()  # of several conditions
            return
        self.test = before
        if taken:
            self._plain(item)
            return
        self.state.enter("branch", item.joint)
        block = self.state.blocks[-1]
        block.taken = taken
        block.defaulted = before.empty if item.joint == "&&" else before.filled
        self._plain(item, joined=True)
        block.dead = False  # `… || exit`: what follows is not part of it
        self.state.leave()
        self.environment = None

    def _plain(self, item: Simple, joined: bool = False) -> None:
        environment: list[Entry] = []
        words = item.words
        self._defaults(words)
        first = next((place for place, word in enumerate(words) if not assigned_name(word)), len(words))
        for entry in [self._assignment(word, first < len(words)) for word in words[:first]]:
            environment += [entry] if entry else []
        if first == len(words):
            return
        program = words[first]
        name = program.plain() if isinstance(program, Word) else ""
        if name in _DECLARES:
            self._declare(name, words[first + 1 :])
        elif name in self.functions:
            fields = [f for word in words[first + 1 :] if isinstance(word, Word) for f in self.state.fields(word)]
            self._call(name, fields, program.start)
        elif name in _ENDS:
            if self.state.blocks and not joined:
                self.state.blocks[-1].dead = True
            self.over = self.over or (name == "exit" and not self.state.blocks and not self.active)
        elif name == "shift":
            for position in _POSITIONS:
                if position in self.state.held:
                    self.hold(position, Unknown(f"`${position}`{GIVEN}"))
        else:
            for changed in changed_by(item):
                self.change(changed)
            if not (isinstance(program, Word) and program.pieces and program.pieces[0].kind == "let"):
                self.command(tuple(word for word in words[first:] if isinstance(word, Word)), environment, item)

    def _defaults(self, words: tuple[Word | Array, ...]) -> None:
        """`${NAME:=default}` sets what it stands for."""
        for word in words:
            for piece in word.pieces if isinstance(word, Word) else ():
                if piece.assigns:
                    held = self.state.define(Word((piece,), piece.start, piece.end), piece.start)
                    self.hold(piece.text, held)

    def change(self, name: str) -> None:
        self.hold(name, Unknown(f"`${name}` is set when the script runs"))
        self.once[name] = None

    def _assignment(self, word: Word | Array, prefix: bool) -> Entry | None:
        """`NAME=value`; in front of a command it holds for that command alone, else from here on."""
        if isinstance(word, Array):
            held: Held = self.state.array(word)
            self.assign(word.name, held, None)
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
        held = self.state.define(value, value.start)
        if found[2]:
            before = self.state.held.get(name)
            if isinstance(before, Definition) and isinstance(held, Definition) and (before.chunks or held.chunks):
                held = self.state.longer(before, held, value.start, value.end)
            else:
                held = Unknown(f"`${name}` is added to")
        start, end = (held.start, held.end) if isinstance(held, Definition) else (value.start, value.end)
        node = as_text(held, start, end)
        entry = Entry(name, word.start, word.start + len(name), node)
        if not prefix:
            self.assign(name, held, entry)
        return entry

    def assign(self, name: str, held: Held | None, entry: Entry | None) -> None:
        self.hold(name, held)
        fresh = name not in self.once and not self.state.blocks and not self.active
        self.once[name] = entry if fresh else None

    def _declare(self, command: str, words: tuple[Word | Array, ...]) -> None:
        exports = command == "export" or (command in ("declare", "typeset") and _exporting(words))
        for word in words:
            plain = word.plain() if isinstance(word, Word) else ""
            name = assigned_name(word) or (plain if plain.isidentifier() else "")
            if command in ("local", "declare", "typeset") and self.locals and name:
                self.locals[-1].setdefault(name, self.state.held.get(name))
            entry = self._assignment(word, False)
            if exports and name and len(self.exports) >= limits.EXPORTS.most and name not in self.exports:
                self.state.spent.reached(limits.EXPORTS, word.start, word.start)
            elif exports and name:
                start = entry.key_start if entry else word.start
                self.exports[name] = (start, start + len(name))
                self.environment = None

    def _call(self, name: str, fields: list[Field] | None, start: int) -> None:
        """The body of a function; `fields` is None where nothing in the script calls it."""
        script, first, end = self.functions[name]
        again = name in self.called
        self.called.add(name)
        if name in self.active:
            return
        if len(self.active) >= limits.CALLED_DEEP.most:
            self.state.spent.reached(limits.CALLED_DEEP, start, start)
            return
        self.calls += max(end - first, _A_CALL)
        if self.calls > limits.CALLS.most and again:
            self.state.spent.reached(limits.CALLS, start, start)
            return
        before = {position: self.state.held.get(position) for position in ("@", *_POSITIONS)}
        if fields is not None:
            self.hold("@", Items(tuple(fields)))
            for number, position in enumerate(_POSITIONS):
                self.hold(
                    position, one_field(fields[number]) if number < len(fields) else Definition((), start, start, False)
                )
        self.active.append(name)
        self.locals.append({})
        self.state.enter("branch" if fields is None else "group", "function")
        outer, self.script = self.script, script
        self._run(first, end)
        self.script = outer
        self.state.leave()
        self.active.pop()
        for local, held in (*self.locals.pop().items(), *before.items()):
            self.hold(local, held)

    def exported(self) -> tuple[Entry, ...]:
        """What is exported here; worked out anew only where something was assigned since."""
        if self.environment is None:
            self.environment = tuple(
                Entry(name, *place, self._value(name, place)) for name, place in self.exports.items()
            )
        return self.environment

    def _value(self, name: str, place: tuple[int, int]) -> Node:
        held = self.state.held.get(name)
        if not isinstance(held, Definition):
            reason = held if isinstance(held, Unknown) else Unknown(f"`${name}` is not set in this file")
            return Scalar(reason, *place, "unknown", False)
        return as_text(held, held.start, held.end)


# What a script does on its way to the command that it is for.
_PREPARES = frozenset(
    {"export", "declare", "typeset", "readonly", "local", "cd", "mkdir", "source", ".", "set", "ulimit", "module", "conda", "pip", "echo",
     "printf", "unset", "sleep", "clear", "rm", "cp", "ln", "pushd", "chmod", ":"}
)  # fmt: skip


def _succeeds(item: Simple) -> bool:
    """Whether what stands behind `&&` is meant to be run in any case."""
    word = item.words[0] if item.words else None
    name = word.plain() if isinstance(word, Word) else ""
    return name in _PREPARES or all(assigned_name(word) for word in item.words)


def _exporting(words: tuple[Word | Array, ...]) -> bool:
    return any(isinstance(word, Word) and word.plain().startswith("-") and "x" in word.plain() for word in words)
