"""One pass over a log: the known messages, the sick numbers, the first exception, and what is stated of the run.

Nothing of a line is kept that says nothing: 2 GB are read in the memory of a few blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stablint.log import metrics, observed
from stablint.log.series import Series
from stablint.log.sickness import Sick, Watch, scale_of
from stablint.log.source import Block
from stablint.log.steady import Steady, letters_of, within
from stablint.log.template import Known, Template
from stablint.log.unwrap import LONGEST, Plain, closed, decoded, joined, plain

# Words of lines that tell of trouble, so few that a block is searched for them faster than it is read; what they stand in is looked at closely.
# A search costs a gigabyte's reading a second each.
TROUBLE = (
    b"rror", b"xception", b"Warning", b"WARN", b"ssert", b" vs hf ", b"trainable params", b"inf/nan", b"atchdog", b"use_cache", b"Token indices",
    b"return code = -", b"exitcode", b"SIGSEGV", b"SIGBUS", b"unexpected keyword", b"_dynamo.exc", b"_inductor.exc", b"cutlassF", b"No available kernel",
)  # fmt: skip
# Of lines that only look like trouble and have none of these words. They come at the beginning of a run, and are looked for in so many bytes of it.
QUIET = (
    b"deprecated", b"legacy behaviour", b"Some weights", b"This IS expected", b"TRAIN this model", b"Invalidate trace", b"perform barrier",
    b"just got forked", b"Flash Attention", b"OVERFLOW", b"Gradient overflow", b"pad_token_id", b"pad token", b"retry loop", b"lr value before",
    b"process_group", b"match the token", b"PAD/BOS/EOS", b"OMP_NUM_THREADS", b"specified in DDP", b"bucket view", b"gather along",
    b"fast tokenizer", b"Special tokens", b"many workers", b"kernel version", b"batch size for internal", b"Mismatch between",
    b"incorrectly instantiated", b"save_embedding", b"use_reentrant", b"a config file", b"is ignored when", b"multivariate normal",
    b"Could not estimate", b"Not an error",
)  # fmt: skip
_QUIET_WITHIN = 32 << 20
_SHORT = 1 << 15  # bytes of a text that is rather pasted than a log
_SCALER = b"loss scale"
# Lines around one of trouble: a message is broken at a terminal's width, and lists stand below it.
_BEFORE, _AFTER = 4, 24
_TOGETHER = 12  # lines that one message is broken into at most
_ABOVE = 60  # lines of the traceback above a message
_LEAST, _PART = 1 << 12, 1 << 16  # bytes of which the rows are taken together or one by one
_ALIKE = 4  # lines that are compared
_LOOKED = 3  # times that lines which are alike are looked at
_MOST = 400  # matches that are kept
# A statement that a traceback shows, in a frame of a box behind its number and strokes.
_SHOWN = re.compile(r"[\s│❱\d]{0,40}(?:raise |assert |warnings\.warn\(|logger\.)")
_EXCEPTION = re.compile(
    r"(?P<name>(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit)): ?(?P<said>.{0,400})"
)
# One that says nothing, as of an assertion without a message.
_BARE = re.compile(r"\s{0,40}(?:[A-Za-z_]\w{0,60}\.){0,6}(?P<name>[A-Z]\w{0,60}(?:Error|Exception))\s{0,40}")
# What a process says because another one failed.
_ECHOES = (
    "ChildFailedError",
    "SignalException",
    "KeyboardInterrupt",
    "SystemExit",
    "BrokenPipeError",
    "CalledProcessError",
)


class Match(NamedTuple):
    template: Template
    line: int
    text: str
    gaps: dict[str, str]
    times: int = 1
    ranks: frozenset[int] = frozenset()
    framed: bool = False  # a frame of the library that prints it stands around


class Exceptional(NamedTuple):
    line: int
    name: str
    said: str


class Reading(NamedTuple):
    lines: int
    matches: tuple[Match, ...]  # in the order of the log, one a message
    harmless: tuple[Match, ...]
    sick: tuple[Sick, ...]
    exception: Exceptional | None  # the first in time that is no echo of another
    stated: observed.Stated


class _Seen:
    """Lines of trouble that differ in their figures alone: how often they were looked at, and what they are."""

    def __init__(self) -> None:
        self.times = 0
        self.matches: set[tuple[int, str]] = set()


class Reader:
    """Blocks in their order; `result` is what they have shown so far."""

    def __init__(self, known: Known, series: Series | None = None) -> None:
        self._known, self._series = known, series
        self._matches: dict[tuple[int, str], Match] = {}
        self._watch = Watch()
        self._steady = Steady(self._watch)
        self._seen: dict[bytes, _Seen] = {}
        self._exceptions: list[Exceptional] = []
        self._releases: dict[str, str] = {}
        self._cards: dict[str, None] = {}
        self._commands: list[tuple[int, str]] = []
        self._last = Block(1, b"")  # the one that reaches furthest
        self._quiet = _QUIET_WITHIN

    def block(self, block: Block) -> None:
        data = block.data
        if block.first >= self._last.first:
            self._last = block
        letters = self._steady.take(data) if self._series is None else None
        if letters is None:
            letters = self._rows(block)
        if not letters:
            return
        marks = within(letters, TROUBLE)
        if self._quiet > 0:
            self._quiet -= len(data)
            marks += within(letters, QUIET)
        trouble, stated = (_at(data, some, block.first) for some in (marks, within(letters, observed.MARKS)))
        for number, start in stated.items():
            self._stated(number, _line(data, start))
        if trouble:
            self._trouble(block, trouble)

    def closely(self, blocks: list[Block]) -> None:
        """Every line of a text in which nothing was found, as where somebody pastes a message without the exception's name before it."""
        if not (self._matches or self._exceptions or self._watch.found(ended=True)):
            for block in blocks:
                self._trouble(block, dict.fromkeys(range(block.first, block.first + block.data.count(b"\n") + 1), 0))

    def _rows(self, block: Block) -> bytes:
        """Of a block that holds more than steady rows, part by part; the letters of what is left of it without these."""
        left: list[bytes] = []
        number, at, most = block.first, 0, _LEAST
        while at < len(block.data):
            part = _part(block.data, at, most)
            rest = self._steady.take(part) if self._series is None else None
            # A part around rows that must be read by themselves is a short one: all others of it are, too.
            most = _LEAST if rest is None else min(2 * most, _PART)
            if rest is None:
                rest = letters_of(part)
                self._row_by_row(number, part, rest)
            left.append(rest)
            number += part.count(b"\n")
            at += len(part)
        return b"".join(left)

    def _row_by_row(self, first: int, data: bytes, letters: bytes) -> None:
        for number, start in sorted(_at(data, within(letters, metrics.MARKS), first).items()):
            line = _bytes(data, start)
            if _SCALER in line:
                text = plain(decoded(line)).text
                self._watch.scale(number, text)
                value = scale_of(text) if self._series is not None else None
                if self._series is not None and value is not None:
                    self._series.scale(number, value)
            found = self._steady.row(number, line) if self._series is None else None
            if found is None:
                found = metrics.row(number, plain(decoded(line)).text)
                if found is not None and self._series is None:
                    self._steady.learn(line, found)
            if found is not None:
                self._watch.row(found)
                if self._series is not None:
                    self._series.row(found)

    def _trouble(self, block: Block, trouble: dict[int, int]) -> None:
        """Lines that have stood there before, but for their figures, are counted; the others are looked at with what stands around them."""
        lines = block.data.split(b"\n")
        fresh: dict[int, _Seen] = {}
        known: dict[int, _Seen] = {}
        counted: set[int] = set()
        for number in sorted(trouble):
            at = number - block.first
            key = b"\n".join(lines[at : at + _ALIKE])[:LONGEST].translate(None, b"0123456789")
            seen = self._seen.get(key)
            if seen is None:
                seen = _Seen()
                if len(self._seen) < 10 * _MOST:
                    self._seen[key] = seen
            if seen.times < _LOOKED:
                seen.times += 1
                fresh[number] = seen
            else:
                known[number] = seen
        for first, last in _regions(list(fresh), block.first, block.first + len(lines) - 1):
            self._region(
                first, [plain(decoded(lines[number - block.first])) for number in range(first, last + 1)], fresh
            )
            counted.update(range(first, last + 1))
        for number, seen in known.items():
            for match in seen.matches if number not in counted else ():
                self._again(match, plain(decoded(lines[number - block.first][:LONGEST])).rank)

    def _again(self, key: tuple[int, str], rank: str) -> None:
        before = self._matches[key]
        ranks = frozenset({int(rank)} if rank else ())
        self._matches[key] = before._replace(times=before.times + 1, ranks=before.ranks | ranks)

    def _stated(self, number: int, text: str) -> None:
        for library, release in observed.releases(text).items():
            self._releases.setdefault(library, release)
        card = observed.card(text)
        if card is not None:
            self._cards[card] = None
        command = observed.command(plain(text).text)
        if command is not None and len(self._commands) < 8:
            self._commands.append((number, command))

    def _region(self, first: int, lines: list[Plain], trouble: dict[int, _Seen]) -> None:
        whole = "\n".join(line.text for line in lines)
        raised = False
        for number, line in enumerate(lines, first):
            found = _EXCEPTION.search(line.text)
            raised = raised or found is not None
            bare = _BARE.fullmatch(line.text) if found is None else None
            if found is not None and len(self._exceptions) < _MOST:
                self._exceptions.append(Exceptional(number, found["name"].rpartition(".")[2], found["said"].strip()))
            elif bare is not None and len(self._exceptions) < _MOST:
                self._exceptions.append(Exceptional(number, bare["name"], ""))
        taken: list[tuple[int, str]] = []
        spaced = [" ".join(line.text.split()) for line in lines]
        possible = self._known.possible(whole)
        for template in [*possible, *self._broken(whole, possible)]:
            for number, text, gaps in _found(template, first, lines, spaced, raised):
                if any(
                    number == line and template.symptom == "" and joined([template.runs[0]]) in said
                    for line, said in taken
                ):
                    continue
                if template.beside and not any(
                    word in one.text for one in lines[: number - first + 1] for word in template.beside
                ):
                    continue
                said = max(template.runs, key=len)
                taken.append((number, said))
                key = (template.number, repr(sorted(gaps.items())) if template.decides else "")
                rank = lines[number - first].rank
                if key in self._matches:
                    self._again(key, rank)
                elif len(self._matches) < _MOST:
                    ranks = frozenset({int(rank)} if rank else ())
                    framed = bool(template.folder) and f"/{template.folder}/" in whole
                    self._matches[key] = Match(template, number, text, gaps, 1, ranks, framed)
                near = min(trouble, key=lambda line: abs(line - number))
                if key in self._matches and abs(near - number) < _ALIKE:
                    trouble[near].matches.add(key)

    def _broken(self, whole: str, possible: list[Template]) -> Iterator[Template]:
        """Templates whose word a terminal may have broken: only where a frame or a narrow column is."""
        if "│" not in whole and "╭" not in whole:
            return
        text = closed(whole)
        seen = {template.number for template in possible}
        for word, numbers in self._known.words.items():
            if word in text:
                yield from (self._known.templates[number] for number in numbers if number not in seen)

    def result(self, *, ended: bool = False) -> Reading:
        """`ended`: nothing will come any more."""
        ordered = sorted(self._matches.values(), key=lambda match: match.line)
        sick = tuple(self._watch.found(ended=ended))
        shown = {one.symptom for one in sick} | {match.template.symptom for match in ordered}
        fatal = {one.line for one in self._exceptions if not one.name.endswith("Warning")}
        harmless = tuple(
            match
            for match in ordered
            if match.template.number in self._known.harmless
            and match.template.unless not in shown - {""}
            and match.line not in fatal  # a warning of which an error was made
        )
        first = next((one for one in self._exceptions if one.name not in _ECHOES), None)
        stated = observed.Stated(self._releases, tuple(self._cards), tuple(self._commands))
        matches = tuple(match for match in ordered if match.template.number not in self._known.harmless)
        lines = (
            self._last.first + self._last.data.count(b"\n") - (not self._last.data or self._last.data.endswith(b"\n"))
        )
        return Reading(lines, matches, harmless, sick, first, stated)


