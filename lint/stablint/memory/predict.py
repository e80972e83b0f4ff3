"""The most that one card holds during training, by moments. Pure arithmetic on what tools/trace_memory.py counted in real models.

The peak is the largest of the moments, never their sum: what the first block's backward pass needs is gone at the optimizer's step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from stablint.memory.plan import NO_SHARE, Plan, Range
from stablint.memory.shape import Shape

GIB = float(2**30)
_BASE = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "8bit": 1.01, "4bit": 0.5625, "4bit-double": 0.5159}
_PREFETCH = 5e7  # elements: stage3_prefetch_bucket_size and sub_group_size of DeepSpeed (runtime/zero/config.py)
_SUB_GROUP = 1e9
_ELASTIC = 4.0 * GIB  # the most that Unsloth's loss takes for a piece (unsloth_zoo, fused_losses)
_OVERLAP = (1.0, 2.0, 4.5)  # buckets that overlap_comm keeps (transformers' guide on DeepSpeed)
_COLLECTED = (
    0.0,
    2.0,
    4.0,
)  # bytes a logit of what torch.nn.DataParallel brings to the first card, with the loss and after it
_DDP_BUCKET = 25 * 2**20  # torch.nn.parallel.DistributedDataParallel, bucket_cap_mb

Form = Mapping[str, float]
Parts = dict[str, float]
MOMENTS = (
    "end of the forward", "backward of the loss", "backward of the last block", "backward of the first block",
    "backward of the embedding", "optimizer step", "evaluation", "generation",
)  # fmt: skip
EVALUATION = MOMENTS[6]


class Estimate(NamedTuple):
    """Bytes. `components` are those of the usual peak, `host` what lies in the host's memory for one process."""

    peak: Range
    moment: str
    components: Parts
    parts: dict[str, Parts]  # of every moment, usual
    pressed: Range  # the peak without what the allocator would give back before it runs out
    proven: float  # weights, adapters, gradients and states: what lies there whatever the rows are
    host: float

    @property
    def needed(self) -> float:
        """The high end of what must be there at once."""
        return self.pressed.high

    @property
    def moments(self) -> dict[str, float]:
        """What all components come to at each moment."""
        return {name: sum(parts.values()) for name, parts in self.parts.items()}


def predict(plan: Plan, traced: Mapping[str, Any]) -> Estimate:
    """`traced`: heads and variants of the model's type, or of the nearest one (then `plan.activations` is a range)."""
    low, usual, high = (_largest(plan, traced, at) for at in range(3))
    moment = max(usual, key=lambda name: sum(usual[name].values()))
    totals = [_peak(one) for one in (low, usual, high)]
    least = 0 if plan.loss == "elastic" else plan.loss_rows
    tight = plan._replace(
        cache_large=plan.cache, loss_rows=least, apart=NO_SHARE, loading=NO_SHARE, regathered=NO_SHARE
    )
    # The low end has none of it in the first place.
    pressed = [totals[0], *(_peak(_largest(tight, traced, at)) for at in (1, 2))]
    held = _held(plan, 0)
    proven = sum(held.get(name, 0.0) for name in ("weights", "adapters", "optimizer", "reference"))
    return Estimate(
        Range(min(totals), totals[1], max(totals)), moment, {name: size for name, size in usual[moment].items() if size},
        usual, Range(min(pressed), pressed[1], max(pressed)), proven, _host(plan),
    )  # fmt: skip


def usual_peak(plan: Plan, traced: Mapping[str, Any], at: int = 1) -> float:
    """The peak alone, with every range at one of its ends (0, 2) or as it usually is."""
    return _peak(_largest(plan, traced, at))


def _peak(moments: Mapping[str, Parts]) -> float:
    return max(sum(parts.values()) for parts in moments.values())


