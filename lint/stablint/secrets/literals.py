"""The literals of what stands on the right side of a key that names a secret: of an expression, of a flow collection or JSON, of a word of the shell.

Each reader is given where the right side begins, reads on for a bounded number of characters, and says how far it came: what it has read needs
no other reader.
"""

from __future__ import annotations

import re

from stablint.base.light import NamedTuple, Pattern
from stablint.secrets.keys import LIKELY, SURE, holds_secret, inherited, is_of_text, looks_generated, names_secret
from stablint.secrets.words import KEYWORDS_WITHOUT_VALUES, NAMES, PARSING, READERS, VALUES, WITHOUT_VALUES

FURTHEST = 4_000  # characters of a right side that are read


class Literal(NamedTuple):
    """Without its quotes. `told`: it is the value itself, and hidden wherever it turns up; else it may be a word that the value is made with."""

    start: int
    end: int
    told: bool = True


class Read(NamedTuple):
    literals: list[Literal]
    end: int


_QUOTE = r"""[rbfuRBFU]{0,2}(?:\\{1,3}["']|\"\"\"|'''|["'])"""
_PIECE = Pattern(
    rf"""(?P<string>{_QUOTE})
      | (?P<word>[^\W\d]\w{{0,200}}(?:\.[^\W\d]\w{{0,200}}){{0,20}})
      | (?P<number>0[xX][0-9a-fA-F_]{{4,100}}|[0-9][0-9_]{{0,100}}(?:\.[0-9]{{1,40}})?\w{{0,20}})
      | (?P<open>[(\[{{]) | (?P<close>[)\]}}])
      | (?P<comment>\#(?:(?!\\n")[^\n]){{0,400}})
      | (?P<line>\\n"[ \t]{{0,20}},[ \t]{{0,20}}\r?\n[ \t]{{0,80}}"|\\n|\r?\n)
      | (?P<blank>[ \t\r]{{1,400}}|\\{{1,2}}\r?\n)
      | (?P<sign>==|!=|:=|[=,;:+])
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_MARK = Pattern(r"""(?<!\\)\\*["']{1,3}\Z""")
_COLON = Pattern(r"[ \t]{0,20}:")
_BLOCK_BEGINS = Pattern(r"[ \t]{0,20}(?:\\n|\r?\n|\Z)")


class _Frame:
    """A bracket that is open. `above`, `strength`: whose value is within; `silent`: what is within is no part of the value."""

    __slots__ = ("above", "callee", "key", "keyword", "mapping", "named", "only", "place", "silent", "strength")

    def __init__(self, above: str, strength: int, *, callee: str | None, mapping: bool, silent: bool) -> None:
        self.above, self.strength, self.callee, self.mapping, self.silent = above, strength, callee, mapping, silent
        self.place, self.keyword, self.key, self.named = 0, "", "", ""
        self.only: frozenset[str] | None = None  # the arguments that are the value

    def next(self) -> None:
        self.place += 1
        self.keyword = self.key = ""

    def strength_here(self) -> int:
        """How surely a literal at this place is a secret."""
        if self.silent:
            own = names_secret(self.keyword or self.key)
            return own if own == SURE else 0
        if self.mapping and self.key:
            if self.named and self.key in VALUES:
                return names_secret(self.named)
            return inherited(self.above, self.key, self.strength)
        if self.callee is None:
            return self.strength
        if self.only is not None:
            return self.strength if self.keyword in self.only else 0
        if self.callee == "dict" and self.keyword:
            return inherited(self.above, self.keyword, self.strength)
        if self.keyword:
            return 0 if self.keyword in KEYWORDS_WITHOUT_VALUES else self.strength
        if self.callee == "auth":
            return self.strength if self.place else 0
        if self.callee in WITHOUT_VALUES or (self.callee in READERS and self.place < 1 + (self.callee == "getattr")):
            return 0
        if self.strength == SURE and self.callee.lstrip("_") in PARSING and is_of_text(self.above):
            return LIKELY  # `token = parser.accept("while")`
        return self.strength


def call_frame(above: str, strength: int, callee: str, *, place: int = 0, only: frozenset[str] | None = None) -> _Frame:
    """The call in whose arguments a reader begins."""
    frame = _Frame(above, strength, callee=callee, mapping=False, silent=False)
    frame.place, frame.only = place, only
    return frame


def expression(
    text: str, at: int, name: str, strength: int, *, outer: str = "", commas: bool = False, within: _Frame | None = None
) -> Read:
    """Of a program's expression from `at` on. `outer`: the quote of the text that the program stands in; `commas`: they do not end it."""
    found: list[Literal] = []
    top = _Frame(name, strength, callee=None, mapping=False, silent=False)
    stack: list[_Frame] = [top] if within is None else [top, within]
    calls = 0
    group: list[tuple[int, int]] = []
    group_strength = 0
    last, word, word_end, limit = "", "", -1, min(len(text), at + FURTHEST)
    while at < limit:
        piece = _PIECE.match(text, at, limit)
        if piece is None:
            break
        kind, begin, at = piece.lastgroup, at, piece.end()
        if kind == "blank" or kind == "comment":
            continue
        frame = stack[-1]
        sign = piece[0] if kind == "sign" else ""
        if group and kind != "string" and kind != "line" and sign != "+":
            _judge(text, group, group_strength, calls == 0, found)
            group = []
        if kind == "string":
            mark = _MARK.search(piece[0])
            quote = mark[0] if mark else '"'
            if outer and quote == outer:
                at = begin
                break
            content, end = at, closing(text, at, quote)
            at = min(end + len(quote), limit) if text.startswith(quote, end) else end
            if frame.mapping and not frame.key and _COLON.match(text, at):
                frame.key = text[content:end]
            elif last != "==":
                if frame.mapping and frame.key in NAMES:
                    frame.named = text[content:end]
                group_strength = frame.strength_here()
                group.append((content, end))
        elif kind == "word":
            word, word_end = piece[0], at
        elif kind == "open":
            called = word_end == begin or last == ")"
            inner = frame.strength_here() if frame is not top else strength
            silent = frame is not top and not inner
            if piece[0] == "(":
                callee = word.rpartition(".")[2].lower() if called else None
                calls += callee is not None
                stack.append(_Frame(name, inner, callee=callee, mapping=False, silent=silent))
            elif piece[0] == "[":
                subscript = called or last in ("]", "string")
                stack.append(_Frame(name, inner, callee=None, mapping=False, silent=silent or subscript))
            else:
                above = frame.key or name
                stack.append(_Frame(above, inner, callee=None, mapping=True, silent=silent))
        elif kind == "close":
            if len(stack) == 1:
                at = begin
                break
            calls -= stack.pop().callee is not None and calls > 0
            if within is not None and len(stack) == 1:
                break
            last = piece[0]
            continue
        elif kind == "line":
            if len(stack) == 1 and last:
                at = begin
                break
            continue
        elif kind == "number":
            if strength == SURE and not calls and frame.strength_here() == SURE and _is_long(piece[0]):
                found.append(Literal(begin, at))
        elif sign == ",":
            if len(stack) == 1 and not commas:
                at = begin
                break
            frame.next()
        elif sign == ";":
            if len(stack) == 1:
                at = begin
                break
        elif sign == "=":
            if frame.callee is not None and word_end > 0:
                frame.keyword = word
        elif sign == ":" and len(stack) == 1 and _BLOCK_BEGINS.match(text, at):
            at = begin
            break
        last = "==" if sign in ("==", "!=") else sign or (kind if kind in ("string", "word") else "other") or ""
    if group:
        _judge(text, group, group_strength, calls == 0, found)
    return Read(found, at)


def _judge(text: str, group: list[tuple[int, int]], strength: int, direct: bool, found: list[Literal]) -> None:
    """Texts that are put together to one: `"hf_" + "…"`."""
    whole = "".join(text[start:end] for start, end in group)
    if holds_secret(strength, whole):
        told = direct or looks_generated(whole)
        found += [Literal(start, end, told) for start, end in group if end > start]


def _is_long(number: str) -> bool:
    return sum(c.isalnum() for c in number) >= 4 + 2 * (number[:2] in ("0x", "0X")) and number[-1] not in "eE"


def closing(text: str, begin: int, mark: str) -> int:
    """Where a quoted text ends: at its mark, else with its line."""
    limit = min(len(text), begin + 20_000)
    if len(mark) == 3 and mark[0] != "\\":
        end = text.find(mark, begin, limit)
        return limit if end < 0 else end
    if mark[0] == "\\":
        ends = [text.find(mark, begin, limit), text.find("\n", begin, limit)]
        return min((end for end in ends if end >= 0), default=limit)
    at = begin
    while at < limit:
        character = text[at]
        if character == mark or character == "\n":
            return at
        at += 2 if character == "\\" else 1
    return limit


_FLOW = Pattern(
    rf"""(?P<string>{_QUOTE}) | (?P<open>[\[{{]) | (?P<close>[\]}}]) | (?P<comma>,) | (?P<colon>:)
      | (?P<plain>[^\s,:{{}}\[\]"'\\](?:[^,{{}}\[\]\n"':\\]|:(?![\s"'])){{0,4096}})
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


def flow(text: str, at: int, name: str, strength: int) -> Read:
    """Of a collection in brackets, as JSON and YAML write them; `at` is its first bracket."""
    found: list[Literal] = []
    stack: list[_Frame] = []
    limit = min(len(text), at + FURTHEST)
    while at < limit:
        piece = _FLOW.match(text, at, limit)
        if piece is None:
            break
        kind, begin, at = piece.lastgroup, at, piece.end()
        frame = stack[-1] if stack else None
        if kind == "open":
            inner = frame.strength_here() if frame is not None else strength
            above = (frame.key or frame.above) if frame is not None else name
            stack.append(_Frame(above, inner, callee=None, mapping=piece[0] == "{", silent=False))
        elif frame is None:
            break
        elif kind == "close":
            stack.pop()
            if not stack:
                break
        elif kind == "comma":
            frame.next()
        elif kind == "string" or kind == "plain":
            if kind == "string":
                mark = _MARK.search(piece[0])
                quote = mark[0] if mark else '"'
                start, end = at, closing(text, at, quote)
                at = min(end + len(quote), limit) if text.startswith(quote, end) else end
            else:
                start, end = begin, begin + len(piece[0].rstrip())
            value = text[start:end]
            if frame.mapping and not frame.key and _COLON.match(text, at):
                frame.key = value
            else:
                if frame.mapping and frame.key in NAMES:
                    frame.named = value
                if end > start and holds_secret(frame.strength_here(), literal(value)):
                    found.append(Literal(start, end))
    return Read(found, at)


def literal(text: str) -> str | int:
    """A number where it is nothing else."""
    return int(text) if text.isdigit() and len(text) < 30 else text


_ENDS_WORD = frozenset(" \t\r\n;&|<>)")


def shell_word(text: str, at: int) -> int:
    """Where a word of the shell ends, with the texts in quotes, substitutions and arrays that belong to it."""
    limit = min(len(text), at + FURTHEST)
    first = at
    while at < limit:
        character = text[at]
        if character in "\"'":
            at = min(closing(text, at + 1, character) + 1, len(text))
        elif character == "\\":
            at += 2
        elif character == "`":
            end = text.find("`", at + 1, limit)
            at = limit if end < 0 else end + 1
        elif text.startswith(("$(", "${") if at > first else ("$(", "${", "<("), at) or (
            character == "(" and at == first
        ):
            at = _balanced(text, at + (character in "$<"), limit)
        elif character in _ENDS_WORD:
            break
        else:
            at += 1
    return min(at, len(text))


_PAIRS = {"(": ")", "{": "}", "[": "]"}


def _balanced(text: str, at: int, limit: int) -> int:
    """Behind the bracket that closes the one at `at`."""
    opening, closes, depth = text[at], _PAIRS[text[at]], 0
    for place in range(at, limit):
        if text[place] == opening:
            depth += 1
        elif text[place] == closes:
            depth -= 1
            if not depth:
                return place + 1
    return limit
