"""One codec for every way of saying a value: what it reads, and that what it writes is read again as what was meant."""

from __future__ import annotations

from typing import Any

import pytest

import stablint.frameworks.words  # noqa: F401 — adds codecs of its own
from stablint.frameworks.codec import CODECS, WRITERS, Unwritable, write
from stablint.run.fact import is_unknown
from stablint.syntax.tree import Unknown

HIDDEN = Unknown("args.lr")

# Codec, what stands in the text, what is meant.
READS: list[tuple[str, Any, Any]] = [
    ("plain", "1e-4", 1e-4),
    ("plain", "-3", -3),
    ("plain", "+1_000", 1000),
    ("plain", ".5", 0.5),
    ("plain", "1.", 1.0),
    ("plain", "-", "-"),
    ("plain", ".", "."),
    ("plain", "e5", "e5"),
    ("plain", "1e", "1e"),
    ("plain", "3 epochs", "3 epochs"),
    ("plain", "7" * 40, "7" * 40),  # no number that a setting has
    ("plain", "", ""),
    ("plain", None, None),
    ("plain", True, True),
    ("dtype", "torch.float16", "float16"),
    ("dtype", "half", "float16"),
    ("dtype", "BF16", "bfloat16"),
    ("dtype", "float", "float32"),
    ("dtype", "32", "float32"),
    ("dtype", 16, "float16"),
    ("dtype", 32, "float32"),
    ("dtype", "double", "float64"),
    ("dtype", "auto", "auto"),
    ("dtype", True, True),
    ("strategy", False, "no"),  # YAML 1.1
    ("strategy", "IntervalStrategy.STEPS", "steps"),
    ("strategy", "Epoch", "epoch"),
    ("flag", "True", True),
    ("flag", "false", False),
    ("flag", "1", 1),
    ("words", "q_proj, v_proj", ["q_proj", "v_proj"]),
    ("words", "q_proj,,v_proj,", ["q_proj", "v_proj"]),
    ("words", "q_proj", "q_proj"),
    ("words", "['q_proj', \"v_proj\"]", ["q_proj", "v_proj"]),
    ("words", "[]", []),
    ("words", "[q_proj", "[q_proj"),
    ("words", ["q_proj"], ["q_proj"]),
    ("words", "8", 8),
    ("text", "123", "123"),
    ("text", "~/models", "~/models"),
    ("text", 5, 5),
    ("is-4", "4", True),
    ("is-4", 8, False),
    ("is-8", 8, True),
    ("is-8", "4", False),
    ("targets", "all", "all-linear"),
    ("targets", "ALL", "all-linear"),
    ("targets", ["all-linear"], "all-linear"),
    ("targets", "q_proj", ["q_proj"]),
    ("targets", "q_proj,v_proj", ["q_proj", "v_proj"]),
    ("is-bf16", "bf16", True),
    ("is-bf16", "fp16", False),
    ("is-fp16", "half", True),
    ("is-fp16", "fp32", False),
    ("offload", True, "cpu"),
    ("offload", "false", "none"),
    ("offload", "nvme", "nvme"),
    ("flash", True, "flash_attention_2"),
    ("flash", False, "eager"),
    ("attention", "fa2", "flash_attention_2"),
    ("attention", "fa3", "flash_attention_3"),
    ("attention", False, "eager"),
    ("attention", "disabled", "eager"),
    ("attention", "sdpa", "sdpa"),
    ("attention", "auto", None),  # the library's choice
    ("types", [{"path": "a", "type": "alpaca"}, {"path": "b"}, "c", {"type": {"field": 1}}], ["alpaca"]),
    ("types", "alpaca", "alpaca"),
    ("unformatted", [{"type": {"field_prompt": "q", "field_chosen": "chosen"}}, "c", {"type": "a"}], ["q"]),
    ("unformatted", [{"type": {"field_prompt": "q", "prompt_format": "{prompt}"}}], []),
    ("unformatted", "alpaca", "alpaca"),
    ("said-twice", [{"message_field_role": "from", "message_property_mappings": {"role": "speaker"}}, "c"], ["message_field_role"]),
    ("said-twice", [{"message_field_role": "from", "message_property_mappings": {"role": "from", "content": "v"}}, {"type": "a"}], []),
    ("said-twice", "alpaca", "alpaca"),
    ("unloaded", [{"path": "/d/a.json"}, {"path": "org/a"}, "c", {"path": "d/a.jsonl", "ds_type": "json", "data_files": ["d/a.jsonl"]}], ["/d/a.json"]),
    ("unloaded", [{"path": "d", "ds_type": "json"}, {"path": "e", "ds_type": "json", "data_files": "e/a.jsonl"}], ["d", "e"]),
    ("unloaded", "alpaca", "alpaca"),
    ("inverse", "true", False),
    ("inverse", False, True),
    ("inverse", "sometimes", "sometimes"),
    ("four-bits", True, 4),
    ("four-bits", False, None),
    ("four-bits", 8, 8),
    ("flash-word", "flash_attn", "flash_attention_2"),
    ("flash-word", "sdpa", "sdpa"),
    ("swift-init", "true", True),
    ("swift-init", "pissa", "pissa"),
    ("swift-dtype", "fp16", "float16"),
    ("member", "peft.TaskType.CAUSAL_LM", "CAUSAL_LM"),
    ("member", "CAUSAL_LM", "CAUSAL_LM"),
    ("member", 3, 3),
    ("first", [0.9, 0.95], 0.9),
    ("autocast", "bf16-mixed", "bfloat16"),
    ("autocast", "bf16-true", None),
    ("weights", "bf16-true", "bfloat16"),
    ("bnb-4bit", "bnb.nf4-dq", True),
    ("bnb-4bit", None, None),  # no word for it: not asked for
    ("builder", "torchtune.models.llama3_1.qlora_llama3_1_8b", "lora"),
    ("builder", "torchtune.models.llama3_1.llama3_1_8b", "full"),
    ("second", [0.9, "0.95"], 0.95),
    ("first", "(0.9, 0.95)", 0.9),
    ("second", "0.9 0.95", 0.95),
]  # fmt: skip
# Codec, what stands there: something else decides, so nothing is known.
UNKNOWN: list[tuple[str, Any]] = [
    ("plain", "${LR}"), ("plain", "$LR"), ("plain", "{{ lr }}"), ("dtype", "${DTYPE}"), ("strategy", "${WHEN}"), ("flag", "$ON"),
    ("words", "${MODULES}"), ("text", "${MODEL}/final"), ("is-4", "${BITS}"), ("is-bf16", "$DTYPE"), ("member", "${TASK}"),
    ("autocast", "${PRECISION}"), ("weights", "${PRECISION}"), ("bnb-4bit", "${QUANTIZE}"), ("bnb-type", "$QUANTIZE"),
    ("builder", "${model._component_}"), ("word-4bit", "${BITS}"), ("optimizer", "${OPTIMIZER}"), ("sentence-schedule", "${SCHEDULE}"),
    ("targets", "AUTO"), ("targets", "DEFAULT"), ("swift-init", "lora-ga"), ("swift-dtype", "AUTO"),
    ("first", [0.9]), ("second", "0.9"), ("first", 0.9), ("flash-word", "${WORD}"),
]  # fmt: skip


