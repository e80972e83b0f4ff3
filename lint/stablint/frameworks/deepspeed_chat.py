"""DeepSpeed-Chat (DeepSpeedExamples): flags of its `main.py`, read by parsers of its own. They build a DeepSpeed configuration, no TrainingArguments."""

from __future__ import annotations

from stablint.frameworks import huggingface
from stablint.frameworks.fragment import Block, Fragment, Row, lower_mapping, table
from stablint.run.fact import CLOSED, OPEN, PRESUMED, Explicit, Place, Statement
from stablint.syntax.tree import Command, Entry, Scalar

ROWS = table("deepspeed-chat")
# Flags that together no other program has.
_TELLING = frozenset({
    "data_split", "sft_only_data_path", "zero_stage", "lora_dim", "only_optimize_lora", "actor_zero_stage", "critic_zero_stage",
    "actor_lora_dim", "critic_lora_dim", "actor_model_name_or_path", "critic_model_name_or_path", "num_padding_at_beginning",
    "enable_hybrid_engine",
})  # fmt: skip
# What only the parser of a later step knows.
_STAGES = (("actor_model_name_or_path", "ppo"), ("num_padding_at_beginning", "reward"), ("beta", "dpo"))


# Switches there; relatives such as Safe-RLHF have words behind them: `--offload optimizer`.
_SWITCHES = frozenset(["offload", "only_optimize_lora", "enable_hybrid_engine"])


def recognise_flags(keys: frozenset[str], command: Command) -> bool:
    return len(keys & _TELLING) >= 2 and not any(map(_is_a_word, command.flags.entries))


def _is_a_word(flag: Entry) -> bool:
    value = flag.value.value if isinstance(flag.value, Scalar) else None
    return flag.key.lstrip("-").replace("-", "_") in _SWITCHES and value is not True


def lower(block: Block, layer: str = "flags", command: str = "") -> Fragment:
    statements = tuple(lower_mapping(block, ROWS, layer, _nothing, flags=True))
    statements += _stage(block, layer)
    state = OPEN if block.mapping.open else PRESUMED  # told by its flags alone: a copy of the script may set more
    rank = next((s.value for s in statements if s.fact == "lora.r"), 0)
    owned = ("training", "deepspeed", "lora", "quantization", "model", "data", "fsdp")
    return Fragment(
        "deepspeed-chat", block, layer, statements, {**dict.fromkeys(owned, state), "trainer": CLOSED, "tokenizer": OPEN},
        {} if rank == 0 else {"lora": ()}, huggingface.links(statements), entry=True, framework="deepspeed-chat",
    )  # fmt: skip


def _stage(block: Block, layer: str) -> tuple[Statement, ...]:
    for key, stage in _STAGES:
        entry = next((e for e in block.mapping.entries if e.key == key), None)
        if entry is not None:
            place = Place(block.document, key, entry.key_start, entry.key_end, None, (key,))
            return (Statement("training.stage", stage, key, Explicit(place, layer, block.number)),)
    return ()


def _nothing(key: str) -> Row | None:
    return None
