"""What the weights are loaded in, and what the matrix products are computed in."""

from __future__ import annotations

from stablint.run.fact import is_unknown
from stablint.run.world import Answer, World
from stablint.source.tree import Unknown

_HALF = ("float16", "bfloat16")
_AUTOCAST = ("xtuner", "litgpt", "lightning")  # their own switch is autocast's dtype
_ONE_DTYPE = ("torchtune", "litgpt")  # quantised weights are expanded to the dtype that everything else has


def compute_dtype(w: World) -> Answer:
    """Who decides the mixed precision: DeepSpeed's blocks, then the trainer's flags, then accelerate's, then the weights themselves."""
    for block, dtype in (("fp16", "float16"), ("bf16", "bfloat16")):
        name = f"deepspeed.{block}.enabled"
        if w.stated(name) is True:
            return Answer(dtype, (name,))
    if (
        w.run.framework == "xtuner" and w.value("derived.deepspeed") is True
    ):  # its DeepSpeed strategy asks the card, not the wrapper
        native = w.value("target.gpu.native_bf16")
        value = Unknown("the card decides") if not isinstance(native, bool) else "bfloat16" if native else "float16"
        return Answer(value, ("derived.deepspeed", "target.gpu.native_bf16"))
    if w.run.framework in _AUTOCAST and w.value("training.amp_dtype") in (*_HALF, "float32"):
        # The same card decides as soon as `xtuner train` is given --deepspeed (its tools/train.py).
        doubtful = w.run.framework == "xtuner" and w.fact("derived.deepspeed").presumed
        presumed = doubtful and w.value("target.gpu.native_bf16") is not False
        return Answer(w.value("training.amp_dtype"), ("training.amp_dtype",), presumed=presumed)
    if w.run.framework == "torchtune":  # its recipes know no mixed precision
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
            _unsloth_dtype(w)
            or _accelerated(w)
            or Answer(Unknown("neither fp16 nor bf16 is known"), ("training.fp16", "training.bf16"))
        )
    return _unsloth_dtype(w) or _accelerated(w) or _weights_decide(w)


def _accelerated(w: World) -> Answer | None:
    for name in ("accelerate.mixed_precision", "training.amp_dtype"):  # the second: what a program calls it itself
        if w.stated(name) in _HALF:
            return Answer(w.stated(name), (name,))
    return None


def _unsloth_dtype(w: World) -> Answer | None:
    """With neither switch on, Unsloth's trainers go by the dtype that the model was loaded in: the one asked for, else bf16 where the
    card has it, else fp16 (unsloth 2025.2.6 and 2026.10.9 models/rl.py, models/loader.py)."""
    if w.run.framework != "unsloth":
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
        if w.run.framework in _ONE_DTYPE and w.value("model.dtype") in (*_HALF, "float32"):
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
    asked = w.value("model.dtype")
    if is_unknown(asked):
        return Answer(asked, ("model.dtype",))
    if asked in (*_HALF, "float32"):
        return Answer(asked, ("model.dtype",))
    if (
        w.run.framework == "unsloth"
    ):  # its loader picks a half format by the card where no dtype is asked for (models/loader.py)
        native = w.value("target.gpu.native_bf16")
        half = Unknown("the card decides") if not isinstance(native, bool) else "bfloat16" if native else "float16"
        return Answer(half, ("model.dtype", "target.gpu.native_bf16"))
    newer = w.at_least("transformers", "5.0.0") if w.run.framework != "trl" else False
    if asked == "auto" or newer:
        return Answer(w.value("model.native_dtype"), ("model.dtype", "model.native_dtype"))
    return Answer("float32", ("model.dtype",))
