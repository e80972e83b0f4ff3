"""How much memory a run needs at the least: estimates, asked for only where a GPU is named or rows are huge."""

from __future__ import annotations

from typing import Any

from stablint.memory import state, step
from stablint.memory.shape import Shape
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.world import Answer, World
from stablint.source.tree import Unknown

GIB = 2**30
_CONTEXT = 1.0  # CUDA context, kernels and libraries: 0.5 to 2 GiB (accelerate's guide on model memory)
_GREATEST_LENGTH_PRESUMED = 1024
_PAIRS = ("dpo", "cpo", "orpo", "simpo", "ipo")  # a row is a chosen and a rejected answer
_ONLINE = ("grpo", "rloo", "ppo", "online-dpo", "gspo", "dapo", "reinforce")
_LONG = 4096
_SHAPE = ("parameters", "layers", "hidden", "intermediate", "heads", "kv_heads", "vocab")


def weights_gib(w: World) -> Answer:
    """The base weights alone, in GiB over all cards: parameters × bytes of the dtype they are loaded in. A lower bound."""
    names = ("model.parameters", "derived.weights_dtype")
    size, dtype = (w.value(name) for name in names)
    if isinstance(size, int) and isinstance(dtype, str) and dtype in state.WEIGHT:
        return Answer(size * state.WEIGHT[dtype] / GIB, names)
    return Answer(Unknown("size or dtype is not known"), names)


def weights_per_card_gib(w: World) -> Answer:
    """The share of the base weights that each card must hold: all of them under plain data parallelism."""
    names = ("derived.weights_gib", "derived.zero_stage", "derived.world_size", "model.device_map")
    whole = w.value("derived.weights_gib")
    if is_unknown(whole):
        return Answer(whole, names)
    shards = _weight_shards(w)
    return Answer(whole / shards if shards else Unknown("how the weights are spread is not known"), names)


def _weight_shards(w: World) -> int | None:
    """Over how many cards the weights are divided; None where that is not known."""
    stage, processes = w.value("derived.zero_stage"), w.value("derived.world_size")
    if stage == 3 or w.value("derived.fsdp") is True:
        return processes if isinstance(processes, int) else None
    if w.is_stated("model.device_map"):
        count = w.value("target.gpu.count")
        return count if isinstance(count, int) else None
    if processes == 1 or (isinstance(processes, int) and w.is_stated("launch.launcher") and not is_unknown(stage)):
        return 1
    return None


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
    found = _full_state(w)
    if found is None:
        return Answer(Unknown("method, size, dtype or sharding is not known"), _STATE_NAMES)
    return Answer(found.total / GIB, _STATE_NAMES)


def _full_state(w: World) -> state.State | None:
    how, size, dtype, stage, fsdp, processes, optim = (w.value(name) for name in _STATE_NAMES)
    if is_unknown(dtype):
        dtype = "bfloat16"  # the least
    if how != "full" or not isinstance(size, int) or dtype not in ("float32", "float16", "bfloat16") or _offloads(w):
        return None
    if fsdp is True and True in (w.value("training.fp16"), w.value("training.bf16")):
        dtype = "float32"  # accelerate 1.15.0 accelerator.py:1998: FSDP with mixed precision keeps the trained parameters in full precision
    stage = _stage(w, stage, fsdp, processes)
    if stage is None or (stage > 0 and not isinstance(processes, int)):
        return None
    return state.full(
        size,
        dtype,
        optim if isinstance(optim, str) else "",
        stage=stage,
        processes=processes if isinstance(processes, int) else 1,
        deepspeed="deepspeed" in w.run.linked,
    )


def _stage(w: World, stage: Any, fsdp: Any, processes: Any) -> int | None:
    """FSDP's strategies as the ZeRO stages that divide the same."""
    if fsdp is True:
        strategy = str(w.value("fsdp.sharding_strategy")).upper()
        if "NO_SHARD" in strategy or "HYBRID" in strategy:
            return None
        return 2 if "GRAD_OP" in strategy else 3
    if is_unknown(fsdp):
        return None
    if is_unknown(stage) and processes == 1 and not w.is_stated("training.deepspeed"):
        return 0
    return stage if isinstance(stage, int) else None


