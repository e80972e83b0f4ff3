"""Every hazard file is its own test table: its bad texts are found and repaired, its legal look-alikes are left in peace, and
each of its conditions is pinned by one of them."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stablint.base import knowledge
from stablint.compiling.hazards import CONSTRUCTED, LOOPS, PHASES, condition, trainer_of
from stablint.engine import examples
from stablint.engine.examples import example_options, false_alarms, legal, write
from stablint.engine.repair import repair
from stablint.hazard import model
from tests.grouped import by, each
from tests.sampling import sampled

EXAMPLES: dict[str, list[dict[str, Any]]] = knowledge.load("examples")
HEALTHY: dict[str, list[dict[str, Any]]] = knowledge.load("healthy")
HAZARDS = {hazard.id: hazard for hazard in model.load()}


class Case(NamedTuple):
    hazard: model.Hazard
    example: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.hazard.id}-{EXAMPLES[self.hazard.id].index(self.example)}"


CASES = [Case(HAZARDS[name], example) for name, examples in EXAMPLES.items() for example in examples]


def each_of(cases: list[Case], one_in: int = 1) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test a hazard."""
    return each(by(lambda case: case.hazard.id, str, cases), one_in)


each_case = each_of(CASES)
each_hazard = pytest.mark.parametrize("hazard", HAZARDS.values(), ids=lambda hazard: hazard.id)
all_hazards = each(by(lambda hazard: hazard.severity, lambda hazard: hazard.id, HAZARDS.values()))


def look(
    files: dict[str, str], folder: Path, given: dict[str, Any] | None, hazards: tuple[model.Hazard, ...] | None = None
) -> list[Any]:
    return examples.look(files, str(folder), given, hazards)


@each_case
def test_the_bad_text_is_found_and_draws_nothing_else(case: Case, tmp_path: Path) -> None:
    found = look(case.example["files"], tmp_path, case.example.get("options"))
    loud = {d.code for d in found if d.severity != "info" and d.suppressed is None}
    assert case.hazard.code in {d.code for d in found}
    assert loud <= {case.hazard.code, *case.example.get("also", [])}


@each_of([case for case in CASES if case.example.get("fixed")])
def test_the_fix_gives_the_fixed_text(case: Case, tmp_path: Path) -> None:
    write(case.example["files"], str(tmp_path))
    done = repair(
        [str(tmp_path)],
        example_options(case.example.get("options")),
        unsafe=True,
        base=str(tmp_path),
        known=(case.hazard,),
    )
    assert not done.refused
    after = case.example["files"] | {
        Path(path).relative_to(tmp_path).as_posix(): text.text for path, text in done.texts.items()
    }
    assert after == case.example["files"] | case.example["fixed"]


@each_case
def test_legal_look_alikes_are_left_in_peace(case: Case, tmp_path: Path) -> None:
    for number, (files, given) in enumerate(legal(case.example)):
        found = look(files, tmp_path / str(number), given, (case.hazard,))
        assert not found, f"near example {number} is reported"


@pytest.mark.parametrize("name", HEALTHY)
def test_what_fine_when_exempts_is_left_in_peace(name: str, tmp_path: Path) -> None:
    assert list(false_alarms(HAZARDS[name], HEALTHY[name], str(tmp_path))) == []


@all_hazards
def test_an_error_shows_when_it_is_fine(hazard: model.Hazard) -> None:
    """What `fine_when` says in words stands there as a text too, a look-alike or a healthy run, and is tried above."""
    if hazard.severity != "error" or knowledge.rows("texts")[hazard.id]["fine_when"].startswith("never"):
        return
    assert HEALTHY.get(hazard.id) or any(example.get("near") for example in EXAMPLES[hazard.id])


def _pattern(message: str) -> re.Pattern[str]:
    """Of what a message may come to."""
    return re.compile("(?:.*)".join(map(re.escape, re.split(r"\{[^}]*\}", message))))


TABLES = {name: texts["cases"] for name, texts in knowledge.rows("texts").whole().items() if texts.get("cases")}


@pytest.mark.parametrize("name", TABLES)
def test_each_case_of_a_table_is_drawn_in_its_own_words(name: str, tmp_path: Path) -> None:
    """A table without an example for one of its cases has a case that nobody has seen."""
    told = set()
    for number, example in enumerate(EXAMPLES[name]):
        for one in look(example["files"], tmp_path / str(number), example.get("options"), (HAZARDS[name],)):
            told |= {case["message"] for case in TABLES[name] if _pattern(case["message"]).fullmatch(one.message)}
    assert [case["message"] for case in TABLES[name] if case["message"] not in told] == []


@pytest.mark.parametrize("hazard", sampled(((one,) for one in HAZARDS.values()), 4, lambda one: one[0].id))
def test_every_condition_is_pinned_by_a_look_alike(hazard: model.Hazard, tmp_path: Path) -> None:
    """Drop a condition: some legal text must become a false report, else nothing pins that condition."""
    texts = [text for example in EXAMPLES[hazard.id] for text in legal(example)]
    texts += [(one["files"], one.get("options")) for one in HEALTHY.get(hazard.id, [])]
    for number, asked in enumerate(hazard.when):
        if asked in (OF_THE_TRAINER, OF_ARGUMENTS, OF_TRL, OF_TRAINING):  # below, for all hazards at once
            continue
        mutant = hazard._replace(
            reads=[], keys=[], when=[other for place, other in enumerate(copy.deepcopy(hazard.when)) if place != number]
        )
        if not mutant.when:
            continue
        assert any(
            look(files, tmp_path / f"{number}-{place}", given, (mutant,)) for place, (files, given) in enumerate(texts)
        ), asked


