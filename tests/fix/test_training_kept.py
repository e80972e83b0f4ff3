"""A repair in bulk leaves the training what it is: method, objective, formats and batch change only where a finding is about them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stablint.base import knowledge
from stablint.engine.examples import example_options, legal, write
from stablint.engine.inspect import Inspection, inspect
from stablint.engine.repair import repair
from stablint.hazard.checked import Checked
from stablint.run.derived.registry import RULES
from stablint.run.fact import ABSENT, Derived, is_unknown
from stablint.run.world import World
from tests.incidents import incidents
from tests.sampling import is_sampled, sampled

TRAINING = (
    "derived.method",
    "derived.objective",
    "derived.compute_dtype",
    "derived.weights_dtype",
    "derived.effective_batch",
)
WIDER = {("float16", "bfloat16"), ("float16", "float32"), ("bfloat16", "float32")}
EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLE = int(os.environ.get("STABLINT_KEPT_EVERY", "20"))  # of the hazards' look-alikes one in so many; 1 for all


class Case(NamedTuple):
    id: str
    files: dict[str, str]
    options: dict[str, Any] | None


def cases() -> Iterator[Case]:
    for one in incidents():
        yield Case(one.id, one.files, one.options)
    for name, examples in sorted(knowledge.load("examples").items()):
        if not is_sampled(name, SAMPLE):
            continue
        for place, (files, given) in enumerate(text for example in examples for text in legal(example)):
            yield Case(f"{name}-{place}", files, given)
    for folder in sorted(path for path in EXAMPLES.iterdir() if path.is_dir()):
        texts = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        yield Case(folder.name, {name: path.read_text(encoding="utf-8") for name, path in texts.items()}, None)


def worlds(found: Inspection) -> dict[tuple[str, int], World]:
    """The newest world of each run, by its first file and its number in it."""
    known: dict[tuple[str, int], World] = {}
    for run in found.runs:
        name = run.anchor.document.text.name
        known[name, sum(file == name for file, _ in known)] = Checked(run).newest
    return known


def about(found: Inspection) -> set[str]:
    """The facts that errors and warnings with a repair for everybody are about, and those that they were worked out from."""
    facts: set[str] = set()
    for finding in found.findings:
        if finding.severity == "error":
            names = [finding.fact, *(fact.name for fact in finding.facts)]
            facts |= {fact for fact in TRAINING if _sources(finding.world, fact) & set(names)}
        elif finding.severity == "warning":
            said = {name for remedy in finding.remedies for name in remedy.set}
            facts |= {"derived.effective_batch"} if any("batch" in name for name in said) else set()
    return facts


def _sources(world: World, fact: str) -> set[str]:
    """What a fact was worked out from, in this world or in the newest one, from which it may have been taken."""
    origin = world.fact(fact).origin
    return {*world.rests_on([fact]), *(origin.facts if isinstance(origin, Derived) else ())}


@pytest.mark.parametrize("case", sampled(((case,) for case in cases()), 3, lambda case: case[0].id))
def test_bulk_repair_leaves_the_training_as_it_was(case: Case, tmp_path: Path) -> None:
    base, given = str(tmp_path), example_options(case.options)
    write(case.files, base)
    before = inspect([base], given, base=base)
    done = repair([base], given, unsafe=True, base=base)
    assert not done.refused
    was, now, own = worlds(before), worlds(done.inspection), about(before)
    for run in was.keys() & now.keys() if len(was) == len(now) else ():
        # What is installed stays what it is: a name that dated the run may be gone.
        after = World(now[run].run, RULES, was[run].choice)
        for fact in TRAINING:
            old, new = was[run].value(fact), after.value(fact)
            known = not any(is_unknown(value) or value is ABSENT for value in (old, new))
            assert not known or old == new or (old, new) in WIDER or fact in own, fact
    for text in done.texts.values():
        assert "Unknown(" not in text.text and "the result of `" not in text.text
