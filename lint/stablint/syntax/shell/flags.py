"""The arguments of a command → its words, flags and what belongs to no flag."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from stablint.syntax.shell.embedded import json_object
from stablint.syntax.shell.values import Chunk, Field, scalar
from stablint.syntax.tree import Entry, Mapping, Node, Problem, Scalar, Sequence

_FLAG = re.compile(r"(--?)([A-Za-z_][\w.\-]*)(=|:\Z|)", re.DOTALL)
_NEGATIVE = re.compile(r"-[0-9.]")


class Arguments(NamedTuple):
    words: tuple[str, ...]
    flags: Mapping
    positionals: tuple[Scalar, ...]
    problems: tuple[Problem, ...]


class _Flag:
    """A flag while its values are collected."""

    def __init__(self, field: Field, dashes: int, key: str, value: Field | None) -> None:
        first = field.chunks[0]
        self.key = key
        self.key_start = first.start + dashes if first.exact else field.start
        self.key_end = self.key_start + len(key) if first.exact else field.start
        self.bare = (
            Scalar(True, first.start, self.key_end, "flag") if first.exact else Scalar(True, *field[1:], "flag", False)
        )
        self.values: list[Scalar | Mapping] = [] if value is None else [value_of(value)]
        self.closed = value is not None
        self.colon = _text(field) == "--" + key + ":"  # written as in YAML
        self.empty = value is not None and not value.chunks and dashes > 1  # `-F= word`: the sign is the value

    def takes_unknown(self) -> bool:
        return not self.closed and not self.values

    def entry(self) -> Entry:
        value: Node = self.values[0] if self.values else self.bare
        if len(self.values) > 1:
            editable = all(isinstance(item, Scalar) and item.editable for item in self.values)
            value = Sequence(tuple(self.values), self.values[0].start, self.values[-1].end, editable)
        return Entry(self.key, self.key_start, self.key_end, value)


def arguments(source: str, fields: Iterable[Field], end: int) -> Arguments:
    """Read as argparse reads: a flag takes the words up to the next flag; a word with a blank in it and a negative number are no flags."""
    words: list[str] = []
    positionals: list[Scalar] = []
    flags: list[_Flag] = []
    problems: list[Problem] = []
    is_open, only_positionals = False, False
    for field in fields:
        current = flags[-1] if flags else None
        text = _text(field)
        if text is None and _many(field) and not (current and current.takes_unknown() and _one_at_most(field)):
            if words:
                is_open = True
                placed = _placed(field)
                positionals.append(placed._replace(form="default") if field.chunks[0].presumed else placed)
            else:
                words.append(source[field.start : field.end])
            if current:
                current.closed = True
        elif only_positionals:
            positionals.append(_placed(field))
        elif text == "--":
            only_positionals = True
        elif (text is None or text[:1] == "-") and (flag := _flag(field)):
            flags.append(flag)
            if flag.colon:
                message = f"colon behind `--{flag.key}`: no parser knows a flag of that name"
                problems.append(Problem("shell-broken-flag", message, flag.bare.start, field.end))
        elif text is None and _unknown_flag(field):
            is_open = True
            if current:
                current.closed = True
        elif current is None:
            if words:
                positionals.append(_placed(field))
            words.append(source[field.start : field.end].strip('"') if text is None else text)
        elif current.closed:
            if current.empty:
                message = f"blank after `=`: `{current.key}` gets no value"
                problems.append(Problem("shell-broken-flag", message, current.bare.start, field.end))
                current.empty = False
            positionals.append(_placed(field))
        else:
            current.values.append(value_of(field))
    entries = tuple(flag.entry() for flag in flags)
    start = entries[0].key_start if entries else end
    return Arguments(tuple(words), Mapping(entries, min(start, end), end, is_open), tuple(positionals), tuple(problems))


def value_of(field: Field) -> Scalar | Mapping:
    """What a flag is given: JSON objects as such, as the libraries' parsers read them."""
    chunks = field.chunks
    first, last = (chunks[0].value, chunks[-1].value) if chunks else ("", "")
    if isinstance(first, str) and first[:1] == "{" and isinstance(last, str) and last[-1:] == "}":
        found = json_object(chunks)
        if found is not None:
            return found
    return scalar(field)


def _text(field: Field) -> str | None:
    """The text of an argument; None where some of it is unknown."""
    if len(field.chunks) == 1:
        value = field.chunks[0].value
        return value if isinstance(value, str) else None
    parts = [chunk.value for chunk in field.chunks if isinstance(chunk.value, str)]
    return "".join(parts) if len(parts) == len(field.chunks) else None


def _placed(field: Field) -> Scalar:
    """A word that belongs to no flag keeps its own place, so that it can be told what it stands behind."""
    return scalar(field)._replace(start=field.start, end=field.end)


def _many(field: Field) -> bool:
    return any(chunk.many for chunk in field.chunks) and len(field.chunks) == 1


def _one_at_most(field: Field) -> bool:
    """An unknown variable behind a flag is its value; `"$@"` and lists are not."""
    value = field.chunks[0].value
    return not isinstance(value, str) and field.end > field.start and "called with" not in value.reason


def _flag(field: Field) -> _Flag | None:
    first = field.chunks[0] if field.chunks else None
    if first is None or not isinstance(first.value, str) or first.value[:1] != "-":
        return None
    said = first.value
    whole = _text(field) if len(field.chunks) > 1 and "=" not in said else None
    if whole is not None:  # `--${dtype}`, where the script says what it holds
        said, first = whole, first._replace(value=whole, exact=False)
        field = field._replace(chunks=(first,))
    found = _FLAG.match(said)
    if not found or _NEGATIVE.match(said):
        return None
    dashes, key, equals = found.groups()
    if equals == "=":
        return _Flag(field, len(dashes), key, _behind(field, first, found.end()))
    if found.end() < len(said) or len(field.chunks) > 1 or (equals and dashes != "--"):
        return None
    return _Flag(field, len(dashes), key, None)


def _behind(field: Field, first: Chunk, cut: int) -> Field:
    """The value in `--key=value`."""
    assert isinstance(first.value, str)
    start = first.start + cut if first.exact else first.start
    rest = first._replace(value=first.value[cut:], start=start)
    chunks = (*((rest,) if rest.value else ()), *field.chunks[1:])
    end = first.end if len(field.chunks) == 1 else field.end
    return Field(chunks, start, max(start, end))


def _unknown_flag(field: Field) -> bool:
    """`--$NAME` and the like: some flag, but which?"""
    first = field.chunks[0] if field.chunks else None
    if first is None or first.source == "quoted" or not isinstance(first.value, str):
        return False
    return first.value.startswith("--") and len(field.chunks) > 1
