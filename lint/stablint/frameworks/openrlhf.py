"""OpenRLHF: flags of `openrlhf.cli.train_sft` and its siblings, dotted (from 0.10.2 on) and flat. Its trainer is DeepSpeed throughout.

It reads no TrainingArguments: what its own flags do not say is its own default (knowledge/frameworks).
"""

from __future__ import annotations

from stablint.frameworks import huggingface
from stablint.frameworks.fragment import Block, Fragment, Row, Rows, lower_mapping, table
from stablint.run.fact import CLOSED, OPEN, PRESUMED, Explicit, Place, Statement
from stablint.syntax.tree import Command, Unknown

DOTTED = table("openrlhf", "dotted")
FLAT = table("openrlhf", "flat")
ROWS = {**FLAT, **DOTTED}

_MODULE = "openrlhf.cli.train_"
_STAGES = {
    "sft": "sft",
    "dpo": "dpo",
    "kto": "kto",
    "rm": "reward",
    "prm": "prm",
    "kd": "distillation",
    "ppo": "ppo",
    "ppo_ray": "ppo",
}
# Flags that together no other program has.
_TELLING_DOTTED = frozenset(
    {"train.micro_batch_size", "train.batch_size", "ds.zero_stage", "ds.param_dtype", "ckpt.output_dir"}
)
_TELLING_FLAT = frozenset(
    {"micro_train_batch_size", "train_batch_size", "pretrain", "max_epochs", "zpg", "packing_samples"}
)


def module(command: Command) -> str:
    """The entry point among the words: `openrlhf.cli.train_sft`; empty where there is none."""
    words = [*command.words, *(p.value for p in command.positionals if isinstance(p.value, str))]
    return next((word for word in words if word.startswith(_MODULE)), "")


def recognise_flags(keys: frozenset[str], command: Command) -> bool:
    """Enough of the flags that only it has."""
    return len(keys & _TELLING_DOTTED) >= 2 or len(keys & _TELLING_FLAT) >= 3


def lower(block: Block, layer: str = "flags", command: str = "") -> Fragment:
    """The stage is the entry point's; flags alone do not tell it."""
    origin = block.origin
    assert isinstance(origin, Command)
    statements = tuple(lower_mapping(block, ROWS, layer, _nothing, flags=True))
    entry = module(origin)
    stage = _STAGES.get(entry.removeprefix(_MODULE), "")
    if stage == "sft" and any(s.fact == "training.pretrain_mode" and s.value is True for s in statements):
        stage = "pretrain"
    if entry:
        said = Explicit(Place(block.document, entry, block.start, block.end, None, (entry,)), layer, block.number)
        statements += (Statement("launch.command", entry.rpartition(".")[2], entry, said),)
        statements += (Statement("training.stage", stage, entry, said),) if stage else ()
    if entry.endswith("_ray") and not any(s.fact == "launch.processes_per_node" for s in statements):
        place = Place(block.document, entry, block.start, block.end, None, (entry,))
        rays = Unknown("Ray starts as many as the entry point's default says")
        statements += (Statement("launch.processes_per_node", rays, entry, Explicit(place, layer, block.number)),)
    state = OPEN if block.mapping.open else CLOSED if entry else PRESUMED
    owned = ("training", "deepspeed", "lora", "quantization", "model", "data", "fsdp")
    return Fragment(
        "openrlhf", block, layer, statements, {**dict.fromkeys(owned, state), "trainer": CLOSED, "tokenizer": OPEN},
        switched_on(statements), huggingface.links(statements), entry=True, framework="openrlhf",
    )  # fmt: skip


def rows_for(keys: frozenset[str]) -> Rows:
    """The spelling that these flags have."""
    return DOTTED if any("." in key for key in keys) else FLAT


def _nothing(key: str) -> Row | None:
    return None


def switched_on(statements: tuple[Statement, ...]) -> dict[str, tuple[str, ...]]:
    """The classes of what these flags switch on: a rank above 0 is LoRA, `load_in_4bit` is bitsandbytes."""
    stated = {s.fact: s.value for s in statements}
    rank = stated.get("lora.r", 0)
    lora = {} if rank == 0 else {"lora": ("peft.LoraConfig",)}
    return {**lora, **({"quantization": ()} if stated.get("quantization.load_in_4bit") is True else {})}
