"""Rows that are taken by the thousand leave the watch as rows that are read one by one."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stablint.log.reading import TROUBLE, Reader, read
from stablint.log.series import Series
from stablint.log.source import Block
from stablint.log.steady import MARKS, form_of, letters_of, within
from stablint.log.template import Known

KNOWN = Known()
_LN2 = math.log(2)
# How trainers print a row; `bar` is drawn before it in the same line.
FORMS: dict[str, Callable[[dict[str, float]], str]] = {
    "transformers 4": lambda row: f"{row}\n",
    "transformers 5": lambda row: f"{ {name: f'{value:.6g}' for name, value in row.items()} }\n",
    "json lines": lambda row: "{" + ", ".join(f'"train/{name}": {value}' for name, value in row.items()) + ', "_step": 3}\n',
    "megatron": lambda row: (
        " iteration  17/ 900 | consumed samples:     408 | " + " | ".join(f"lm {name}: {value:.6E}" for name, value in row.items()) + " |\n"
    ),
    "plain": lambda row: "step 17 " + " ".join(f"{name}={value:.6f}" for name, value in row.items()) + "\n",
    "dated": lambda row: "2026-11-23 10:11:12,345 - INFO - " + ", ".join(f"{name}: {value}" for name, value in row.items()) + "\n",
    "coloured": lambda row: f"\x1b[32m{row}\x1b[0m\n",
    "ray": lambda row: "\x1b[36m(TaskRunner pid=4021)\x1b[0m step:17 - " + " - ".join(f"actor/{name}:{value:.5f}" for name, value in row.items()) + "\n",
    "loguru": lambda row: f"\x1b[32m2026-11-29 10:11:12.345\x1b[0m | \x1b[1mINFO\x1b[0m | \x1b[36mtrain\x1b[0m:\x1b[36m17\x1b[0m - {row}\n",
    "megatron's counts": lambda row: " | ".join(f"lm {name}: {value:.6E}" for name, value in row.items()) + " | skipped iterations: 0 | nan iterations: 0 |\n",
    "bar": lambda row: f"\r 10%|██  | 17/900 [00:01<00:09, 1.5s/it]\r{row}\n",
}  # fmt: skip
losses = st.one_of(
    st.floats(0.5, 1.5), st.floats(0.01, 9.0), st.sampled_from([0.0, math.nan, math.inf, _LN2, 1.4, 5.0, -0.1, 1e-9])
)
norms = st.one_of(st.floats(0.1, 9.0), st.sampled_from([0.0, 1.0, math.nan, math.inf]))
KINDS = st.sampled_from(
    ["train", "train", "train", "train", "bare", "fallen", "evaluation", "policy", "preference", "text", "scaler"]
)


@st.composite
def rows(draw: st.DrawFn) -> list[str]:
    form = FORMS[draw(st.sampled_from(sorted(FORMS)))]
    dice = random.Random(draw(st.integers(0, 10**6)))
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 8))):
        kind, loss, norm = draw(KINDS), draw(losses), draw(norms)
        for number in range(draw(st.sampled_from([1, 1, 2, 5, 70]))):
            margin = norm if number % 2 else 0.0
            first = loss if number % 7 == 0 else round(0.9 + dice.random() / 4, 4)
            row = {"loss": first, "grad_norm": norm if number % 7 == 0 else dice.random(), "learning_rate": 1e-5}
            lines.append(
                {
                    "train": lambda row=row: form(row),
                    "bare": lambda row=row: form({"loss": row["loss"], "epoch": 0.5}),
                    "fallen": lambda loss=loss, number=number: form({"loss": 0.0 if number % 9 else round(loss, 1), "epoch": 0.5}),
                    "evaluation": lambda row=row: form({"eval_loss": row["loss"], "eval_runtime": 3.5}),
                    "policy": lambda row=row: form({**row, "reward": 0.5, "reward_std": row["grad_norm"], "completions/clipped_ratio": round(row["loss"], 1)}),
                    "preference": lambda row=row, margin=margin: form({**row, "rewards/margins": margin}),
                    "text": lambda: "the gradient is clipped to a norm of 1\n",
                    "scaler": lambda row=row: f"OVERFLOW! Attempted loss scale: {int(row['grad_norm'] > 0.5) + 1}, reducing to 1\n",
                }[kind]()
            )  # fmt: skip
    return lines


def _blocks(lines: list[str], size: int) -> list[Block]:
    return [Block(at + 1, "".join(lines[at : at + size]).encode()) for at in range(0, len(lines), size)]


def _trained(losses: list[float]) -> list[str]:
    return [FORMS["bar"]({"loss": loss, "grad_norm": 0.5, "learning_rate": 1e-5}) for loss in losses]


@example(_trained([1.0] * 34 + [-0.1]), 17)  # one below zero, before the window is full
@given(rows(), st.sampled_from([3, 17, 64, 1000]))
@settings(deadline=None)
def test_the_answer_is_that_of_reading_row_by_row(lines: list[str], size: int) -> None:
    together, singly = Reader(KNOWN), Reader(KNOWN, Series())
    for block in _blocks(lines, size):
        together.block(block)
        singly.block(block)
        assert _state(together) == _state(singly)
    assert together.result() == singly.result()


def _state(reader: Reader) -> object:
    """All that a watch keeps of rows that it has seen, lines of first signs among it."""
    watch = reader._watch
    first = [sign and (sign.line, sign.text) for sign in (watch._first_nan, watch._first_zero)]
    jumped = (watch._jumped.times, watch._jumped.far)
    signs = {name: (sign.times, sign.far) for name, sign in watch._signs.items()}
    return (
        watch._sick,
        list(watch._losses._in_order),
        watch._losses._sorted,
        first,
        watch._nans,
        watch._zeros,
        repr(watch._norm),
        watch._loss,
        watch._fallen.times,
        jumped,
        signs,
    )


@pytest.mark.parametrize("name", list(FORMS))
def test_the_forms_of_trainers_are_taken_together(name: str) -> None:
    """A form that were never learnt would still be read rightly, and slowly."""
    dice = random.Random(5)
    lines = [
        FORMS[name]({"loss": 1 + dice.random() / 9, "grad_norm": dice.random(), "learning_rate": 1e-5, "epoch": 0.5})
        for _ in range(2000)
    ]
    reader = Reader(KNOWN)
    reader.block(Block(1, "".join(lines[:10]).encode()))
    reader._row_by_row = _refuse  # type: ignore[method-assign]
    reader.block(Block(11, "".join(lines[10:]).encode()))
    assert len(reader._watch._losses._in_order) == 64


def test_losses_of_nothing_are_counted_together_once_they_are_told() -> None:
    """Where no norm is logged: after a fall from a level, and beside losses that are next to nothing anyway."""
    form = FORMS["transformers 4"]
    fallen = [form({"loss": loss, "epoch": 0.5}) for loss in [1.0] * 80 + [0.0] * 9]
    reader = Reader(KNOWN)
    reader.block(Block(1, "".join(fallen).encode()))
    reader._row_by_row = _refuse  # type: ignore[method-assign]
    reader.block(Block(90, (fallen[-1] * 5000).encode()))
    assert [(sick.symptom, sick.line, sick.times) for sick in reader.result().sick] == [("zero-loss", 81, 5009)]
    learnt = Reader(KNOWN)
    learnt.block(Block(1, "".join(form({"loss": loss, "epoch": 0.5}) for loss in [1.0, 0.05] * 9).encode()))
    learnt._row_by_row = _refuse  # type: ignore[method-assign]
    learnt.block(
        Block(19, "".join(form({"loss": loss, "epoch": 0.5}) for loss in [0.02, 0.0, 0.0, 0.0, 0.0] * 900).encode())
    )
    assert not learnt.result().sick


def _refuse(*_: object) -> None:
    raise AssertionError("a steady row was read by itself")


def test_what_may_hide_a_sign_has_no_form() -> None:
    form = form_of(b"{'loss': nan, 'grad_norm': 1.0}")
    assert form is not None and form.pattern()[0].search(b"{'loss': 1.0, 'grad_norm': 1.0}")
    assert not form.pattern()[0].search(b"{'loss': nan, 'grad_norm': 1.0}")
    assert form_of(b"{'loss': 1.0, 'loss': 2.0}") is None
    assert form_of(b"OVERFLOW Attempted loss scale: 2, reducing to 1 loss: 3.0") is None
    assert form_of(b"no row at all 3") is None


def test_marks_are_told_by_their_letters() -> None:
    for mark in (*TROUBLE, *MARKS):
        assert within(letters_of(b"12% | " + mark + b" | 3"), (mark,)) == [mark]
        assert len(letters_of(mark)) >= 4


def test_lines_of_trouble_that_come_again_are_counted() -> None:
    line = "{}: - ds train_batch_size={} vs hf train_batch_size (calculated)=16\n"
    told = "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`... {}\n"
    text = "".join(
        line.format(number % 4, 8) + "well\n" * 40 + told.format(number) + "well\n" * 40 for number in range(200)
    )
    reading = read([Block(1, text.encode())], KNOWN)
    assert [(match.times, match.line) for match in reading.harmless] == [(200, 42)]
    assert [match.times for match in reading.matches] == [200]
    assert reading.matches[0].ranks == frozenset(range(4))


def test_a_message_of_several_lines_is_told_of_each_rank() -> None:
    """Ranks print a line each in turns, so that lines of others stand between those of one message."""
    lines = (
        "ValueError: --load_best_model_at_end requires the save and eval strategy to match, but found",
        "- Evaluation strategy: IntervalStrategy.STEPS",
        "- Save strategy: SaveStrategy.EPOCH",
    )
    text = "".join(f"[rank{rank}]: {line}\n" for line in lines for rank in range(4))
    (match,) = read([Block(1, text.encode())], KNOWN).matches
    assert (match.line, match.times, match.ranks) == (1, 4, frozenset(range(4)))