def read(blocks: Iterable[Block], known: Known, series: Series | None = None) -> Reading:
    """`series` takes the numbers, where somebody wants a picture of them."""
    reader = Reader(known, series)
    kept: list[Block] = []
    left = _SHORT
    for block in blocks:
        reader.block(block)
        left -= len(block.data)
        kept = [*kept, block] if left >= 0 else []
    if left >= 0:
        reader.closely(kept)
    return reader.result(ended=True)


def _part(data: bytes, at: int, most: int) -> bytes:
    """Whole lines of a block, from there on."""
    end = data.rfind(b"\n", at, at + most) + 1 or data.find(b"\n", at) + 1
    return data[at : end or len(data)]


def _at(data: bytes, marks: list[bytes], first: int) -> dict[int, int]:
    """The lines that hold one of the marks: number → offset."""
    starts: set[int] = set()
    for mark in marks:
        at = data.find(mark)
        while at >= 0:
            starts.add(data.rfind(b"\n", 0, at) + 1)
            end = data.find(b"\n", at)
            if end < 0:
                break
            at = data.find(mark, end)
    found: dict[int, int] = {}
    number, before = first, 0
    for start in sorted(starts):
        number += data.count(b"\n", before, start)
        before = start
        found[number] = start
    return found


def _line(data: bytes, start: int) -> str:
    return decoded(_bytes(data, start))


