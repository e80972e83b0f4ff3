"""A Dockerfile → what a container of its image starts: ENTRYPOINT and CMD of the last stage, with the variables that the image has.

What is run while the image is built (RUN) installs things, on a machine without a GPU (Dockerfile reference: ENTRYPOINT, CMD, ENV, ARG).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.base.light import NamedTuple
from stablint.syntax.embedded import Builder, Parse
from stablint.syntax.embedded import documents as documents_of
from stablint.syntax.json import reader as as_json
from stablint.syntax.recipes.workload import HOST, LONGEST, export, put_words, too_large
from stablint.syntax.tree import NO_FOLDER, Document, Scalar, Script, Sequence, Text

_INSTRUCTION = re.compile(r"[ \t]*([A-Za-z]+)[ \t]+")
_HEREDOC = re.compile(r"<<-?[\"']?(\w+)")
_PAIR = re.compile(r"(?<!\S)([A-Za-z_]\w*)=(?:\"([^\"\\\n]*)\"|'([^'\n]*)'|([^\s\"'\\]*))(?=\s|\Z)")
_OLD_PAIR = re.compile(r"(?<!\S)([A-Za-z_]\w*)[ \t]+([^\n=]*[^\s=])[ \t]*\Z")


class _Instruction(NamedTuple):
    word: str
    start: int  # of what stands behind the word
    end: int


def documents(text: Text, parse: Parse) -> tuple[Document, ...]:
    """A document without a tree for the file itself, behind it the command that a container starts."""
    source = text.text
    if len(source) > LONGEST:
        return (too_large(text, "docker"),)
    stage: list[_Instruction] = []
    for one in _instructions(source):
        if one.word == "FROM":  # a stage begins; what an earlier one starts is not started
            stage = []
        else:
            stage.append(one)
    last = {one.word: one for one in stage if one.word in ("ENTRYPOINT", "CMD")}
    builder = Builder()
    for one in stage:
        if one.word in ("ENV", "ARG"):
            _export(builder, source, one)
    entry, command = last.get("ENTRYPOINT"), last.get("CMD")
    if (first := entry or command) is None:
        return (Document(text, "docker", 0, None),)
    words = _words(source, first)
    if words is None:  # a text for a shell; behind an ENTRYPOINT of that kind CMD counts for nothing
        builder.keep(source[first.start : first.end], first.start)
    else:
        if entry is not None and command is not None:
            words += _words(source, command) or []
        put_words(builder, source, words)
    found = documents_of(text, builder.view(HOST), "shell", 1, parse)
    return (Document(text, "docker", 0, None), *map(_elsewhere, found))


def _instructions(source: str) -> Iterator[_Instruction]:
    at = 0
    while at < len(source):
        end = _line_end(source, at)
        found = _INSTRUCTION.match(source, at, end)
        if found and source[at:end].lstrip()[:1] != "#":
            yield _Instruction(found[1].upper(), found.end(), end)
            mark = _HEREDOC.search(source, found.end(), end) if found[1].upper() in ("RUN", "COPY", "ADD") else None
            if mark:
                closes = re.compile(rf"^[ \t]*{mark[1]}[ \t]*$", re.MULTILINE).search(source, end)
                end = closes.end() if closes else len(source)
        at = end + 1


def _line_end(source: str, at: int) -> int:
    """The end of an instruction: behind a backslash it goes on in the next line, and comments may stand between."""
    goes_on = False
    while True:
        end = source.find("\n", at)
        if end < 0:
            return len(source)
        line = source[at:end].strip()
        if not (goes_on and line.startswith("#")):
            if not line.endswith("\\") or line.startswith("#"):
                return end
            goes_on = True
        at = end + 1


def _words(source: str, one: _Instruction) -> list[Scalar] | None:
    """Of the form `["python", "train.py"]`; None for a text."""
    if source[one.start : one.start + 1] != "[":
        return None
    blank = " " * one.start + source[one.start : one.end].replace("\\\n", "  ")
    root = as_json.document(Text("", "", blank)).root
    if not isinstance(root, Sequence) or not all(
        isinstance(i, Scalar) and isinstance(i.value, str) for i in root.items
    ):
        return None
    return [item for item in root.items if isinstance(item, Scalar)]


def _export(builder: Builder, source: str, one: _Instruction) -> None:
    """`ENV LR=1e-4 SEED=1`, `ENV LR 1e-4`; an ARG may be another when the image is built."""
    before, behind = ("'", "'") if one.word == "ENV" else ("${{{0}:-", "}")
    pairs = list(_PAIR.finditer(source, one.start, one.end))
    for pair in pairs:
        group = next(number for number in (2, 3, 4) if pair[number] is not None)
        value = Scalar(pair[group], pair.start(group), pair.end(group), "plain", True)
        if "$" not in pair[group]:
            export(builder, pair[1], source, value, before.format(pair[1]), behind)
    old = _OLD_PAIR.match(source[one.start : one.end]) if not pairs and one.word == "ENV" else None
    if old and "$" not in old[2] and "'" not in old[2]:
        value = Scalar(old[2], one.start + old.start(2), one.start + old.end(2), "plain", True)
        export(builder, old[1], source, value, "'", "'")


def _elsewhere(document: Document) -> Document:
    """Its folder is one of the image."""
    root = document.root
    if not isinstance(root, Script):
        return document
    commands = tuple(one._replace(folder=one.folder or NO_FOLDER) for one in root.commands)
    return document._replace(root=root._replace(commands=commands))
