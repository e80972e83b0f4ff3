"""Rows of a run that goes well, taken by the thousand: one pattern a form of row, so that only the rows that may show something are read one by one.

What is taken leaves the watch as if each row had been read (tests/log/test_steady.py holds both ways against each other).
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import NamedTuple

from stablint.log import metrics
from stablint.log.sickness import Watch, scale_of
from stablint.log.unwrap import LONGEST, plain

# Words without which a line has nothing that the watch asks for.
MARKS = (*metrics.MARKS, b"completion", b"clipped", b"norm")
_FORMS = 4  # that a log has at once: of training, of evaluation, of a policy
_NUMBER = rb"[-+]?[0-9][0-9.eE+-]*"
_LONGEST = 4096  # bytes of a row


# What figures, bars and signs are made of. Without it most lines of a log are the same few, each of which is kept once: a search costs a
# gigabyte's reading a second at best, and there are forty marks.
_NO_LETTERS = bytes({*b"0123456789.,%|<>[](){}=#'\" \r\t:/+_", *range(128, 256)})


def letters_of(data: bytes) -> bytes:
    """Of lines, in no order, for marks that stand within one."""
    return b"\n".join(set(data.translate(None, _NO_LETTERS).split(b"\n")))


@lru_cache(maxsize=8)
def _bare(marks: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(map(letters_of, marks))


def within(letters: bytes, marks: tuple[bytes, ...]) -> list[bytes]:
    """The marks of which the letters stand there; the lines of the text itself have the last word."""
    return [mark for mark, bare in zip(marks, _bare(marks), strict=True) if bare in letters]


class Form(NamedTuple):
    """A row with holes for its numbers. What stands around it in the line holds none of MARKS, or the block is read row by row."""

    pattern: re.Pattern[bytes]
    row: metrics.Row  # the first one that looked so
    groups: tuple[str, ...]  # the numbers that the watch asks for


def form_of(line: bytes) -> Form | None:
    """None where the line holds no row, or one whose numbers a watch must see."""
    if len(line) > _LONGEST:
        return None
    text = line.decode("latin-1")
    row = metrics.row(0, plain(text).text)
    found = list(metrics.PAIR.finditer(text))
    if row is None or not found or scale_of(text) is not None:
        return None
    names = [metrics.name_of(pair["name"])[0] for pair in found]
    values = {name: float(pair["value"]) for name, pair in zip(names, found, strict=True)}
    if len(values) < len(names) or values != row.values or not all(map(math.isfinite, values.values())):
        return None  # a name twice, or figures that a colour or a prefix hides
    start = found[0].start()
    made = [] if line[start : start + 1] in (b"'", b'"') else [rb"(?<![\w/.@-])"]
    groups = []
    at = start
    for name, pair in zip(names, found, strict=True):
        made.append(
            _shown(line[at : pair.start("name")], rb"[0-9]+") + _shown(line[pair.start("name") : pair.start("value")])
        )
        kept = name == "loss" or name.endswith("clipped_ratio")
        made.append(b"(" + _NUMBER + b")" if kept else _NUMBER)
        groups += [name] * kept
        at = pair.end("value")
    return Form(re.compile(b"".join(made) + rb"(?![\w.])"), row, tuple(groups))


def _shown(words: bytes, digits: bytes | None = None) -> bytes:
    """Columns are filled with blanks; a date between two numbers is another in the next row."""
    parts = (re.escape(part) for part in re.split(rb" +", words))
    return b" +".join(re.sub(rb"[0-9]+", digits, part) if digits else part for part in parts)


class Steady:
    """The forms of a log, learnt from the rows that were read one by one."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._forms: list[Form] = []

    def learn(self, line: bytes) -> None:
        """From a row that was read by itself."""
        if any(form.pattern.search(line) for form in self._forms):
            return
        form = form_of(line)
        if form is not None:
            self._forms = [*self._forms[1 - _FORMS :], form]

    def take(self, data: bytes) -> bytes | None:
        """The letters of what is left of a block without its rows, all of which have been taken; None where one of them must be read by itself."""
        rest = data
        taken: list[tuple[metrics.Row, dict[str, list[float]]]] = []
        for form in self._forms:
            pieces = form.pattern.split(rest)
            if len(pieces) == 1:
                continue
            wide = 1 + len(form.groups)
            try:
                numbers = {name: list(map(float, pieces[at::wide])) for at, name in enumerate(form.groups, 1)}
            except ValueError:
                return None
            taken.append((form.row, numbers))
            rest = b"".join(pieces[::wide])
        letters = letters_of(rest)
        if within(letters, MARKS):
            return None
        normed = any("grad_norm" in row.values and not row.evaluation and not row.shape.rewards for row, _ in taken)
        return letters if self._watch.rows(taken, _last_norm(data) if normed else math.nan) else None


def _last_norm(data: bytes) -> float:
    """Of the rows that are no policy's. Every line with the word is a row here."""
    at = data.rfind(b"norm")
    while at >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        row = metrics.row(0, plain(data[start : start + LONGEST].partition(b"\n")[0].decode("latin-1")).text)
        if row is not None and "grad_norm" in row.values and not row.evaluation and not row.shape.rewards:
            return row.values["grad_norm"]
        at = data.rfind(b"norm", 0, start)
    return math.nan
