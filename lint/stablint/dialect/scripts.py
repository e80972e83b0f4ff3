"""What well-known training scripts add to TrainingArguments: arguments of their own dataclasses, told apart by the flags that stand together.

FastChat's and Qwen's finetune.py, LLaVA's train.py and the many scripts that grew out of them.
"""

from __future__ import annotations

from typing import NamedTuple

from stablint.dialect.fragment import Row


class Family(NamedTuple):
    """`telling`: flags that the library does not have; one of them tells the family."""

    telling: frozenset[str]
    rows: dict[str, Row | tuple[Row, ...]]


def _rows(*entries: tuple[str, str, str]) -> dict[str, Row | tuple[Row, ...]]:
    return {key: Row(key, fact, codec) for key, fact, codec in entries}


_LENGTH = ("model_max_length", "training.max_length", "plain")
_DATA = (("data_path", "data.dataset", "plain"), ("eval_data_path", "data.eval_dataset", "plain"))
# haotian-liu/LLaVA, llava/train/train.py: `bits` other than 16 loads through bitsandbytes in the dtype that fp16/bf16 name.
LLAVA = Family(
    frozenset({
        "vision_tower", "mm_projector_type", "mm_vision_select_layer", "tune_mm_mlp_adapter", "pretrain_mm_mlp_adapter",
        "mm_use_im_start_end", "mm_projector_lr", "group_by_modality_length",
    }),
    {
        **_rows(
            _LENGTH, *_DATA,
            ("lora_enable", "lora.use_peft", "flag"),
            ("double_quant", "quantization.bnb_4bit_use_double_quant", "flag"),
            ("quant_type", "quantization.bnb_4bit_quant_type", "plain"),
            ("tune_mm_mlp_adapter", "training.projector_only", "flag"),
        ),
        "bits": (Row("bits", "quantization.load_in_4bit", "is-4"), Row("bits", "quantization.load_in_8bit", "is-8")),
    },
)  # fmt: skip
# QwenLM/Qwen, finetune.py: `q_lora` trains an adapter on a checkpoint that GPTQ has quantised to four bits.
QWEN = Family(
    frozenset({"use_lora"}),
    _rows(_LENGTH, *_DATA, ("use_lora", "lora.use_peft", "flag"), ("q_lora", "quantization.bits", "four-bits")),
)
# lm-sys/FastChat, fastchat/train/train_lora.py: `q_lora` is bitsandbytes with nf4 and double quantisation.
FASTCHAT = Family(
    frozenset({"q_lora", "lazy_preprocess", "model_max_length"}),
    _rows(
        _LENGTH,
        *_DATA,
        ("q_lora", "quantization.load_in_4bit", "flag"),
        ("flash_attn", "model.attn_implementation", "flash"),
    ),
)
_FAMILIES = (LLAVA, QWEN, FASTCHAT)


def rows_for(keys: frozenset[str]) -> dict[str, Row | tuple[Row, ...]]:
    """The rows of the family that the flags belong to; none where they are the library's alone."""
    return next((family.rows for family in (LLAVA, QWEN, FASTCHAT) if keys & family.telling), {})
