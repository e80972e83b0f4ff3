"""The value that a remedy writes: what stands in braces is a fact's, put into the form that is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from stablint.fix.editors import Impossible
from stablint.fix.values import resolved
from stablint.run.fact import ABSENT


class World:
    """Facts by name; what is not among them is nowhere stated."""

    def __init__(self, **facts: Any) -> None:
        self.facts = {name.replace("_", ".", 1): value for name, value in facts.items()}

    def value(self, name: str) -> Any:
        return self.facts.get(name, ABSENT)


FACTS = World(
    lora_targets=["q_proj"], lora_more=["v_proj", "q_proj"], lora_r=16.0, training_mode="FSDP", training_switch="True",
    training_kwargs="{'use_reentrant': False}", training_flow="{num_cycles: 1}", training_steps=95, training_few=3,
)  # fmt: skip

WRITTEN: list[tuple[Any, Any]] = [
    (8, 8),
    ("plain text", "plain text"),
    ("{lora.targets}", ["q_proj"]),
    (["{lora.targets}", "{lora.more}", "o_proj"], ["q_proj", "v_proj", "o_proj"]),
    (["{lora.more}", {"without": ["q_proj"]}], ["v_proj"]),
    ([["{lora.r:int}"]], [[16]]),
    ({"device": "{training.mode:lower}"}, {"device": "fsdp"}),
    (".*[.]{lora.targets}", ".*[.]q_proj"),
    ("{lora.r:int}", 16),
    ("{training.few:float}", 3.0),
    ("{training.mode:upper}", "FSDP"),
    ("{training.switch:bool}", True),
    ("{training.kwargs:json}", '{"use_reentrant": false}'),
    ("{training.flow:json}", '{"num_cycles": 1}'),
    ("{training.steps:tenth}", 9),
    ("{training.few:tenth}", 1),
]


@pytest.mark.parametrize(("wanted", "value"), WRITTEN, ids=str)
def test_braces_stand_for_facts(wanted: Any, value: Any) -> None:
    written = resolved(wanted, FACTS)
    assert written == value
    assert type(written) is type(value)


NOT_WRITTEN: list[Any] = [
    [["{lora.targets}", {"without": ["q_proj"]}]],
    "{lora.nowhere}", "{training.mode:int}", "{training.mode:bool}", "{training.steps:lower}", "{training.mode:json}", "a {lora.more}",
]  # fmt: skip


@pytest.mark.parametrize("wanted", NOT_WRITTEN, ids=str)
def test_what_cannot_be_written_is_not_guessed(wanted: Any) -> None:
    with pytest.raises(Impossible):
        resolved(wanted, FACTS)
