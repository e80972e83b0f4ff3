"""LLaMA-Factory: YAML, JSON and flags of `llamafactory-cli train` and the older `src/train_bash.py`. Its own keys on top of TrainingArguments."""

from __future__ import annotations

from stablint.dialect import huggingface
from stablint.dialect.fragment import Block, Fragment, Row, lower_mapping, spelled
from stablint.run.fact import CLOSED, OPEN
from stablint.source.tree import Mapping

_OWN = (
    ("stage", "training.stage", "plain"),
    ("finetuning_type", "training.finetuning_type", "plain"),
    ("template", "data.template", "text"),
    ("dataset", "data.dataset", "words"),
    ("eval_dataset", "data.eval_dataset", "words"),
    ("val_size", "data.val_size", "plain"),
    ("cutoff_len", "training.max_length", "plain"),
    ("streaming", "data.is_iterable", "flag"),
    ("packing", "training.packing", "flag"),
    ("neat_packing", "training.neat_packing", "flag"),
    ("lora_target", "lora.target_modules", "targets"),
    ("lora_rank", "lora.r", "plain"),
    ("additional_target", "lora.modules_to_save", "words"),
    ("pissa_init", "training.pissa_init", "flag"),
    ("loraplus_lr_ratio", "lora.loraplus_lr_ratio", "plain"),
    ("quantization_type", "quantization.bnb_4bit_quant_type", "plain"),
    ("double_quantization", "quantization.bnb_4bit_use_double_quant", "flag"),
    ("quantization_method", "quantization.quant_method", "plain"),
    ("flash_attn", "training.flash_attn", "plain"),
    ("pure_bf16", "training.pure_bf16", "flag"),
    ("use_unsloth", "training.use_unsloth", "flag"),
    ("infer_dtype", "model.infer_dtype", "dtype"),
    ("rope_scaling", "model.rope_scaling", "plain"),
    ("pref_beta", "training.beta", "plain"),
    ("pref_loss", "training.loss_type", "plain"),
    ("use_galore", "training.use_galore", "flag"),
    ("use_apollo", "training.use_apollo", "flag"),
    ("disable_gradient_checkpointing", "training.disable_gradient_checkpointing", "flag"),
    ("upcast_layernorm", "training.upcast_layernorm", "flag"),
)  # fmt: skip
_BITS = (Row("quantization_bit", "quantization.bits"), Row("quantization_bit", "quantization.load_in_4bit", "is-4"),
         Row("quantization_bit", "quantization.load_in_8bit", "is-8"))  # fmt: skip
ROWS: dict[str, Row | tuple[Row, ...]] = {
    **huggingface.ROWS,
    **{key: Row(key, fact, codec) for key, fact, codec in _OWN},
    "quantization_bit": _BITS,
}

# Keys of `llamafactory-cli chat` and `export`, which train nothing.
_NO_TRAINING = frozenset(["infer_backend", "export_dir"])
_PARTS = ("peft_config", "dist_config", "kernel_config", "quant_config", "init_config", "optim_config")
# The second generation's words; its own arguments are no TrainingArguments.
_SECOND: dict[str, Row | tuple[Row, ...]] = {
    key: Row(key, fact, codec)
    for key, fact, codec in (
        ("model", "model.name_or_path", "text"),
        ("train_dataset", "data.dataset", "plain"),
        ("micro_batch_size", "training.per_device_train_batch_size", "plain"),
        ("cutoff_len", "training.max_length", "plain"),
        ("learning_rate", "training.learning_rate", "plain"),
        ("max_steps", "training.max_steps", "plain"),
        ("num_train_epochs", "training.num_train_epochs", "plain"),
        ("output_dir", "training.output_dir", "text"),
        ("peft_config.name", "training.finetuning_type", "plain"),
        ("peft_config.r", "lora.r", "plain"),
        ("peft_config.lora_alpha", "lora.lora_alpha", "plain"),
        ("peft_config.lora_dropout", "lora.lora_dropout", "plain"),
        ("peft_config.target_modules", "lora.target_modules", "targets"),
    )
}

_TELLING = frozenset(
    [
        "finetuning_type",
        "stage",
        "template",
        "cutoff_len",
        "lora_target",
        "quantization_bit",
        "dataset_dir",
        "val_size",
        "flash_attn",
        "neat_packing",
        "lora_rank",
        "additional_target",
        "pref_beta",
        "pref_loss",
        "infer_backend",
        "export_dir",
        "adapter_name_or_path",
        "overwrite_cache",
    ]
)


def recognise(keys: frozenset[str], block: Block) -> int:
    found = keys & _TELLING
    strong = keys & {"finetuning_type", "stage", "template", "cutoff_len", "lora_target", "quantization_bit"}
    model = keys & {"model_name_or_path", "adapter_name_or_path"}
    if len(strong) >= 2 and (model or len(found) >= 3):
        return 94
    return 93 if (model and "template" in keys and keys & _NO_TRAINING) or _is_second(keys, block) else 0


def _is_second(keys: frozenset[str], block: Block) -> bool:
    """The second generation of its files: `model`, and parts that are named by `name`."""
    parts = [
        part
        for part in _PARTS
        if isinstance(inner := block.mapping.get(part), Mapping) and inner.get("name") is not None
    ]
    return (
        "model" in keys
        and bool(parts)
        and (len(parts) >= 2 or bool(keys & {"model_class", "train_dataset", "sample_backend"}) or len(keys) <= 3)
    )


def owns_flags(block: Block) -> bool:
    return bool(
        {spelled(entry.key) for entry in block.mapping.entries}
        & {"finetuning_type", "lora_target", "quantization_bit", "cutoff_len"}
    )


def lower(block: Block, layer: str = "file") -> Fragment:
    keys = frozenset(entry.key for entry in block.mapping.entries)
    second = block.kind == "document" and _is_second(keys, block)
    if second:
        statements = tuple(lower_mapping(block, _SECOND, layer, lambda key: None))
    else:
        statements = tuple(lower_mapping(block, ROWS, layer, huggingface.training_row, flags=block.kind == "flags"))
    no_training = bool(keys & _NO_TRAINING) and "stage" not in keys
    state = OPEN if block.mapping.open or second or no_training else CLOSED
    return Fragment(
        "llamafactory", block, layer, statements,
        dict.fromkeys(("training", "lora", "quantization", "model", "data", "fsdp"), state) | {"trainer": CLOSED, "tokenizer": OPEN},
        {} if second else {"training": (huggingface.BASE,)}, huggingface.links(statements), entry=True, framework="llamafactory",
    )  # fmt: skip
