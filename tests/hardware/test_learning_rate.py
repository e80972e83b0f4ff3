"""Bands of learning rates are counted, not felt, and silent where too little was counted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.base import knowledge
from stablint.run.derived.recipe_rates import band, published, recipes

ROOT = Path(__file__).parents[2]
BILLION = 1_000_000_000

# objective, method, billions, rate, is it above the alarm?
RATES = [
    ("sft", "full", 7.6, 3e-4, True),
    ("sft", "full", 7.6, 1e-4, True),
    ("sft", "full", 7.6, 2e-5, False),
    ("sft", "full", 8, 5e-5, False),
    ("sft", "full", 7.3, 8e-5, False),  # OLMo 3
    ("sft", "full", 72, 2e-5, False),
    ("sft", "lora", 7.6, 3e-4, False),
    ("sft", "lora", 7.6, 1e-4, False),
    ("sft", "lora", 6.2, 5e-3, True),
    ("sft", "qlora", 13, 2e-4, False),
    ("sft", "qlora", 72, 2e-4, False),
    ("sft", "lora", 6.7, 0.05, True),
    ("dpo", "full", 8, 5e-7, False),
    ("dpo", "full", 8, 1e-4, True),
    ("dpo", "lora", 8, 5e-3, True),
    ("kto", "full", 8, 1e-4, True),
    ("simpo", "full", 8, 1e-6, False),
    ("reward", "full", 8, 2e-6, False),
    ("grpo", "full", 1.5, 2e-5, False),  # open-r1's demo
    ("grpo", "full", 8, 1e-4, True),
    ("grpo", "lora", 0.6, 1e-5, False),
    ("grpo", "lora", 0.6, 5e-5, False),  # TRL's page on LoRA
    ("grpo", "lora", 0.6, 1e-3, True),
    ("grpo", "qlora", 20.9, 5e-5, False),  # Unsloth's notebooks
    ("sft", "full", 1.7, 3e-4, False),  # SmolLM2
]
SILENT = [
    ("pretrain", "full", 1),
    ("pt", "full", 1),
    ("nothing", "full", 7),
    ("sft", "oft", 7),
]


@pytest.mark.parametrize(("objective", "method", "billions", "rate", "high"), RATES)
def test_the_alarm_tells_wild_rates_from_usual_ones(objective, method, billions, rate, high):
    found = band(objective, method, int(billions * BILLION))
    assert found is not None
    assert (rate > found.alarm_above) is high


@pytest.mark.parametrize(("objective", "method", "billions"), SILENT)
def test_no_advice_where_too_little_was_counted(objective, method, billions):
    assert band(objective, method, billions * BILLION) is None


def test_small_models_are_a_hint_at_most():
    assert band("sft", "full", 3 * BILLION).severity == "info"
    assert band("sft", "full", 7 * BILLION).severity == "warning"


def test_sizes_have_no_gaps():
    for edge in (1, 5, 11, 21, 41):
        below, at = band("sft", "full", edge * BILLION - 1), band("sft", "full", edge * BILLION)
        assert below.billions_below == at.billions_from == edge


def test_t5_has_a_band_of_its_own():
    assert band("sft", "full", 3 * BILLION, "t5").alarm_above > band("sft", "full", 3 * BILLION).alarm_above


@pytest.mark.parametrize("kind", ["t5", "whisper", "bart"])
def test_adapters_of_other_kinds_of_models_are_not_held_against_those_of_decoders(kind):
    assert band("sft", "lora", 3 * BILLION, kind) is None


# A method of PEFT or GaLore, a rate that its makers publish, and one that is a slip.
METHODS = [
    ("VERA", 2e-2, 1.0),
    ("IA3", 5e-3, 0.5),
    ("OFT", 1e-4, 1e-2),
    ("ADALORA", 1e-3, 5e-2),
    ("C3A", 0.3, 10),
    ("GALORE", 3e-5, 1e-3),
]


@pytest.mark.parametrize(("kind", "usual", "slip"), METHODS)
def test_each_method_is_held_against_what_its_makers_publish(kind, usual, slip):
    assert usual <= published(kind).typical_high < published(kind).alarm_above < slip
    assert published("LORA") is published("SOMETHING") is None


def test_an_adapter_at_a_rate_of_full_fine_tuning_is_low():
    assert 1e-5 <= band("sft", "lora", 8 * BILLION).alarm_below < 2e-5


def test_few_counted_recipes_lie_outside_an_alarm():
    for row in knowledge.load("lr_bands")["bands"]:
        if row.get("alarm_above") is not None:
            assert row["alarm_below"] < row["typical_low"] <= row["median"] <= row["typical_high"] < row["alarm_above"]
            assert row["severity"] == "info" or row["outside_above"] <= 0.2 * row["recipes"]


def test_the_bands_are_those_of_the_recipes():
    tool = ROOT / "tools" / "learning_rate_bands.py"
    assert subprocess.run([sys.executable, str(tool), "--check"], check=False).returncode == 0


def test_recipes_come_from_different_projects_nearest_first():
    found = recipes("sft", "full", int(7.6 * BILLION), limit=5)
    assert len({recipe.project for recipe in found}) == 5
    assert all(recipe.url.startswith("https://") for recipe in found)
    assert all(5 <= recipe.billions <= 11 for recipe in found)


@given(st.text(max_size=8), st.sampled_from(["full", "lora", "qlora", "freeze"]), st.integers(0, 10**13))
def test_any_question_gets_an_answer(objective, method, parameters):
    found = band(objective, method, parameters)
    assert found is None or found.alarm_above > found.typical_high
    assert isinstance(recipes(objective, method, parameters), list)
