"""JSON text → tree. The standard library decides what is valid; one scanner finds the spans and, where it is not, names the reason.

Comments and trailing commas are problems, but the tree is still built: who wrote them wants the other findings, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Union

from stablint.syntax.limits import DEEPEST, KEYS, TOO_DEEP
from stablint.syntax.text import LARGEST, Lines
from stablint.syntax.tree import Document, Entry, Mapping, Node, Problem, Scalar, Sequence, Text, Unknown

_LARGE = 300_000
"""Characters of a file that may be data. A list as long is rows, of which a repository may hold hundreds of megabytes; within a file as long a list of
many items is rows as well, and a table of many keys a vocabulary. They are not built: a tree takes thirty times the memory of its text."""
_ROWS = 1_000  # items
_DATA_DEPTH = 4  # containers below it are built

_MOST_DIGITS = 4300  # Python's own limit of int() since 3.11

_scan_string: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
_scan: Callable[[str, int], tuple[object, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_Data = Union[Mapping, Sequence, Scalar]
_SPACE = re.compile(r"[ \t\n\r]*")
_COMMENT = re.compile(r"//[^\n\r]*|#[^\n\r]*|/\*.*?\*/", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?(?![\w.])")
# What a script fills in before anybody reads the file.
_PLACEHOLDER = re.compile(
    r"(?!(?:TRUE|FALSE|NULL|NONE|NAN|INF|INFINITY)\Z)[A-Z](?:[A-Z0-9_]{2,80}|_)\Z|__\w{1,80}__\Z|[$@%<]"
)
_WORD = re.compile(r"-?[^\W\d]\w*|[^\s,\]}]+")
_CONSTANTS = {"true": True, "false": False, "null": None}
_NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_MEANT = {"True": "true", "False": "false", "None": "null", "nan": "null", "inf": "a number"}


def document(text: Text) -> Document:
    """A JSON file. With `syntax-error`, `json-lines`, `json-template`, `too-large` or `too-deep` the root is None; with other problems the last
    key wins."""
    source = text.text
    if len(source) > LARGEST:
        return Document(text, "json", 0, None, (Problem("too-large", f"larger than {LARGEST // 1_000_000} MB", 0, 0),))
    if len(source) > _LARGE and source[:_LARGE].lstrip()[:1] == "[":
        return Document(text, "json", 0, Sequence((), 0, len(source)), ())
    scanner = _Scanner(source)
    try:
        root = scanner.document()
    except _Refused as refused:
        return Document(text, "json", 0, None, (*scanner.problems, refused.problem))
    if not scanner.problems:
        try:
            json.loads(source)
        except json.JSONDecodeError as error:
            return Document(
                text, "json", 0, None, (Problem("syntax-error", f"not JSON: {error.msg}", error.pos, error.pos),)
            )
    return Document(text, "json", 0, root, tuple(scanner.problems))


class _Refused(Exception):
    def __init__(self, kind: str, message: str, start: int, end: int) -> None:
        self.problem = Problem(kind, message, start, end)


class _Scanner:
    """Goes through the text once; depth is limited, so that recursion is."""

    def __init__(self, source: str) -> None:
        self.source, self.lines, self.at = source, Lines(source), 0
        self.problems: list[Problem] = []
        self.told_infinite = False
        self.is_large = len(source) > _LARGE

    def document(self) -> _Data:
        self.space()
        start = self.at
        node = self.value(0)
        if self.space():
            if self._is_one_of_many(start, node.end):
                raise _Refused("json-lines", "one JSON value a line: data, no configuration", self.at, self.at + 1)
            raise self.refused("text behind the end of the JSON value")
        return node

    def _is_one_of_many(self, start: int, end: int) -> bool:
        """Whether the first value fills a line and the next line looks alike: JSON Lines under the name of JSON."""
        line = self.source[self.at :].partition("\n")[0].rstrip()
        if not line:  # blanks that are none of JSON's
            return False
        begins = self.source[start] == line[0] and "\n" in self.source[end : self.at]
        return begins and "\n" not in self.source[start:end] and line[-1] == self.source[end - 1] and len(line) > 1

    def value(self, depth: int) -> _Data:
        start, character = self.at, self.source[self.at : self.at + 1]
        if character == '"':
            return Scalar(self.string(), start, self.at, "quoted")
        if character not in ("{", "["):
            return Scalar(self.constant(), start, self.at)
        if depth == DEEPEST:
            raise _Refused(*TOO_DEEP, start, start + 1)
        if self.is_large and depth < _DATA_DEPTH:
            data = self.data()
            if data is not None:
                return data
        self.at += 1
        if character == "{":
            return Mapping(self.entries(depth + 1), start, self.at)
        return Sequence(self.items(depth + 1), start, self.at)

    def data(self) -> Mapping | Sequence | None:
        """What begins here, empty, if it is data; None where it may be settings, or is not what the standard library takes."""
        start = self.at
        try:
            found, end = _scan(self.source, start)
        except (StopIteration, ValueError, RecursionError):
            return None
        if isinstance(found, dict) and len(found) > KEYS.most:
            self.problems.append(KEYS.problem(start, start + 1))
            self.at = end
            return Mapping((), start, end)
        if isinstance(found, list) and len(found) > _ROWS:
            self.at = end
            return Sequence((), start, end)
        return None

    def entries(self, depth: int) -> tuple[Entry, ...]:
        entries: list[Entry] = []
        seen: dict[str, int] = {}
        while not self.closes("}", bool(entries)):
            start = self.at
            if self.source[start : start + 1] != '"':
                raise self.refused("a key in double quotes should stand here")
            key = self.string()
            end = self.at
            if key in seen:
                line = self.lines.position(seen[key])[0]
                self.problem(
                    "duplicate-key",
                    f"`{key}` is set in line {line} already: the last one counts, or the reader refuses the file",
                    start,
                    end,
                )
            seen.setdefault(key, start)
            if self.space() != ":":
                raise self.refused("a `:` should stand between key and value")
            self.at += 1
            self.space()
            entries.append(Entry(key, start, end, self.value(depth)))
        return tuple(entries)

    def items(self, depth: int) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self.closes("]", bool(items)):
            items.append(self.value(depth))
        return tuple(items)

    def closes(self, bracket: str, comma_due: bool) -> bool:
        """Go to the next element, or behind the closing bracket."""
        character, comma = self.space(), self.at
        if comma_due and character == ",":
            self.at += 1
            character, comma_due = self.space(), False
            if character == bracket:
                self.problem("json-trailing-comma", f"a comma before the closing `{bracket}`", comma, comma + 1)
        if character == bracket:
            self.at += 1
            return True
        if not character:
            raise self.refused(f"the file ends where `{bracket}` should close")
        if comma_due:
            raise self.refused(f"a comma or the closing `{bracket}` should stand here")
        return False

    def space(self) -> str:
        """Skip white space and comments; the character that follows, empty at the end."""
        while True:
            self.at = _SPACE.match(self.source, self.at).end()  # type: ignore[union-attr]
            character = self.source[self.at : self.at + 1]
            if character not in ("/", "#"):
                return character
            comment = _COMMENT.match(self.source, self.at)
            if not comment:
                raise self.refused(
                    "a comment that does not end"
                    if self.source.startswith("/*", self.at)
                    else "no value begins with `/`"
                )
            self.problem("json-comment", "JSON has no comments", self.at, comment.end())
            self.at = comment.end()

    def string(self) -> str:
        start = self.at
        try:
            value, self.at = _scan_string(self.source, start + 1, True)
        except json.JSONDecodeError as error:
            if "Unterminated" in error.msg:
                raise self.refused("a quote that is not closed", start) from None
            reason = (
                "a line break or control character in a string"
                if "control" in error.msg
                else "no escape that JSON knows"
            )
            raise self.refused(reason, min(error.pos, len(self.source))) from None
        return value

    def constant(self) -> object:
        start = self.at
        number = _NUMBER.match(self.source, start)
        if number:
            self.at = number.end()
            if number.group(1) or number.group(2):
                return float(number.group())
            if self.at - start > _MOST_DIGITS:
                self.problem("syntax-error", f"a number of {self.at - start} digits", start, self.at)
                return Unknown("a number too long to be read")
            return int(number.group())
        word = _WORD.match(self.source, start)
        if not word:
            raise self.refused("a value is missing here")
        self.at = word.end()
        token = word.group()
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        if token in _NOT_FINITE:
            if not self.told_infinite:  # one says it of the file
                self.told_infinite = True
                self.problem("json-nan", f"`{token}` is no JSON, though Python reads it", start, self.at)
            return _NOT_FINITE[token]
        if token[0] == "'":
            raise self.refused("JSON strings stand in double quotes", start)
        if token in _MEANT:
            raise self.refused(f"`{token}` is Python; JSON has `{_MEANT[token]}`", start)
        if _PLACEHOLDER.match(token):
            raise _Refused("json-template", f"`{token}` is to be filled in: a template", start, self.at)
        raise self.refused("no JSON value begins like this; strings stand in double quotes", start)

    def problem(self, kind: str, message: str, start: int, end: int) -> None:
        self.problems.append(Problem(kind, message, start, end))

    def refused(self, message: str, at: int = -1) -> _Refused:
        start = self.at if at < 0 else at
        return _Refused("syntax-error", message, start, min(start + 1, len(self.source)))
