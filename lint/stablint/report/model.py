"""What a report is made of: the JSON contract of DESIGN §7 as plain tuples. One diagnostic is one (code, place, decisive values)."""

from __future__ import annotations

from stablint.base.light import Any, NamedTuple
from stablint.syntax.tree import Edit, Seen, Text

SEVERITIES = ("info", "warning", "error")


class Location(NamedTuple):
    """1-based; columns count code points."""

    line: int
    column: int


class FileEdits(NamedTuple):
    text: Text
    edits: tuple[Edit, ...]  # sorted, disjoint


class Fix(NamedTuple):
    applicability: str  # safe | unsafe | manual
    title: str
    files: tuple[FileEdits, ...]  # empty for a manual fix
    because: str = ""  # why it is not safe
    by_name: bool = False  # written only where the rule is selected by its code or id
    # Texts and calls (by where they begin; -1 for all of the text) that are repaired whole or not at all.
    together: frozenset[tuple[str, int]] = frozenset()


class ReportedFact(NamedTuple):
    name: str
    value: Any
    origin: dict[str, Any]
    """Its `kind` says which other keys there are: explicit (file, line, setting; in a notebook also the cell, with the line
    in it), default (library, releases, field),
    derived (facts), supplied (option), unknown (reason)."""
    written: Any = (
        None  # what stands in the text, where that is another word than the value: `4` behind `quantization_bit`
    )
    bare: bool = False  # said by a word that stands alone: the class of a call, a command


class Related(NamedTuple):
    file: str
    location: Location | None
    setting: str
    seen: Seen | None = None  # in a notebook


class Diagnostic(NamedTuple):
    code: str
    rule: str  # the hazard's id
    severity: str
    message: str
    bites_at: str
    text: Text | None  # None for live objects
    start: int  # offsets into text.text
    end: int
    setting: str
    fact: str
    absent: bool
    facts: tuple[ReportedFact, ...]
    runs: tuple[str, ...]
    targets: tuple[str, ...]
    releases: dict[str, str]
    related: tuple[Related, ...]
    fix: Fix | None
    evidence: dict[str, Any]  # {"grade", "sources"}
    fingerprint: str
    notes: tuple[str, ...] = ()  # what else the reader must know: "unless set elsewhere", the releases concerned
    suppressed: dict[str, str] | None = None  # {"reason"}
    seen: Seen | None = None  # in a notebook: the place in its cell
    suppressed_by: str = ""  # comment | settings | baseline
    once: bool | str = False  # one cause in several places, or in several files (`everywhere`): report/once.py
    url: str = ""  # of the rule's page, where the settings say how it is made


class Undetermined(NamedTuple):
    rule: str
    file: str
    needs: tuple[str, ...]


class FileStatus(NamedTuple):
    file: str
    dialect: str | None
    status: str  # checked | skipped | unreadable
    reason: str | None


class RunSummary(NamedTuple):
    id: str
    files: tuple[str, ...]
    entry_file: str
    entry_line: int
    dialects: tuple[str, ...]
    cell: int | None = None  # of a notebook: `entry_line` is then the line in it


class Report(NamedTuple):
    files: tuple[FileStatus, ...]
    runs: tuple[RunSummary, ...]
    diagnostics: tuple[Diagnostic, ...]  # sorted: severity, bites_at, file, place
    undetermined: tuple[Undetermined, ...]
    internal_errors: tuple[str, ...] = ()  # hazards that raised
    not_found: tuple[str, ...] = ()  # configurations that a run names and that are not there: `ds.json` (train.yaml:6)
    notes: tuple[str, ...] = ()  # what else was not checked, and why
    unopened: tuple[str, ...] = ()  # files and folders that are there and that the system keeps back
    broken: tuple[str, ...] = ()  # files of the house that are no rules, a line each
    fixed: tuple[tuple[str, str, str], ...] = ()  # what was repaired before: code, file, the words of the repair

    @property
    def incomplete(self) -> bool:
        """Whether something that was asked for was not checked: the exit code is then 2, whatever was found."""
        return bool(self.internal_errors or self.unopened or self.broken)