@pytest.mark.parametrize(("codec", "raw", "meant"), READS)
def test_what_is_written_is_read_as_what_is_meant(codec: str, raw: Any, meant: Any) -> None:
    value = CODECS[codec](raw)
    assert (type(value), value) == (type(meant), meant)


@pytest.mark.parametrize(("codec", "raw"), UNKNOWN)
def test_what_is_decided_elsewhere_is_not_known(codec: str, raw: Any) -> None:
    assert is_unknown(CODECS[codec](raw))


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_not_known_stays_so_with_its_reason(codec: str) -> None:
    assert CODECS[codec](HIDDEN) == HIDDEN


def test_a_dtype_that_the_card_decides_says_so() -> None:
    """ms-swift's AUTO: float16 on cards without bfloat16."""
    value = CODECS["swift-dtype"]("AUTO")
    fact, native, otherwise = value.depends
    assert (fact, is_unknown(native), otherwise) == ("target.gpu.native_bf16", True, "float16")


# Codec, value, what stands there now, what is written in its style.
WRITES: list[tuple[str, Any, Any, Any]] = [
    ("plain", 3, 1, 3),
    ("dtype", "bfloat16", "torch.float16", "torch.bfloat16"),
    ("dtype", "bfloat16", "fp16", "bf16"),
    ("dtype", "bfloat16", "half", "bf16"),
    ("dtype", "float16", "bfloat16", "float16"),
    ("dtype", "float32", "bf16", "fp32"),
    ("dtype", "float32", None, "float32"),
    ("dtype", "auto", "fp16", "auto"),
    ("dtype", "float32", "auto", "float32"),
    ("words", ["a", "b"], "a,c", "a,b"),
    ("words", ["a", "b"], ["a"], ["a", "b"]),
    ("words", [1, 2], "a,c", [1, 2]),
    ("targets", ["a", "b"], "a", "a,b"),
    ("is-4", True, 8, 4),
    ("is-8", True, 4, 8),
    ("is-bf16", True, "fp16", "bf16"),
    ("is-bf16", False, "bf16", "fp16"),
    ("is-fp16", True, "bf16", "fp16"),
    ("is-fp16", False, "fp16", "bf16"),
    ("offload", "cpu", False, True),
    ("offload", "none", True, False),
    ("flash", "flash_attention_2", False, True),
    ("flash", "eager", True, False),
    ("inverse", True, True, False),
    ("inverse", False, False, True),
    ("attention", "flash_attention_2", "auto", "fa2"),
    ("attention", "flash_attention_3", "auto", "fa3"),
    ("attention", "eager", "fa2", "disabled"),
    ("attention", "sdpa", "fa2", "sdpa"),
    ("four-bits", 4, False, True),
    ("four-bits", None, True, False),
    ("flash-word", "flash_attention_2", "sdpa", "flash_attn"),
    ("flash-word", "sdpa", "flash_attn", "sdpa"),
    ("swift-dtype", "bfloat16", "fp16", "bf16"),
    ("short-dtype", "bfloat16", None, "bf16"),
    ("swift-dtype", "float16", "bf16", "fp16"),
    ("swift-dtype", "float32", "bf16", "fp32"),
    ("first", 0.8, [0.9, 0.95], [0.8, 0.95]),
    ("second", 0.999, [0.9, 0.95], [0.9, 0.999]),
]  # fmt: skip
# Codec, value, what stands there now: it cannot be said.
UNSAYABLE: list[tuple[str, Any, Any]] = [
    ("targets", "all-linear", ["q_proj"]), ("is-4", False, 4), ("is-8", False, 8), ("offload", "nvme", True), ("flash", "sdpa", True),
    ("inverse", None, True), ("attention", "flex", "fa2"), ("four-bits", 8, True), ("types", ["alpaca"], ["sharegpt"]), ("unformatted", ["q"], []),
    ("said-twice", ["message_field_role"], []),
    ("unloaded", ["q"], []),
    ("swift-dtype", "float64", "fp16"), ("first", 0.8, "0.9,0.95"), ("second", 0.8, [0.9]), ("is-4", 1, 4),
]  # fmt: skip


@pytest.mark.parametrize(("codec", "value", "old", "written"), WRITES)
def test_a_value_is_put_into_the_words_that_stand_there(codec: str, value: Any, old: Any, written: Any) -> None:
    now = write(codec, value, old)
    assert (type(now), now) == (type(written), written)
    assert CODECS[codec](now) == value


@pytest.mark.parametrize(("codec", "value", "old"), UNSAYABLE)
def test_what_cannot_be_said_is_not_written(codec: str, value: Any, old: Any) -> None:
    with pytest.raises(Unwritable) as error:
        write(codec, value, old)
    assert str(error.value)


def test_only_codecs_that_read_also_write() -> None:
    assert set(WRITERS) <= set(CODECS)
