"""Texts without their secrets: those behind a key, those of a known shape, and those that are known from the files at hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from stablint.base.light import NamedTuple
from stablint.secrets.assignments import assigned, named_in_yaml
from stablint.secrets.exit import STARS
from stablint.secrets.generated import generated
from stablint.secrets.hints import may_hold_secret
from stablint.secrets.joined import APART, Joined
from stablint.secrets.keys import SURE, holds_secret, looks_generated, names_secret
from stablint.secrets.languages import LINE, PYTHON, YAML
from stablint.secrets.literals import literal as as_literal
from stablint.secrets.prose import Texts
from stablint.secrets.shapes import shaped

_SHORTEST = 6  # below that a value is a word such as `true` that may stand anywhere
_LONGEST = 1_500_000  # characters of a file that is read whole for its secrets; of a larger one only what is shown is looked at
_LONG = 5_000  # characters of a text that is worth remembering
_SURE_OF_SIGNS = 8_000  # of 1,100 files as long, all but two had a sign of a secret; to find the first one took half the time of the search itself
_WORDLIKE = re.compile(r"[a-z]{1,11}\Z|[a-z]+(?:[_ -][a-z]+)+\Z|[A-Z][a-z]{1,11}\Z|[-+]?[0-9._]+(?:[eE][-+]?[0-9]+)?\Z")


class _Scanned(NamedTuple):
    """Where secrets stand, sorted and apart from each other; and which texts are to be hidden elsewhere as well."""

    spans: tuple[tuple[int, int], ...]
    told: tuple[tuple[int, int], ...]


_QUIET: set[str] = set()
_MOST_QUIET = 100_000
_LONGEST_LINE = 400
_OF_DATA = 20_000  # characters of a text whose lines are no settings, and like no others


def look_for_signs(texts: list[str]) -> None:
    """Which lines of texts of YAML hold no sign of a secret, whatever stands around them: each different line is looked at once, since the files of a
    folder are much alike, and a text of such lines needs no search of its own."""
    if len(_QUIET) > _MOST_QUIET:
        _QUIET.clear()
    lines = set[str]().union(*(text.split("\n") for text in texts if len(text) < _OF_DATA)) - _QUIET
    lines = {line for line in lines if len(line) <= _LONGEST_LINE and not _goes_on(line)}
    for of_ascii in (True, False):  # looking through ASCII is several times faster
        text = "\n".join(["", *(line for line in lines if line.isascii() is of_ascii), ""])
        signs = [start for start, _ in (*generated(text, len(text)), *shaped(text))] + [*named_in_yaml(text)]
        signs += [found.start() for found in APART.finditer(text)] if "\\" in text else []
        lines -= {text[text.rfind("\n", 0, at) + 1 : text.find("\n", at)] for at in signs}
    _QUIET.update(lines)


def _goes_on(line: str) -> bool:
    """A command may go on in the next line, or be written as a list over several lines."""
    end = line.rstrip()[-1:]
    return end == "\\" or (end == "," and ('"' in line or "'" in line)) or "login" in line


def _scan(text: str, language: str) -> _Scanned:
    if language == YAML and _QUIET.issuperset(text.split("\n")):
        return _Scanned((), ())
    found, aside = set(generated(text)) if language else set(), set[tuple[int, int]]()
    if found and language == PYTHON:
        texts = Texts(text)
        found = {span for span in found if not texts.is_code(span[0])}  # a name of a program is no literal
    if (
        len(text) > _SURE_OF_SIGNS
        or may_hold_secret(text)
        or ("\\" in text and language and may_hold_secret(Joined(text).text))
    ):
        found.update(shaped(text))
        for literal in assigned(text, language):
            (found if literal.told else aside).add((literal.start, literal.end))
    told = tuple(_apart(found))
    return _Scanned(tuple(_apart({*found, *aside})) if aside else told, told)


def _apart(found: set[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if kept and start < kept[-1][1]:
            kept[-1] = kept[-1][0], max(end, kept[-1][1])
        elif end > start:
            kept.append((start, end))
    return kept


def known(text: str, language: str = LINE) -> frozenset[str]:
    """The secrets of a file, to be hidden wherever they turn up. A word of the language is not among them: it may well mean something else."""
    if len(text) > _LONGEST:
        return frozenset()
    return frozenset(line for start, end in _cached(text, language).told for line in lines_of(text[start:end]))


def generated_in(text: str) -> frozenset[str]:
    """What looks generated in a text of which nobody knows what language it is, as a line of a log."""
    return frozenset(text[start:end] for start, end in generated(text))


_NAMED = re.compile(r"-{0,2}([^\W\d][\w.-]{0,80}?)(?:={1,2}|:)(.+)", re.DOTALL)


def named(words: list[str]) -> Iterator[str]:
    """Of a command line the values whose flag or key names a secret, words of the language too: a message that quotes one may leave out its key."""
    for word, behind in zip(words, [*words[1:], ""], strict=True):
        found = _NAMED.match(word)
        key, value = found.groups() if found else (word, "" if behind.startswith("-") else behind)
        if (found or word.startswith("-")) and names_secret(key.lstrip("-").replace("-", "_")) == SURE:
            value = value.strip().strip("\"'")
            if holds_secret(SURE, as_literal(value)):
                yield value


_SIGN = re.compile(r"[=:_.-]")
_ENDING = re.compile(r"(?:\.[A-Za-z]{1,10}){1,2}\Z")


def in_name(path: str) -> Iterator[str]:
    """What the names of a file and of its folders say behind a key that names a secret: `password=….yaml`, `hf_token-…/`. Behind a sign that
    words are joined with only what looks generated."""
    for part in re.split(r"[/\\]", path):
        value = _in_part(part)
        if value:
            yield value


@lru_cache(maxsize=4_096)
def _in_part(part: str) -> str:
    """The same of one of the names: a thousand files lie below the same folders."""
    stem = _ENDING.sub("", part) if may_hold_secret(part) else ""
    for sign in _SIGN.finditer(stem):
        key, value = stem[: sign.start()], stem[sign.end() :]
        if names_secret(key.replace("-", "_")) == SURE and holds_secret(SURE, value):
            return value if sign[0] in "=:" or looks_generated(value) else ""
    return ""


def lines_of(secret: str) -> Iterator[str]:
    """Each line of a secret that may be looked for everywhere."""
    for line in secret.splitlines():
        line = line.strip().strip("\"'")
        if len(line) >= _SHORTEST and not _WORDLIKE.match(line):
            yield line


_SCANNED: dict[tuple[int, int, str], _Scanned] = {}
_MOST = 4_096  # texts; by their hashes, so that none is kept for it; the others are scanned again


def _cached(text: str, language: str) -> _Scanned:
    """What an editor checks again names a hundred files that are as they were."""
    key = hash(text), len(text), language
    found = _SCANNED.get(key)
    if found is None:
        if len(_SCANNED) >= _MOST:
            del _SCANNED[next(iter(_SCANNED))]
        found = _SCANNED[key] = _scan(text, language)
    return found


@lru_cache(maxsize=16)
def covered(text: str, language: str = LINE) -> str:
    """A source text with stars in the place of its secrets, character for character."""
    return _without(text, _cached(text, language).spans, same_length=True) if len(text) <= _LONGEST else text


def hidden_lines(text: str, language: str = LINE) -> frozenset[str]:
    """The lines of a text in which secrets stand."""
    before, after = text.split("\n"), covered(text, language).split("\n")
    return frozenset(line for line, clean in zip(before, after, strict=True) if line != clean)


def mask(text: str, secrets: frozenset[str] = frozenset(), *, same_length: bool = False, data: bool = False) -> str:
    """`text` without the known `secrets`, without what stands behind a key that names one, and without anything that has the shape of a token.

    With `same_length` as many stars as there were characters, so that columns stay where they are. `data`: the text is JSON, of which only
    what stands in its strings, or is a number, is hidden: it stays JSON, whatever the files call a secret.
    """
    there = [spelled for spelled in _longest_first(secrets, data) if spelled in text] if secrets else []
    if not data:
        for spelled in there:
            text = text.replace(spelled, "*" * len(spelled) if same_length else STARS)
    found = (
        _cached(text, LINE) if len(text) > _LONG else _scan(text, LINE)
    ).spans  # a hundred findings may stand in one endless line
    if not data:
        return _without(text, found, same_length=same_length)
    spans = {one.span() for spelled in there for one in re.finditer(re.escape(spelled), text)}
    return _data_without(text, _apart({*found, *spans})) if found or spans else text


# A string of JSON, or a number where a value stands.
_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"|(?<=[\s:,\[])-?[0-9][0-9.eE+-]*')


_UNIT = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)  # an escape is hidden whole


def _data_without(text: str, found: list[tuple[int, int]]) -> str:
    """JSON without what lies of the spans in its strings, and without the numbers that one touches."""
    parts, at, current = [], 0, 0
    for literal in _LITERAL.finditer(text):
        start, end = literal.span()
        while current < len(found) and found[current][1] <= start:
            current += 1
        if current == len(found):
            break
        if found[current][0] >= end:
            continue
        if literal[0][0] == '"':
            parts += [text[at : start + 1], _string_without(text, start + 1, end - 1, found, current), '"']
        else:
            parts += [text[at:start], f'"{STARS}"']
        at = end
    return "".join([*parts, text[at:]])


def _string_without(text: str, first: int, last: int, found: list[tuple[int, int]], current: int) -> str:
    parts, hides = [], False
    for unit in _UNIT.finditer(text, first, last):
        while current < len(found) and found[current][1] <= unit.start():
            current += 1
        hit = current < len(found) and found[current][0] < unit.end()
        if not hit:
            parts.append(unit[0])
        elif not hides:
            parts.append(STARS)
        hides = hit
    return "".join(parts)


@lru_cache(maxsize=4)
def _longest_first(secrets: frozenset[str], data: bool) -> tuple[str, ...]:
    return tuple(sorted(set(_spellings(secrets, data)), key=len, reverse=True))


def _without(text: str, found: Iterable[tuple[int, int]], *, same_length: bool) -> str:
    parts, at = [], 0
    for start, end in found:
        hidden = text[start:end]
        if same_length:
            stars = "".join(c if c in "\r\n" else "*" for c in hidden)
        else:
            stars = STARS
        parts += [text[at:start], stars]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def _spellings(secrets: frozenset[str], data: bool) -> Iterator[str]:
    """Each line of each secret, as it is and as it stands inside a JSON string."""
    for secret in secrets:
        for line in secret.splitlines():
            line = line.strip()
            if len(line) >= _SHORTEST:
                if not (data and '"' in line):
                    yield line
                if not line.isascii() or not line.isprintable() or '"' in line or "\\" in line:
                    yield json.dumps(line)[1:-1]
                    yield json.dumps(line, ensure_ascii=False)[1:-1]
