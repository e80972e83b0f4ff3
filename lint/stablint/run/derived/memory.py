"""What a run keeps in memory whatever its batch: weights, gradients and optimizer states. Asked for only where a GPU is named."""

from __future__ import annotations

from stablint.base.light import Any
from stablint.memory import state
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.world import Answer, World
from stablint.syntax.tree import Unknown

GIB = 2**30
_AWAY = ("deepspeed.zero_optimization.offload_param.device", "fsdp.offload_params", "training.fsdp")


def weights_gib(w: World) -> Answer:
    """The base weights alone, in GiB over all cards: parameters × bytes of the dtype they are loaded in. A lower bound."""
    names = ("model.parameters", "derived.weights_dtype")
    size, dtype = (w.value(name) for name in names)
    if isinstance(size, int) and isinstance(dtype, str) and dtype in state.WEIGHT:
        return Answer(size * state.WEIGHT[dtype] / GIB, names)
    return Answer(Unknown("size or dtype is not known"), names)


def weights_per_card_gib(w: World) -> Answer:
    """The share of the base weights that each card must hold: all of them under plain data parallelism."""
    names = ("derived.weights_gib", "derived.zero_stage", "derived.world_size", "model.device_map", *_AWAY)
    whole = w.value("derived.weights_gib")
    if is_unknown(whole):
        return Answer(whole, names)
    if offloads(w)[1]:
        return Answer(Unknown("the weights lie in the host's memory"), names)
    shards = weight_shards(w)
    if not shards and copied(w):
        return Answer(whole, names, presumed=True)
    presumed = is_unknown(w.value("derived.world_size"))
    return Answer(
        whole / shards if shards else Unknown("how the weights are spread is not known"), names, presumed=presumed
    )


def weights_4bit_per_card_gib(w: World) -> Answer:
    """The same, if the weights were loaded in four bits."""
    return _weights_as(w, "4bit")


def weights_half_per_card_gib(w: World) -> Answer:
    """The same, if the weights were loaded in a half format."""
    return _weights_as(w, "bfloat16")


def _weights_as(w: World, dtype: str) -> Answer:
    names = ("model.parameters", "derived.zero_stage", "derived.world_size", "model.device_map")
    size, shards = w.value("model.parameters"), weight_shards(w)
    known = isinstance(size, int) and shards is not None
    return Answer(
        size * state.WEIGHT[dtype] / GIB / shards if known else Unknown("size or shards are not known"), names
    )


def weight_shards(w: World) -> int | None:
    """Over how many cards the weights are divided; None where that is not known."""
    stage, processes = w.value("derived.zero_stage"), w.value("derived.world_size")
    if stage == 3 or w.value("derived.fsdp") is True:
        return _most_processes(w)
    if w.is_stated("model.device_map"):
        count = w.value("target.gpu.count")
        return count if isinstance(count, int) else None
    if processes == 1 or (isinstance(processes, int) and w.is_stated("launch.launcher") and not is_unknown(stage)):
        return 1
    return None


def _most_processes(w: World) -> int | None:
    """As many as are started, else as many as there are cards."""
    return next((n for name in ("derived.world_size", "target.gpu.count") if isinstance(n := w.value(name), int)), None)


def copied(w: World) -> bool:
    """Whether every card must hold all weights because nothing at hand shards them: the framework takes sharding from its own files only, and these
    state none, or transformers' Trainer is started without any. Then the number of cards does not matter. Presumed: another launcher may be meant."""
    rule = w.framework.launch
    if (
        w.framework.shards_processes
        or {"deepspeed", "fsdp", "accelerate"} & set(w.run.linked)
        or w.is_said("launch.accelerate_file")
    ):
        return False
    if w.is_stated("launch.launcher"):
        by_itself = w.stated("launch.launcher") in ("accelerate", "torchrun", "trl")
        alone = by_itself and w.value("derived.hf_trainer") is True
    else:
        alone = rule is not None and rule.processes == "visible"
    unsharded = (ABSENT, None, "", False)
    asked = ("training.deepspeed", "training.fsdp", "training.fsdp_config", "model.device_map", "training.fsdp_version")
    return alone and all(w.value(name) in unsharded for name in asked) and not _parallel(w)


def _parallel(w: World) -> bool:
    """Whether tensors or layers are divided otherwise, or kept quantised in a way that another fact tells."""
    names = ("tensor_parallel_size", "pipeline_parallel_size", "parallelism_config", "dp_shard_size", "tp_size")
    return any(w.is_stated(f"training.{name}") or w.is_stated(f"accelerate.{name}") for name in names)


def total_memory_gib(w: World) -> Answer:
    """All cards together; one card where their number was not said."""
    names = ("target.gpu.memory_gib", "target.gpu.count")
    each, count = (w.value(name) for name in names)
    if not isinstance(each, (int, float)):
        return Answer(Unknown("the cards are not known"), names)
    return Answer(each * count, names) if isinstance(count, int) else Answer(each, names, presumed=True)


_STATE_NAMES = (
    "derived.method", "model.parameters", "derived.weights_dtype", "derived.zero_stage", "derived.fsdp", "derived.world_size",
    "training.optim",
)  # fmt: skip


def training_state_gib(w: World) -> Answer:
    """Weights, gradients and optimizer states of full fine-tuning in GiB a GPU, at the least (no activations)."""
    found = full_state(w)
    if found is None:
        return Answer(Unknown("method, size, dtype or sharding is not known"), _STATE_NAMES)
    guessed = is_unknown(w.value("derived.world_size")) or (is_unknown(w.value("derived.zero_stage")) and copied(w))
    return Answer(found.total / GIB, _STATE_NAMES, presumed=guessed)


