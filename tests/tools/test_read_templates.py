"""What marks a turn is read off the templates of LLaMA-Factory's source; every template that a model has is among them."""

from __future__ import annotations

import pytest

from stablint.base import knowledge
from tools import read_templates

SOURCE = """
register_template(
    name="talk",
    format_user=StringFormatter(slots=["<|im_start|>user\\n{{content}}<|im_end|>\\n<|im_start|>assistant\\n"]),
)
register_template(name="tokens", format_user=StringFormatter(slots=[{"token": "<|user|>"}, "{{content}}", {"eos_token"}]))
register_template(name="plain", format_user=StringFormatter(slots=["Human: {{content}}", {"eos_token"}, "\\nAssistant:"]))
register_template(name="nothing")
"""


def test_the_marks_of_a_turn_are_read_off_the_source() -> None:
    assert read_templates.marks(SOURCE) == {
        "talk": ["<|im_end|>", "<|im_start|>"],
        "tokens": ["<|user|>"],
        "plain": [],
        "nothing": [],
    }


@pytest.mark.parametrize(
    "model, marks",
    [
        ("qwen2.5-7b-instruct", ["<|im_end|>", "<|im_start|>"]),
        ("meta-llama-3-8b-instruct", ["<|end_header_id|>", "<|eot_id|>", "<|start_header_id|>"]),
        ("qwen2.5-7b", None),  # a base model has no format
    ],
)
def test_a_chat_model_has_the_marks_of_its_format(model: str, marks: list[str] | None) -> None:
    assert knowledge.load("chat")["models"].get(model) == marks
