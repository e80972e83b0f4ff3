"""An error must be true of every run that looks like this: an example whose claim has lost its ground makes no error any more.

The changes are data (withdrawn.yaml): the object is made and not used, nothing comes there, the class is another one, somebody may have changed
the settings, the command does not train. What stays an error all the same is named there too, with the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from stablint.base import knowledge
from stablint.engine.examples import example_options, write
from stablint.engine.inspect import inspect
from stablint.hazard import model
from stablint.syntax.tree import Unknown
from tests.grouped import by, each
from tests.hazard.louder import with_louder
from tests.hazard.withdrawn import CHANGES, TABLE, Change, stated

EXAMPLES: dict[str, list[dict[str, Any]]] = knowledge.load("examples")
SAMPLE = 29  # of so many examples one is tried by default; all of them under `-m slow`
STAYS: dict[str, dict[str, str]] = TABLE["stays"]


class Case(NamedTuple):
    hazard: model.Hazard
    number: int

    def __str__(self) -> str:
        return f"{self.hazard.id}-{self.number}"

    @property
    def example(self) -> dict[str, Any]:
        return EXAMPLES[self.hazard.id][self.number]


CASES = [
    Case(hazard, number)
    for hazard in model.load()
    if hazard.severity == "error"
    for number in range(len(EXAMPLES[hazard.id]))
]


def is_error(
    hazard: model.Hazard, files: dict[str, str], given: dict[str, Any] | None, folder: Path, holes: bool = False
) -> bool:
    """Whether the files draw it. `holes`: only where it rests on a value that nobody knows; what rests on others has kept its ground."""
    write({".git/HEAD": "", **files}, str(folder))
    found = inspect([str(folder)], example_options(given), base=str(folder), known=with_louder([hazard.code])).findings
    loud = [one for one in found if one.severity == "error" and one.hazard.code == hazard.code]
    return any(not holes or any(isinstance(fact.value, Unknown) for fact in one.facts) for one in loud)


def stays(hazard: model.Hazard, change: Change) -> bool:
    """Whether the claim does not rest on what this change takes away: it is of the text itself, or one that the table names."""
    asked = [change.of, str(change)]
    if not change.said.get("anew") and not change.said.keys().isdisjoint(("later", "given", "unused")):
        asked.append("construction")
    if not change.said.keys().isdisjoint(("rebind", "later", "given", "unused", "swap")):
        asked.append("objects")
    if "holes" in change.said:
        asked.append("holes")
    if "each" in change.said or "again" in change.said:
        asked.append("again")
    return hazard.at.startswith("file.") or any(hazard.code in STAYS.get(name, {}) for name in asked)


@each(by(lambda case: case.hazard.id, str, CASES), SAMPLE)
def test_a_claim_that_has_lost_its_ground_is_no_error(case: Case, tmp_path: Path) -> None:
    left = {
        str(change)
        for change in CHANGES
        if not stays(case.hazard, change)
        and (files := change.made(dict(case.example["files"]), case.example.get("dialect", ""))) is not None
        and is_error(
            case.hazard,
            files,
            stated(case.hazard, case.example),
            tmp_path / change.id / change.of,
            "holes" in change.said,
        )
    }
    assert left == set()


def test_every_exemption_is_of_an_error_and_says_why() -> None:
    known = (
        {str(change) for change in CHANGES}
        | {change.of for change in CHANGES}
        | {"construction", "objects", "holes", "again"}
    )
    codes = {hazard.code for hazard in model.load() if hazard.severity == "error"}
    assert set(STAYS) <= known
    for several in STAYS.values():
        assert set(several) <= codes
        assert all(len(reason.split()) > 3 for reason in several.values())


def test_every_change_can_be_made_of_some_example() -> None:
    files = [(dict(case.example["files"]), case.example.get("dialect", "")) for case in CASES]
    assert [str(change) for change in CHANGES if not any(change.made(*one) for one in files)] == []
