"""A name that only begins like a family's is a guess, and what is concluded from it is a warning at most."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.engine.examples import look
from stablint.models.nature import describe, guessed

RUN = """\
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("{name}", attn_implementation="sdpa")
Trainer(model=model, args=TrainingArguments(output_dir="out"), train_dataset=rows).train()
"""


@pytest.mark.parametrize("name", ["me/gemma-3-like-llama", "me/qwen-test", "./gpt2-of-ours", "me/my-mistral"])
def test_a_name_that_begins_like_a_family_is_a_guess(name: str) -> None:
    assert describe(name)
    assert guessed(name)


@pytest.mark.parametrize(
    "name",
    [
        "gpt-oss-120b-Distill-Qwen3-4B",  # a Qwen
        "ibm/granite-7b-base",  # a Llama, of a size that Granite has not
        "stabilityai/japanese-stablelm-base-gamma-7b",  # a Mistral
        "me/Llama-3-8B-pruned",  # of other sizes inside
    ],
)
def test_what_somebody_made_of_a_model_and_named_after_it_is_a_guess(name: str) -> None:
    assert guessed(name)


@pytest.mark.parametrize(
    "name",
    ["unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "TheBloke/zephyr-7B-beta-GPTQ", "Qwen2.5-7B-Instruct-GPTQ-Int4"],
)
def test_a_quantised_copy_of_a_published_name_is_none(name: str) -> None:
    assert not guessed(name)


@pytest.mark.parametrize(
    "name", ["google/gemma-3-4b-it", "gpt2", "./out/Llama-3-8B-sft", "t5-large", "/models/llama-hf", "Qwen/Qwen3-0.6B"]
)
def test_a_published_name_and_a_line_with_its_size_are_none(name: str) -> None:
    assert not guessed(name)


@pytest.mark.parametrize(
    "name, severity",
    [("google/gemma-2-9b-it", "error"), ("me/my-gemma-2", "warning"), ("me/gemma-2-like-ours", "warning")],
)
def test_what_is_concluded_from_a_guess_is_a_warning_at_most(name: str, severity: str | None, tmp_path: Path) -> None:
    told = {"with": ["transformers==5.23.0", "trl==1.16.0", "peft==0.21.2"]}
    found = look({"train.py": RUN.format(name=name)}, str(tmp_path), told)
    assert {d.severity for d in found if d.code == "K111"} == ({severity} if severity else set())