def _largest(plan: Plan, traced: Mapping[str, Any], at: int) -> dict[str, Parts]:
    """Components at each moment, with every range at its low (0), usual (1) or high (2) end."""
    plan = _divided(plan, at)
    x = terms(plan, plan.length[at])
    variant = _variant(plan, traced)
    factor, wide = plan.activations[at], plan.squares[at]
    held, grads, own = _held(plan, at), _gradients(plan, at), _own_layers(plan, at)
    whole = sum(grads.values())
    early = max(whole, _deferred(plan, at)) if plan.accumulates else 0.0  # gradients of the micro batches before stay
    layers = plan.shape.layers
    entry = _value(variant["entry"], x)
    lasting = _lasting(variant, plan.checkpointed)
    if plan.one_mask and plan.attention == "masked":
        for part in ("saved", "square"):
            lasting[part].pop("ss", None)
    first, saved, square = (_value(lasting[name], x) for name in ("first", "saved", "square"))
    scores = 0.0
    if plan.computes_wide and not plan.autocast and plan.attention == "sdpa" and plan.groups < plan.heads:
        # Grouped keys in float32: of the fused kernels flash takes no float32 and the other one no groups, which leaves the scores in memory
        # (torch 2.11 aten/native/transformers/cuda/sdp_utils.cpp; transformers 5.17.0 integrations/sdpa_attention.py, use_gqa_in_sdpa).
        scores = 4.0 * x["ass"]
        if not plan.checkpointed:
            first, saved, square = first + scores, saved + scores, square + scores
    casts = _value(lasting["first_casts"], x) + (layers - 1) * _value(lasting["casts"], x)
    # A linear keeps the half-precision copy of its frozen weight for the backward pass: of one block at a time where blocks are computed again (Llama,
    # transformers 5.23, traced by itself).
    halves = 2.0 * plan.shape.layer if plan.computes_wide and plan.method != "full" and plan.autocast else 0.0
    if not plan.checkpointed:
        saved += halves
    if plan.lean and not plan.checkpointed:
        less = _lean(x, full=plan.method == "full")
        first, saved = max(first - less, 0.0), max(saved - less, 0.0)
    if plan.checkpoints_on_host and plan.checkpointed:
        first = saved = square = 0.0
    lean = _lean(x, full=True) if plan.lean and plan.checkpointed else 0.0
    block = max(_highest(variant["backward"], x) + _value(lasting["back"], x) - lean, 0.0)
    flat = {**x, **dict.fromkeys(_SQUARE, 0.0)}
    plain = max(_highest(variant["backward"], flat) + _value(lasting["back"], flat) - lean, 0.0)
    # Of the one block that is computed again: the scores, their gradient, and what they were made of.
    block = plain * factor + (block - plain + (3.0 * scores if plan.checkpointed else 0.0)) * wide
    block += halves if plan.checkpointed else 0.0
    forward, backward = _head(plan, traced, {**x, "T": x["T"] * plan.scored, "Tv": x["Tv"] * plan.scored}, at)
    # Half-precision logits and two copies in float32 beside their log-softmax; logits that are float32 already are one copy less.
    shifted = max(plan.shifted[at] - (2.0 if plan.computes_wide and not plan.autocast else 0.0), 0.0)
    forward = max(forward, plan.compared[at] * x["Tv"], shifted * x["Tv"])
    collected = _COLLECTED[at] * plan.sharding.collected * x["Tv"]
    forward, backward = forward + collected, backward + collected
    kept = {
        "activations": (entry + first + (layers - 1) * saved - layers * square) * factor * own,
        "attention": layers * square * wide * own,
    }
    last = {"activations": (entry + first) * factor + block}
    workspace = _dequantised(plan)
    head, block_of, around = _undivided(plan)
    common = {**held, "context": plan.context[at], "rollout": plan.rollout[at]}
    found = {
        MOMENTS[0]: {**common, **kept, "logits": forward, "gradients": early, "copies": casts * own},
        MOMENTS[1]: {**common, **kept, "logits": backward, "gradients": (early or grads["head"]) + head},
        MOMENTS[2]: {
            **common, **kept, "activations": kept["activations"] + block, "gradients": (early or grads["head"]) + block_of, "quantisation": workspace,
        },
        MOMENTS[3]: {**common, **last, "gradients": max(early, whole) + block_of, "quantisation": workspace},
        MOMENTS[4]: {**common, "gradients": whole + _shared(plan) + around},
        MOMENTS[5]: {**common, "gradients": whole, "step": _step(plan, at)},
    }  # fmt: skip
    if plan.evaluated:
        y = terms(plan._replace(rows=plan.evaluated), plan.length[at])
        # Liger builds whole logits where nothing is trained (0.6.2 transformers/model/llama.py, lce_forward: skip_logits = self.training).
        whole = plan.lean and plan.loss == "fused"
        logits, _ = _head(plan._replace(method="lora", loss="full" if whole else plan.loss), traced, y, at)
        found[MOMENTS[6]] = {**common, "activations": 2.0 * y["Th"], "logits": logits}
    if plan.generating.high:
        kept_by_trainer = {part: size for part, size in held.items() if part not in plan.parked}
        found[MOMENTS[7]] = {**kept_by_trainer, "context": plan.context[at], "rollout": plan.generating[at]}
    found[MOMENTS[5]].pop("gathered", None)  # shares alone are updated
    gaps = held["weights"] * plan.loading[at]
    for name, parts in found.items():
        parts["cache"] = gaps
        if name == MOMENTS[6]:
            # Pieces of the training steps are too small for an evaluation batch's logits, and stay.
            before = max(
                sum(found[one].get(part, 0.0) for part in ("activations", "attention", "logits")) for one in MOMENTS[:4]
            )
            parts["cache"] += plan.cache[at] * parts["logits"] + (0.0, 0.5, 1.0)[at] * before * (
                parts["logits"] > before
            )
        elif name not in (MOMENTS[4], MOMENTS[5], MOMENTS[7]):
            # What the activations of the longest rows took lies ready for other rows; only what is larger leaves places that nothing fits into.
            small = sum(parts.get(part, 0.0) for part in ("activations", "attention"))
            engine = sum(parts.get(part, 0.0) for part in ("gathered", "buckets"))
            large = parts.get("logits", 0.0) + (workspace if name in MOMENTS[2:4] else 0.0)
            reused = 0.0 if plan.checkpointed else min(large, small)
            parts["cache"] += plan.cache_large[at] * (large - reused) + plan.cache[at] * (engine + reused + small * (at > 1))  # fmt: skip
    if plan.sharding.weights > 1 and plan.sharding.engine in ("fsdp", "deepspeed"):
        for name in MOMENTS[:4]:
            found[name]["cache"] += (
                plan.regathered[at] * _base(plan, at) * (0.5 if plan.weights == "float32" and plan.autocast else 1.0)
            )
    _apart(plan, found, whole, at)
    return found


