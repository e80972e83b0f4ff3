"""The JSON report of `--output-format json` (DESIGN §7). Stable: keys may be added within a schema version, never changed."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

from pydantic import Field

from stablint.schema.base import Applicability, Code, Grade, RuleId, Severity, Strict


class Point(Strict):
    """Counted from one; columns in code points."""

    line: int = Field(ge=1)
    column: int = Field(ge=1)


class Tool(Strict):
    name: Literal["stablint"]
    version: str


class Summary(Strict):
    """`files` counts those that were checked, `fixable` the findings that `--fix` or `--unsafe-fixes` repairs."""

    files: int
    runs: int
    errors: int
    warnings: int
    infos: int
    fixable: int


_CELL = "in a notebook: which cell, all cells counted from one; lines and columns are then those in the cell's text"


class Entry(Strict):
    file: str
    line: int
    cell: int | None = Field(None, description=_CELL)


class Run(Strict):
    id: str
    files: tuple[str, ...]
    entry: Entry
    dialects: tuple[str, ...]


class Explicit(Strict):
    """Stated in a file; `setting` as it is spelled there."""

    kind: Literal["explicit"]
    file: str
    line: int | None
    setting: str
    cell: int | None = Field(None, description=_CELL)


class Default(Strict):
    """A library's default in the releases of the specifier."""

    kind: Literal["default"]
    library: str
    releases: str
    field: str | None = None
    presumed: bool = Field(False, description="unless code that was not read sets it")


class Derived(Strict):
    """Worked out from other facts, the deciding one first."""

    kind: Literal["derived"]
    facts: tuple[str, ...]


class Supplied(Strict):
    """Given by an option or by the settings. `is_range`: it allows other releases of the library as well."""

    kind: Literal["supplied"]
    option: str
    is_range: bool = False


class Unstated(Strict):
    """Not known from the files."""

    kind: Literal["unknown"]
    reason: str | None = None


Origin = Annotated[Union[Explicit, Default, Derived, Supplied, Unstated], Field(discriminator="kind")]


class Fact(Strict):
    """`value` is null where it is unknown or absent."""

    name: str
    value: Any
    origin: Origin


class Related(Strict):
    file: str
    location: Point | None
    setting: str
    cell: int | None = Field(None, description=_CELL)


class Edit(Strict):
    """Places in the file as it is on disk, also in a notebook, whose new text is JSON."""

    file: str
    start: Point
    end: Point
    new_text: str


class Fix(Strict):
    applicability: Applicability
    by_name: bool = Field(False, description="written only where the rule is selected by its code or id")
    title: str
    edits: tuple[Edit, ...]


class EvidenceSummary(Strict):
    grade: Grade
    sources: tuple[str, ...]


class Suppression(Strict):
    reason: str | None


class DiagnosticObject(Strict):
    """One (code, place, decisive values). File and places are null for live objects."""

    code: Code
    rule: RuleId
    severity: Severity
    message: str
    file: str | None
    location: Point | None
    end_location: Point | None
    cell: int | None = Field(description=_CELL)
    setting: str
    fact: str
    absent: bool = Field(description="the setting is missing; the place is the run's anchor")
    facts: tuple[Fact, ...]
    runs: tuple[str, ...]
    targets: tuple[str, ...]
    releases: dict[str, str] = Field(description="library → the releases that the finding holds for")
    related: tuple[Related, ...]
    fix: Fix | None
    evidence: EvidenceSummary
    url: str | None
    fingerprint: str
    suppressed: Suppression | None


class Undetermined(Strict):
    """A check that could be decided if `needs` were supplied (`--gpu`, `--model`, `--with`)."""

    rule: RuleId
    file: str
    needs: tuple[str, ...]


class File(Strict):
    file: str
    dialect: str | None
    status: Literal["checked", "skipped", "unreadable"]
    reason: str | None


class ReportDocument(Strict):
    """What `stablint check --output-format json` prints."""

    schema_version: Literal[1]
    tool: Tool
    summary: Summary
    runs: tuple[Run, ...]
    diagnostics: tuple[DiagnosticObject, ...]
    undetermined: tuple[Undetermined, ...]
    files: tuple[File, ...]
    notes: tuple[str, ...] = Field(
        (), description="what else was not checked, and why: files that are not there, a model that is not known"
    )
