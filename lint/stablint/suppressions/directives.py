"""`# stablint: ignore[P101, fp16-overflow-prone-model] -- reason` and `# stablint: ignore-file[…]`, as they stand in the comments of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from stablint.base.language import gettext
from stablint.base.libraries import difflib
from stablint.report.place import line_starts, locate
from stablint.suppressions.comments import comments
from stablint.syntax import embedded
from stablint.syntax.tree import MARK, Document, View

_DIRECTIVE = re.compile(r"#\s*stablint:\s*(?P<rest>.*)\Z")
_IGNORE = re.compile(r"(?P<verb>ignore(?:-file)?)\s*\[(?P<words>[^\]]*)\]\s*(?:(?:--|—|–|:|#)\s*(?P<reason>.*))?\Z")

_WORD = re.compile(r"[^\s,](?:[^,]*[^\s,])?")  # between two commas, without the blanks around it


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
    places: tuple[tuple[int, int], ...] = ()  # of the words


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

    def placed(start: int, end: int) -> tuple[int, int]:
        return embedded.start_in_file(view, start), embedded.end_in_file(view, end)

    start, end = placed(directive.start, directive.end)
    return directive._replace(start=start, end=end, places=tuple(placed(*place) for place in directive.places))


# What other linters call it, and this one calls otherwise.
_FAMILIAR = {
    "disable": "ignore", "disable-line": "ignore", "noqa": "ignore", "skip": "ignore", "nosec": "ignore", "allow": "ignore", "ignore-line": "ignore",
    "file-ignore": "ignore-file", "ignore-all": "ignore-file", "disable-file": "ignore-file", "skip-file": "ignore-file", "file": "ignore-file",
}  # fmt: skip
_VERBS = ("ignore", "ignore-file")
_SAID = re.compile(
    r"(?P<verb>[A-Za-z][\w-]{0,40})\s{0,9}[=:]?\s{0,9}[\[(]?(?P<words>[\w, -]{0,400}?)[\])]?\s{0,9}(?:(?:--|—|–|#)|\Z)"
)


def _meant(said: str) -> str:
    """What the writer probably wanted to write, with the rules of the comment."""
    found = _SAID.match(said)
    verb = found["verb"].lower().replace("_", "-") if found is not None else ""
    close = next((one for known in (_VERBS, _FAMILIAR) for one in difflib.get_close_matches(verb, known, 1, 0.75)), "")
    close = verb if verb in _FAMILIAR else close
    near = _FAMILIAR.get(close, close if close in _VERBS else None)
    if found is None or near is None:
        return gettext("write {form}").format(form="`stablint: ignore[CODE] -- reason`")
    form = f"`{near}[{found['words'].strip() or 'CODE'}] -- reason`"
    return gettext("did you mean {form}?").format(form=form)


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
            said = mark["rest"].strip()
            fault = f"`{said[:60]}` is no suppression: {_meant(said)}"
            yield Directive(first, end, where.line, alone, False, (), "", fault)
            continue
        inside = start + mark.start("rest") + len(mark["rest"]) - len(mark["rest"].lstrip()) + parsed.start("words")
        found_words = [(word[0], inside + word.start()) for word in _WORD.finditer(parsed["words"])]
        words = tuple(word for word, _ in found_words)
        places = tuple((at, at + len(word)) for word, at in found_words)
        whole = parsed["verb"] == "ignore-file"
        fault = "it names no rule" if not words else ""
        if whole and start > found.head:
            fault = "`ignore-file` counts only in the head of a file, before its first setting"
        yield Directive(first, end, where.line, alone, whole, words, (parsed["reason"] or "").strip(), fault, places)
