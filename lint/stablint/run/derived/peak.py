"""The most that a card holds at once, with rows no longer than they must be: estimates, asked for only where a GPU is named or rows are huge."""

from __future__ import annotations

from stablint.memory import state, step
from stablint.memory.shape import Shape
from stablint.run.derived.memory import GIB, full_state, offloads, weight_shards
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.world import Answer, World
from stablint.syntax.tree import Unknown

_CONTEXT = 1.0  # CUDA context, kernels and libraries: 0.5 to 2 GiB (accelerate's guide on model memory)
_GREATEST_LENGTH_PRESUMED = 1024
_PAIRS = ("dpo", "cpo", "orpo", "simpo", "ipo")  # a row is a chosen and a rejected answer
_ONLINE = ("grpo", "rloo", "ppo", "online-dpo", "gspo", "dapo", "reinforce")
_LONG = 4096
_SHORT = 64  # tokens: what nothing is known of is not taken for longer
_STEP = 256  # tokens
_ROOMY = 0.85  # share of a card beyond which little is left for buffers (hazard peak-close-to-card)
_LENGTHS = (
    "training.max_length",
    "trainer.max_length",
    "trainer.max_seq_length",
    "model.max_seq_length",
    "data.block_size",
)
# Switches under which the logits of all tokens are never there at once; the second half are axolotl's.
_FUSED = (
    "use_liger_kernel", "use_liger", "enable_liger_kernel", "liger_fused_linear_cross_entropy", "cut_cross_entropy", "chunked_cross_entropy",
)  # fmt: skip
_OUTSIDE = ("embed_tokens", "lm_head")  # what an adapter on all linear layers leaves out
_SHAPE = ("parameters", "layers", "hidden", "intermediate", "heads", "kv_heads", "vocab")


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


def _rows(w: World, batch: int, checkpointing: bool, length: int | None = None) -> float | None:
    """Bytes of activations and logits for a batch whose rows are as long as they must be, or as long as said."""
    shape, length = _shape(w), length or _least(w)
    if shape is None or length is None or w.value("model.is_moe") is True:
        return None
    if w.framework.takes_what_is_left:
        return None
    tokens = batch * length * (2 if w.value("derived.objective") in _PAIRS else 1)
    adapter = w.value("derived.method") in ("lora", "qlora")
    width = 4 if w.value("derived.compute_dtype") == "float32" else 2
    fused = any(w.value(f"training.{name}") is True for name in _FUSED)
    kept = step.activations(shape, tokens, checkpointing=checkpointing, adapter=adapter, width=width)
    return kept + step.logits(shape, tokens, fused=fused, width=width)


def _least(w: World) -> int | None:
    """The tokens that a row has at the least: all that it may have where rows are filled up to that, else those of a short answer."""
    length = _length(w)
    switches = ("training.packing", "data.pad_to_max_length", "training.pad_to_sequence_len")
    filled = w.is_stated("data.block_size") or any(w.value(name) is True for name in switches)
    return length if length is None or filled else min(length, _SHORT)


def _length(w: World) -> int | None:
    """The longest row, where the run says it."""
    if w.value("derived.objective") in _ONLINE:
        return None  # rows are a prompt and what the model answers
    for name in _LENGTHS:
        length = w.value(name)
        if isinstance(length, int) and not isinstance(length, bool) and length > 0:
            if length > _LONG and not w.is_stated(name):
                return None  # the model's own limit, which rows seldom reach
            positions = w.value("model.max_positions")
            return min(length, positions) if isinstance(positions, int) else length
    return (
        _GREATEST_LENGTH_PRESUMED if w.framework.rows_as_long_as_data else None
    )  # there rows are as long as the data has them


def _asked(w: World) -> tuple[int, bool] | None:
    batch, checkpointing = w.value(_ROW_NAMES[0]), w.value("derived.checkpointing")
    if not isinstance(batch, int) or isinstance(batch, bool) or not isinstance(checkpointing, bool):
        return None
    return batch, checkpointing


def checkpointing(w: World) -> Answer:
    """Under both of the names that transformers gives the switch; newer releases leave the older one null."""
    if w.stated("fsdp.activation_checkpointing") is True:  # the same, done by FSDP, whatever the trainer's switch is
        return Answer(True, ("fsdp.activation_checkpointing",))
    for name in ("training.gradient_checkpointing", "training.activation_checkpointing"):
        value = w.value(name)
        if value is not None and value is not ABSENT:
            # A framework's own word, as Unsloth's, is some kind of checkpointing.
            return Answer(value if isinstance(value, bool) or is_unknown(value) else True, (name,))
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


