"""Words and operators → simple commands, with the blocks (`if`, `for`, functions, subshells) that they stand in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Union

from stablint.syntax.shell.pieces import GIVEN
from stablint.syntax.shell.tokens import Array, Operator, Piece, Redirection, Token, Word

DEEPEST = 6
"""Blocks nested deeper are not told apart: what is assigned in them is assigned under a condition."""


class Simple(NamedTuple):
    """One command, assignments included. `joint`: it stands behind `&&` or `||`, or too deep ("?")."""

    words: tuple[Union[Word, Array], ...]
    joint: str = ""
    redirections: tuple[Redirection, ...] = ()


class Open(NamedTuple):
    """A block begins. `kind` is branch, loop, function, group or subshell; `word` what opened it.

    `variable` is the one that a `for` sets, to each of `words`; or the name of a function.
    """

    kind: str
    variable: str = ""
    word: str = ""
    words: tuple[Union[Word, Array], ...] = ()


class Then(NamedTuple):
    """The condition of an `if` or `elif` is over."""


class Arm(NamedTuple):
    """`elif`, `else`, `pattern)`: another branch of the same block. `final`: nothing else is left (`else`, `*)`)."""

    final: bool


class Close(NamedTuple):
    kind: str


Item = Union[Simple, Open, Then, Arm, Close]

_OPENS = {"if": "branch", "while": "loop", "until": "loop", "{": "group"}
_CLOSES = {"fi": ("branch",), "done": ("loop",), "esac": ("branch",), "}": ("group", "function")}
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_PASSED = frozenset({"do", "!", "coproc"})


class Change(NamedTuple):
    """What a loop does to a variable: sets it only to what the caller gives (`LR=$2`), or only adds to its end, and that in words of their own."""

    given: bool
    adds: bool = False
    apart: bool = False


class Script(NamedTuple):
    """Items, with what is assigned in the loops that begin at a number, and where a block that begins there ends."""

    items: list[Item]
    loops: dict[int, dict[str, Change]]
    ends: dict[int, int]


class _Blocks:
    def __init__(self) -> None:
        self.items: list[Item] = []
        self.words: list[Word | Array] = []
        self.redirections: list[Redirection] = []
        self.open: list[tuple[str, str]] = []  # kind, opening word
        self.joint = ""
        self.function: str | None = None  # the name of one whose body is due
        self.header = ""  # for, case: the words up to the block's body; pattern: up to `)`; [[: up to `]]`
        self.variable = ""
        self.head: list[Word | Array] = []  # the words of a header
        self.pattern = ""

    def flush(self) -> None:
        if self.words:
            joint = "?" if len(self.open) > DEEPEST else self.joint
            self.items.append(Simple(tuple(self.words), joint, tuple(self.redirections)))
            self.words = []
        self.redirections = []

    def begin(self, kind: str, word: str, variable: str = "", words: tuple[Word | Array, ...] = ()) -> None:
        if kind in ("group", "subshell") and self.function is not None:
            kind, variable, self.function = "function", self.function, None
        self.open.append((kind, word))
        if len(self.open) <= DEEPEST:
            self.items.append(Open(kind, variable, word, words))

    def end(self, kinds: tuple[str, ...]) -> None:
        if self.open and self.open[-1][0] in kinds:
            kind, _ = self.open.pop()
            if len(self.open) < DEEPEST:
                self.items.append(Close(kind))

    def arm(self, final: bool) -> None:
        if self.open and self.open[-1][0] == "branch" and len(self.open) <= DEEPEST:
            self.items.append(Arm(final))

    def redirection(self, token: Redirection) -> None:
        if not self.header:
            self.redirections.append(token)

    def word(self, token: Word | Array) -> None:
        plain = token.plain() if isinstance(token, Word) else ""
        if self.header:
            self._header(token, plain)
        elif self.words:
            self.words.append(token)
        elif plain in _CLOSES:
            self.end(_CLOSES[plain])
        elif plain in ("else", "elif"):
            self.arm(plain == "else")
        elif plain == "then":
            if len(self.open) <= DEEPEST:
                self.items.append(Then())
        elif plain == "[[":
            self.header, self.head = "[[", [token]
        elif plain in ("for", "select", "case", "function"):
            self.header = plain
        elif plain in _OPENS:
            self.begin(_OPENS[plain], plain)
        elif plain not in _PASSED:
            self.words.append(token)

    def _header(self, token: Word | Array, plain: str) -> None:
        """A word that belongs to the head of a block, not to a command."""
        if self.header == "[[":
            self.head.append(token)
            if plain == "]]":
                self.header, self.words = "", self.head
        elif self.header == "function":
            self.header, self.function = "", plain
        elif self.header == "pattern":
            self.pattern += plain or "?"
            if plain == "esac":
                self.header = ""
                self.end(("branch",))
        elif self.header == "case":
            if plain == "in":
                self.header, self.pattern = "pattern", ""
                self.begin("branch", "case")
        elif self.header in ("for", "select"):
            self.header, self.variable, self.head = "items", plain, []
        elif plain == "do":
            self._loop()
        elif plain != "in" or self.head:
            self.head.append(token)

    def _loop(self) -> None:
        self.header = ""
        self.begin("loop", "for", self.variable, tuple(self.head))
        self.variable, self.head = "", []

    def operator(self, text: str, next_token: Token | None) -> None:
        if self.header == "[[":
            if text == "\n":
                self.header, self.head = "", []  # broken off
            elif self.head[-1] is not _JOINT:
                self.head.append(_JOINT)
            return
        if self.header == "case":
            return
        if self.header == "pattern":
            if text == ")":
                self.header = ""
                self.joint = ""
                self.arm(self.pattern == "*")
            elif text == "|":
                self.pattern += "|"
            return
        if self.header in ("for", "select", "items"):  # `for ((…))`, whose arithmetic is left out
            self._loop()
        self.header = ""
        if text == "(":
            closes = isinstance(next_token, Operator) and next_token.text == ")"
            if len(self.words) == 1 and closes:
                name = self.words[0]
                self.words, self.function = [], name.plain() if isinstance(name, Word) else ""
            elif self.function is None or not closes:
                self.flush()
                self.begin("subshell", "(")
            return
        if text == ")" and self.function is not None:
            return
        waits = text == "\n" and not self.words and self.joint in ("&&", "||")
        self.flush()
        if text == ")":
            self.end(("subshell", "function"))
        elif text in (";;", ";&", ";;&") and self.open and self.open[-1][1] == "case":
            self.header, self.pattern = "pattern", ""
        if not waits and not (self.joint and text in ("|", "|&")):
            self.joint = text if text in ("&&", "||") else ""


_JOINT = Word((), 0, 0)  # stands for `&&`, `(` and the like in `[[ … ]]`


def items(tokens: list[Token]) -> list[Item]:
    """The commands and blocks of a script, in order. What bash would refuse (a `fi` too many) is read on as well as can be."""
    blocks = _Blocks()
    for index, token in enumerate(tokens):
        if isinstance(token, Operator):
            blocks.operator(token.text, tokens[index + 1] if index + 1 < len(tokens) else None)
        elif isinstance(token, Redirection):
            blocks.redirection(token)
        else:
            blocks.word(token)
    blocks.flush()
    blocks.items += [Close(kind) for kind, _ in reversed(blocks.open[:DEEPEST])]
    return blocks.items


def assignment(word: Word) -> re.Match[str] | None:
    """The `NAME=` or `NAME+=` that a word begins with."""
    head = word.pieces[0] if word.pieces else None
    if head is None or head.kind != "text" or head.quoted or not head.exact:
        return None
    return _ASSIGNED.match(head.text)


def assigned_in_loops(script: list[Item]) -> dict[int, dict[str, Change]]:
    """For the place of every loop's beginning, the variables that are set in it."""
    found: dict[int, dict[str, Change]] = {}
    stack: list[int] = []
    for number, item in enumerate(script):
        if isinstance(item, Open):
            stack.append(number)
            if item.kind == "loop":
                found[number] = {}
            names = [(item.variable, Change(False))] if item.kind == "loop" and item.variable else []
        elif isinstance(item, Close) and stack:
            stack.pop()
            continue
        elif isinstance(item, Simple) and stack:
            names = list(_changes(item))
        else:
            continue
        for place in stack if names else ():
            if place in found:
                loop = found[place]
                for name, change in names:
                    before = loop.get(name, change)
                    loop[name] = Change(*(one and other for one, other in zip(before, change, strict=True)))
    return found


