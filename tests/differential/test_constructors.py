"""stablint and the libraries' own constructors on the same argument sets, a few of every class. The long run is benchmarks/differential.py.

It needs an interpreter with torch, transformers, trl and peft: this one, or STABLINT_ORACLE. Elsewhere it is skipped and says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential.arguments import SUBJECTS, Subject
from tests.differential.judge import Judge, NoOracle, as_files, says_more
from tests.differential.tally import Tally, count

EXAMPLES = 60
total = Tally()


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    try:
        found = Judge()
    except NoOracle as error:
        pytest.skip(f"no constructors to ask: {error}")
    yield found
    found.close()


OFTEN = {kind: subject for kind, subject in SUBJECTS.items() if not subject.seldom}


@pytest.mark.parametrize("subject", OFTEN.values(), ids=OFTEN)
def test_what_the_constructor_takes_is_left_in_peace(judge: Judge, subject: Subject) -> None:
    if "deepspeed" in subject.kind and "deepspeed" not in judge.versions:
        pytest.skip("DeepSpeed is not installed")
    tally = count(judge, subject, EXAMPLES)
    total.add(tally)
    assert len(tally.accused) <= 1, tally.accused
    assert tally.refused + tally.accepted > 10


def test_what_the_constructors_refuse_is_said(judge: Judge) -> None:
    """Of all classes together: a class alone has too few argument sets for a share."""
    if not total.refused:
        pytest.skip("the classes were not asked")
    assert total.recall >= 0.95, total.missed
    assert total.silence >= 0.995, total.accused


def test_an_argument_set_becomes_the_call_that_a_user_would_write() -> None:
    assert as_files("peft.LoraConfig", {"r": 8}) == {
        "train.py": "from peft import LoraConfig\n\nmade = LoraConfig(\n    r=8,\n)\n"
    }
    assert set(as_files("trainer+deepspeed", {"deepspeed": {}, "bf16": True})) == {"train.py", "ds.json"}


def test_a_hazard_that_bites_later_goes_beyond_the_constructors() -> None:
    assert says_more("modules-to-save-text")  # PEFT takes it, and trains the whole model
    assert not says_more("fp16-and-bf16")
