"""Keys and values while they are typed: in files of keys and values, in the calls of a program or a notebook, and behind the flags of a command.

The text is in the middle of a word and often no parser reads it, so where the cursor stands is read off the text before it, and what may stand
there is taken from the last state that could be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from lsprotocol.types import CompletionItem, CompletionItemKind, TextEdit

from stablint.frameworks.fragment import Fragment, spelled
from stablint.report.place import line_starts, line_text, locate
from stablint.report.plain import shown
from stablint.run.framework import framework
from stablint.run.releases.allowed import Releases
from stablint.run.releases.taken import Taken
from stablint.server.offering import choices, detail, names, of_owner
from stablint.server.places import span
from stablint.server.session import Checked

_KEY = re.compile(r"(?P<indent>[ ]*)(?:- )?(?P<quote>[\"']?)(?P<word>[\w.-]*)\Z")
_VALUE = re.compile(r"[ ]*(?:- )?[\"']?(?P<key>[\w.-]+)[\"']?[ ]*:[ ]+(?P<quote>[\"']?)(?P<word>[\w.-]*)\Z")
_ABOVE = re.compile(r"(?P<indent>[ ]*)(?:- )?[\"']?(?P<key>[\w.-]+)[\"']?[ ]*:[ ]*(?:\{[ ]*)?(?:#.*)?\Z")
_KEYED = (".yaml", ".yml", ".json")
_PROGRAMS = (".py", ".ipynb")
_FAR = 20_000  # so many characters before the cursor are looked at


def complete(checked: Checked, path: str, text: str, offset: int) -> list[CompletionItem]:
    """`checked` may be of an earlier state of the text."""
    fragments = checked.inspection.files.fragments(path)
    name = checked.inspection.files.name(path)
    releases = next((run.releases for run in checked.inspection.runs if name in run.files), None)
    if path.endswith(_PROGRAMS):
        before = text[:offset] if path.endswith(".py") else _cell(text[:offset])
        return list(_in_call(before, releases))
    if not fragments:
        return []
    if path.endswith(_KEYED):
        return list(_in_document(fragments, releases, path, text, offset))
    return list(_in_command(fragments, releases, text, offset))


def _in_document(
    fragments: tuple[Fragment, ...], releases: Releases | None, path: str, text: str, offset: int
) -> Iterator[CompletionItem]:
    begin = line_starts(text)[locate(text, offset).line - 1]
    line = text[begin:offset]
    if value := _VALUE.match(line):
        section = _section(text[:begin], len(line) - len(line.lstrip(" ")))
        is_json = path.endswith(".json")
        for word in names(fragments, releases, section):
            if word.name == ".".join((*section, value["key"])):
                yield from _values(word, releases, '"' if is_json and not value["quote"] else "")
                return
    elif key := _KEY.match(line):
        section = _section(text[:begin], len(key["indent"]))
        stated = set() if section else {entry.key for one in fragments for entry in one.block.mapping.entries}
        yield from _keys(names(fragments, releases, section), releases, section, stated, "" if key["quote"] else ": ")


def _section(before: str, indent: int) -> tuple[str, ...]:
    """The keys above a line that is indented by so much."""
    found: list[str] = []
    for line in reversed(before.splitlines()):
        above = _ABOVE.match(line)
        if above is not None and len(above["indent"]) < indent:
            found.insert(0, above["key"])
            indent = len(above["indent"])
        if indent == 0:
            break
    return tuple(found)


def _keys(
    words: Iterator[Taken], releases: Releases | None, section: tuple[str, ...], stated: set[str], behind: str
) -> Iterator[CompletionItem]:
    above = "".join(f"{part}." for part in section)
    given = set(stated)
    for word in words:
        if word.name.startswith(above):
            name = word.name[len(above) :].partition(".")[0]
            if name and name not in given:
                given.add(name)
                told = detail(word, releases)
                yield CompletionItem(name, kind=CompletionItemKind.Property, detail=told, insert_text=f"{name}{behind}")


def _values(word: Taken, releases: Releases | None, quote: str, python: bool = False) -> Iterator[CompletionItem]:
    """`quote` is what has to stand around a word and does not yet."""
    for one in choices(word, releases):
        written = one.value if isinstance(one.value, str) else str(one.value) if python else shown(one.value)
        inserted = f"{quote}{written}{quote}" if isinstance(one.value, str) else written
        yield CompletionItem(written, kind=CompletionItemKind.Value, detail=one.detail, insert_text=inserted)


class _Open(NamedTuple):
    """The innermost call that is open at the cursor: what is called, and what stands in it so far."""

    name: str
    inside: str


_TEXTS = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*")
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_][\w.]{0,199})\s{0,50}\Z")
_TYPE = re.compile(r"\btype\s*=\s*([A-Za-z_][\w.]*)")
_KEYWORD = re.compile(r"\b(\w{1,100})\s{0,50}=(?!=)")
_ARGUMENT = re.compile(r"(?:\A|,)\s*\w*\Z")
_WORD = re.compile(r"(?:\A|,)\s*(?P<key>\w+)\s*=\s*(?P<quote>[\"']?)[\w.-]*\Z")


def _in_call(before: str, releases: Releases | None) -> Iterator[CompletionItem]:
    call = _open_call(before[-_FAR:])
    if call is None:
        return
    name = call.name
    if name == "dict" and (kind := _TYPE.search(call.inside)) is not None:
        name = kind[1]
    words = list(of_owner(_imported(name, before), releases))
    if value := _WORD.search(call.inside):
        for word in words:
            if word.name == value["key"]:
                yield from _values(word, releases, "" if value["quote"] else '"', python=True)
    elif _ARGUMENT.search(call.inside):
        yield from _keys(iter(words), releases, (), set(_KEYWORD.findall(call.inside)), "=")


def _open_call(before: str) -> _Open | None:
    """Texts and comments are blanked, so that no bracket in them counts; the text in which the cursor stands has no end yet and is kept."""
    blank = _TEXTS.sub(lambda found: " " * len(found[0]), before)
    depth = 0
    for at in range(len(blank) - 1, -1, -1):
        if blank[at] in ")]}":
            depth += 1
        elif blank[at] in "([{":
            if depth == 0:
                called = _CALLED.search(blank, max(0, at - 200), at) if blank[at] == "(" else None
                return _Open(called[1], _without_inner(blank[at + 1 :])) if called is not None else None
            depth -= 1
    return None


def _without_inner(text: str) -> str:
    """What stands in brackets of its own is nobody's argument here."""
    kept, depth = [], 0
    for character in text:
        depth += character in "([{"
        kept.append(character if depth == 0 else " ")
        depth -= character in ")]}"
    return "".join(kept)


