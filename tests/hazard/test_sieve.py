"""Judging many runs at once, or one with the few hazards that its statements wake, comes to the same as asking every hazard of each of them alone.

`check` is the plain engine: every hazard, every world, nothing left out and nothing taken over.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stablint.base import knowledge
from stablint.engine.examples import example_options, legal, write
from stablint.engine.inspect import inspect
from stablint.hazard.model import Finding, Undecided, load
from stablint.hazard.rules import Rules
from stablint.hazard.sieve import Sieve
from stablint.hazard.sifted import check_sifted
from stablint.hazard.verdict import check
from stablint.run.world import Run
from stablint.syntax.tree import Unknown
from tests.fuzz import grammar
from tests.fuzz.choices import seeded
from tests.runs import Files, runs

RECIPE = "model_name_or_path: {model}\ndataset_name: trl-lib/Capybara\nlearning_rate: {rate}\nseed: {seed}\noutput_dir: out/{seed}\n{more}"
MODELS = ["Qwen/Qwen2-7B-Instruct", "facebook/opt-350m"]
MORE = ["fp16: true\n", "bf16: true\n", "use_peft: true\nlora_target_modules: [c_attn]\n", "warmup_ratio: 3\n"]


def test_what_is_taken_over_changes_no_verdict(tmp_path: Path) -> None:
    """Seeds differ from run to run, models and faults come again and again."""
    files = {
        f"{number:02}.yaml": RECIPE.format(
            model=MODELS[number % 2], rate=("1.0e-5", "3.0e-3")[number % 3 == 0], seed=number, more=MORE[number % 4]
        )
        for number in range(40)
    }
    found = runs(tmp_path, files)
    assert len(found) == len(files)
    hazards, sieve = load(), Sieve(load())
    together = [[(f.hazard.id, f.message, f.severity) for f in check_sifted(run, sieve)[0]] for run in found]
    alone = [[(f.hazard.id, f.message, f.severity) for f in check(run, hazards, alone=True)[0]] for run in found]
    assert together == alone
    assert any(alone)


# The same settings, said in files of other kinds, twice, and with options that say more; each value comes again in other company.
COMMAND = (
    "torchrun train.py --model_name_or_path {model} --learning_rate {rate} --fp16 {half} --seed {seed} --output_dir o\n"
)
TWICE = "trl sft --config run.yaml --learning_rate {rate} --learning_rate {other} --seed {seed}\n"
SPLIT = '{{"train_micro_batch_size_per_gpu": {seed}, "fp16": {{"enabled": {json}}}, "zero_optimization": {{"stage": {stage}}}}}'
CALL = "from transformers import TrainingArguments\nargs = TrainingArguments('o', learning_rate={rate}, fp16={half}, seed={seed}, deepspeed='ds.json')\n"
SAID: list[dict[str, Any]] = [
    {},
    {"gpus": ["V100-32GB"]},
    {"gpus": ["A100-80GB x8"]},
    {"model": "google/gemma-2-9b-it"},
    {"model": "facebook/opt-350m"},
    {"sets": ["training.fp16=true"]},
    {"releases": ["transformers==4.44.2", "trl==0.9.6"]},
]


def shape(number: int, values: dict[str, Any]) -> Files:
    recipe = RECIPE.format(more=f"fp16: {values['json']}\n", **values)
    return [
        {"run.yaml": recipe},
        {"run.sh": COMMAND.format(**values)},
        {"run.yaml": recipe, "run.sh": TWICE.format(**values)},
        {"run.py": CALL.format(**values), "ds.json": SPLIT.format(**values)},
        {"ds.json": SPLIT.format(**values)},
    ][number]


def told(run: Run, found: tuple[list[Finding], list[Undecided]]) -> list[Any]:
    findings, undetermined = found
    rows: list[Any] = [
        (
            f.hazard.id, f.message, f.severity, f.place.document.text.path, f.place.start, f.fact, f.absent, f.item, f.notes, f.releases, f.divided,
            [(fact.name, repr(fact.value), fact.presumed) for fact in f.facts], [remedy.title for remedy in f.remedies],
        )
        for f in findings
    ]  # fmt: skip
    return rows + [(u.hazard.id, u.needs) for u in undetermined]


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_a_run_is_not_taken_for_another_that_says_it_elsewhere_or_for_another_target(
    tmp_path: Path, times: int
) -> None:
    dice = random.Random(11)
    found: list[Run] = []
    cases = list(itertools.product(range(5), range(len(SAID)), range(times)))
    for number, (kind, said, _) in enumerate(dice.sample(cases, len(cases))):
        half = dice.random() < 0.5
        values = {
            "model": dice.choice(MODELS), "rate": dice.choice(["1e-5", "3e-3"]), "other": dice.choice(["1e-5", "3e-3"]), "seed": number,
            "half": half, "json": str(half).lower(), "stage": dice.choice([0, 2, 3]),
        }  # fmt: skip
        found += runs(tmp_path / str(number), shape(kind, values), **SAID[said])
    assert len(found) >= len(cases)
    agree(found)


def agree(found: Iterable[Run]) -> None:
    """All of them through one sieve, each with the hazards that it wakes alone, and each by the plain engine."""
    hazards = load()
    sieve, rules = Sieve(hazards), Rules()
    for run in found:
        plain = told(run, check(run, hazards, alone=True))
        assert told(run, check_sifted(run, sieve)) == plain, run.id
        assert told(run, check(run, rules.woken_by(run), alone=True)) == plain, run.id


def example_runs(folder: Path, share: int) -> Iterator[Run]:
    """The runs of every so many-th text of the hazards' own tables, the bad and the legal ones."""
    texts = [
        (files, given)
        for examples in knowledge.load("examples").values()
        for example in examples
        for files, given in [(example["files"], example.get("options")), *legal(example)]
    ]
    for number, (files, given) in enumerate(texts[::share]):
        base = folder / str(number)
        write(files, str(base))
        yield from inspect([str(base)], example_options(given), base=str(base), known=()).runs


