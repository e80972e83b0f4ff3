"""Texts without their secrets: those behind a key, those of a known shape, and those that are known from the files at hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from stablint.record import NamedTuple
from stablint.secrets.assignments import LINE, assigned
from stablint.secrets.hints import may_hold_secret
from stablint.secrets.shapes import shaped

STARS = "*" * 8
_SHORTEST = 6  # below that a value is a word such as `true` that may stand anywhere
_LONGEST = 1_500_000  # characters of a file that is read whole for its secrets; of a larger one only what is shown is looked at
_LONG = 5_000  # characters of a text that is worth remembering
_WORDLIKE = re.compile(r"[a-z]{1,11}\Z|[a-z]+(?:[_ -][a-z]+)+\Z|[A-Z][a-z]{1,11}\Z|[-+]?[0-9._]+(?:[eE][-+]?[0-9]+)?\Z")


class _Scanned(NamedTuple):
    """Where secrets stand, sorted and apart from each other; and which texts are to be hidden elsewhere as well."""

    spans: tuple[tuple[int, int], ...]
    told: tuple[tuple[int, int], ...]


def _scan(text: str, language: str) -> _Scanned:
    if not may_hold_secret(text):
        return _Scanned((), ())
    found, aside = set(shaped(text)), set[tuple[int, int]]()
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
    if len(text) > _LONGEST or not may_hold_secret(text):
        return frozenset()
    return frozenset(line for start, end in _cached(text, language).told for line in lines_of(text[start:end]))


def lines_of(secret: str) -> Iterator[str]:
    """Each line of a secret that may be looked for everywhere."""
    for line in secret.splitlines():
        line = line.strip().strip("\"'")
        if len(line) >= _SHORTEST and not _WORDLIKE.match(line):
            yield line


@lru_cache(maxsize=64)
def _cached(text: str, language: str) -> _Scanned:
    return _scan(text, language)


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

    With `same_length` as many stars as there were characters, so that columns stay where they are. `data`: the text is JSON, whose own
    quotes no secret may take away.
    """
    for spelled in _longest_first(secrets, data) if secrets else ():
        if spelled in text:
            text = text.replace(spelled, "*" * len(spelled) if same_length else STARS)
    found = (
        _cached(text, LINE) if len(text) > _LONG else _scan(text, LINE)
    ).spans  # a hundred findings may stand in one endless line
    return _without(text, found, same_length=same_length)


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
            # A number without quotes where JSON wants a value stays one text.
            bare = hidden.lstrip("-")[:1].isdigit() and text[max(0, start - 3) : start].rstrip().endswith('":')
            stars = f'"{STARS}"' if bare else STARS
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
