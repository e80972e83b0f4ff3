"""What `diagnose` answers: causes, each with the line of the log that shows it and the setting that brings it about."""

from __future__ import annotations

from typing import NamedTuple

from stablint.base.language import gettext
from stablint.report.model import Fix

CERTAIN, LIKELY, POSSIBLE = "certain", "likely", "possible"
IN_WORDS = {CERTAIN: "certain", LIKELY: "likely", POSSIBLE: "possible"}  # what a reader is shown, in his language
ORDER = {CERTAIN: 0, LIKELY: 1, POSSIBLE: 2}


class Cause(NamedTuple):
    rule: str  # a hazard's id, or symptom:NAME where the log shows a sickness and not its cause
    code: str  # of the hazard, empty for a symptom
    confidence: str
    log: str
    at: int  # line of the log, from 1
    text: str  # of that line, without colours, prefixes and frames
    message: str
    setting: str | None = None  # as it is spelled where it stands, else by its usual name
    file: str | None = None
    line: int | None = None
    fix: Fix | None = None
    sources: tuple[str, ...] = ()
    times: int = 1
    because: str = ""  # why it is thought so
    numbers: bool = False  # whether the line is the first of sick numbers
    ranks: tuple[int, ...] = ()  # that print it, where prefixes tell them apart

    @property
    def sureness(self) -> str:
        return gettext(IN_WORDS[self.confidence])
