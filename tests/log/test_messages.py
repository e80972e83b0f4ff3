"""knowledge/messages: every row leads somewhere, every text is found where it is printed, and what is generated is read from source."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.hazard import model as hazards
from stablint.log.metrics import row
from stablint.log.reading import Reader, read
from stablint.log.source import Block
from stablint.log.template import Known, Template
from stablint.log.unwrap import plain
from tests.grouped import by, each

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from stablint.audit.statements import messages

KNOWN = Known()
RULES = {hazard.id for hazard in hazards.load()}


def test_every_row_names_rules_that_exist() -> None:
    named = {rule for template in KNOWN.templates for rule in template.hazards}
    named |= {
        rule for template in KNOWN.templates for rules in template.decides.get("values", {}).values() for rule in rules
    }
    named |= {rule for symptom in KNOWN.symptoms.values() for rule in symptom.hazards}
    assert named <= RULES, named - RULES
    assert {template.symptom for template in KNOWN.templates if template.symptom} <= KNOWN.symptoms.keys()
    assert {name for symptom in KNOWN.symptoms.values() for name in symptom.brings} <= KNOWN.symptoms.keys()


@each(by(lambda template: f"{template.number // 100} hundred", lambda template: str(template.number), KNOWN.templates))
def test_every_text_is_found_where_it_is_printed(template: Template) -> None:
    gaps = [f"{number}" if name in template.numbers else f"v{number}" for number, name in enumerate(template.names)]
    if template.called:  # a function and an argument that it takes in some releases
        gaps = ["prepare_model_for_kbit_training", "gradient_checkpointing_kwargs"]
    gaps = [str(template.at_most.get(name, gap)) for name, gap in zip(template.names, gaps, strict=True)]
    text = "".join(part for pair in zip(template.runs, [*gaps, ""], strict=True) for part in pair)
    printed = f"ValueError: {text}".strip()
    found = template.find(" ".join(printed.split()))
    assert found is not None
    assert template in KNOWN.possible(printed)
    assert template.find("ValueError: something else") is None


@pytest.mark.parametrize(
    "template",
    [KNOWN.templates[number] for number in sorted(KNOWN.harmless)],
    ids=lambda template: template.runs[0][:40],
)
def test_a_harmless_line_is_seen_by_itself(template: Template) -> None:
    """Libraries print many of them without a word such as `Warning` before it."""
    line = "".join(
        part for pair in zip(template.runs, ["x"] * len(template.names) + [""], strict=True) for part in pair
    )
    reader = Reader(KNOWN)  # which looks at marked lines alone, as in a long log
    reader.block(Block(1, f"well\n{line}\nwell\n".encode()))
    reading = reader.result()
    assert [match.line for match in reading.harmless] == [2]
    assert reading.harmless[0].template.why


def test_what_shows_a_sickness_is_not_called_harmless() -> None:
    line = "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {}, reducing to {}\n"
    falling = "".join(line.format(2**power, 2 ** (power - 1)) for power in range(16, 4, -1))
    assert [match.times for match in read([Block(1, falling.encode())], KNOWN).harmless] == [12]
    bottom = read([Block(1, (falling + line.format(1, 1) * 3).encode())], KNOWN)
    assert not bottom.harmless
    assert [sick.symptom for sick in bottom.sick] == ["loss-scale-collapse"]


@given(st.lists(st.sampled_from(["a", "ab", " ", "x", "ValueError"]), max_size=40))
def test_a_gap_is_what_stands_between(parts: list[str]) -> None:
    template = Template(0, {"runs": ["one ", " two ", ""], "gaps": ["first", "second"]})
    filling = "".join(parts)
    found = template.find(f"one {filling} two end")
    assert found is not None
    assert found.gaps["first"] == filling.partition(" two ")[0] or " two " in f"{filling} two "
    assert found.gaps["second"].endswith("end")


@pytest.mark.parametrize(
    ("line", "rank", "text"),
    [
        ("[rank3]: ValueError: x", "3", "ValueError: x"),
        ("worker-1: step", "1", "step"),
        ("(WorkerDict pid=812) step", "", "step"),
        ("[1,2]<stderr>: step", "2", "step"),
        ("\x1b[0;31mTypeError\x1b[0m: x", "", "TypeError: x"),
        ("│ ❱ 297 │   fire.Fire(train) │", "", "297 │   fire.Fire(train)"),
        (" 10%|█\r 20%|██", "", "10%|█  20%|██"),
    ],
)
def test_what_surrounds_a_line_is_taken_away(line: str, rank: str, text: str) -> None:
    found = plain(line)
    assert (found.rank, found.text.strip()) == (rank, text)


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("{'loss': 1.5, 'grad_norm': nan}", {"loss": 1.5}),
        ("{'loss': '1.5', 'epoch': '0.1'}", {"loss": 1.5, "epoch": 0.1}),
        ('{"train/loss": 1.5, "train/global_step": 3}', {"loss": 1.5, "step": 3.0}),
        ("iter 5: loss=1.5 lr=1e-4", {"loss": 1.5, "learning_rate": 1e-4}),
        ("Epoch [1][100]\tlr: 1.0e-03, loss: 1.5", {"loss": 1.5, "learning_rate": 1e-3}),
    ],
)
def test_numbers_are_read_as_every_loop_prints_them(line: str, values: dict[str, float]) -> None:
    found = row(1, line)
    assert found is not None
    assert {name: value for name, value in found.values.items() if value == value} == values


def test_prose_is_no_row() -> None:
    assert row(1, "the loss of 3 files = bad") is None


def test_a_message_is_read_from_source() -> None:
    source = """
class A:
    def f(self, x):
        error = f"needs {x} and {self.y!r}"
        if x:
            raise ValueError(error + ", not {}".format(x))
        assert x > 1, "a number %d of %s" % (x, x)
        logger.warning_once("careful " "with {this}")
"""
    assert [(one.text, one.kind, one.scope) for one in messages(source)] == [
        ("needs {x} and {self.y}, not {}", "raise", "A.f"),
        ("a number {} of {}", "assert", "A.f"),
        ("careful with {{this}}", "warning", "A.f"),
    ]