def training_state_8bit_share(w: World) -> Answer:
    """The share of a card that they would take with Adam's states in 8 bits."""
    return _state_share(w, full_state(w, optimizer="adamw_bnb_8bit"))


def training_state_sharded_share(w: World) -> Answer:
    """The share of a card that they would take under ZeRO-3."""
    sharded = w.value("derived.zero_stage") in (1, 2) and isinstance(w.value("derived.world_size"), int)
    return _state_share(w, full_state(w, sharded=True) if sharded else None)


# Where they are said, not every weight has a gradient and states of its own at once, or nobody knows of which size.
_IN_PART = (
    "training.use_galore", "training.use_apollo", "training.use_badam", "training.use_adam_mini", "training.use_muon", "training.use_llama_pro",
    "training.custom_optimizer", "training.unfrozen_parameters", "training.lisa_n_layers", "training.spectrum_top_fraction",
    "training.freeze_parameters", "training.freeze_parameters_ratio", "training.freeze_parameters_regex", "training.freeze_language_model",
    "keys.ms-swift.freeze_llm", "keys.ms-swift.lisa_activated_layers",
)  # fmt: skip


def _state_share(w: World, found: state.State | None) -> Answer:
    memory = w.value("target.gpu.most_memory_gib")
    known = found is not None and isinstance(memory, (int, float)) and memory > 0
    names = (*_STATE_NAMES, "target.gpu.most_memory_gib")
    return Answer(found.total / GIB / memory if found and known else Unknown("state or card is not known"), names)


def full_state(w: World, *, optimizer: str = "", sharded: bool = False) -> state.State | None:
    """As the run says, or with another optimizer, or with everything divided."""
    how, size, dtype, stage, fsdp, processes, optim = (w.value(name) for name in _STATE_NAMES)
    if is_unknown(dtype):
        dtype = "bfloat16"  # the least
    if how != "full" or not isinstance(size, int) or dtype not in ("float32", "float16", "bfloat16"):
        return None
    in_part = any(w.stated(name) not in (ABSENT, None, False, 0, "", ()) for name in _IN_PART)
    counted = isinstance(optim, str) and optim in state.COUNTED
    if in_part or not (optimizer or is_unknown(optim) or optim is ABSENT or counted):
        return None
    states_away, parameters_away = offloads(w)
    if parameters_away:
        return None
    if fsdp is True and True in (w.value("training.fp16"), w.value("training.bf16")):
        dtype = "float32"  # accelerate 1.15.0 accelerator.py:1998: FSDP with mixed precision keeps the trained parameters in full precision
    stage = _stage(w, stage, fsdp, processes)
    if stage is None and copied(w):
        stage = 0
    most = _most_processes(w)
    if stage is None or (stage > 0 and most is None):
        return None
    return state.full(
        size,
        dtype,
        optimizer or (optim if isinstance(optim, str) else ""),
        stage=3 if sharded else stage,
        processes=most or 1,
        deepspeed="deepspeed" in w.run.linked,
        offloaded=states_away,
        copies=_copies(w) if stage == 0 and not optimizer else 0,
    )


def _copies(w: World) -> int:
    """How often the size of all gradients is there besides: once in the buckets of DistributedDataParallel (torch 2.13 nn/parallel/distributed.py,
    gradient_as_bucket_view), once in the temporaries of torch's Adam (optim/adam.py, foreach)."""
    if w.value("derived.hf_trainer") is not True or "deepspeed" in w.run.linked:
        return 0
    processes, launcher = _most_processes(w), w.stated("launch.launcher")
    return int(processes is not None and processes > 1 and launcher != "python") + int(
        w.value("training.optim") == "adamw_torch"
    )


def _stage(w: World, stage: Any, fsdp: Any, processes: Any) -> int | None:
    """FSDP's strategies as the ZeRO stages that divide the same."""
    if fsdp is True:
        strategy = str(w.value("fsdp.sharding_strategy")).upper()
        if "NO_SHARD" in strategy or "HYBRID" in strategy:
            return None
        return 2 if "GRAD_OP" in strategy else 3
    if w.framework.shards_processes and is_unknown(processes):
        return 3  # the least: its recipes for several cards divide all of it
    if is_unknown(fsdp):
        return None
    if is_unknown(stage) and processes == 1 and not w.is_stated("training.deepspeed"):
        return 0
    return stage if isinstance(stage, int) else None


def offloads(w: World) -> tuple[bool, bool]:
    """Whether optimizer states, and whether parameters lie in the host's memory, or may by a file that nobody has read."""
    said = []
    for part in ("optimizer", "param"):
        named = [w.stated(f"deepspeed.zero_optimization.offload_{part}{end}") for end in ("", ".device")]
        said.append(any(value is not ABSENT and value not in (None, "none", "None", False) for value in named))
    asked = [w.value("fsdp.offload_params"), w.value("fsdp.cpu_offload")]
    named = w.stated("training.fsdp_config")
    whole = True in asked or ((isinstance(named, str) or is_unknown(named)) and any(map(is_unknown, asked)))
    words = w.value("training.fsdp")
    whole = whole or (isinstance(words, (str, list)) and "offload" in words)
    return said[0] or whole, said[1] or whole
