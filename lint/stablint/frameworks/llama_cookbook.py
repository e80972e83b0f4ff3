"""Meta's llama-cookbook (llama-recipes): flags of its `finetuning.py`, each a field of one of its config classes, no TrainingArguments.

Read at 0.0.5.post1: llama_cookbook/configs/{training,fsdp,peft,quantization}.py. Their defaults: knowledge/frameworks/llama-cookbook.yaml.
"""

from __future__ import annotations

from stablint.frameworks import huggingface
from stablint.frameworks import words as _codecs  # noqa: F401  registers the codecs used below
from stablint.frameworks.fragment import Block, Fragment, lower_mapping, table
from stablint.run.fact import CLOSED, OPEN, PRESUMED
from stablint.syntax.tree import Command

ROWS = table("llama-cookbook")
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