def _peak(w: World, batch: int, checkpointing: bool, length: int | None = None) -> float | None:
    rows, shape = _rows(w, batch, checkpointing, length), _shape(w)
    if rows is None or shape is None:
        return None
    if w.value("derived.method") == "full":
        held = full_state(w)
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
    dtype, shards = w.value("derived.weights_dtype"), weight_shards(w)
    return shape.parameters * state.WEIGHT.get(dtype, 2.0) / shards if isinstance(dtype, str) and shards else 0.0


def _adapter_peak(w: World, shape: Shape, rows: float) -> float | None:
    dtype, shards = w.value("derived.weights_dtype"), weight_shards(w)
    if (
        w.value("derived.method") not in ("lora", "qlora")
        or dtype not in state.WEIGHT
        or shards is None
        or offloads(w)[1]
    ):
        return None
    rank, targets = w.value("lora.r"), w.value("lora.target_modules")
    if targets == "all-linear":
        targets = w.value("model.linear_modules")
    named = isinstance(targets, list) and all(isinstance(one, str) for one in targets)
    names = [one for one in targets if one not in _OUTSIDE] if named else ["q_proj", "v_proj"]
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
    """The most that a card has to hold at once, with rows no longer than they must be. An estimate: real runs differ by a fifth."""
    asked = _asked(w)
    return _answer(w, _peak(w, *asked) if asked is not None else None)


def peak_share(w: World) -> Answer:
    """Peak over the memory of a card."""
    return _share(w, "derived.peak_gib")


def fsdp_offloaded(w: World) -> Answer:
    """The trainer's list of FSDP words with offloading in it."""
    words = w.stated("training.fsdp")
    if isinstance(words, str) and "full_shard" in words and "offload" not in words:
        return Answer(f"{words} offload", ("training.fsdp",))
    return Answer(Unknown("FSDP's words are not a text without offload"), ("training.fsdp",))


def peak_checkpointed_gib(w: World) -> Answer:
    """The same with gradient checkpointing."""
    asked = _asked(w)
    return _answer(w, _peak(w, asked[0], True) if asked is not None else None)


def peak_single_gib(w: World) -> Answer:
    """The same with one row at a time."""
    asked = _asked(w)
    return _answer(w, _peak(w, 1, asked[1]) if asked is not None else None)


def peak_single_share(w: World) -> Answer:
    """Peak with one row at a time over the memory of a card."""
    return _share(w, "derived.peak_single_gib")


def peak_checkpointed_share(w: World) -> Answer:
    """Peak with gradient checkpointing over the memory of a card."""
    return _share(w, "derived.peak_checkpointed_gib")


def _share(w: World, name: str) -> Answer:
    peak, memory = w.value(name), w.value("target.gpu.most_memory_gib")
    known = isinstance(peak, float) and isinstance(memory, (int, float)) and memory > 0
    return Answer(peak / memory if known else _UNSURE, (name, "target.gpu.most_memory_gib"))


def peak_smallest_gib(w: World) -> Answer:
    """The same with one row at a time and gradient checkpointing."""
    return _answer(w, _peak(w, 1, True))


def fitting_length(w: World) -> Answer:
    """The most tokens a row may have, in whole steps of 256, for the batch to fit on the card as it is, with some room left."""
    asked, length, memory = _asked(w), _length(w), w.value("target.gpu.most_memory_gib")
    names = ("training.max_length", "target.gpu.most_memory_gib")
    if asked is None or length is None or not isinstance(memory, (int, float)):
        return Answer(_UNSURE, names)
    for shorter in range((length - 1) // _STEP * _STEP, 0, -_STEP):
        peak = _peak(w, *asked, shorter)
        if peak is not None and peak / GIB + _CONTEXT < memory * _ROOMY:
            return Answer(shorter, names)
    return Answer(Unknown("no length fits"), names)


def _peak_names(w: World) -> tuple[str, ...]:
    length = next((name for name in _LENGTHS if w.is_stated(name)), "training.max_length")
    return (_PEAK_NAMES[0], length, *_PEAK_NAMES[2:])


def _answer(w: World, found: float | None) -> Answer:
    return Answer(found / GIB + _CONTEXT if found is not None else _UNSURE, _peak_names(w))