def _bytes(data: bytes, start: int) -> bytes:
    end = data.find(b"\n", start, start + LONGEST)
    return data[start : end if end >= 0 else start + LONGEST]


def _regions(numbers: list[int], lowest: int, highest: int) -> Iterator[tuple[int, int]]:
    """The lines around those of trouble, joined where they meet; not longer than a traceback may be."""
    first = last = 0
    for number in numbers:
        if first and number - _BEFORE <= last and last - first < 20 * _ABOVE:
            last = min(highest, number + _AFTER)
            continue
        if first:
            yield first, last
        first, last = (
            max(lowest, last + 1, number - _ABOVE if not first else number - _BEFORE),
            min(highest, number + _AFTER),
        )
    if first:
        yield first, last


def _found(
    template: Template, first: int, lines: list[Plain], spaced: list[str], raised: bool
) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Where the message stands: in one line, over several, or over several that a terminal broke inside words. `spaced` are the lines' texts with
    their blanks collapsed; `raised`: an exception stands among them."""
    wide = bool(template.decides) and template.about != ""
    hits: list[tuple[int, str, dict[str, str]]] = []
    for index, line in enumerate(lines) if not wide else ():
        found = template.find(spaced[index])
        if found is not None:
            hits.append((first + index, line.text, found.gaps))
    # A traceback shows the statement as well, with its names instead of their values, and others around it. Without the exception it is all there is.
    said = [hit for hit in hits if not _SHOWN.match(hit[1])]
    if hits and not said and not raised:
        said = hits
    if said:
        yield from said
        return
    word = max(template.runs, key=len).split()
    if not word:
        return
    ranks = len({line.rank for line in lines})
    told: set[str] = set()
    for index, line in enumerate(lines):
        if line.rank in told or (word[0] not in line.text and word[0][:4] not in line.text and not line.boxed):
            continue
        if raised and _SHOWN.match(line.text):
            continue
        near = lines[index : index + ranks * _TOGETHER]
        part = [one.text for one in near if one.rank in (line.rank, "")][
            :_TOGETHER
        ]  # lines of other ranks stand between
        text = joined(part)
        found = template.find(text)
        if found is None and (line.boxed or "Error: " in part[0]):  # consoles break inside words as well
            found = template.find_closed(closed(text))
        if found is not None and found.start <= len(part[0]):
            told.add(line.rank)
            yield first + index, part[0], found.gaps
            if len(told) == ranks:
                return
