"""Rows of a run that goes well, taken by the thousand: one pattern a form of row, so that only the rows that may show something are read one by one.

What is taken leaves the watch as if each row had been read (tests/log/test_steady.py holds both ways against each other).
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from stablint.log import metrics
from stablint.log.sickness import Watch, scale_of
from stablint.log.unwrap import LONGEST, plain, uncoloured

# Words without which a line has nothing that the watch asks for.
MARKS = (*metrics.MARKS, b"completion", b"clipped", b"norm")
_FORMS = 4  # that a log has at once: of training, of evaluation, of a policy
_NUMBER = rb"[-+]?[0-9][0-9.eE+-]*"
_NUMBER_OR_NONE = rb"[-+]?(?:[0-9][0-9.eE+-]*|nan|NaN|inf|Infinity)"
_ANY = b"(" + _NUMBER_OR_NONE + b")"
_END = rb"(?![\w.])"
_AROUND = 256  # lines around the rows of one form that are told apart by their letters
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


class Form:
    """A row with holes for its numbers. What stands around it in the line holds none of MARKS, or the block is read row by row."""

    def __init__(self, head: bytes, bare: bool, holes: list[tuple[bytes, str]], row: metrics.Row) -> None:
        self._head, self._bare, self._holes = (
            head,
            bare,
            holes,
        )  # the first name; a hole behind each words, for the number of that name
        self._patterns: dict[frozenset[str], tuple[re.Pattern[bytes], tuple[str, ...]]] = {}
        self.row = row  # the first one that looked so
        self.names = tuple(name for _, name in holes)
        # For one line: a group a number, and what is none of them may stand there.
        self.whole = re.compile(head + b"".join(words + _ANY for words, _ in holes) + _END)
        self.around: set[bytes] = (
            set()
        )  # letters of what stood around such rows that were read by themselves, and had no number more

    def pattern(self, known: frozenset[str] = frozenset()) -> tuple[re.Pattern[bytes], tuple[str, ...]]:
        """For many rows: a group for each number that the watch asks for, and their names. Those of `known` may be NaN."""
        made = self._patterns.get(known)
        if made is None:
            # The words stand before what may not stand before them: a pattern that begins with words is found faster.
            text = self._head + (rb"(?<![\w/.@-]" + self._head + b")" if self._bare else b"")
            groups = []
            for words, name in self._holes:
                number = _NUMBER_OR_NONE if name in known else _NUMBER
                asked = name == "loss" or name.endswith("clipped_ratio") or (name == "grad_norm" and name in known)
                text += words + (b"(" + number + b")" if asked else number)
                groups += [name] * asked
            made = self._patterns[known] = re.compile(text + _END), tuple(groups)
        return made


def form_of(line: bytes) -> Form | None:
    """None where the line holds no row, or names a number of which a sign may be made twice."""
    if len(line) > _LONGEST:
        return None
    text = line.decode("latin-1").replace("\r", " ")
    core = plain(text).text
    before = text.find(core)
    row = metrics.row(0, core)
    if row is None or before < 0 or scale_of(core) is not None:
        return None
    found = list(metrics.PAIR.finditer(core))
    names = [metrics.name_of(pair["name"])[0] for pair in found]
    if any(names.count(name) > 1 for name in row.values if metrics.counts(name) or name in row.shape.ratios):
        return None
    line = line.replace(b"\r", b" ")
    first = core[found[0].start() : found[0].end("name")].encode("latin-1")
    holes = []
    at = before + found[0].end("name")
    for number, (name, pair) in enumerate(zip(names, found, strict=True)):
        start, value = before + pair.start("name"), before + pair.start("value")
        words = _shown(line[at:start], rb"[0-9]+") + _shown(line[start:value]) if number else _shown(line[at:value])
        holes.append((words, name))
        at = before + pair.end("value")
    return Form(re.escape(first), first[:1] not in (b"'", b'"'), holes, row)


def _shown(words: bytes, digits: bytes | None = None) -> bytes:
    """Columns are filled with blanks; a date between two numbers is another in the next row."""
    parts = (re.escape(part) for part in re.split(rb" +", words))
    return b" +".join(re.sub(rb"[0-9]+", digits, part) if digits else part for part in parts)


class Steady:
    """The forms of a log, learnt from the rows that were read one by one."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._forms: list[Form] = []

    def row(self, number: int, line: bytes) -> metrics.Row | None:
        """A row of a known form, in words that have stood around such a one; None where the line must be read by itself, and may be learnt from."""
        if len(line) > _LONGEST:
            return None
        bare = uncoloured(line)
        for form in self._forms:
            found = form.whole.search(bare)
            if found is None:
                continue
            if _letters_around(bare, found) not in form.around:
                return None
            values = _values(form, found)
            return None if values is None else form.row._replace(line=number, said=line, values=values)
        return None

    def learn(self, line: bytes, row: metrics.Row) -> None:
        """From a row that was read by itself."""
        line = uncoloured(line)
        for form in self._forms:
            found = form.whole.search(line)
            if found is not None:
                if len(form.around) < _AROUND and repr(_values(form, found)) == repr(row.values):
                    form.around.add(_letters_around(line, found))
                return
        new = form_of(line)
        found = None if new is None else new.whole.search(line)
        if new is not None and found is not None and repr(_values(new, found)) == repr(row.values):
            new.around.add(_letters_around(line, found))
            self._forms = [*self._forms[1 - _FORMS :], new]

    def take(self, data: bytes) -> bytes | None:
        """The letters of what is left of a block without its rows, all of which have been taken; None where one of them must be read by itself."""
        data = rest = uncoloured(data)
        taken: list[tuple[metrics.Row, dict[str, list[float]]]] = []
        for form in self._forms:
            pattern, groups = form.pattern(self._watch.known_of(form.row))
            pieces = pattern.split(rest)
            if len(pieces) == 1:
                continue
            wide = 1 + len(groups)
            try:
                numbers = {name: _floats(pieces[at::wide]) for at, name in enumerate(groups, 1)}
            except ValueError:
                return None
            taken.append((form.row, numbers))
            rest = b"".join(pieces[::wide])
        letters = letters_of(rest)
        if within(letters, MARKS):
            return None
        normed = any("grad_norm" in row.values and not row.evaluation and not row.shape.rewards for row, _ in taken)
        return letters if self._watch.rows(taken, _last_norm(data) if normed else math.nan) else None


def _floats(texts: list[bytes]) -> list[float]:
    """Raises ValueError. The same few again and again, as where all is lost, are made once."""
    if texts[0] == texts[-1]:
        made = {text: float(text) for text in set(texts)}
        return [made[text] for text in texts]
    return list(map(float, texts))


def _letters_around(line: bytes, found: re.Match[bytes]) -> bytes:
    return line[: found.start()].translate(None, _NO_LETTERS) + b" " + line[found.end() :].translate(None, _NO_LETTERS)


def _values(form: Form, found: re.Match[bytes]) -> dict[str, float] | None:
    """The first of each name counts; None where what looks like a number is none."""
    values: dict[str, float] = {}
    try:
        for name, value in zip(form.names, map(float, found.groups()), strict=True):
            values.setdefault(name, value)
    except ValueError:
        return None
    return values


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
