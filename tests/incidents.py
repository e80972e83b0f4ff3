"""Real incidents in our own words (tests/cases/incidents/): what each must draw, and how a report is judged by it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stablint.engine.examples import example_options, look, write
from stablint.report.model import Diagnostic

CASES = Path(__file__).parent / "cases" / "incidents"
_LOUD = ("warning", "error")


class Incident(NamedTuple):
    """`expect`: settings of which one must be found at fault; `quiet`: settings that an innocent file must not be blamed for.

    `needs`: what must be known besides the files (gpu, model, versions). `repaired`: whether the repairs must clear it.
    `hint`: an info is all that the evidence allows. The kind `unseen` is told for completeness: what was at fault is in no file.
    """

    id: str
    kind: str
    family: str
    thread: str
    told: str
    needs: tuple[str, ...]
    options: dict[str, Any]
    files: dict[str, str]
    expect: tuple[str, ...]
    quiet: tuple[str, ...]
    repaired: bool
    hint: bool


class Verdict(NamedTuple):
    found: bool  # of an innocent: disturbed
    repaired: bool
    loud: tuple[str, ...]  # rules of at least a warning


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # five times as fast, on each collection


def incidents() -> Iterator[Incident]:
    for path in sorted(CASES.glob("*.yaml")):
        for row in yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER):
            yield Incident(
                row["id"], row.get("kind", "fault"), row.get("class", path.stem), row["thread"], row["told"], tuple(row.get("needs", ("files",))),
                row.get("options", {}), row["files"], tuple(row.get("expect", ())), tuple(row.get("quiet", ())), row.get("repaired", False),
                row.get("hint", False),
            )  # fmt: skip


def last_word(setting: str | None) -> str:
    words = [word for word in re.split(r"[.\[\]/:=]+", (setting or "").lstrip("-")) if word and not word.isdigit()]
    return words[-1].replace("-", "_") if words else ""


def blamed(diagnostic: Diagnostic) -> set[str]:
    """The settings that a finding is about: where it stands, and those that it rests on."""
    said = {last_word(diagnostic.setting), last_word(diagnostic.fact)}
    for fact in diagnostic.facts:
        said |= {last_word(fact.name), last_word(str((fact.origin or {}).get("setting") or ""))}
    return said - {""}


def judge(incident: Incident, folder: Path) -> Verdict:
    told_of = look(incident.files, str(folder / "as-reported"), incident.options)
    found = [d for d in told_of if d.severity in _LOUD]
    rules = tuple(d.rule for d in found)
    if incident.kind == "innocent":
        errors = any(d.severity == "error" for d in found)
        return Verdict(errors or any(last_word(d.setting) in incident.quiet for d in found), False, rules)
    hits = [d for d in (told_of if incident.hint else found) if blamed(d) & set(incident.expect)]
    return Verdict(bool(hits), bool(hits) and _clears(incident, {d.rule for d in hits}, folder / "repaired"), rules)


def _clears(incident: Incident, rules: set[str], folder: Path) -> bool:
    """Whether the repairs leave none of these findings, and no error that was not there before."""
    from stablint.engine.repair import repair

    write(incident.files, str(folder))
    done = repair([str(folder)], example_options(incident.options), unsafe=True, base=str(folder), named=rules)
    left = {d.rule for d in done.inspection.report.diagnostics if d.severity in _LOUD}
    return bool(done.texts) and not left & rules
