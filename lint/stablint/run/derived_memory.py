"""How much memory a run needs at the least: estimates, asked for only where a GPU is named."""

from __future__ import annotations

from stablint.run.fact import ABSENT, is_unknown
from stablint.run.world import Answer, World
from stablint.source.tree import Unknown

BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "8bit": 1.0, "4bit": 0.5}

GIB = 2**30


def weights_gib(w: World) -> Answer:
    """The base weights alone, in GiB over all cards: parameters × bytes of the dtype they are loaded in. A lower bound."""
    names = ("model.parameters", "derived.weights_dtype")
    size, dtype = (w.value(name) for name in names)
    if isinstance(size, int) and isinstance(dtype, str) and dtype in BYTES:
        return Answer(size * BYTES[dtype] / GIB, names)
    return Answer(Unknown("size or dtype is not known"), names)


def weights_per_card_gib(w: World) -> Answer:
    """The share of the base weights that each card must hold: all of them under plain data parallelism."""
    whole, stage, processes = (
        w.value("derived.weights_gib"),
        w.value("derived.zero_stage"),
        w.value("derived.world_size"),
    )
    names = ("derived.weights_gib", "derived.zero_stage", "derived.world_size", "model.device_map")
    if is_unknown(whole):
        return Answer(whole, names)
    sharded = stage == 3 or w.value("derived.fsdp") is True
    if sharded:
        return (
            Answer(whole / processes, names)
            if isinstance(processes, int)
            else Answer(Unknown("the processes are not known"), names)
        )
    if w.is_stated("model.device_map"):
        count = w.value("target.gpu.count")
        return (
            Answer(whole / count, names)
            if isinstance(count, int)
            else Answer(Unknown("the cards are not known"), names)
        )
    if processes == 1 or (isinstance(processes, int) and w.is_stated("launch.launcher") and not is_unknown(stage)):
        return Answer(whole, names)
    return Answer(Unknown("how the weights are spread is not known"), names)


def total_memory_gib(w: World) -> Answer:
    """All cards together; one card where their number was not said."""
    names = ("target.gpu.memory_gib", "target.gpu.count")
    each, count = (w.value(name) for name in names)
    if not isinstance(each, (int, float)):
        return Answer(Unknown("the cards are not known"), names)
    return Answer(each * count, names) if isinstance(count, int) else Answer(each, names, presumed=True)


# Bytes a parameter needs besides activations, by optimiser: weights and gradients are counted apart.
_STATE_BYTES = {
    "adamw_bnb_8bit": 2,
    "adamw_8bit": 2,
    "paged_adamw_8bit": 2,
    "adafactor": 0,
    "sgd": 0,
    "lion_8bit": 1,
    "paged_lion_8bit": 1,
    "lion_32bit": 4,
}


def training_state_gib(w: World) -> Answer:
    """Weights, gradients and optimiser states of full fine-tuning in GiB a GPU, at the least (no activations).

    Mixed precision: fp32 weights 4 + gradients 4 + Adam 8 bytes; pure half: 2 + 2 + 4; DeepSpeed: 2 + 2 + 12
    (arXiv 1910.02054, section 3). ZeRO-1 divides the states, 2 also the gradients, 3 all, by the processes.
    """
    names = (
        "derived.method",
        "model.parameters",
        "derived.weights_dtype",
        "derived.zero_stage",
        "derived.world_size",
        "training.optim",
        "training.fsdp",
    )
    how, size, dtype, stage, processes, optim, fsdp = (w.value(name) for name in names)
    unknown = Answer(Unknown("method, size, dtype or sharding is not known"), names)
    if (
        how != "full"
        or not isinstance(size, int)
        or dtype not in ("float32", "float16", "bfloat16")
        or fsdp not in (ABSENT, None, "", [], False)
    ):
        return unknown
    if any(
        w.is_stated(f"deepspeed.zero_optimization.offload_{part}.device") for part in ("optimizer", "param")
    ) or w.is_stated("deepspeed.zero_optimization.offload_optimizer"):
        return unknown
    if is_unknown(stage) and processes == 1 and not w.is_stated("training.deepspeed"):
        stage = 0
    if not isinstance(stage, int) or (stage > 0 and not isinstance(processes, int)):
        return unknown
    each = _STATE_BYTES.get(optim, 8) if isinstance(optim, str) else 8
    pure = dtype != "float32"
    weights, gradients, states = (
        (2, 2, each + 4) if w.run.linked & {"deepspeed"} else (2, 2, each / 2) if pure else (4, 4, each)
    )
    shards = processes if isinstance(processes, int) else 1
    a_parameter = (
        weights / (shards if stage >= 3 else 1)
        + gradients / (shards if stage >= 2 else 1)
        + states / (shards if stage >= 1 else 1)
    )
    return Answer(size * a_parameter / GIB, names)