OF_THE_TRAINER = condition(LOOPS["trainer"])
OF_ARGUMENTS = condition(CONSTRUCTED)
OF_TRL = condition("derived.trl_trainer is true")
OF_TRAINING = condition(PHASES["training"])
OTHER_LOOPS = ("accelerate", "lightning", "deepspeed", "torch", "sentence-transformers", "trl.PPOTrainer.step")
OF_TRLS_OWN = ("trl.PPOTrainer", "trl.PPOv2Trainer")  # which take TrainingArguments and have a loop of their own


@each_of([case for case in CASES if OF_THE_TRAINER in case.hazard.when], 3)
def test_what_speaks_of_the_trainer_says_nothing_to_another_loop(case: Case, tmp_path: Path) -> None:
    """The same settings, with what takes the steps stated otherwise, draw nothing; with the Trainer they draw it as before."""
    given = case.example.get("options") or {}
    for number, loop in enumerate((*OTHER_LOOPS, *OF_TRLS_OWN, "transformers.Trainer", "trl.SFTTrainer")):
        sets = {**(given.get("set") or {}), "launch.loop": loop}
        found = look(case.example["files"], tmp_path / str(number), {**given, "set": sets}, (case.hazard,))
        assert bool(found) is (loop in ("transformers.Trainer", "trl.SFTTrainer")), loop


@each_of([case for case in CASES if OF_ARGUMENTS in case.hazard.when], 3)
def test_what_the_arguments_constructor_checks_is_told_where_it_runs(case: Case, tmp_path: Path) -> None:
    """A program that makes the arguments gets its refusal whatever loop it has; another's files say nothing to a loop of another kind."""
    given = case.example.get("options") or {}
    constructs = any(name.endswith((".py", ".ipynb")) for name in case.example["files"])
    for number, loop in enumerate((*OTHER_LOOPS, "transformers.Trainer")):
        sets = {**(given.get("set") or {}), "launch.loop": loop}
        found = look(case.example["files"], tmp_path / str(number), {**given, "set": sets}, (case.hazard,))
        assert bool(found) is (constructs or loop not in OTHER_LOOPS), loop


@each_of([case for case in CASES if OF_TRL in case.hazard.when], 3)
def test_what_trls_trainers_check_says_nothing_to_another_trainer(case: Case, tmp_path: Path) -> None:
    """TRL's configs may be given to the Trainer of transformers, or to a loop of one's own, which read nothing of what they add."""
    given = case.example.get("options") or {}
    for number, loop in enumerate((*OTHER_LOOPS, "transformers.Trainer")):
        sets = {**(given.get("set") or {}), "launch.loop": loop}
        assert not look(case.example["files"], tmp_path / str(number), {**given, "set": sets}, (case.hazard,)), loop


OF_TRAINERS = [
    case
    for case in CASES
    if case.hazard.severity == "error" and any(asked in case.hazard.when for asked in (OF_TRL, OF_THE_TRAINER))
]


@each_of(OF_TRAINERS)
def test_what_a_trainer_checks_is_no_error_where_its_class_is_the_programs_own(case: Case, tmp_path: Path) -> None:
    """A subclass may override the method that checks, or take the argument for itself."""
    given = case.example.get("options") or {}
    sets = {**(given.get("set") or {}), "launch.own_trainer": True}
    found = look(case.example["files"], tmp_path, {**given, "set": sets}, (case.hazard,))
    assert all(one.severity != "error" for one in found)


@all_hazards
def test_an_error_that_a_trainer_raises_asks_for_that_trainer(hazard: model.Hazard) -> None:
    if hazard.severity == "error" and (asked := trainer_of(knowledge.rows("texts")[hazard.id])):
        assert condition(asked) in hazard.when


@each_of([case for case in CASES if OF_TRAINING in case.hazard.when])
def test_what_happens_while_weights_are_trained_is_no_matter_of_an_evaluation(case: Case, tmp_path: Path) -> None:
    given = case.example.get("options") or {}
    for trains in (True, False):
        sets = {**(given.get("set") or {}), "derived.trains": trains}
        found = look(case.example["files"], tmp_path / str(trains), {**given, "set": sets}, (case.hazard,))
        assert bool(found) is trains


def test_codes_and_names_are_unique() -> None:
    codes = [hazard.code for hazard in HAZARDS.values()]
    assert len(codes) == len(set(codes))
    assert len(HAZARDS) == len(model.load())


UNSEEN = {
    "at hand": {"train.py": "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--warmup_steps', type=int)\n"
                "parser.add_argument('--learning_rate', type=float)\nparser.add_argument('--output_dir')\nargs = parser.parse_args()\n"
                "loss.backward()\n"},
    "elsewhere": {},
}  # fmt: skip


@pytest.mark.parametrize("files", UNSEEN.values(), ids=UNSEEN)
def test_flags_of_a_program_that_is_not_seen_to_use_the_librarys_arguments_make_no_error(
    files: dict[str, str], tmp_path: Path
) -> None:
    script = "python train.py --warmup_steps -1 --learning_rate 1e-5 --output_dir out\n"
    found = look({**files, "run.sh": script}, tmp_path, None, (HAZARDS["negative-warmup"],))
    assert all(one.severity != "error" for one in found)
