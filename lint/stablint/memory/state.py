"""Bytes that a card holds whatever the batch: weights, gradients and optimizer states, as the parallelism divides them.

Mixed precision: float32 weights 4 + gradients 4 + Adam 8; pure half: 2 + 2 + 4; DeepSpeed: 2 + 2 + 12 (arXiv 1910.02054, section 3).
ZeRO-1 divides the states, 2 also the gradients, 3 and FSDP all of it.
"""

from __future__ import annotations

from stablint.base.light import NamedTuple
from stablint.memory.shape import Shape

# Bytes a parameter by stored width; 4 bits with a float32 scale a block of 64, or with scales that are quantised again (QLoRA, section 3).
WEIGHT = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "8bit": 1.0, "4bit": 0.5}
_BLOCKS = {"4bit": 0.5625, "4bit-double": 0.516, "8bit": 1.01}
# Optimizer states, in bytes a trained parameter with float32 states; AdamW where not listed.
_STATES = {
    "adamw_bnb_8bit": 2.0,
    "adamw_8bit": 2.0,
    "paged_adamw_8bit": 2.0,
    "adafactor": 0.0,
    "sgd": 0.0,
    "lion_8bit": 1.0,
    "paged_lion_8bit": 1.0,
    "lion_32bit": 4.0,
    "lion": 4.0,
    "rmsprop": 4.0,
}
# The optimizers of which is known what they keep on the card at the least; paged states may leave it.
_ADAMW = (
    "adamw",
    "adamw_torch",
    "adamw_torch_fused",
    "adamw_hf",
    "adamw_apex_fused",
    "adamw_torch_xla",
    "adamw_torch_npu_fused",
)
COUNTED = frozenset(name for name in (*_ADAMW, *_STATES) if not name.startswith("paged_"))
_ADAPTER = 16.0  # PEFT keeps adapters in float32: weights, gradients and two moments


class State(NamedTuple):
    weights: float
    gradients: float
    optimizer: float

    @property
    def total(self) -> float:
        return sum(self)


def full(
    parameters: int,
    dtype: str,
    optimizer: str,
    *,
    stage: int,
    processes: int,
    deepspeed: bool,
    offloaded: bool = False,
    copies: int = 0,
) -> State:
    """One card's share when every weight is trained. Stage 3 stands for FSDP's full sharding too; `offloaded` states lie in the host's memory; so many
    `copies` of the gradients are there at a step."""
    each = _STATES.get(optimizer, 8.0)
    pure = dtype != "float32"
    weights, gradients, states = (
        (2.0, 2.0, each + 4) if deepspeed else (2.0, 2.0, each / 2) if pure else (4.0, 4.0, each)
    )
    shards = (processes if stage >= 3 else 1, processes if stage >= 2 else 1, processes if stage >= 1 else 1)
    return State(
        parameters * weights / shards[0],
        0.0 if offloaded else parameters * gradients * (1 + copies) / shards[1],
        0.0 if offloaded else parameters * states / shards[2],
    )


def adapter(shape: Shape, dtype: str, trained: int, *, shards: int = 1, double: bool = False) -> State:
    """One card's share with a frozen base: the base in its dtype, and an adapter of `trained` parameters, which is never divided."""
    rate = _BLOCKS.get("4bit-double" if double and dtype == "4bit" else dtype)
    if rate is None:
        base = shape.parameters * WEIGHT[dtype]
    else:
        base = (shape.parameters - shape.outside) * rate + shape.outside * 2.0
    return State(base / shards + trained * 4.0, trained * 4.0, trained * (_ADAPTER - 8.0))


def gathered(shape: Shape, *, width: int = 2) -> float:
    """What ZeRO-3 and FSDP keep whole at a time: two blocks, and embedding and head."""
    return width * (2 * shape.layer + shape.outside)
