"""ms-swift: YAML and JSON of `swift sft`, `swift rlhf` and its Megatron commands. Its own keys on top of TrainingArguments."""

from __future__ import annotations

from stablint.dialect import huggingface
from stablint.dialect.fragment import Block, Fragment, Row, lower_mapping
from stablint.run.fact import CLOSED, OPEN
from stablint.source.tree import Mapping

_OWN = (
    ("model", "model.name_or_path", "text"),
    ("attn_impl", "model.attn_implementation", "text"),
    ("dataset", "data.dataset", "plain"),
    ("val_dataset", "data.eval_dataset", "plain"),
    ("split_dataset_ratio", "data.val_size", "plain"),
    ("max_length", "training.max_length", "plain"),
    ("tuner_type", "training.finetuning_type", "plain"),
    ("train_type", "training.finetuning_type", "plain"),
    ("sft_type", "training.finetuning_type", "plain"),
    ("lora_rank", "lora.r", "plain"),
    ("target_modules", "lora.target_modules", "targets"),
    ("modules_to_save", "lora.modules_to_save", "words"),
    ("lr", "training.learning_rate", "plain"),
    ("micro_batch_size", "training.per_device_train_batch_size", "plain"),
    ("global_batch_size", "training.global_batch_size", "plain"),
    ("rlhf_type", "training.rlhf_type", "plain"),
    ("bnb_4bit_compute_dtype", "quantization.bnb_4bit_compute_dtype", "dtype"),
    ("quant_method", "quantization.quant_method", "text"),
    ("quant_bits", "quantization.bits", "plain"),
)  # fmt: skip
ROWS: dict[str, Row | tuple[Row, ...]] = {
    **huggingface.ROWS,
    **{key: Row(key, fact, codec) for key, fact, codec in _OWN},
}

_STRONG = frozenset(
    [
        "tuner_type",
        "train_type",
        "sft_type",
        "rlhf_type",
        "split_dataset_ratio",
        "train_dataset_sample",
        "attn_impl",
        "truncation_strategy",
        "model_author",
        "loss_scale",
        "swift_version",
        "dataset_num_proc",
        "val_dataset",
        "self_cognition_sample",
        "custom_train_dataset_path",
    ]
)
_OWN_WORDS = frozenset(
    ["tuner_type", "train_type", "sft_type", "rlhf_type", "split_dataset_ratio", "train_dataset_sample"]
)


def recognise(keys: frozenset[str], block: Block) -> int:
    if {"cmd", "args"} <= keys:  # one of its experiments: the command, and its arguments below
        inner = block.mapping.get("args")
        return (
            recognise(frozenset(entry.key for entry in inner.entries) | {"tuner_type"}, block)
            if isinstance(inner, Mapping)
            else 0
        )
    if not keys & {"model", "model_type", "model_id_or_path"} or "dataset" not in keys:
        return 0
    return (
        94
        if keys & _OWN_WORDS and (len(keys & _STRONG) >= 2 or keys & huggingface.TELLING or keys & {"output_dir", "lr"})
        else 0
    )


def lower(block: Block, layer: str = "file") -> Fragment:
    """`model_type` alone names the model by ms-swift's own word, which says nothing here."""
    inner = block.mapping.get("args") if block.mapping.get("cmd") is not None else None
    if isinstance(inner, Mapping):
        block = block._replace(mapping=inner)
    statements = tuple(lower_mapping(block, ROWS, layer, huggingface.training_row))
    state = OPEN if block.mapping.open or inner is not None else CLOSED
    return Fragment(
        "ms-swift", block, layer, statements,
        {"training": OPEN, "lora": OPEN, "quantization": state, "model": state, "data": OPEN, "fsdp": OPEN, "trainer": OPEN, "tokenizer": OPEN},
        {}, huggingface.links(statements), entry=True, framework="ms-swift",
    )  # fmt: skip
