"""Words and operators → simple commands, with the blocks (`if`, `for`, functions, subshells) that they stand in."""

from __future__ import annotations

import re
from typing import NamedTuple, Union

from stablint.source.shell_tokens import Array, Operator, Token, Word

DEEPEST = 100
"""Blocks nested deeper are read as if they were not there."""


class Simple(NamedTuple):
    """One command, assignments included. `conditional`: it stands behind `&&` or `||`."""

    words: tuple[Union[Word, Array], ...]
    conditional: bool


class Open(NamedTuple):
    """A block begins. `kind` is branch, loop, function, group or subshell; `variable` the one that a `for` sets."""

    kind: str
    variable: str = ""


class Middle(NamedTuple):
    """`else`, `elif`, `;;`: another branch of the same block."""


class Close(NamedTuple):
    kind: str


Item = Union[Simple, Open, Middle, Close]

_OPENS = {
    "if": "branch",
    "while": "loop",
    "until": "loop",
    "for": "loop",
    "select": "loop",
    "case": "branch",
    "{": "group",
}
_CLOSES = {"fi": ("branch",), "done": ("loop",), "esac": ("branch",), "}": ("group", "function")}
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_PASSED = frozenset({"then", "do", "!", "coproc"})


class _Blocks:
    def __init__(self) -> None:
        self.items: list[Item] = []
        self.words: list[Word | Array] = []
        self.open: list[tuple[str, str]] = []  # kind, opening word
        self.deeper = 0  # blocks beyond DEEPEST
        self.conditional = False
        self.function_due = False
        self.header = ""  # for, case: the words up to the block's body; pattern: up to `)`; [[: up to `]]`

    def flush(self) -> None:
        if self.words:
            self.items.append(Simple(tuple(self.words), self.conditional))
            self.words = []

    def begin(self, kind: str, word: str, variable: str = "") -> None:
        if kind in ("group", "subshell") and self.function_due:
            kind, self.function_due = "function", False
        if len(self.open) >= DEEPEST:
            self.deeper += 1
            return
        self.open.append((kind, word))
        self.items.append(Open(kind, variable))

    def end(self, kinds: tuple[str, ...]) -> None:
        if self.deeper:
            self.deeper -= 1
        elif self.open and self.open[-1][0] in kinds:
            self.items.append(Close(self.open.pop()[0]))

    def middle(self) -> None:
        if self.open and self.open[-1][0] == "branch" and not self.deeper:
            self.items.append(Middle())

    def word(self, token: Word | Array) -> None:
        plain = token.plain() if isinstance(token, Word) else ""
        if self.header:
            self._header(plain)
        elif self.words:
            self.words.append(token)
        elif plain in _CLOSES:
            self.end(_CLOSES[plain])
        elif plain in ("else", "elif"):
            self.middle()
        elif plain == "[[":
            self.header = "[["
        elif plain == "function":
            self.header = "function"
        elif plain in ("for", "select", "case"):
            self.header = plain
        elif plain in _OPENS:
            self.begin(_OPENS[plain], plain)
        elif plain not in _PASSED:
            self.words.append(token)

    def _header(self, plain: str) -> None:
        """A word that belongs to the head of a block, not to a command."""
        if self.header == "[[":
            self.header = "" if plain == "]]" else "[["
        elif self.header == "function":
            self.header, self.function_due = "", True
        elif self.header == "pattern":
            if plain == "esac":
                self.header = ""
                self.end(("branch",))
        elif self.header == "case":
            if plain == "in":
                self.header = "pattern"
                self.begin("branch", "case")
        elif self.header in ("for", "select"):
            self.header = "items"
            self.begin("loop", "for", plain)
        elif plain == "do":
            self.header = ""

    def operator(self, text: str, next_token: Token | None) -> None:
        if self.header in ("[[", "case"):
            return
        if self.header == "pattern":
            if text == ")":
                self.header = ""
                self.conditional = False
            return
        if self.header in ("for", "select"):  # `for ((…))`, whose arithmetic is left out
            self.header = ""
            self.begin("loop", "for")
        self.header = ""
        if text == "(":
            function = len(self.words) == 1 and isinstance(next_token, Operator) and next_token.text == ")"
            if function:
                self.words, self.function_due = [], True
            elif not self.function_due or not (isinstance(next_token, Operator) and next_token.text == ")"):
                self.flush()
                self.begin("subshell", "(")
            return
        if text == ")" and self.function_due:
            return
        self.flush()
        if text == ")":
            self.end(("subshell", "function"))
        elif text in (";;", ";&", ";;&"):
            self.middle()
            if self.open and self.open[-1][1] == "case":
                self.header = "pattern"
        self.conditional = text in ("&&", "||") or (self.conditional and text in ("|", "|&"))


def items(tokens: list[Token]) -> list[Item]:
    """The commands and blocks of a script, in order. What bash would refuse (a `fi` too many) is read on as well as can be."""
    blocks = _Blocks()
    for index, token in enumerate(tokens):
        if isinstance(token, Operator):
            blocks.operator(token.text, tokens[index + 1] if index + 1 < len(tokens) else None)
        else:
            blocks.word(token)
    blocks.flush()
    while blocks.open:
        blocks.items.append(Close(blocks.open.pop()[0]))
    return blocks.items


def assignment(word: Word) -> re.Match[str] | None:
    """The `NAME=` or `NAME+=` that a word begins with."""
    head = word.pieces[0] if word.pieces else None
    if head is None or head.kind != "text" or head.quoted or not head.exact:
        return None
    return _ASSIGNED.match(head.text)


def assigned_in_loops(script: list[Item]) -> dict[int, frozenset[str]]:
    """For the place of every loop's beginning, the variables that are assigned in it."""
    found: dict[int, set[str]] = {}
    stack: list[int] = []
    for number, item in enumerate(script):
        if isinstance(item, Open):
            stack.append(number)
            if item.kind == "loop":
                found[number] = set()
        elif isinstance(item, Close) and stack:
            stack.pop()
        elif isinstance(item, Simple) and stack:
            names = {name for word in item.words if (name := assigned_name(word))}
            for place in stack if names else ():
                if place in found:
                    found[place] |= names
    return {number: frozenset(names) for number, names in found.items()}


def assigned_name(word: Word | Array) -> str:
    if isinstance(word, Array):
        return word.name
    found = assignment(word)
    return found[1] if found else ""