_CHANGING = frozenset({"read", "unset", "mapfile", "readarray", "let", "getopts"})
_COUNTED = re.compile(
    r"(?:\+\+|--)([A-Za-z_]\w*)|(?<!\w)([A-Za-z_]\w*)\s*(?:\+\+|--|(?:<<|>>|[-+*/%&|^])?=(?!=))", re.ASCII
)


def script_of(tokens: list[Token]) -> Script:
    script = items(tokens)
    ends: dict[int, int] = {}
    stack: list[int] = []
    for number, item in enumerate(script):
        if isinstance(item, Open):
            stack.append(number)
        elif isinstance(item, Close) and stack:
            ends[stack.pop()] = number
    return Script(script, assigned_in_loops(script), ends)


def _changes(item: Simple) -> Iterator[tuple[str, Change]]:
    for name in changed_by(item):
        yield name, Change(False)
    for word in item.words:
        name = assigned_name(word)
        if name:
            more = _added(word)
            apart = more is not None and more[:1].isspace()
            yield name, Change(isinstance(word, Word) and _is_given(word), more is not None, apart)


def changed_by(item: Simple) -> Iterator[str]:
    """The variables that a command sets to what nobody can tell: `read NAME`, `((NAME++))`."""
    first = item.words[0]
    if isinstance(first, Word) and first.pieces and first.pieces[0].kind == "let":
        for found in _COUNTED.finditer(first.pieces[0].text):
            yield found[1] or found[2]
    elif isinstance(first, Word) and first.plain() in _CHANGING:
        for word in item.words[1:]:
            if isinstance(word, Word) and word.plain().isidentifier():
                yield word.plain()


