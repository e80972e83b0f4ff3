"""What a constructor took before a repair in bulk it takes after it. The long run is benchmarks/repairs.py; what it recorded holds without the libraries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stablint.base import knowledge
from stablint.engine.examples import write
from tests.differential.judge import Judge, NoOracle, as_files
from tests.differential.repaired import HARMED, Made, judged, repaired
from tests.differential.tally import put_model
from tests.sampling import sampled

HEAD, *RECORDED = [
    json.loads(line) for line in Path(__file__).with_name("repaired.jsonl").read_text(encoding="utf-8").splitlines()
]
RELEASES = [f"{name}=={text.partition('+')[0]}" for name, text in HEAD["versions"].items()]
EVERY = 6  # of the hazards that the libraries are asked about here


@pytest.mark.parametrize(
    ("number", "one"), sampled(enumerate(RECORDED), 3, lambda case: f"{case[0]}-{case[1]['kind']}")
)
def test_a_repair_is_one_that_the_constructor_was_asked_about(number: int, one: dict[str, Any], tmp_path: Path) -> None:
    """Another result than the recorded one is to be asked about: `benchmarks/repairs.py --record`."""
    put_model(str(tmp_path))
    write(as_files(one["kind"], one["before"]), str(tmp_path))
    made = list(repaired(str(tmp_path), {"with": RELEASES, "gpu": ["A100-80GB"]}))
    assert [each.after for each in made if each.kind == one["kind"]] in ([one["after"]], [])


def test_what_was_taken_is_taken_still() -> None:
    assert len(RECORDED) >= 100
    assert [one for one in RECORDED if one["errors"][0] is None and one["errors"][1] is not None] == []
    assert sum(one["errors"][0] is not None and one["errors"][1] is None for one in RECORDED) >= 60


def _examples(folder: Path) -> Iterator[tuple[str, Made]]:
    for number, (name, examples) in enumerate(sorted(knowledge.load("examples").items())):
        for place, example in enumerate(examples if number % EVERY == 0 else ()):
            base = folder / f"{name}-{place}"
            base.mkdir()
            write(example["files"], str(base))
            for made in repaired(str(base), example.get("options")):
                yield name, made


@pytest.mark.slow
def test_no_repair_of_an_example_is_refused_by_what_took_the_example(tmp_path: Path) -> None:
    try:
        judge = Judge()
    except NoOracle as error:
        pytest.skip(f"no constructors to ask: {error}")
    seen = list(judged(judge, _examples(tmp_path)))
    judge.close()
    assert len(seen) >= 20
    assert [(name, one) for name, one in seen if one.what == HARMED] == []
