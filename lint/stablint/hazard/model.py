"""Hazards as a check needs them, and what the checker finds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache

from stablint.base import knowledge, language
from stablint.base.light import Any, NamedTuple
from stablint.run.fact import Fact, Place
from stablint.run.world import Facts, Run


class Remedy(NamedTuple):
    title: str
    when: list[list[Any]]
    safety: str  # safe | unsafe | manual
    because: str
    set: dict[str, Any]
    unset: list[str]
    swap: list[list[str]]
    respell: list[str]
    move: list[str]
    mend: bool


class Case(NamedTuple):
    """One of several faults that a hazard tells of: what it says of it, and at which fact, where that is another."""

    when: list[list[Any]]
    message: str
    at: str | None = None


class Hazard(NamedTuple):
    """What every check evaluates. Conditions are compiled: [operator, fact, kind of operand, operand], or [group, [conditions]].

    What only a finding needs (message, remedies, evidence) is loaded with the first one.
    """

    id: str
    code: str
    severity: str
    bites_at: str
    grade: str
    when: list[list[Any]]
    at: str
    versions: dict[str, str]
    each: list[str]  # `training.fp16`, `training.*` (one segment), `deepspeed.**` (any depth), `*` (every fact)
    yields_to: list[str]
    reads: list[list[str]]  # [namespace, name] of facts that only files can state and that a finding needs
    quiet: bool = False  # off unless it is asked for by name
    once: bool | str = False  # told once a file; `everywhere`: the same words once
    keys: Sequence[str] = ()  # how a setting must be spelled that it is about; any way where there are none
    error_when: Sequence[list[Any]] = ()  # what an error asks for besides: a warning where it is not so
    guesses: bool = True  # told as well as an info that nobody would act on (hazard/finding.py, `_is_idle`)
    own: dict[str, Any] | None = None  # what a finding needs of a house hazard (TOLD)
    trust: str = ""  # what the settings say of its repairs: `promote` or `demote`

    def _told(self) -> dict[str, Any]:
        told: dict[str, Any] = self.own if self.own is not None else knowledge.rows("told")[self.id]
        return told

    @property
    def message(self) -> str:
        return language.of_hazard(self.id, str(self._told()["message"]))

    @property
    def cases(self) -> tuple[Case, ...]:
        cases = (Case(**case) for case in self._told()["cases"])
        return tuple(case._replace(message=language.of_hazard(self.id, case.message)) for case in cases)

    @property
    def evidence(self) -> dict[str, Any]:
        evidence: dict[str, Any] = self._told()["evidence"]
        return evidence

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        remedies = tuple(Remedy(**remedy) for remedy in self._told()["remedies"])
        return remedies if language.spoken() == language.ENGLISH else tuple(map(self._translated, remedies))

    def _translated(self, remedy: Remedy) -> Remedy:
        because = remedy.because and language.of_hazard(self.id, remedy.because)
        return remedy._replace(title=language.of_hazard(self.id, remedy.title), because=because)


class Finding(NamedTuple):
    """One hazard in one run. `world` is the newest one in which it holds."""

    hazard: Hazard
    run: Run
    world: Facts
    severity: str
    message: str
    place: Place
    fact: str  # the fact that the place states
    absent: bool
    facts: tuple[Fact, ...]  # what the verdict rests on, the deciding ones first
    remedies: tuple[Remedy, ...]
    releases: dict[str, str]
    notes: tuple[str, ...]
    item: str = ""  # the fact that `item` stands for
    divided: frozenset[str] = (
        frozenset()
    )  # libraries whose releases are presumed, or stated and some of them without the fault


class Undecided(NamedTuple):
    """A hazard that may hold: what is known of it is true, and the rest could be supplied."""

    hazard: Hazard
    run: Run
    needs: tuple[str, ...]


_loaded: list[tuple[Hazard, ...]] = []


def load() -> tuple[Hazard, ...]:
    """The hazards of the knowledge, read once a process."""
    if not _loaded:
        rows = json.loads(b"[" + knowledge.lines("core").rstrip(b"\n").replace(b"\n", b",") + b"]")
        _loaded.append(tuple([Hazard(*row) for row in rows]))
    return _loaded[0]


def load_some(numbers: Iterable[int], starts: list[int]) -> list[Hazard]:
    """Those hazards of the knowledge, of which `starts` says where each one's line begins."""
    if _loaded:
        return [_loaded[0][number] for number in numbers]
    text = knowledge.lines("core")
    return [
        Hazard(*row)
        for row in json.loads(b"[" + b",".join([text[starts[n] : starts[n + 1] - 1] for n in numbers]) + b"]")
    ]


TOLD = ("message", "cases", "remedies", "evidence")
"""What only a finding needs of a hazard."""


def from_row(row: dict[str, Any]) -> Hazard:
    """A compiled hazard of a house folder."""
    hot = {key: row[key] for key in Hazard._fields if key in row}
    return Hazard(**hot, own={key: row[key] for key in TOLD})


# Words about a setting that are empty for one that its class has, unchanged, in the chosen release.
_CHANGE_WORDS = frozenset({
    "item.removed_in", "item.renamed_to", "item.moved_to", "item.deprecated_in", "item.added_in", "item.suggestion",
})  # fmt: skip


def asks_about_change(hazard: Hazard) -> bool:
    """Whether it is about a name that is unknown, renamed or on its way out."""
    return any(c[0] == "unknown-key" or (c[0] == "is-set" and c[1] in _CHANGE_WORDS) for c in hazard.when)


_DEEPEST = 16  # segments before `**`: no rule has as many, and a name may have thousands


@cache
def patterns_of(name: str) -> frozenset[str]:
    """The patterns of the settings of which it is one: `training.fp16`, `training.*` (one segment), `deepspeed.**` (any depth), `*` (every
    one)."""
    found = {name, "*", name[: name.rfind(".") + 1] + "*"}
    dot = name.find(".") + 1
    for _ in range(_DEEPEST):
        if not dot:
            break
        found.add(name[:dot] + "**")
        dot = name.find(".", dot) + 1
    return frozenset(found)
