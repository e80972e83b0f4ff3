"""A refusal that a test asks for or that is passed over is no failure of the run: no hazard makes an error of such a call."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from stablint.base import knowledge
from stablint.engine import examples
from stablint.hazard import model
from tests.grouped import by, each

EXAMPLES: dict[str, list[dict[str, Any]]] = knowledge.load("examples")
CALLS = [
    (hazard, number)
    for hazard in model.load()
    if hazard.severity == "error"
    for number, example in enumerate(EXAMPLES[hazard.id])
    if list(example["files"]) == ["train.py"]
]
SAMPLE = 4  # of so many examples one is tried by default; all of them under `-m slow`
ASKS = {
    "pytest": "import pytest\n\nwith pytest.raises(ValueError):\n",
    "unittest": "with self.assertRaises((TypeError, ValueError)):\n",
    "passed over": "import contextlib\n\nwith contextlib.suppress(Exception):\n",
}


@pytest.mark.parametrize("asks", ASKS.values(), ids=list(ASKS))
@each(
    by(
        lambda hazard, number: knowledge.rows("texts")[hazard.id]["category"],
        lambda hazard, number: f"{hazard.id}-{number}",
        CALLS,
    ),
    SAMPLE,
)
def test_a_refusal_that_is_expected_is_no_error(hazard: model.Hazard, number: int, asks: str, tmp_path: Path) -> None:
    example = EXAMPLES[hazard.id][number]
    text = asks + textwrap.indent(example["files"]["train.py"], "    ")
    found = examples.look({"train.py": text}, str(tmp_path), example.get("options"), (hazard,))
    assert [one.message for one in found if one.code == hazard.code and one.severity == "error"] == []