def _offloads(w: World) -> bool:
    named = [
        f"deepspeed.zero_optimization.offload_{part}{end}" for part in ("optimizer", "param") for end in ("", ".device")
    ]
    for name in named:
        value = w.stated(name)
        if value is not ABSENT and value not in (None, "none", "None", False):
            return True
    words = w.value("training.fsdp")
    return w.value("fsdp.offload_params") is True or w.value("fsdp.cpu_offload") is True or "offload" in str(words)


def _shape(w: World) -> Shape | None:
    values = [w.value(f"model.{name}") for name in _SHAPE]
    if not all(isinstance(value, int) for value in values):
        return None
    parameters, layers, hidden, inner, heads, groups, vocab = values
    head = w.value("model.head_dim")
    width = head if isinstance(head, int) else hidden // heads
    tied = w.value("model.tied_embeddings") is True
    return Shape(parameters, layers, hidden, inner, heads * width, groups * width, vocab, tied)


_ROW_NAMES = (
    "training.per_device_train_batch_size", "training.max_length", "derived.checkpointing", "model.parameters",
    "derived.method", "derived.objective", "derived.compute_dtype",
)  # fmt: skip


def _rows(w: World, batch: int, checkpointing: bool) -> float | None:
    """Bytes of activations and logits for a batch whose rows are as long as they may be."""
    shape, length = _shape(w), _length(w)
    if shape is None or length is None or w.value("model.is_moe") is True:
        return None
    tokens = batch * length * (2 if w.value("derived.objective") in _PAIRS else 1)
    adapter = w.value("derived.method") in ("lora", "qlora")
    width = 4 if w.value("derived.compute_dtype") == "float32" else 2
    fused = any(
        w.value(f"training.{name}") is True for name in ("use_liger_kernel", "use_liger", "enable_liger_kernel")
    )
    kept = step.activations(shape, tokens, checkpointing=checkpointing, adapter=adapter, width=width)
    return kept + step.logits(shape, tokens, fused=fused, width=width)


def _length(w: World) -> int | None:
    """The longest row, where the run says it."""
    if w.value("derived.objective") in _ONLINE:
        return None  # rows are a prompt and what the model answers
    for name in ("training.max_length", "trainer.max_length", "trainer.max_seq_length", "model.max_seq_length"):
        length = w.value(name)
        if isinstance(length, int) and not isinstance(length, bool) and length > 0:
            if length > _LONG and not w.is_stated(name):
                return None  # the model's own limit, which rows seldom reach
            positions = w.value("model.max_positions")
            return min(length, positions) if isinstance(positions, int) else length
    return (
        _GREATEST_LENGTH_PRESUMED if w.run.framework == "litgpt" else None
    )  # there rows are as long as the data has them


def _asked(w: World) -> tuple[int, bool] | None:
    batch, checkpointing = w.value(_ROW_NAMES[0]), w.value("derived.checkpointing")
    if not isinstance(batch, int) or isinstance(batch, bool) or not isinstance(checkpointing, bool):
        return None
    return batch, checkpointing


def checkpointing(w: World) -> Answer:
    """Under both of the names that transformers gives the switch; newer releases leave the older one null."""
    for name in ("training.gradient_checkpointing", "training.activation_checkpointing"):
        value = w.value(name)
        if value is not None and value is not ABSENT:
            # A framework's own word, as Unsloth's, is some kind of checkpointing.
            return Answer(value if isinstance(value, bool) or is_unknown(value) else True, (name,))
    if w.stated("fsdp.activation_checkpointing") is True:  # the same, done by FSDP
        return Answer(True, ("fsdp.activation_checkpointing",))
    return Answer(False, ("training.gradient_checkpointing",))


def rows_gib(w: World) -> Answer:
    """What the rows of one batch take on a card, whatever divides the weights."""
    asked = _asked(w)
    found = _rows(w, *asked) if asked is not None else None
    if found is None or w.value("derived.method") not in ("full", "lora", "qlora"):
        return Answer(Unknown("batch, length, checkpointing or the model's dimensions are not known"), _ROW_NAMES)
    return Answer(found / GIB, _ROW_NAMES)


def row_gib(w: World) -> Answer:
    """What a single row takes."""
    asked = _asked(w)
    found = _rows(w, 1, asked[1]) if asked is not None else None
    return Answer(found / GIB if found is not None else Unknown("length or dimensions are not known"), _ROW_NAMES)