def _own_layers(plan: Plan, at: int) -> float:
    """The share of layers, and of what stands beside them, on the fullest card of those that one process lays its layers over: an even one at least,
    usually that rounded up to whole layers, and at the most two layers more: accelerate lets a card have 1.25 times the largest layer more than an even
    share (1.15.0 utils/modeling.py, get_balanced_memory)."""
    sharding, layers = plan.sharding, plan.shape.layers
    if sharding.engine != "split":
        return 1.0
    most = -(-layers // sharding.weights)
    return (1.0 / sharding.weights, most / layers, min(1.0, (most + 2) / layers))[at]


def _divided(plan: Plan, at: int) -> Plan:
    """One card's part where several share each matrix: heads, intermediate width and with them all that is kept of these are divided; what has the
    model's own width stays whole. Whether embedding and head are divided is the plan's choice (transformers' `base_model_tp_plan` has both)."""
    ways, shape = plan.tensor, plan.shape
    if ways == 1:
        return plan
    part = shape._replace(
        intermediate=-(-shape.intermediate // ways), query=-(-shape.query // ways), key_value=-(-shape.key_value // ways),
        vocab=-(-shape.vocab // ways) if at == 0 or plan.sharding.engine == "megatron" else shape.vocab,
    )  # fmt: skip
    part = part._replace(parameters=(shape.parameters - shape.outside) // ways + part.outside)
    heads, groups = (max(1, count // ways) for count in (plan.heads, plan.groups))
    trained = plan.trained // ways if at == 0 else plan.trained
    return plan._replace(shape=part, heads=heads, groups=groups, trained=trained, tensor=1)


def _apart(plan: Plan, found: dict[str, Parts], whole: float, at: int) -> None:
    """Gradients of a whole model come and go in each step, as the logits do, and the two hardly ever have the same place: logits are larger than any
    gradient's block, and a block of logits that a gradient has split is not whole again before the next rows. What activations without checkpointing
    leave is of the gradients' own size and serves them. The allocator (torch 2.13 c10/cuda/CUDACachingAllocator.cpp: the smallest free block
    that is large enough, split where more than 1 MiB is left) was replayed over traced steps, and runs on a card say the same (benchmarks/card.md).
    DeepSpeed and Megatron keep gradients in buffers of their own.
    """
    if plan.method != "full" or plan.sharding.engine in ("deepspeed", "megatron"):
        return
    share, usual = plan.apart[at], at == 1
    loss, last = found[MOMENTS[1]], found[MOMENTS[2]]
    small = sum(loss[part] for part in ("activations", "attention"))
    summed = _summed(plan)  # a gradient already
    for parts in (loss, last):
        gone = share * max(whole - parts["gradients"] - summed - (0.0 if plan.checkpointed else small), 0.0)
        # Gradients fit into the gaps that the logits leave.
        parts["cache"] = max(parts["cache"], gone) if usual else parts["cache"] + gone
    before = max(loss["logits"] - summed, 0.0) + (small if plan.checkpointed else 0.0)
    for name in MOMENTS[4:6]:
        found[name]["cache"] += share * max(before - (found[name].get("step", 0.0) if usual else 0.0), 0.0)


def _summed(plan: Plan) -> float:
    """The head's gradient, where it is summed over pieces of the loss. Liger's is as wide as the weight (ops/fused_linear_cross_entropy.py, zeros_like);
    a sum over pieces of autograd is there twice for a moment."""
    if plan.method != "full" or plan.loss not in ("chunked", "fused"):
        return 0.0
    width = 4.0 if plan.computes_wide or plan.loss == "chunked" else 2.0
    return width * plan.shape.vocab * plan.shape.hidden


def _lean(x: Mapping[str, float], *, full: bool) -> float:
    """What Liger's kernels keep less of a block: two norms their input and no copy in float32 (ops/rms_norm.py, save_for_backward), nor, where their
    weight is trained, what was multiplied with it; the gate's product is computed again (ops/swiglu.py)."""
    return (8.0 if full else 4.0) * x["Th"] + 2.0 * x["Ti"]


def terms(plan: Plan, length: float) -> dict[str, float]:
    """The products of dimensions that traced forms are made of (tools/trace_memory.py, BLOCK and HEAD)."""
    s, shape = plan.shape, length
    tokens = plan.rows * length
    depth = s.query / plan.heads
    return {
        "Th": tokens * s.hidden, "Ti": tokens * s.intermediate, "Tq": tokens * s.query, "Tk": tokens * s.key_value, "Ta": tokens * plan.heads,
        "Td": tokens * depth, "Tr": tokens * plan.rank, "T": tokens, "sd": length * depth, "ass": tokens * shape * plan.heads, "ss": tokens * shape,
        "hi": s.hidden * s.intermediate, "hq": s.hidden * s.query, "hk": s.hidden * s.key_value, "rh": plan.rank * s.hidden,
        "ri": plan.rank * s.intermediate, "rq": plan.rank * s.query, "rk": plan.rank * s.key_value, "Tv": tokens * s.vocab, "vh": s.vocab * s.hidden,
    }  # fmt: skip


def _value(form: Form, x: Mapping[str, float]) -> float:
    return sum(factor * x[name] for name, factor in form.items())


_SQUARE = ("ss", "ass")
_OF_WEIGHTS = ("hi", "hq", "hk", "rh", "ri", "rq", "rk")


def _lasting(variant: Mapping[str, Any], checkpointed: bool) -> dict[str, dict[str, float]]:
    """What of the first block and of each other one lasts until the backward pass; `square` is the part that grows with the square of the
    rows. Autocast keeps half-precision copies of float32 weights until the forward pass ends (`casts`; without checkpointing the backward pass
    needs them as well), and the scores of the last attention are there a moment longer than their block. `back` brings what was counted
    beyond these to what was there.
    """
    first, saved = dict(variant["first"]), dict(variant["saved"])
    if checkpointed:
        scores = first.pop("ass", 0.0) + saved.pop("ass", 0.0)
    else:
        scores = max(first.get("ass", 0.0) - saved.get("ass", 0.0), 0.0)
        first["ass"] = first.get("ass", 0.0) - scores
    gone = _OF_WEIGHTS if checkpointed else ()
    casts = [{name: form.pop(name) for name in gone if name in form} for form in (first, saved)]
    back = {name: casts[0].get(name, 0.0) + casts[1].get(name, 0.0) for name in {*casts[0], *casts[1]}}
    square = {name: saved[name] for name in _SQUARE if name in saved}
    return {
        "first": first, "saved": saved, "square": square, "first_casts": casts[0], "casts": casts[1], "back": {**back, "ass": scores},
    }  # fmt: skip


def _highest(forms: Sequence[Form], x: Mapping[str, float]) -> float:
    return max(_value(form, x) for form in forms)


def variant_names(plan: Plan) -> tuple[str, str, str]:
    """The traced variant, the one without dropout, and the head's."""
    tuned = "full" if plan.method == "full" else f"lora-{plan.spread}"
    quantised = plan.weights in ("4bit", "4bit-double", "8bit")
    wide = plan.computes_wide or (quantised and plan.outside.usual > 3)
    if plan.method == "full":
        weights = "bf16" if not wide else "fp32" if plan.autocast else "pure"
    else:
        weights = "kbit" if wide or plan.wide_norms else "4bit" if quantised else "bf16"
    spread = tuned if weights == "bf16" or plan.method == "full" else "lora-all"
    rest = f"{weights}/{'checkpointed' if plan.checkpointed else 'kept'}/{plan.attention}"
    dropped = f"{tuned}-dropout" if plan.dropout and plan.method != "full" else spread
    head = "4bit" if weights == "kbit" and not wide else weights
    return f"{dropped}/{rest}", f"{spread}/{rest}", f"{'full' if plan.method == 'full' else 'lora'}/{head}"


def _variant(plan: Plan, traced: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was traced of this way of training. Of norms in float32 between an embedding and a head in half precision no type was traced: blocks then keep
    what those of a base in float32 keep, but pass half precision on, which is what checkpointing keeps of them (Llama, transformers 5.23, traced by
    itself: 48.4 bytes a token and width without checkpointing in both; with it 2.3 instead of 4.3, and a block's peak within 3%)."""
    found = _traced(plan, traced)
    if plan.wide_norms and plan.checkpointed:
        return {**found, "saved": _traced(plan._replace(wide_norms=False), traced)["saved"]}
    return found


def _traced(plan: Plan, traced: Mapping[str, Any]) -> Mapping[str, Any]:
    """The variant; else what is known of the parts of it."""
    exact, plain, _ = variant_names(plan)
    variants: Mapping[str, Any] = traced["variants"]
    if exact in variants:
        found: Mapping[str, Any] = variants[exact]
        return found
    rest = plain.split("/")[2:]
    base = _nearest(plain, variants)
    if not plan.dropout or plan.method == "full":
        return base
    # What dropout adds does not depend on the weights: traced in half precision.
    with_it, without = (
        variants.get("/".join([f"lora-all{end}", "bf16", rest[0], "masked"])) for end in ("-dropout", "")
    )
    if with_it is None or without is None:
        return base
    more = {
        part: _plus(base[part], _minus(with_it[part], without[part]), plan.spread)
        for part in ("entry", "first", "saved")
    }
    extra = with_it["backward"][0] if rest[0] == "checkpointed" else None
    backward = [
        _plus(form, _minus(extra, without["backward"][0]), plan.spread) if extra is not None else form
        for form in base["backward"]
    ]
    return {**base, **more, "backward": backward}


def _nearest(name: str, variants: Mapping[str, Any]) -> Mapping[str, Any]:
    """The variant, or one that differs from it in attention only, brought to what is asked for; then one with another adapter or width."""
    tuned, weights, kept, attention = name.split("/")
    wide = "full" if tuned == "full" else "lora-all"
    for spread, width in ((tuned, weights), (wide, weights), (wide, "bf16")):
        direct: Mapping[str, Any] | None = variants.get(f"{spread}/{width}/{kept}/{attention}")
        if direct is not None:
            return direct
        for other in ("masked", "sdpa", "eager"):
            found: Mapping[str, Any] | None = variants.get(f"{spread}/{width}/{kept}/{other}")
            if found is not None:
                return _with_attention(found, attention, variants.get(f"{wide}/bf16/{kept}/eager"))
    raise KeyError(f"nothing was traced that is like {name}")


def _with_attention(base: Mapping[str, Any], attention: str, eager: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Eager attention was traced for the main variants only: its square term beside the rest. A type that was traced with it alone (soft-capped
    scores) has none of that term with fused kernels."""
    parts = {part: dict(base[part]) for part in ("entry", "first", "saved")}
    backward = [dict(form) for form in base["backward"]]
    for form in (*parts.values(), *backward):
        form.pop("ass", None)
    if attention == "eager" and eager is not None:
        for part in ("first", "saved"):
            parts[part]["ass"] = eager[part].get("ass", 0.0)
        peak = max((form.get("ass", 0.0) for form in eager["backward"]), default=0.0)
        backward = [{**form, "ass": peak} for form in backward]
    return {**base, **parts, "backward": backward}


def _minus(one: Form, other: Form) -> dict[str, float]:
    return {name: one.get(name, 0.0) - other.get(name, 0.0) for name in {*one, *other}}


def _plus(one: Form, more: Form, spread: str) -> dict[str, float]:
    share = 1.0 if spread == "all" else 0.3  # two of the seven linears of a block
    return {name: one.get(name, 0.0) + share * more.get(name, 0.0) for name in {*one, *more}}


def _head(plan: Plan, traced: Mapping[str, Any], x: Mapping[str, float], at: int) -> tuple[float, float]:
    """Logits and the loss: end of the forward pass, and its backward pass."""
    name = variant_names(plan)[2]
    head = traced["heads"].get(name) or traced["heads"]["full/bf16" if plan.method == "full" else "lora/bf16"]
    vocab = plan.shape.vocab
    trained = _summed(plan)
    if plan.loss == "none":  # one value a row instead of logits
        return 4.0 * x["Th"], 4.0 * x["Th"]
    if plan.loss == "elastic":  # pieces of half of the memory that is free: as much as there is, and no need
        size = min(_ELASTIC, 16.0 * x["Tv"]) * (0.0, 0.5, 1.0)[at] if plan.loss_rows else 0.0
        return size, size
    if plan.loss == "chunked":
        size = plan.loss_rows * vocab * 12.0 + x["Th"] * 4
        return size, size + trained
    if (
        plan.loss == "piecewise"
    ):  # all logits, each piece's log-probabilities in float32; the logits are gone before the backward pass
        return x["Tv"] * (8.0 if plan.computes_wide else 6.5), x["Tv"] * 5.0
    if plan.loss == "fused":
        size = _liger_rows(x["T"], plan.shape) * vocab * 6.0 + x["Th"] * 4
        return size + trained, size + trained
    if plan.narrow[at] and not plan.computes_wide:
        # With the head's gradient, whose input is the gradient of the logits.
        beside = 2.0 * x["Tv"] + 2.0 * x["vh"] if plan.method == "full" else 0.0
        return plan.narrow[at] * x["Tv"], max(plan.narrow[at] * x["Tv"], beside)
    forms = {name: [_logits_only(form) for form in head[name]] for name in ("forward", "backward")}
    return _highest(forms["forward"], x), _highest(forms["backward"], x)


def _logits_only(form: Form) -> dict[str, float]:
    return {name: size for name, size in form.items() if name != "ss"}


def _liger_rows(tokens: float, shape: Shape) -> float:
    """Rows of a piece (Liger ops/fused_linear_cross_entropy.py): next power of two of tokens ÷ ⌈vocabulary ÷ hidden⌉."""
    wanted = max(1.0, tokens // max(1, -(-shape.vocab // shape.hidden)))
    rows = 1.0
    while rows < wanted:
        rows *= 2
    return min(rows, tokens)


def _base(plan: Plan, at: int) -> float:
    """Bytes of the base weights, whole."""
    rate, shape = _BASE[plan.weights], plan.shape
    if plan.weights in ("float32", "float16", "bfloat16"):
        return shape.parameters * rate
    return (shape.parameters - shape.outside - plan.fused) * rate + 2.0 * plan.fused + shape.outside * plan.outside[at]


def _held(plan: Plan, at: int) -> Parts:
    """What lies on the card from the first step to the last."""
    plan = _divided(plan, at)
    sharding, shape = plan.sharding, plan.shape
    engine = sharding.engine
    base = _base(plan, at)
    if engine == "fsdp" and plan.method == "full" and plan.autocast:
        base = shape.parameters * 4.0  # accelerate keeps what is trained in full precision
    parts = {"weights": 0.0 if sharding.weights_on_host else base / sharding.weights}
    if engine == "split" and at == 2:
        parts["weights"] += 2.0 * base / shape.layers
    if plan.packed:
        # Engines divide parameters, and packed weights are buffers (AutoGPTQ 0.7.1 nn_modules/qlinear, AutoAWQ 0.2 modules/linear: register_buffer).
        outside = shape.outside * plan.outside[at]
        parts["weights"] = base - outside + outside / sharding.weights
    if plan.tower:
        width = 4.0 if plan.weights == "float32" else _BASE[plan.weights] if at == 0 else 2.0
        trained = 16.0 if at == 2 and plan.method == "full" and plan.tower_trained else 0.0
        parts["vision"] = plan.tower * (width + trained) / sharding.weights + plan.pictures[at]
    parts["adapters"] = (_adapter_width(plan) * plan.trained + 2.0 * plan.copied) * _adapter_share(plan, at)
    states = _states(plan, at) / sharding.states
    parts["optimizer"] = 0.0 if sharding.states_on_host else states
    if plan.reference:
        parts["reference"] = base / sharding.weights
    if engine == "deepspeed" and sharding.stage >= 3:
        live = min(sharding.live, shape.parameters) * 2.0
        least = 2.0 * (shape.layer * 2)
        parts["gathered"] = (min(least, live), live, live)[at]
        trained = shape.parameters if plan.method == "full" else plan.trained
        parts["buckets"] = 2.0 * (_PREFETCH * (at > 0) + min(sharding.bucket, trained) * _OVERLAP[at])
    elif engine == "deepspeed" and sharding.stage >= 1:
        trained = shape.parameters if plan.method == "full" else plan.trained
        parts["buckets"] = 2.0 * min(sharding.bucket, trained) * _OVERLAP[at]
    elif engine == "fsdp":
        each = (
            _BASE[plan.weights] if plan.weights in ("4bit", "4bit-double", "8bit") else 2.0
        )  # gathered as they are kept
        parts["gathered"] = each * 2 * shape.layer + 2.0 * shape.outside
    elif sharding.processes > 1 and engine == "ddp":
        trained = shape.parameters if plan.method == "full" else plan.trained
        parts["buckets"] = max(trained * _gradient_width(plan), _DDP_BUCKET) if trained else 0.0
    if plan.judges.high or plan.critics.high:
        own = sum(parts.get(name, 0.0) for name in ("weights", "adapters", "optimizer"))
        trained_too = plan.critics[at] * (own + sum(_gradients(plan, at).values()))
        parts["judges"] = plan.judges[at] * base / sharding.weights + trained_too
    return parts


def _adapter_share(plan: Plan, at: int) -> float:
    """FSDP wraps an adapter's matrices as well (peft utils/other.py, fsdp_auto_wrap_policy) and divides them. ZeRO-3 divides what is larger than
    stage3_param_persistence_threshold, which most of them are not."""
    shards = plan.sharding.weights
    if plan.sharding.engine == "split":
        return _own_layers(plan, at)
    if plan.sharding.engine == "fsdp":
        return 1.0 / shards
    return 1.0 / shards if at == 0 and plan.sharding.engine == "deepspeed" else 1.0


def _adapter_width(plan: Plan) -> float:
    """PEFT keeps adapters in float32 (autocast_adapter_dtype); DeepSpeed casts the whole module."""
    return 2.0 if plan.sharding.engine == "deepspeed" else 4.0


def _gradient_width(plan: Plan) -> float:
    if plan.sharding.engine == "deepspeed":
        return 2.0
    if plan.method != "full" or plan.sharding.engine == "megatron":
        return 4.0  # Megatron sums in float32 (megatron/core/distributed/distributed_data_parallel_config.py, grad_reduce_in_fp32)
    return 4.0 if plan.weights == "float32" or (plan.sharding.engine == "fsdp" and plan.autocast) else 2.0


def _states(plan: Plan, at: int) -> float:
    """Bytes of the optimizer's states, undivided. DeepSpeed's and Megatron's own copies are float32 and come with a copy of the weights."""
    wide = plan.optimizer.full[at]
    if plan.sharding.engine in ("deepspeed", "megatron"):
        trained = plan.shape.parameters if plan.method == "full" else plan.trained + plan.copied
        return trained * (wide + 4.0)
    if plan.method == "full":
        each = plan.optimizer.half[at] if _gradient_width(plan) == 2.0 else wide
        return plan.shape.parameters * each + plan.shape.vocab * plan.shape.hidden * plan.optimizer.embedding
    return plan.trained * wide + plan.copied * plan.optimizer.half[at]


def _gradients(plan: Plan, at: int) -> Parts:
    """Of the whole model, and of its head, which come first."""
    sharding = plan.sharding
    # FSDP takes each there once it is divided (torch 2.13, _offload_grad and foreach_reduce).
    if sharding.states_on_host and sharding.engine in ("deepspeed", "fsdp"):
        return {"head": 0.0, "rest": 0.0}
    width = _gradient_width(plan)
    if plan.method != "full":
        shards = sharding.gradients if sharding.engine == "fsdp" else 1
        return {"head": 2.0 * plan.copied / shards, "rest": width * plan.trained / shards * _own_layers(plan, at)}
    head = 0 if plan.shape.tied else plan.shape.vocab * plan.shape.hidden
    shards = sharding.gradients
    if plan.streams:
        largest = plan.shape.hidden * max(plan.shape.vocab, plan.shape.intermediate)
        return {"head": width * largest / shards, "rest": 0.0}
    return {"head": width * head / shards, "rest": width * (plan.shape.parameters - head) / shards}


def _deferred(plan: Plan, at: int) -> float:
    """Gradients that FSDP divides after the last micro batch only: whole until then, in the dtype of the products."""
    width = 2.0 if plan.autocast or plan.weights != "float32" else 4.0
    return plan.sharding.deferred[at] * width * plan.shape.parameters if plan.method == "full" else 0.0


def _step(plan: Plan, at: int) -> float:
    """What an optimizer's step takes for a moment."""
    sharding = plan.sharding
    if sharding.states_on_host or plan.streams:
        return 0.0
    trained = plan.shape.parameters if plan.method == "full" else plan.trained + plan.copied
    if sharding.engine == "deepspeed":
        # Gradients in float32, and the temporaries of the optimizer where it is not the engine's own.
        group = min(_SUB_GROUP if sharding.stage >= 3 else float(trained), trained / sharding.states)
        return 4.0 * group * (1.0 + plan.optimizer.temporary[at])
    largest = 4.0 * plan.shape.vocab * plan.shape.hidden if plan.method == "full" else 0.0
    copies = plan.optimizer.largest * (
        2.0 if _gradient_width(plan) == 2.0 else 1.0
    )  # half precision is made float32 first
    return (trained * _gradient_width(plan) * plan.optimizer.temporary[at] + largest * copies) / sharding.states


def _undivided(plan: Plan) -> tuple[float, float, float]:
    """Gradients that are whole until they are divided: of the head, of what is there while blocks are differentiated, and of the embedding. DeepSpeed
    divides each matrix that is larger than a bucket by itself (deepspeed 0.19.8 runtime/zero/stage3.py, __reduce_and_partition_ipg_grads); FSDP each of its
    units, and embedding and head are one, which is divided last (torch 2.13 distributed/fsdp/_runtime_utils.py, _post_backward_hook)."""
    sharding, words = plan.sharding, 2.0 * plan.shape.vocab * plan.shape.hidden
    if plan.method != "full" or sharding.gradients == 1 or plan.streams or sharding.engine == "megatron":
        return 0.0, 0.0, 0.0
    if sharding.engine == "fsdp":
        return words, words + 2.0 * plan.shape.layer, 2.0 * plan.shape.outside
    return words, 0.0, words


def _shared(plan: Plan) -> float:
    """Where embedding and head are one matrix, the head's gradient waits for the embedding's, which comes last, and both become a sum. In half
    precision three such matrices are there at once, in float32 two (measured on an H100, benchmarks/card.md)."""
    if (
        plan.method != "full"
        or not plan.shape.tied
        or plan.loss == "none"
        or plan.sharding.gradients > 1
        or plan.streams
    ):
        return 0.0
    width = _gradient_width(plan)
    return plan.shape.vocab * plan.shape.hidden * width * (2.0 if width == 2.0 else 1.0)


def _dequantised(plan: Plan) -> float:
    """One matrix of a quantised base in half precision, while it is multiplied."""
    quantised = plan.weights in ("4bit", "4bit-double", "8bit")
    return 2.0 * plan.shape.hidden * plan.shape.intermediate if quantised else 0.0


def _host(plan: Plan) -> float:
    """Bytes in the host's memory for one process: offloaded states and weights, and block inputs. DeepSpeed keeps half-precision weights beside
    float32 copies, gradients and states (arXiv 2101.06840, section 3); FSDP trains the float32 weights themselves."""
    sharding, size = plan.sharding, 0.0
    trained = (plan.shape.parameters if plan.method == "full" else plan.trained) * (1.0 + plan.critics.usual)
    trains_them = sharding.engine == "fsdp" and plan.method == "full"
    if sharding.states_on_host:  # states, what is trained and its gradients, which DeepSpeed keeps in float32
        each = 2.0 * _gradient_width(plan) + _states(plan, 1) / plan.shape.parameters if trains_them else 16.0
        size += each * trained / sharding.states
    if sharding.weights_on_host and not trains_them:
        size += _base(plan, 1) / sharding.weights
    if plan.checkpoints_on_host and plan.checkpointed:
        size += 2.0 * plan.shape.hidden * plan.shape.layers * plan.rows * plan.length.usual
    return size
