"""Is a Python source flat enough to be parsed? The tree of `a.b.b.b…` is built by recursion, and Python 3.10 dies of half a million levels.

Measured by counting what nests while going over the tokens once: brackets, operators that chain (`a.b.c`, `1 + 1 + 1`, `not not x`),
`elif` after `elif`. Text that is no Python may be counted wrongly; the parser then refuses it before it builds a tree.
"""

from __future__ import annotations

import re

DEEPEST = 200
"""Levels of one statement: open brackets and chained operators together. Real programs stay below 40."""

_MOST_BRANCHES = 500  # `elif`s of a file, each of which is one level deeper than the one before
_MOST_FIELDS = 2000  # of one f-string: Python 3.10 needs quadratic time for them
_STRING = (
    r"'''(?:[^'\\]|\\.|'(?!''))*'''|\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*\"\"\""
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\""
)
_TOKEN = re.compile(
    rf"(?P<format>\b(?:[fFtT][rR]?|[rR][fFtT])(?:{_STRING}))|{_STRING}|#[^\n]*|\\\r?\n"
    r"|(?P<word>[^\W\d]\w*)|(?:\.?\d)+\w*"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>[,;\n])|(?P<chain>\*\*|//|<<|>>|:=|->|[-+*/%@&|^~.:])",
    re.DOTALL,
)  # fmt: skip
_CHAINING = frozenset(["if", "else", "not", "lambda", "await", "yield", "and", "or", "in", "is", "for", "async"])
_FIELD = re.compile(
    r"\{\{|'[^'\n]*'|\"[^\"\n]*\"|[{}]|[-+*/%@&|^~.:(\[<>=]|\b(?:if|else|not|lambda|await|and|or|in|is|for)\b"
)
_OPERATORS = re.compile(r"[-+*/%@&|^~.:(\[]|\b(?:if|else|not|lambda)\b")


# What never nests: texts, comments, numbers, blanks, and all words but those that chain.
_SHALLOW = re.compile(
    rf"{_STRING}|#[^\n]*|\\\r?\n|(?!(?:elif|{'|'.join(sorted(_CHAINING))})\b)[^\W\d]\w*|(?:\.?\d)+\w*|[ \t\r,;=!]+",
    re.DOTALL,
)
_LONG_FORMAT = re.compile(rf"\b(?:[fFtT][rR]?|[rR][fFtT])(?:\'\'\'|\"\"\"|[\"'][^\"'\n]{{{DEEPEST}}})")


def too_deep(source: str) -> int:
    """The offset at which a source becomes too deep for the parser; -1 if it never does."""
    return -1 if _is_shallow(source) else _too_deep(source)


def _is_shallow(source: str) -> bool:
    """Whether no statement has as many operators and brackets as may be nested, however they stand. Most sources are known by that, counted
    line by line. A bracket that closes none is refused by the parser where it stands."""
    if source.count("elif") > _MOST_BRANCHES or _LONG_FORMAT.search(source) is not None:
        return False
    opened = signs = 0
    for line in _SHALLOW.sub("", source).split("\n"):
        if line:
            signs += len(line)
            if signs > DEEPEST:
                return False
            opened += line.count("(") + line.count("[") + line.count("{")
            opened -= line.count(")") + line.count("]") + line.count("}")
        if opened <= 0:
            opened = signs = 0
    return True


def _too_deep(source: str) -> int:
    chain, total, branches = 0, 0, 0  # operators since the last comma; those around this bracket
    outer: list[int] = []
    for token in _TOKEN.finditer(source):
        kind = token.lastgroup
        if kind is None:
            continue
        if kind == "word":
            word = token.group()
            if word == "elif":
                branches += 1
            elif word not in _CHAINING:
                continue
            chain += 1
        elif kind == "chain":
            chain += 1
        elif kind == "open":
            outer.append(chain + 1)  # a call or an index goes on with the chain in front of it
            total += chain + 1
            chain = 0
        elif kind == "close":
            if outer:
                chain = outer.pop()
                total -= chain
        elif kind == "format":
            if _deepest_field(token.group()) > DEEPEST:
                return token.start()
        elif token.group() != "\n" or not outer:
            chain = 0
        if total + chain > DEEPEST or branches > _MOST_BRANCHES:
            return token.start()
    return -1


def _deepest_field(literal: str) -> int:
    """The most operators that stand between the braces of an f-string. What looks quoted in there is counted all the same."""
    text = literal.lstrip("fFtTrR")
    quotes = 3 if text[:3] in ("'''", '"""') else 1
    braces, count, most, fields = 0, 0, 0, 0
    for token in _FIELD.finditer(text, quotes, len(text) - quotes):
        word = token.group()
        if word == "{{" and not braces:
            continue
        if word[0] == "{":
            braces += len(word)
            fields += 1
        elif word == "}":
            braces = max(braces - 1, 0)
        elif braces:
            count += len(_OPERATORS.findall(word)) if word[0] in "'\"" else 1
        most = max(most, count)
        count = count if braces else 0
    return most if fields <= _MOST_FIELDS else DEEPEST + 1