def _peak(w: World, batch: int, checkpointing: bool) -> float | None:
    rows, shape = _rows(w, batch, checkpointing), _shape(w)
    if rows is None or shape is None:
        return None
    if w.value("derived.method") == "full":
        held = _full_state(w)
        if held is None:
            return None
        divided = w.value("derived.zero_stage") == 3 or w.value("derived.fsdp") is True
        # Gradients come as activations go; with accumulation they stay from the step before.
        later = held.gradients if w.value("training.gradient_accumulation_steps") == 1 else 0.0
        return held.total + rows - min(later, rows) + (state.gathered(shape) if divided else 0.0) + _reference(w, shape)
    return _adapter_peak(w, shape, rows)


def _reference(w: World, shape: Shape) -> float:
    """The frozen copy that preference methods compare with; an adapter does without."""
    if (
        w.value("derived.objective") not in ("dpo", "kto", "ipo")
        or w.value("training.precompute_ref_log_probs") is True
    ):
        return 0.0
    dtype, shards = w.value("derived.weights_dtype"), _weight_shards(w)
    return shape.parameters * state.WEIGHT.get(dtype, 2.0) / shards if isinstance(dtype, str) and shards else 0.0


def _adapter_peak(w: World, shape: Shape, rows: float) -> float | None:
    dtype, shards = w.value("derived.weights_dtype"), _weight_shards(w)
    if (
        w.value("derived.method") not in ("lora", "qlora")
        or dtype not in state.WEIGHT
        or shards is None
        or _offloads(w)
    ):
        return None
    rank, targets = w.value("lora.r"), w.value("lora.target_modules")
    names = (
        targets if isinstance(targets, list) and all(isinstance(one, str) for one in targets) else ["q_proj", "v_proj"]
    )
    trained = shape.adapter(names, rank) if isinstance(rank, int) and rank > 0 else 0
    double = w.value("quantization.bnb_4bit_use_double_quant") is True
    # A divided base that is quantised is gathered all the same.
    return (
        state.adapter(shape, dtype, trained, shards=shards, double=double).total
        + rows
        + (state.gathered(shape) if shards > 1 else 0.0)
    )


_PEAK_NAMES = (
    "training.per_device_train_batch_size", "training.max_length", "derived.method", "derived.fsdp", "derived.zero_stage", "derived.world_size",
    "derived.checkpointing", "derived.weights_dtype", "model.parameters", "derived.objective", "training.optim", "lora.r",
)  # fmt: skip
_UNSURE = Unknown("batch, length, sharding or the model's dimensions are not known")


def peak_gib(w: World) -> Answer:
    """The most that a card has to hold at once, with rows as long as they may be. An estimate: real runs differ by a fifth."""
    asked = _asked(w)
    return _answer(_peak(w, *asked) if asked is not None else None)


def peak_share(w: World) -> Answer:
    """Peak over the memory of a card."""
    peak, memory = w.value("derived.peak_gib"), w.value("target.gpu.most_memory_gib")
    known = isinstance(peak, float) and isinstance(memory, (int, float)) and memory > 0
    return Answer(peak / memory if known else _UNSURE, ("derived.peak_gib", "target.gpu.most_memory_gib"))


def fsdp_offloaded(w: World) -> Answer:
    """The trainer's list of FSDP words with offloading in it."""
    words = w.stated("training.fsdp")
    if isinstance(words, str) and "full_shard" in words and "offload" not in words:
        return Answer(f"{words} offload", ("training.fsdp",))
    return Answer(Unknown("FSDP's words are not a text without offload"), ("training.fsdp",))


def peak_checkpointed_gib(w: World) -> Answer:
    """The same with gradient checkpointing."""
    asked = _asked(w)
    return _answer(_peak(w, asked[0], True) if asked is not None else None)


def peak_single_gib(w: World) -> Answer:
    """The same with one row at a time."""
    asked = _asked(w)
    return _answer(_peak(w, 1, asked[1]) if asked is not None else None)


def peak_smallest_gib(w: World) -> Answer:
    """The same with one row at a time and gradient checkpointing."""
    return _answer(_peak(w, 1, True))


def _answer(found: float | None) -> Answer:
    return Answer(found / GIB + _CONTEXT if found is not None else _UNSURE, _PEAK_NAMES)
