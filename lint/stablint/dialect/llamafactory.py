"""LLaMA-Factory: YAML, JSON and flags of `llamafactory-cli train` and the older `src/train_bash.py`. Its own keys on top of TrainingArguments."""

from __future__ import annotations

from stablint.dialect import huggingface
from stablint.dialect.fragment import Block, Fragment, Row, lower_mapping, spelled
from stablint.run.fact import CLOSED, OPEN

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

_TELLING = frozenset(["finetuning_type", "stage", "template", "cutoff_len", "lora_target", "quantization_bit", "dataset_dir", "val_size", "flash_attn", "neat_packing", "lora_rank", "additional_target", "pref_beta", "pref_loss", "infer_backend", "export_dir", "adapter_name_or_path", "overwrite_cache"])  # fmt: skip


def recognise(keys: frozenset[str], block: Block) -> int:
    found = keys & _TELLING
    strong = keys & {"finetuning_type", "stage", "template", "cutoff_len", "lora_target", "quantization_bit"}
    model = keys & {"model_name_or_path", "adapter_name_or_path"}
    return 94 if len(strong) >= 2 and (model or len(found) >= 3) else 0


def owns_flags(block: Block) -> bool:
    return bool({spelled(entry.key) for entry in block.mapping.entries} & {"finetuning_type", "lora_target", "quantization_bit", "cutoff_len"})


def lower(block: Block, layer: str = "file") -> Fragment:
    statements = tuple(lower_mapping(block, ROWS, layer, huggingface.training_row, flags=block.kind == "flags"))
    state = OPEN if block.mapping.open else CLOSED
    return Fragment(
        "llamafactory", block, layer, statements,
        dict.fromkeys(("training", "lora", "quantization", "model", "data", "fsdp"), state) | {"trainer": CLOSED, "tokenizer": OPEN},
        {"training": (huggingface.BASE,)}, huggingface.links(statements), entry=True, framework="llamafactory",
    )  # fmt: skip
