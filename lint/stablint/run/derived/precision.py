"""What the weights are loaded in, and what the matrix products are computed in."""

from __future__ import annotations

from stablint.run.fact import is_unknown
from stablint.run.world import Answer, World
from stablint.syntax.tree import Unknown

_HALF = ("float16", "bfloat16")


def compute_dtype(w: World) -> Answer:
    """Who decides the mixed precision: DeepSpeed's blocks, then the trainer's flags, then accelerate's, then the weights themselves."""
    for block, dtype in (("fp16", "float16"), ("bf16", "bfloat16")):
        name = f"deepspeed.{block}.enabled"
        if w.stated(name) is True:
            return Answer(dtype, (name,))
    asks_card = w.framework.card_decides_under_deepspeed
    if asks_card and w.value("derived.deepspeed") is True:
        native = w.value("target.gpu.native_bf16")
        value = Unknown("the card decides") if not isinstance(native, bool) else "bfloat16" if native else "float16"
        return Answer(value, ("derived.deepspeed", "target.gpu.native_bf16"))
    own = w.framework.autocast_by
    if own and w.value(own) in (*_HALF, "float32"):
        doubtful = asks_card and w.fact("derived.deepspeed").presumed  # DeepSpeed may be asked for where it is started
        presumed = doubtful and w.value("target.gpu.native_bf16") is not False
        return Answer(w.value(own), (own,), presumed=presumed)
    if not w.framework.mixed_precision:
        return _weights_decide(w)
    fp16, bf16 = w.value("training.fp16"), w.value("training.bf16")
    if fp16 is True and bf16 is True:
        return Answer(Unknown("fp16 and bf16 are both on"), ("training.fp16", "training.bf16"))
    for name, value, dtype in (("training.fp16", fp16, "float16"), ("training.bf16", bf16, "bfloat16")):
        if value is True:
            asked = not w.is_stated(name) and w.is_stated("model.dtype") and w.value("model.dtype") == dtype
            return Answer(dtype, ("model.dtype",) if asked else (name,))  # the framework turns it on for that dtype
    if "auto" in (fp16, bf16):  # axolotl asks the card: bf16 where it is native, else fp16 (its normalize_config)
        native = w.value("target.gpu.native_bf16")
        value = Unknown("the card decides") if not isinstance(native, bool) else "bfloat16" if native else "float16"
        return Answer(value, ("training.bf16", "target.gpu.native_bf16"))
    if is_unknown(fp16) or is_unknown(bf16):
        return (
            _as_loaded(w)
            or _accelerated(w)
            or _in_own_loop(w)
            or Answer(Unknown("neither fp16 nor bf16 is known"), ("training.fp16", "training.bf16"))
        )
    return _as_loaded(w) or _accelerated(w) or _weights_decide(w)


def _accelerated(w: World) -> Answer | None:
    for name in ("accelerate.mixed_precision", "training.amp_dtype"):  # the second: what a program calls it itself
        if w.stated(name) in _HALF:
            return Answer(w.stated(name), (name,))
    return None


def _in_own_loop(w: World) -> Answer | None:
    """A loop in plain torch that casts nothing computes in the dtype of the weights. Presumed: who is called in between may cast."""
    if w.stated("launch.loop") != "torch":
        return None
    cast = w.stated("training.amp_dtype")
    if is_unknown(cast):
        return Answer(cast, ("training.amp_dtype",))
    return _weights_decide(w)._replace(presumed=True)


def _as_loaded(w: World) -> Answer | None:
    """With neither switch on, the trainers may go by the dtype that the model was loaded in: the one asked for, else bf16 where the card has
    it, else fp16."""
    if not w.framework.half_by_card:
        return None
    asked, native = w.stated("model.dtype"), w.value("target.gpu.native_bf16")
    if asked in _HALF:
        return Answer(asked, ("model.dtype",))
    decided = ("training.fp16", "training.bf16", "target.gpu.native_bf16")
    if not isinstance(native, bool):
        return Answer(Unknown("the card decides"), decided)
    if not native and w.value("model.fp16_training") == "unsafe":
        return Answer(
            Unknown("Unsloth computes in float32 what half precision breaks"), (*decided, "model.fp16_training")
        )
    return Answer("bfloat16" if native else "float16", decided)


def _weights_decide(w: World) -> Answer:
    """Without mixed precision the matrix products run in the dtype of the loaded weights."""
    weights = w.value("derived.weights_dtype")
    if weights in _HALF:
        return Answer(weights, ("derived.weights_dtype",))
    if is_unknown(weights):
        return Answer(weights, ("derived.weights_dtype",))
    if weights in ("4bit", "8bit"):
        if w.framework.expands_quantised and w.value("model.dtype") in (*_HALF, "float32"):
            return Answer(w.value("model.dtype"), ("model.dtype",))
        return Answer(Unknown("a quantised model computes in its own dtype"), ("derived.weights_dtype",))
    return Answer("float32", ("training.fp16", "training.bf16"))


def weights_dtype(w: World) -> Answer:
    """How the base weights are loaded. From transformers 5 on an absent dtype is the checkpoint's own; before it is float32."""
    for name, answer in (("quantization.load_in_4bit", "4bit"), ("quantization.load_in_8bit", "8bit")):
        if w.value(name) is True:
            return Answer(answer, (name,))
    bits = w.value("quantization.bits")
    if bits in (4, 8) and w.is_stated("quantization.bits"):
        return Answer(f"{bits}bit", ("quantization.bits",))
    if type(bits) is int and bits < 8 and w.is_stated("quantization.bits"):
        return Answer(Unknown("the bytes of such weights are not known"), ("quantization.bits",))
    if w.value("model.quant_method") == "bitsandbytes" and w.stated("quantization.load_in_4bit") is not False:
        if "4bit" in str(w.value("model.name_or_path")):  # as the checkpoint is stored
            return Answer("4bit", ("model.quant_method", "model.name_or_path"), presumed=True)
    asked = w.value("model.dtype")
    if is_unknown(asked):
        return Answer(asked, ("model.dtype",))
    if asked in (*_HALF, "float32"):
        return Answer(asked, ("model.dtype",))
    if w.framework.half_by_card:
        native = w.value("target.gpu.native_bf16")
        half = Unknown("the card decides") if not isinstance(native, bool) else "bfloat16" if native else "float16"
        return Answer(half, ("model.dtype", "target.gpu.native_bf16"))
    in_float32 = w.framework.loads_in_float32 and w.value("model.loaded_by_program") is not True
    newer = not in_float32 and w.at_least("transformers", "5.0.0")
    if asked == "auto" or newer:
        return Answer(w.value("model.native_dtype"), ("model.dtype", "model.native_dtype"))
    return Answer("float32", ("model.dtype",))