def _imported(name: str, text: str) -> str:
    """`trl.SFTConfig` for what the program calls so, by its imports."""
    first, _, rest = name.partition(".")
    if rest:
        return name
    for found in re.finditer(
        r"^[ \t]*from[ \t]+(\w+)(?:\.[\w.]*)?[ \t]+import[ \t]+(\([^()]*\)|[^\n]*)", text, re.MULTILINE
    ):
        for word in found[2].strip("()").split(","):
            original, _, alias = word.strip().partition(" as ")
            if (alias.strip() or original.strip()) == first:
                return f"{found[1]}.{original.strip()}"
    return name


_SOURCE = re.compile(r"\s*\"source\"\s*:\s*\[\s*\Z")
_LINE = re.compile(r"\s*\"(?P<text>(?:\\.|[^\"\\])*)(?P<end>\",?\s*)?\Z")


def _cell(before: str) -> str:
    """The Python of a notebook's cells up to the cursor."""
    found: list[str] = []
    inside = False
    for line in before.splitlines():
        if _SOURCE.match(line):
            inside = True
        elif inside and (row := _LINE.match(line)) is not None:
            try:
                found.append(json.loads(f'"{row["text"]}"'))
            except ValueError:
                found.append(row["text"])
        else:
            inside = False
    return "".join(found) if inside else ""


_FLAG = re.compile(r"(?:\A|\s)(?P<word>--[\w.-]*)\Z")
_OF_FLAG = re.compile(r"(?:\A|\s)--(?P<key>[\w.-]+)(?:[ \t]+|=)[\"']?(?P<word>[\w.-]*)\Z")
_OVERRIDDEN = re.compile(r"(?:\A|\s)\+*(?P<word>[A-Za-z_][\w.]*)\Z")
_OVERRIDE = re.compile(r"(?:\A|\s)\+*(?P<key>[A-Za-z_][\w.]*)=[\"']?(?P<word>[\w.-]*)\Z")


def _in_command(
    fragments: tuple[Fragment, ...], releases: Releases | None, text: str, offset: int
) -> Iterator[CompletionItem]:
    """Of the command in whose lines the cursor stands."""
    number = locate(text, offset).line
    line = text[line_starts(text)[number - 1] : offset]
    while number > 1 and line_text(text, number - 1).endswith("\\"):
        number -= 1
    begin = line_starts(text)[number - 1]
    mine = [one for one in fragments if one.block.kind == "flags" and begin <= one.block.start <= offset]
    if flag := _FLAG.search(line):
        begin = offset - len(flag["word"])  # half a flag counts as the whole one that it shortens
        stated = {
            spelled(entry.key)
            for one in mine
            for entry in one.block.mapping.entries
            if not begin <= entry.key_start <= offset
        }
        for word in names(mine, releases, ()):
            if word.name not in stated:
                label = f"--{word.name}"
                edit = TextEdit(span(text, begin, offset), f"{label} ")
                yield CompletionItem(
                    label, kind=CompletionItemKind.Property, detail=detail(word, releases), text_edit=edit
                )
    elif (words := _OVERRIDDEN.search(line)) and any(framework(one.dialect).takes_overrides for one in mine):
        begin = offset - len(words["word"])
        for word in names(mine, releases, ()):
            if word.name.startswith(words["word"]):
                edit = TextEdit(span(text, begin, offset), f"{word.name}=")
                yield CompletionItem(
                    word.name, kind=CompletionItemKind.Property, detail=detail(word, releases), text_edit=edit
                )
    elif value := _OF_FLAG.search(line) or _OVERRIDE.search(line):
        for word in names(mine, releases, tuple(value["key"].split(".")[:-1])):
            if word.name == spelled(value["key"]):
                yield from _values(word, releases, "")
                return
