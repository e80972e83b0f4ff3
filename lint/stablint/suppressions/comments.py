"""The comments of a text, as its own format has them: a `#` in a string, a block of text or a here-document is none."""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from typing import NamedTuple

from stablint.base.libraries import tokenize
from stablint.syntax import embedded
from stablint.syntax.shell import words
from stablint.syntax.tree import Document, Entry, Mapping, Scalar, Sequence

_HASH = re.compile(r"(?:^|(?<=[ \t\r\n]))#[^\r\n]*")
_NO_CONTENT = re.compile(r"\s*(?:#.*|---.*|%.*)?\Z")


class Comments(NamedTuple):
    """`spans` in order, from the `#` to the line's end; `head` is where the first content of the file begins."""

    spans: tuple[tuple[int, int], ...]
    head: int


def comments(documents: tuple[Document, ...]) -> Comments:
    """Of all documents of one text: a file, the Python of a notebook, a file that a cell or a script writes. JSON has none, and what does not
    parse is not searched."""
    first = documents[0]
    text = first.text.text if first.view is None else first.view.source
    if any(document.root is None for document in documents) and first.format != "python":
        return Comments((), 0)
    if first.format == "yaml":
        return _yaml(text, documents)
    if first.format == "python":
        return _python(text)
    if first.format == "shell":
        return _shell(text)
    return Comments((), 0)


def _yaml(text: str, documents: tuple[Document, ...]) -> Comments:
    taken = sorted(span for document in documents for span in _scalars(text, document))
    starts = [start for start, _ in taken]
    spans = []
    for found in _HASH.finditer(text):
        before = bisect_right(starts, found.start()) - 1
        if before < 0 or found.start() >= taken[before][1]:
            spans.append(found.span())
    return Comments(tuple(spans), _head(text))


def _scalars(text: str, document: Document) -> list[tuple[int, int]]:
    """Where keys and values stand. The line that opens a block of text may end in a comment."""
    spans: list[tuple[int, int]] = []
    pending: list[object] = [document.root]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        if isinstance(node, Entry):
            spans.append(_there(document, node.key_start, node.key_end))
            pending.append(node.value)
        elif isinstance(node, Mapping):
            pending += node.entries
        elif isinstance(node, Sequence):
            pending += node.items
        elif isinstance(node, Scalar):
            start, end = _there(document, node.start, node.end)
            block = text[start : start + 1] in ("|", ">") and "\n" in text[start:end]
            spans.append((text.index("\n", start) if block else start, end))
    return spans


def _there(document: Document, start: int, end: int) -> tuple[int, int]:
    """A place of the file in the document's own text."""
    if document.view is None:
        return start, end
    first, last = embedded.start_in_view(document.view.pieces, start), embedded.end_in_view(document.view.pieces, end)
    return (0, 0) if first is None else (first, first if last is None else last)


def _head(text: str) -> int:
    """Where the first line begins that is no comment, no mark of a document and not empty."""
    at = 0
    for line in text.splitlines(keepends=True):
        if not _NO_CONTENT.match(line.rstrip()):
            return at
        at += len(line)
    return at


def _python(text: str) -> Comments:
    lines = io.StringIO(text, newline="").readlines()
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    spans: list[tuple[int, int]] = []
    head: int | None = None
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.STRING)
    try:
        for token in tokenize.generate_tokens(iter(lines).__next__):
            start = starts[token.start[0] - 1] + token.start[1]
            if token.type == tokenize.COMMENT:
                spans.append((start, start + len(token.string)))
            elif head is None and token.type not in silent:  # the docstring belongs to the head
                head = start
    except (tokenize.TokenError, SyntaxError, IndexError):
        return Comments((), 0)
    return Comments(tuple(spans), len(text) if head is None else head)


def _shell(text: str) -> Comments:
    class Listening(words.Lexer):
        """Notes the comments that the reader leaves out."""

        def _end(self, pattern: re.Pattern[str], at: int) -> int:
            end = super()._end(pattern, at)
            if text.startswith("#", at):
                spans.append((at, end))
            return end

    spans: list[tuple[int, int]] = []
    Listening(text)
    return Comments(tuple(spans), _head(text))
