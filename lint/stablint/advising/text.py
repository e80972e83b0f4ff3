"""`stablint advise` for people: what, the lines that change, what it brings, how it is known, and when not to."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from stablint.advising.model import Proposal
from stablint.base.language import gettext
from stablint.fix.patch import changes
from stablint.hazard.wording import value_text
from stablint.report.model import FileEdits
from stablint.report.plain import Style, named, plain
from stablint.report.words import columns, screen, wrapped
from stablint.run.fact import ABSENT
from stablint.syntax.edit import apply

_WIDTH = 112
NOTHING = "nothing to improve that we can prove"
_SAID = ("effect", "why", "not when", "evidence")
_GAINS = ("stability", "memory", "speed")
_FOOTING = ("computed", "counted")


def render(files: Sequence[str], target: str, proposals: Sequence[Proposal], *, color: bool) -> str:
    style = Style(color)
    card = f" {gettext('on {card}').format(card=plain(target))}" if target else ""
    head = f"{named(', '.join(plain(file) for file in files))}{card}"
    if not proposals:
        return f"{style.paint('bold', head)}: {gettext(NOTHING)}\n"
    lines = [style.paint("bold", head)]
    for number, one in enumerate(proposals, 1):
        lines += _one(number, one, style)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _one(number: int, one: Proposal, style: Style) -> Iterator[str]:
    yield f"{number:>3} {style.paint('info', f'{gettext(one.gain):<9}')} {style.paint('bold', plain(one.title))}"
    for file in one.files:
        yield from _lines(file, style)
    if not one.files:
        changes = ", ".join(
            f"{name} {gettext('left out') if value is ABSENT else value_text(value)}"
            for name, value in one.facts.items()
        )
        yield f"       {gettext('by hand')}: {plain(changes)} ({plain(one.by_hand)})"
    for word, text in (("effect", one.effect), ("why", one.why), ("not when", one.not_when)):
        if text:
            yield from _said(word, text)
    yield from _said("evidence", ", ".join((gettext(one.grade), *one.sources)))


def _said(word: str, text: str) -> list[str]:
    word = gettext(word)
    if not text.isascii():
        head = " " * (14 - columns(word)) + word + ":"
        return [
            f"{' ' * 15 if number else head} {line}"
            for number, line in enumerate(wrapped(plain(text), screen(_WIDTH) - 16))
        ]
    return textwrap.wrap(
        plain(text), screen(_WIDTH), initial_indent=f"{word + ':':>15} ", subsequent_indent=" " * 16, break_long_words=False, break_on_hyphens=False
    )  # fmt: skip


def _lines(file: FileEdits, style: Style) -> Iterator[str]:
    """The lines that change, with their numbers: of the old text those taken out, of the new one those written."""
    old, new = file.text.text.splitlines(), apply(file.text.text, file.edits).splitlines()
    for i1, i2, j1, j2 in changes(old, new):
        yield from (
            f"       {plain(file.text.name)}:{i1 + n + 1} {style.paint('removed', f'- {plain(old[i1 + n])}')}"
            for n in range(i2 - i1)
        )
        yield from (
            f"       {plain(file.text.name)}:{j1 + n + 1} {style.paint('added', f'+ {plain(new[j1 + n])}')}"
            for n in range(j2 - j1)
        )
