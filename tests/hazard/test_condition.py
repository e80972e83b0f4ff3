"""Kleene's three values: what is not known makes a verdict unknown, and never turns one that is known."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.hazard.condition import change_points, deciding, evaluate, facts_read, reads_files
from stablint.run.fact import ABSENT, CLOSED, OPEN, Explicit, Fact, Secret, Statement, Supplied
from stablint.run.releases.pep440 import release_key
from stablint.syntax.tree import Unknown
from tests.runs import world

NAMES = ["training.a", "training.b", "training.c"]
UNKNOWN = Unknown("nobody says")
Values = dict[str, Any]


class Facts:
    """As much of a world as conditions ask for: facts by name, everything else absent."""

    def __init__(self, values: Values, scope: str = CLOSED) -> None:
        self.values, self._scope = values, scope

    def fact(self, name: str) -> Fact:
        value = self.values.get(name, ABSENT)
        said = () if value is ABSENT else (Statement(name, value, value, Supplied("test")),)
        return Fact(name, value, None, said)

    def scope(self, name: str) -> str:
        return self._scope

    def null_is_absence(self, name: str) -> bool | None:
        return None


def verdict(condition: list[Any], values: Values, scope: str = CLOSED) -> bool | None:
    return evaluate(condition, Facts(values, scope))  # type: ignore[arg-type]


# Operator, value, operand (kind 1: a literal), verdict.
TRUTHS = [
    ("is", True, True, True), ("is", 1, True, False), ("is", 1, 1.0, True), ("is", "1", 1, False),
    ("is", None, None, True), ("is", ABSENT, None, True), ("is", ABSENT, False, False), ("is-not", ABSENT, 3, True),
    ("in", "a", ["a", "b"], True), ("in", ABSENT, ["a"], False), ("not-in", ABSENT, ["a"], True),
    (">", 3, 2, True), (">", 2, 2, False), (">=", 2, 2, True), ("<", 0.1, 0.3, True), ("<=", "x", 1, False),
    (">", float("inf"), 1e300, True), (">", float("nan"), 0, False), (">", ABSENT, 0, False),
    ("between", 1, [1, 2], True), ("between", 2, [1, 2], False),
    ("contains", ["a"], "a", True), ("contains", "abc", "b", True), ("contains", {"k": 1}, "k", True), ("contains", 3, 3, False),
    ("contains-any", ["a", "b"], ["b", "c"], True), ("contains-all", ["a", "b"], ["a", "c"], False),
    ("matches", "flash_attention_2", "^flash", True), ("matches", 3, "3", False),
    ("multiple-of", 0.1, 0.02, True), ("multiple-of", 7, 0, False), ("not-multiple-of", 7, 2, True), ("not-multiple-of", 7, 0, False),
    ("length", [1, 2], 2, True), ("length", 2, 2, False),
    ("type", "1e-4", "str", True), ("type", True, "int", False), ("type", 1, ["int", "float"], True), ("type", None, "null", True),
    ("type", float("nan"), "float", True), ("multiple-of", float("nan"), 2, False), ("between", True, [0, 2], False),
    ("type", Secret("hf_…"), "str", False), ("type", Secret("hf_…"), "secret", True), ("type", "hf", "secret", False),
    ("contains-any", ["a"], "a", False), ("contains-all", ["a"], "a", False), ("in", "a", "abc", False),
    ("is-integer", 3, None, True), ("is-integer", True, None, False),
    ("is-integer", 3.0, None, True), ("is-integer", 0.5, None, False), ("is-integer", "3", None, False),
    ("is-set", 0, None, True), ("is-set", None, None, False), ("is-set", ABSENT, None, False),
    ("is-absent", ABSENT, None, True), ("is-absent", 0, None, False), ("is-default", ABSENT, None, True),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "value", "operand", "expected"), TRUTHS)
def test_the_operators(operator: str, value: Any, operand: Any, expected: bool) -> None:
    assert verdict([operator, "training.a", 1, operand], {"training.a": value}) is expected


@pytest.mark.parametrize("operator", sorted({row[0] for row in TRUTHS} - {"is-set", "is-absent", "is-default"}))
def test_no_operator_decides_on_what_is_unknown(operator: str) -> None:
    operand = next(row[2] for row in TRUTHS if row[0] == operator)
    assert verdict([operator, "training.a", 1, operand], {"training.a": UNKNOWN}) is None
    assert verdict(["is", "training.a", 2, "training.b"], {"training.a": 1, "training.b": UNKNOWN}) is None


OBJECT = Unknown("the result of `Collator(…)`", there=True)
# Operator, a value that is not known, operand, verdict: of an object it is known that it is there.
UNKNOWNS = [
    ("is-set", UNKNOWN, None, None), ("is-set", OBJECT, None, True), ("is-absent", UNKNOWN, None, None), ("is-absent", OBJECT, None, False),
    ("is-default", UNKNOWN, None, None), ("is-default", OBJECT, None, False), ("is", UNKNOWN, None, None), ("is", OBJECT, None, False),
    ("is-not", UNKNOWN, None, None), ("is-not", OBJECT, None, True), ("is", OBJECT, 1, None), ("is-not", OBJECT, "a", None),
    ("is", [UNKNOWN], [1], None), ("is", [UNKNOWN], [], False), ("is", [UNKNOWN, 2], [1, 3], False), ("is-not", [UNKNOWN, None], [None, None], None),
    ("is-not", [OBJECT, None], [None, None], True), ("is", [UNKNOWN], [True], None), ("in", [UNKNOWN], [[1], [2]], None), ("not-in", [UNKNOWN], [[1]], None),
    ("contains", [UNKNOWN, "a"], "a", True), ("contains", [UNKNOWN], "a", None), ("contains-any", [UNKNOWN, "a"], ["a", "b"], True),
    ("contains-any", [UNKNOWN], ["a", "b"], None), ("contains-all", [UNKNOWN, "a"], ["a", "b"], None), ("contains-all", ["a"], ["a", "b"], False),
    ("length", [UNKNOWN], 1, True),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "value", "operand", "expected"), UNKNOWNS)
def test_what_is_said_of_values_that_are_not_known(operator: str, value: Any, operand: Any, expected: bool) -> None:
    assert verdict([operator, "training.a", 1, operand], {"training.a": value}) is expected


@pytest.mark.parametrize("layer", ["flags", "extra-flags", "accelerate-flags", "environment", "call", "file"])
def test_a_word_of_a_command_is_never_null(layer: str) -> None:
    place: Any = None
    stated = Statement("training.a", UNKNOWN, UNKNOWN, Explicit(place, layer, 0))
    facts: Any = SimpleNamespace(fact=lambda name: Fact(name, UNKNOWN, stated.origin, (stated,)))
    word = layer not in ("call", "file")
    assert evaluate(["is-set", "training.a", 0, None], facts) is (True if word else None)
    assert evaluate(["is-absent", "training.a", 0, None], facts) is (False if word else None)


# What is written, the fact, and whether an explicit null is as good as silence: by the class's own default.
NULLS = [
    ("trainer.eval_dataset", "Trainer(model=m, args=TrainingArguments(output_dir='o'), eval_dataset=None)", True),
    (
        "trainer.eval_dataset",
        "Trainer(model=m, args=TrainingArguments(output_dir='o'), eval_dataset=None, **more)",
        True,
    ),
    ("training.hub_token", "Trainer(model=m, args=TrainingArguments(output_dir='o', hub_token=None))", True),
    ("training.fp16", "Trainer(model=m, args=TrainingArguments(output_dir='o', fp16=None))", None),
    ("training.unheard_of", "Trainer(model=m, args=TrainingArguments(output_dir='o', unheard_of=None))", None),
    ("training.learning_rate", "Trainer(model=m, args=TrainingArguments(output_dir='o', learning_rate=None))", None),
]


@pytest.mark.parametrize(("name", "text", "absent"), NULLS)
def test_null_is_what_the_class_makes_of_it(name: str, text: str, absent: bool | None, tmp_path: Path) -> None:
    found = world(tmp_path, {"train.py": f"from transformers import Trainer, TrainingArguments\n{text}.train()\n"})
    assert found.fact(name).value is None
    assert evaluate(["is-set", name, 0, None], found) is False
    assert evaluate(["is-absent", name, 0, None], found) is absent
    assert evaluate(["is-default", name, 0, None], found) is absent


@pytest.mark.parametrize("operator", ["is-set", "is-absent", "is-default"])
def test_absence_says_nothing_where_others_may_set_it(operator: str) -> None:
    assert verdict([operator, "training.a", 0, None], {}, OPEN) is None


def test_items_of_a_list() -> None:
    condition = ["any-item", "training.a", 1, ["is", "item", 1, 8]]
    assert verdict(condition, {"training.a": [1, 8]}) is True
    assert verdict(condition, {"training.a": []}) is False
    assert verdict(["all-items", *condition[1:]], {"training.a": []}) is True
    assert verdict(["all-items", *condition[1:]], {"training.a": [8, 9]}) is False


# Releases compare as releases, not as texts; the release is 0.10.1.
RELEASES = [
    ("is", "0.10.1", True), ("is", "0.9", False), ("is-not", "0.9", True), ("is-not", "0.10.1", False),
    (">", "0.9.6", True), (">", "0.10.1", False), (">=", "0.10.1", True), (">=", "0.11", False),
    ("<", "0.11", True), ("<", "0.10.1", False), ("<=", "0.10.1", True), ("<=", "0.9", False),
    ("between", ["0.9", "0.11"], True), ("between", ["0.10.1", "0.11"], True), ("between", ["0.9", "0.10.1"], False),
    ("in", ["0.9", "0.10.1"], True), ("in", ["0.9"], False), ("not-in", ["0.9"], True), ("not-in", ["0.10.1"], False),
]  # fmt: skip


class Stated(Facts):
    """A world in which the release of one library is stated."""

    def __init__(self, values: Values, library: str, release: str) -> None:
        super().__init__(values)
        self.run = SimpleNamespace(
            releases=SimpleNamespace(
                stated=lambda name: name == library, presumed=lambda name: False, is_unread=lambda name: False
            )
        )
        self.choice = {library: release_key(release)}


@pytest.mark.parametrize(("operator", "operand", "expected"), RELEASES)
def test_releases_compare_as_releases(operator: str, operand: Any, expected: bool) -> None:
    stated: Any = Stated({}, "trl", "0.10.1")
    assert evaluate([operator, "versions.trl", 1, operand], stated) is expected
    assert evaluate([operator, "versions.torch", 1, operand], stated) is None


@pytest.mark.parametrize(
    ("operator", "release", "expected"),
    [(">=", "4.28", True), ("<", "4.28", False), (">=", "5.10", None), ("is-not", "4.47.0", True), (">", "99", False)],
)
def test_where_no_release_is_stated_those_of_the_last_year_answer_together(
    operator: str, release: str, expected: bool | None
) -> None:
    stated: Any = Stated({}, "trl", "0.10.1")
    assert evaluate([operator, "versions.transformers", 1, release], stated) is expected


def test_a_release_compares_with_one_that_a_fact_names() -> None:
    condition = ["<", "versions.trl", 2, "training.a"]
    assert evaluate(condition, cast(Any, Stated({"training.a": "0.11"}, "trl", "0.10.1"))) is True
    assert evaluate(condition, cast(Any, Stated({"training.a": "0.9"}, "trl", "0.10.1"))) is False
    assert evaluate(condition, cast(Any, Stated({"training.a": UNKNOWN}, "trl", "0.10.1"))) is None
    assert evaluate(condition, cast(Any, Stated({}, "trl", "0.10.1"))) is None


def test_a_file_exists_beside_the_text_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "train.yaml").write_text(
        "deepspeed: ds.json\nresume_from_checkpoint: gone.json\noutput_dir: out\nlearning_rate: 1e-5\n"
    )
    (tmp_path / "ds.json").write_text("{}")
    found = world(tmp_path, {})
    assert evaluate(["exists-file", "training.deepspeed", 0, None], found) is True
    assert evaluate(["exists-file", "training.resume_from_checkpoint", 0, None], found) is False
    assert evaluate(["exists-file", "training.hub_token", 0, None], found) is False
    assert (
        verdict(["exists-file", "training.a", 0, None], {"training.a": "ds.json"}) is None
    )  # nobody knows beside what
    assert verdict(["exists-file", "training.a", 0, None], {"training.a": 3}) is False
    assert verdict(["exists-file", "training.a", 0, None], {"training.a": UNKNOWN}) is None


def test_only_the_existence_of_files_is_asked_of_the_disk() -> None:
    asks = ["exists-file", "training.a", 0, None]
    other = ["is", "training.a", 1, 1]
    assert reads_files([asks]) and reads_files([other, ["any", [other, ["not", [asks]]]]])
    assert not reads_files([other, ["any", [other]]])


def test_what_decides_is_the_first_true_branch_and_the_operand_too() -> None:
    facts: Any = Facts({"training.a": 1, "training.b": 1, "training.c": 2})
    a, b = ["is", "training.a", 1, 1], ["is", "training.b", 1, 1]
    assert list(deciding([["any", [["is", "training.c", 1, 1], b, a]]], facts)) == ["training.b"]
    assert list(deciding([["any", [["is", "training.c", 1, 1]]]], facts)) == []
    assert list(deciding([["<", "training.a", 2, "training.c"], ["all", [b]]], facts)) == [
        "training.a",
        "training.c",
        "training.b",
    ]


def test_an_item_s_choices_change_with_the_releases() -> None:
    facts: Any = Facts({})
    facts.item_change_points = lambda: frozenset({("trl", release_key("1.0"))})
    for operator in ("one-of-enum", "unknown-key"):
        assert change_points([["not", [[operator, "item", 0, None]]]], facts) == facts.item_change_points()
        assert not change_points([[operator, "training.a", 0, None]], facts)
    assert not change_points([["is-set", "item", 0, None]], facts)


leaves = st.builds(
    lambda operator, name, operand: [operator, name, 1, operand],
    st.sampled_from(["is", "is-not", ">", "<=", "multiple-of"]),
    st.sampled_from(NAMES),
    st.integers(0, 3),
) | st.builds(lambda name, other: ["is", name, 2, other], st.sampled_from(NAMES), st.sampled_from(NAMES))
conditions = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda group, parts: [group, parts],
        st.sampled_from(["any", "all", "not"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)
known = st.fixed_dictionaries({name: st.integers(0, 3) | st.none() for name in NAMES})


@given(conditions, known, st.sets(st.sampled_from(NAMES)))
def test_learning_a_fact_never_turns_a_verdict(condition: list[Any], values: Values, hidden: set[str]) -> None:
    before = verdict(condition, {name: UNKNOWN if name in hidden else value for name, value in values.items()})
    assert before is None or before is verdict(condition, values)


@given(conditions, known)
def test_with_every_fact_known_there_is_a_verdict(condition: list[Any], values: Values) -> None:
    assert verdict(condition, values) is not None


@given(st.lists(conditions, min_size=1, max_size=3), known, st.sets(st.sampled_from(NAMES)))
def test_de_morgan(parts: list[Any], values: Values, hidden: set[str]) -> None:
    facts = {name: UNKNOWN if name in hidden else value for name, value in values.items()}
    negated = [["not", [part]] for part in parts]
    assert verdict(["not", [["any", parts]]], facts) is verdict(["all", negated], facts)
    assert verdict(["not", [["all", parts]]], facts) is verdict(["any", negated], facts)
    assert verdict(["not", [["not", [parts[0]]]]], facts) is verdict(parts[0], facts)


@given(conditions, known)
def test_what_decides_is_among_what_is_read(condition: list[Any], values: Values) -> None:
    assert set(deciding([condition], Facts(values))) <= set(facts_read([condition]))  # type: ignore[arg-type]