VALUES = [
    True,
    False,
    None,
    0,
    1,
    2,
    0.1,
    -1,
    1e-5,
    64,
    "1e-4",
    "auto",
    "adamw_torch",
    "bfloat16",
    "no",
    [],
    ["q_proj"],
    {"a": 1},
]


def changed(run: Run, dice: random.Random) -> Run:
    """The run with other values for up to three of its settings; `None` for one of them takes it away."""
    explicit = dict(run.explicit)
    for name in dice.sample(sorted(explicit), min(len(explicit), dice.randint(0, 3))):
        fact = explicit[name]
        if dice.random() < 0.2:
            del explicit[name]
        elif fact.sources:
            value = dice.choice([*VALUES, Unknown("a variable")])
            first = fact.sources[0]._replace(value=value, raw=value)
            explicit[name] = fact._replace(value=value, sources=(first, *fact.sources[1:]))
    return run._replace(explicit=explicit)


@pytest.mark.parametrize("part", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, 6))])
def test_runs_with_other_values_are_judged_as_if_each_were_alone(part: int, tmp_path: Path) -> None:
    """Each run several times, so that one becomes a reference, and then with values that nobody wrote, in shuffled order."""
    dice = random.Random(5 + part)
    several = [run for number, run in enumerate(example_runs(tmp_path, share=60)) if number % 6 == part]
    found = [changed(run, dice) if copy > 1 else run for run in several for copy in range(5)]
    assert len(found) > 12
    dice.shuffle(found)
    agree(found)


@pytest.mark.slow
def test_an_example_wakes_the_hazards_that_speak_of_it(tmp_path: Path) -> None:
    dice, rules = random.Random(7), Rules()
    every = rules.of_runs()
    for run in example_runs(tmp_path, share=12):  # each is judged by all rules twice, which is what a sieve is for
        for one in (run, changed(run, dice)):
            assert told(one, check(one, rules.woken_by(one))) == told(one, check(one, every)), one.id


@pytest.mark.slow
@pytest.mark.parametrize("said", [{}, {"gpus": ["A100-80GB"]}, {"releases": ["transformers==4.44.2", "trl==0.9.6"]}])
def test_random_projects_are_judged_as_if_each_run_were_alone(said: dict[str, Any], tmp_path: Path) -> None:
    found: list[Run] = []
    for number in range(10):
        case = grammar.folder(seeded(f"sieve {number}"))
        found += runs(tmp_path / str(number), case.files, **said)
    agree(found + found)
