"""Causes as text, JSON and Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from stablint.base.language import gettext
from stablint.log.cause import Cause
from stablint.log.reading import Reading
from stablint.log.template import Template
from stablint.report.markdown import prose
from stablint.report.model import Fix
from stablint.report.plain import Style, clipped, named, plain
from stablint.report.said import clean
from stablint.report.words import screen, wrapped

_COLOUR = {"certain": "error", "likely": "warning", "possible": "info"}
_WIDE = 100
_LABELS = ("at:", "setting:", "because:", "fix:", "evidence:")
_SHOWN = 160  # characters of a line of the log
# A bar that was drawn before what is told, in the same line.
_BAR = re.compile(r"\s{0,9}\d{1,3}%\|[^|]{0,400}\|[^\[]{0,40}\[[^\]]{0,80}(?:\]|it(?=[\[{]))\s{0,400}")


def data(causes: Sequence[Cause]) -> dict[str, Any]:
    """The contract of score and scripts: causes in the order in which they should be looked at."""
    return {"schema_version": 1, "causes": [_row(cause) for cause in causes]}


def _row(cause: Cause) -> dict[str, Any]:
    fix = cause.fix and {"title": cause.fix.title, "applicability": cause.fix.applicability}
    return {
        "rule": cause.rule, "code": cause.code or None, "setting": cause.setting, "file": cause.file, "line": cause.line,
        "confidence": cause.confidence, "log": cause.log, "matched": {"line": cause.at, "text": cause.text}, "count": cause.times, "ranks": list(cause.ranks),
        "message": cause.message, "because": cause.because, "fix": fix, "evidence": list(cause.sources),
    }  # fmt: skip


def render(log: str, reading: Reading, causes: Sequence[Cause], *, color: bool, verbose: bool) -> str:
    style = Style(color)
    lines: list[str] = []
    for cause in causes:
        lines += [*_block(cause, style), ""]
    if not causes:
        lines += list(_nothing(log, reading))
    if verbose or not causes:
        lines += [
            gettext("not the cause: {number} × {text} (line {line}: {why})").format(
                number=one.times, text=plain(clipped(_line(one.text), 100)), line=one.line, why=_why(one.template)
            )
            for one in reading.harmless
        ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _why(template: Template) -> str:
    why = gettext(template.why)
    return gettext("{why}; until {until}").format(why=why, until=gettext(template.until)) if template.until else why


def _block(cause: Cause, style: Style) -> Iterator[str]:
    times = f"     {gettext('{number} times').format(number=cause.times)}" if cause.times > 1 else ""
    times += f"     {_ranks(cause.ranks)}" if cause.ranks else ""
    yield f"{style.paint('bold', f'{named(plain(cause.log))}:{cause.at}')}  {plain(clipped(_line(cause.text), _SHOWN))}{times}"
    rule = f"{cause.code}  " if cause.code else ""
    at, setting, because, fix, evidence = map(gettext, _LABELS)
    head = f"  {style.paint(_COLOUR[cause.confidence], cause.sureness)}  {rule}{cause.rule}"
    yield head
    yield from _wrapped(cause.message, "    ")
    if cause.file is not None:
        yield f"    {at} {named(plain(cause.file))}:{cause.line}  `{plain(cause.setting or '')}`"
    elif cause.setting:
        yield f"    {setting} `{plain(cause.setting)}`"
    yield from _wrapped(f"{because} {cause.because}", "    ")
    if cause.fix is not None:
        yield from _wrapped(f"{fix} {cause.fix.title} ({_by(cause, cause.fix)})", "    ")
    if cause.sources:
        yield from _wrapped(f"{evidence} {', '.join(cause.sources[:2])}", "    ")


def _line(text: str) -> str:
    """What stands behind the bars of a line, where anything does."""
    rest, bar = text, _BAR.match(text)
    while bar is not None:
        rest = rest[bar.end() :]
        bar = _BAR.match(rest)
    return rest.strip() or text.strip()


def _ranks(ranks: Sequence[int]) -> str:
    """`rank 3`, `ranks 0-7`, `ranks 0-2, 5`."""
    spans: list[list[int]] = []
    for rank in ranks:
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    words = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
    return f"rank{'s' if len(ranks) > 1 else ''} {words}"


def _by(cause: Cause, fix: Fix) -> str:
    """The command that writes it: a rule that is off by default is named there too."""
    if fix.applicability == "manual" or cause.file is None:
        return gettext("by hand")
    unsafe = " --unsafe-fixes" if fix.applicability == "unsafe" else ""
    return f"stablint check {named(plain(cause.file))} --select {cause.code} --fix{unsafe}"


def _nothing(log: str, reading: Reading) -> Iterator[str]:
    """Said honestly: what was looked at, what failed, and what would narrow it."""
    yield gettext("{log}: nothing known matches in {number} lines").format(log=named(plain(log)), number=reading.lines)
    if reading.exception is not None:
        one = reading.exception
        yield "  " + gettext("the first exception: {text} (line {line})").format(
            text=plain(clipped(f"{one.name}: {one.said}" if one.said else one.name, _SHOWN)), line=one.line
        )
        yield "  " + gettext(
            "name the files of the run as well (`stablint diagnose LOG train.yaml ds.json --gpu NAME`): their settings may decide it"
        )
    else:
        yield "  " + gettext(
            "no exception, and no sick number in what was logged; a shorter `logging_steps` shows more"
        )


def markdown(log: str, reading: Reading, causes: Sequence[Cause]) -> str:
    """To paste into an issue."""
    lines = [f"### stablint diagnose: `{_code(log)}`", ""]
    for cause in causes:
        place = [f"{gettext('at:')} `{_code(cause.file)}:{cause.line}`"] if cause.file else []
        place += [f"{gettext('setting:')} `{_code(cause.setting)}`"] if cause.setting else []
        lines += [
            ", ".join([f"- **{cause.sureness}** `{cause.rule}`", *place]),
            "  - "
            + gettext("line {number}: {text}").format(
                number=cause.at, text=f"`{_code(clipped(_line(cause.text), _SHOWN))}`"
            ),
            f"  - {_prose(plain(cause.message))}",
        ]
        if cause.fix is not None:
            lines.append(f"  - {gettext('fix:')} {_prose(plain(cause.fix.title))}")
        lines += [f"  - {source}" for source in cause.sources[:2]]
    if not causes:
        lines += [f"- {_prose(line.strip())}" for line in _nothing(log, reading)]
    return "".join(f"{line}\n" for line in lines)


def _prose(text: str) -> str:
    """Secrets are looked for before a sign of theirs is written as an entity."""
    return prose(clean(text, frozenset()))


def _code(text: str) -> str:
    return plain(text).replace("`", "'")


def _wrapped(text: str, indent: str) -> list[str]:
    if text.isascii():
        return textwrap.wrap(
            plain(text),
            screen(_WIDE),
            initial_indent=indent,
            subsequent_indent=indent + "  ",
            break_long_words=False,
        )
    lines = wrapped(plain(text), screen(_WIDE) - len(indent) - 2)
    return [f"{indent}{'  ' if number else ''}{line}" for number, line in enumerate(lines)]
