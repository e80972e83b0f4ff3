"""What is wrong with a text itself, and what is certain to be meant: blanks that the shell counts, commas that JSON does not."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module

from stablint.fix.editors import WRITERS, Impossible, required
from stablint.report.model import FileEdits
from stablint.run.fact import Place
from stablint.syntax.locate import walk
from stablint.syntax.tree import Document, Edit, Entry, Mapping

_TO_LINE_END = re.compile(r"[^\r\n]*")
_COMMA_AFTER = re.compile(r"[ \t]*,[ \t]*")
_BLANKS_AFTER_EQUALS = re.compile(r"(--?[\w.-]+=)[ \t]+(?=\S)")


def mended(place: Place, kind: str) -> tuple[FileEdits, ...]:
    """The edits for a problem of this kind. Raises Impossible where the text leaves open what is meant."""
    mend = _MENDS.get(kind)
    if mend is None or place.document.view is not None:
        raise Impossible("the text has no place to write it")
    if any(problem.kind not in _MENDS for problem in place.document.problems):
        raise Impossible("another fault of the text leaves open where this one ends: mend that first")
    return (FileEdits(place.document.text, tuple(mend(place))),)


def _join_value(place: Place) -> list[Edit]:
    """`--flag= value`: the blanks go; `--flag: value`: the colon."""
    if place.document.text.text[place.end - 1 : place.end] == ":":
        return [Edit(place.end - 1, place.end, "")]
    found = _BLANKS_AFTER_EQUALS.match(place.document.text.text, place.start, place.end)
    if found is None:
        raise Impossible("the value is not behind the sign")
    return [Edit(found.end(1), found.end(), "")]


def _continue_command(place: Place) -> list[Edit]:
    """Blanks behind a backslash go; a line above flags that has none gets one."""
    source = place.document.text.text
    if source[place.start : place.end].lstrip(" \t")[:1] != "-":
        return [_bare_backslash(source, place)]
    begins = source.rfind("\n", 0, place.start) + 1
    if begins == 0 or source[begins : place.start].strip():
        raise Impossible("the flags do not begin a line")
    newline = "\r\n" if source[:begins].endswith("\r\n") else "\n"
    at = begins - len(newline)
    line = source[source.rfind("\n", 0, at) + 1 : at]
    if not line.strip() or "#" in line or line.rstrip()[-1] in "\\;&|":
        raise Impossible("the line above is no command that goes on, or has a comment")
    end = at - (len(line) - len(line.rstrip()))
    return [Edit(end, at, " \\")]


def _bare_backslash(source: str, place: Place) -> Edit:
    at = source.find("\\", place.start, place.end)
    line_end = re.compile(r"[^\r\n]*").match(source, max(at, place.start))
    if line_end is None or (at >= 0 and source[at + 1 : line_end.end()].strip()):
        raise Impossible("more than blanks stands behind the backslash")
    return Edit(at + 1 if at >= 0 else place.start, line_end.end(), "")


def _plain_line_ends(place: Place) -> list[Edit]:
    """Every line of the script ends with a line feed alone."""
    return [Edit(found.start(), found.end(), "\n") for found in re.finditer(r"\r\n", place.document.text.text)]


def _without(place: Place) -> list[Edit]:
    return [Edit(place.start, place.end, "")]


def _without_comment(place: Place) -> list[Edit]:
    """A comment goes with the blanks before it, and with its line where nothing else stands there."""
    source = place.document.text.text
    begins = source.rfind("\n", 0, place.start) + 1
    start, end = begins + len(source[begins : place.start].rstrip(" \t")), place.end
    if start == begins and source[end : end + 1] in ("\r", "\n"):
        newline = re.compile(r"\r?\n|\r").match(source, end)
        return [Edit(start, newline.end() if newline else end, "")]
    return [Edit(start, end, "")]


def _without_word(place: Place) -> list[Edit]:
    """A suppression of several rules loses one of them, with a comma; one of a single rule goes whole, with the blanks before it and with its line
    where nothing else stands there."""
    source = place.document.text.text
    if place.document.format == "toml":
        raise Impossible("a table of the settings may be about other files as well")
    before, after = source[: place.start].rstrip(" \t"), _COMMA_AFTER.match(source, place.end)
    if after is not None:
        return [Edit(place.start, after.end(), "")]
    if before.endswith(","):
        return [Edit(len(before[:-1].rstrip(" \t")), place.end, "")]
    begins, ends = source.rfind("\n", 0, place.start) + 1, _TO_LINE_END.match(source, place.end)
    mark = source.rfind("#", begins, place.start)
    if mark < 0 or ends is None:
        raise Impossible("the comment is not as it was read")
    return _without_comment(place._replace(start=mark, end=ends.end()))


def _with_commas(place: Place) -> list[Edit]:
    """A comma behind each of several texts but the last."""
    texts = list(re.finditer(r"""(["'])[^"']*\1""", place.document.text.text[place.start : place.end]))
    return [Edit(place.start + one.end(), place.start + one.end(), ",") for one in texts[:-1]]


def _only_the_last(place: Place) -> list[Edit]:
    """Of duplicate keys the last one counts: the others go."""
    document = place.document
    for node in walk(document.root) if isinstance(document.root, Mapping) else ():
        if isinstance(node, Mapping) and any(entry.key_start == place.start for entry in node.entries):
            (key,) = {entry.key for entry in node.entries if entry.key_start == place.start}
            same = [entry for entry in node.entries if entry.key == key]
            return [_removed(document, entry) for entry in same[:-1]]
    raise Impossible("the text has no place to write it")


def _removed(document: Document, entry: Entry) -> Edit:
    verbs = import_module(WRITERS[document.format])
    edit: Edit | None = verbs.remove(document, entry)
    return required(edit, "it cannot be removed there")


_MENDS: dict[str, Callable[[Place], list[Edit]]] = {
    "shell-broken-flag": _join_value,
    "shell-broken-continuation": _continue_command,
    "shell-windows-lines": _plain_line_ends,
    "json-trailing-comma": _without,
    "json-comment": _without_comment,
    "python-missing-comma": _with_commas,
    "duplicate-key": _only_the_last,
    "unused-suppression": _without_word,
}
