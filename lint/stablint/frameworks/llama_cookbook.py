"""Meta's llama-cookbook (llama-recipes): flags of its `finetuning.py`, each a field of one of its config classes, no TrainingArguments.

Read at 0.0.5.post1: llama_cookbook/configs/{training,fsdp,peft,quantization}.py. Their defaults: knowledge/frameworks/llama-cookbook.yaml.
"""

from __future__ import annotations

from stablint.frameworks import huggingface
from stablint.frameworks import words as _codecs  # noqa: F401  registers the codecs used below
from stablint.frameworks.fragment import Block, Fragment, Row, lower_mapping
from stablint.run.fact import CLOSED, OPEN, PRESUMED
from stablint.syntax.tree import Command

_ROWS = (
    ("model_name", "model.name_or_path", "text"),
    ("batch_size_training", "training.per_device_train_batch_size", "plain"),
    ("val_batch_size", "training.per_device_eval_batch_size", "plain"),
    ("context_length", "training.max_length", "plain"),
    ("gradient_accumulation_steps", "training.gradient_accumulation_steps", "plain"),
    ("gradient_clipping_threshold", "training.max_grad_norm", "plain"),
    ("num_epochs", "training.num_train_epochs", "plain"),
    ("lr", "training.learning_rate", "plain"),
    ("weight_decay", "training.weight_decay", "plain"),
    ("seed", "training.seed", "plain"),
    ("output_dir", "training.output_dir", "text"),
    ("dataset", "data.dataset", "plain"),
    ("enable_fsdp", "training.fsdp", "flag"),
    ("use_fp16", "training.fp16", "flag"),
    ("mixed_precision", "training.mixed_precision", "flag"),
    ("fsdp_config.pure_bf16", "training.pure_bf16", "flag"),
    ("pure_bf16", "training.pure_bf16", "flag"),
    ("fsdp_config.fsdp_cpu_offload", "fsdp.offload_params", "flag"),
    ("fsdp_cpu_offload", "fsdp.offload_params", "flag"),
    ("fsdp_config.fsdp_activation_checkpointing", "training.gradient_checkpointing", "flag"),
    ("fsdp_activation_checkpointing", "training.gradient_checkpointing", "flag"),
    ("optimizer", "training.optim", "optimizer"),
    ("use_peft", "lora.use_peft", "flag"),
    ("lora_config.r", "lora.r", "plain"),
    ("r", "lora.r", "plain"),
    ("lora_alpha", "lora.lora_alpha", "plain"),
    ("lora_dropout", "lora.lora_dropout", "plain"),
    ("target_modules", "lora.target_modules", "words"),
)
ROWS: dict[str, Row | tuple[Row, ...]] = {
    **{key: Row(key, fact, codec) for key, fact, codec in _ROWS},
    "quantization": (
        Row("quantization", "quantization.load_in_4bit", "word-4bit"),
        Row("quantization", "quantization.load_in_8bit", "word-8bit"),
    ),
}
# Fields that no other program has; `model_name` alone is said with many.
_TELLING = frozenset({
    "enable_fsdp", "peft_method", "batch_size_training", "dist_checkpoint_root_folder", "dist_checkpoint_folder", "use_fast_kernels",
    "fsdp_config.pure_bf16", "low_cpu_fsdp", "run_validation", "batching_strategy", "one_gpu", "freeze_LLM_only",
})  # fmt: skip
_ENTRY = "finetuning"  # recipes/…/finetuning.py, and `-m llama_cookbook.finetuning`


def recognise_flags(keys: frozenset[str], command: Command) -> bool:
    words = (*command.words, *(one.value for one in command.positionals if isinstance(one.value, str)))
    named = any(word.rpartition("/")[2].removesuffix(".py").rpartition(".")[2] == _ENTRY for word in words)
    return len(keys & _TELLING) >= 2 or (named and "model_name" in keys)


def lower(block: Block, layer: str = "flags", command: str = "") -> Fragment:
    statements = tuple(lower_mapping(block, ROWS, layer, lambda key: None, flags=True))
    stated = {one.fact: one.value for one in statements}
    adapted = stated.get("lora.use_peft") is True
    quantised = stated.get("quantization.load_in_4bit") is True or stated.get("quantization.load_in_8bit") is True
    state = OPEN if block.mapping.open else PRESUMED
    owned = ("training", "lora", "quantization", "model", "fsdp")
    classes = {**({"lora": ("peft.LoraConfig",)} if adapted else {}), **({"quantization": ()} if quantised else {})}
    return Fragment(
        "llama-cookbook", block, layer, statements,
        {**dict.fromkeys(owned, state), "deepspeed": CLOSED, "accelerate": CLOSED, "data": OPEN, "trainer": CLOSED, "tokenizer": OPEN},
        classes, huggingface.links(statements), entry=True, framework="llama-cookbook",
    )  # fmt: skip
