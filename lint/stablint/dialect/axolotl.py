"""axolotl's YAML. It casts what pydantic can cast (`1e-4` is a number there) and fills its own defaults into TrainingArguments."""

from __future__ import annotations

from stablint.dialect import huggingface
from stablint.dialect.fragment import Block, Fragment, Row, lower_mapping
from stablint.run.fact import CLOSED, OPEN

_OWN = (
    ("base_model", "model.name_or_path", "text"),
    ("adapter", "training.adapter", "plain"),
    ("micro_batch_size", "training.per_device_train_batch_size", "plain"),
    ("eval_batch_size", "training.per_device_eval_batch_size", "plain"),
    ("num_epochs", "training.num_train_epochs", "plain"),
    ("optimizer", "training.optim", "plain"),
    ("lr_scheduler", "training.lr_scheduler_type", "plain"),
    ("sequence_len", "training.max_length", "plain"),
    ("sample_packing", "training.packing", "flag"),
    ("val_set_size", "data.val_size", "plain"),
    ("test_datasets", "data.eval_dataset", "plain"),
    ("datasets", "data.dataset", "plain"),
    ("rl", "training.rl", "plain"),
    ("rl_beta", "training.beta", "plain"),
    ("flash_attention", "training.flash_attention", "flag"),
    ("sdp_attention", "training.sdp_attention", "flag"),
    ("xformers_attention", "training.xformers_attention", "flag"),
    ("gptq", "quantization.gptq", "flag"),
    ("peft_use_dora", "lora.use_dora", "flag"),
    ("peft_use_rslora", "lora.use_rslora", "flag"),
    ("lora_target_linear", "lora.target_linear", "flag"),
    ("early_stopping_patience", "training.early_stopping_patience", "plain"),
    ("torch_dtype", "model.dtype", "dtype"),
    ("bnb_config_kwargs.bnb_4bit_compute_dtype", "quantization.bnb_4bit_compute_dtype", "dtype"),
    ("unfrozen_parameters", "training.unfrozen_parameters", "plain"),
)  # fmt: skip
ROWS: dict[str, Row | tuple[Row, ...]] = {
    **huggingface.ROWS,
    **{key: Row(key, fact, codec) for key, fact, codec in _OWN},
}

_TELLING = frozenset(
    [
        "base_model",
        "sequence_len",
        "micro_batch_size",
        "sample_packing",
        "val_set_size",
        "datasets",
        "adapter",
        "num_epochs",
        "lr_scheduler",
        "dataset_prepared_path",
        "pad_to_sequence_len",
        "train_on_inputs",
        "special_tokens",
        "wandb_project",
        "flash_attention",
        "lora_target_linear",
        "tokenizer_type",
        "model_type",
        "rl",
    ]
)


def recognise(keys: frozenset[str], block: Block) -> int:
    found = keys & _TELLING
    return 95 if "base_model" in keys and len(found) >= 3 else 60 if {"micro_batch_size", "sequence_len"} <= keys else 0


def lower(block: Block, layer: str = "file") -> Fragment:
    statements = tuple(lower_mapping(block, ROWS, layer, huggingface.training_row))
    return Fragment(
        "axolotl", block, layer, statements,
        {"training": CLOSED, "lora": CLOSED, "quantization": CLOSED, "model": CLOSED, "data": CLOSED, "fsdp": CLOSED, "trainer": CLOSED, "tokenizer": OPEN},
        {}, huggingface.links(statements), entry=True, framework="axolotl",
    )  # fmt: skip
