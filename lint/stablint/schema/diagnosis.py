"""The JSON of `stablint diagnose --output-format json`, and of `watch`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from stablint.schema.base import Applicability, Code, Strict


class Matched(Strict):
    """The line of the log, without colours, prefixes and frames."""

    line: int = Field(ge=1)
    text: str


class Advice(Strict):
    title: str
    applicability: Applicability


class CauseRow(Strict):
    """`rule` is a rule's id, or `symptom:NAME` where the log shows a sickness and not its cause. `file` is null where no named file holds the setting."""

    rule: str = Field(pattern=r"^(symptom:)?[a-z0-9]+(-[a-z0-9]+)*$")
    code: Code | None
    confidence: Literal["certain", "likely", "possible"]
    setting: str | None
    file: str | None
    line: int | None
    log: str
    matched: Matched
    count: int = Field(ge=1)
    ranks: tuple[int, ...] = Field((), description="that print it, where prefixes tell them apart")
    message: str
    because: str
    fix: Advice | None
    evidence: tuple[str, ...]


class DiagnosisDocument(Strict):
    """Causes in the order in which they should be looked at."""

    schema_version: Literal[1]
    causes: tuple[CauseRow, ...]