def _is_given(word: Word) -> bool:
    """`NAME=$2`, `NAME="${1#*=}"`."""
    rest = word.pieces[1:] if word.pieces[0].text.endswith("=") else ()
    if len(rest) != 1 or rest[0].default is not None:
        return False
    return (rest[0].kind == "variable" and (rest[0].text.isdigit() or rest[0].text == "OPTARG")) or (
        rest[0].kind == "opaque" and rest[0].text.endswith(GIVEN)
    )


def assigned_name(word: Word | Array) -> str:
    if isinstance(word, Array):
        return word.name
    found = assignment(word)
    return found[1] if found else ""


def _added(word: Word | Array) -> str | None:
    """What is known of the text that `NAME+=…`, `NAME+=(…)`, `NAME="$NAME …"` or `NAME=("${NAME[@]}" …)` put behind what the variable holds;
    None where that does not stay."""
    if isinstance(word, Array):
        first = word.words[0] if word.words else None
        return " " if word.adds or (first is not None and _behind(first.pieces, word.name) is not None) else None
    found = assignment(word)
    if found is None:
        return None
    rest = word.pieces[0].text[found.end() :]
    if not found[2]:
        return None if rest else _behind(word.pieces[1:], found[1])
    return rest or _text(word.pieces[1:])


def _behind(pieces: tuple[Piece, ...], name: str) -> str | None:
    """The text behind a variable that a word begins with; None where it begins otherwise."""
    first = pieces[0] if pieces else None
    if first is None or first.default is not None:
        return None
    if first.kind == "parts":
        return _behind(first.parts, name)
    return _text(pieces[1:]) if first.kind in ("variable", "array") and first.text == name else None


def _text(pieces: tuple[Piece, ...]) -> str:
    first = pieces[0] if pieces else None
    if first is None:
        return ""
    return _text(first.parts) if first.kind == "parts" else first.text if first.kind == "text" else ""
