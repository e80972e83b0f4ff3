"""`# stablint: ignore[P101, fp16-overflow-prone-model] -- reason` and `# stablint: ignore-file[…]`, as they stand in the comments of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from stablint.comments import comments
from stablint.report.place import line_starts, locate
from stablint.source.tree import Document, View

MARK = "stablint:"
_DIRECTIVE = re.compile(r"#\s*stablint:\s*(?P<rest>.*)\Z")
_IGNORE = re.compile(r"(?P<verb>ignore(?:-file)?)\s*\[(?P<words>[^\]]*)\]\s*(?:(?:--|—|–|:|#)\s*(?P<reason>.*))?\Z")


class Directive(NamedTuple):
    """One comment of ours. `line` is its own; `fault` says why it suppresses nothing."""

    start: int
    end: int
    line: int
    alone: bool
    whole_file: bool
    words: tuple[str, ...]
    reason: str
    fault: str = ""


def speaks(text: str) -> bool:
    """Whether there may be a directive in a text: nearly no file has one."""
    return MARK in text


def texts(documents: tuple[Document, ...]) -> Iterator[tuple[Document, ...]]:
    """The documents of a file by the text that they are read from: the file itself, and each that is a view of it."""
    found: dict[object, list[Document]] = {}
    for document in documents:
        found.setdefault(None if document.view is None else (document.view.name, document.view.pieces), []).append(
            document
        )
    yield from map(tuple, found.values())


def directives(documents: tuple[Document, ...]) -> Iterator[Directive]:
    view = documents[0].view
    text = documents[0].text.text if view is None else view.source
    if MARK not in text:
        return
    for directive in _directives(text, documents):
        yield directive if view is None else _in_file(view, directive)


def _in_file(view: View, directive: Directive) -> Directive:
    """Its line stays that of the view."""
    from stablint.source.view import end_in_file, start_in_file

    return directive._replace(start=start_in_file(view, directive.start), end=end_in_file(view, directive.end))


def _directives(text: str, documents: tuple[Document, ...]) -> Iterator[Directive]:
    found = comments(documents)
    for start, end in found.spans:
        mark = _DIRECTIVE.search(text[start:end].rstrip())
        if mark is None:
            continue
        where = locate(text, start)
        alone = not text[line_starts(text)[where.line - 1] : start].strip()
        first = start + mark.start()
        parsed = _IGNORE.match(mark["rest"].strip())
        if parsed is None:
            fault = f"`{mark['rest'].strip()[:60]}` is no suppression: write `stablint: ignore[CODE] -- reason`"
            yield Directive(first, end, where.line, alone, False, (), "", fault)
            continue
        words = tuple(word.strip() for word in parsed["words"].split(",") if word.strip())
        whole = parsed["verb"] == "ignore-file"
        fault = "it names no rule" if not words else ""
        if whole and start > found.head:
            fault = "`ignore-file` counts only in the head of a file, before its first setting"
        yield Directive(first, end, where.line, alone, whole, words, (parsed["reason"] or "").strip(), fault)
