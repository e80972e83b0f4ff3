"""The facts of a run → plans: one for each way in which it may be started. What is not known is a range, or the reason why nothing can be said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stablint.base import knowledge
from stablint.base.language import gettext
from stablint.fitting import rollout, seeing
from stablint.fitting.alike import Alike
from stablint.fitting.cards import (
    CONTEXT,
    SEQUENCE,
    by_megatron,
    has_own_optimizer,
    is_divided,
    started,
    tensor_ways,
    ways_to_start,
)
from stablint.fitting.logits import compared_logits, is_mixed, loss_of, narrow_logits, shifted_logits
from stablint.fitting.optimizers import ADAM, OPTIMIZERS, STREAMING, UNKNOWN_OPTIMIZER
from stablint.fitting.rows import length_of, packs_into_one_row
from stablint.fitting.terms import Guess, Reading, Unanswerable, is_size, may_be_older, usable
from stablint.fitting.weights import (
    BITS,
    PACKED,
    ROUTED,
    adapter_of,
    base_bytes,
    outside_width,
    rank_of,
    shapes_of,
    traced_type,
    weights_of,
    with_experts,
)
from stablint.memory.plan import NO_SHARE, Optimizer, Plan, Range, Sharding, sure
from stablint.run.fact import PRESUMED, is_unknown
from stablint.run.objective import OBJECTIVES
from stablint.run.world import World
from stablint.syntax.tree import Unknown

_PAIRS = ("dpo", "cpo", "orpo", "simpo", "ipo")
_ONLINE = (*rollout.ONLINE, "ppo")
_REFERENCE = ("dpo", "kto", "ipo")
_SDPA_SINCE = (
    "4.36.0"  # transformers' Llama had one attention before, which builds the scores (models/llama/modeling_llama.py)
)
# Masks are of the model's dtype before, and one serves all blocks; later ones are of switches, of which each block makes its own in that dtype
# (transformers 4.52.4 models/llama/modeling_llama.py, _update_causal_mask; 4.53.3 masking_utils.py; torch aten/native/transformers/attention.cpp,
# convert_boolean_attn_mask).
_MASKS_SINCE = "4.53.0"
_ANSWERING = "trl"
_CHECKPOINTING = (
    "training.gradient_checkpointing",
    "training.activation_checkpointing",
    "fsdp.activation_checkpointing",
)
# Shares of what comes and goes: a quarter for rows of one length. For the logits of rows that differ the median, and what three of four stay below, of
# the allocator replayed over traced steps of 60 data sets of strangers, uncut and with a tenth of the rows cut (benchmarks/allocator.py, README.md).
_CACHE, _CACHE_MIXED = Range(0.0, 0.25, 0.4), Range(0.0, 1.7, 2.7)
# Segments that grow close the gaps between blocks, whatever their sizes; how far nobody has measured here.
_APART, _APART_EXPANDABLE = Range(0.0, 1.0, 1.0), Range(0.0, 0.0, 1.0)
# Seen before the first step: 5% above the arithmetic at least in 21 notebooks that print it.
_MOST_ROWS = 8  # a batch that nobody states
_SMALL = (
    "adapter", "adapter_v2", "prompt", "prefix", "p_tuning", "ia3", "vera", "bone", "boft", "oft", "reft", "llamapro", "longlora", "adalora",
)  # fmt: skip
_IN_PLACE = Range(6.0, 8.0, 0.0)
_LOADING = Range(0.0, 0.0, 0.05)


def read(w: World) -> list[Reading]:
    """The ways in which the run may be started, the likeliest first. Raises Unanswerable."""
    assumed: list[str] = []
    method = w.value("derived.method")
    open_method = is_unknown(method) or method == "unknown"
    if method in _SMALL:
        method = "lora"
        assumed.append(Guess(gettext("counted as an adapter of LoRA's size on every linear layer")))
    elif open_method:
        method = "full"
        assumed.append(
            Guess(
                gettext(
                    "how the model is trained is not known: all of it, and at the low end an adapter on weights in 4 bits"
                )
            )
        )
    if method not in ("full", "lora", "qlora"):
        raise Unanswerable(
            gettext("how the model is trained is not known ({method})").format(
                method=method if isinstance(method, str) else "derived.method"
            )
        )
    shapes = shapes_of(w, assumed)
    shape, heads, groups = shapes[0]
    kind = w.value("model.type")
    type_, factor = traced_type(
        kind if isinstance(kind, str) else "",
        assumed,
        w.value("model.is_moe") is True,
        w.is_stated("model.vision_tower"),
    )
    weights = weights_of(w, method, assumed)
    compute = w.value("derived.compute_dtype")
    own = w.framework.rollout
    divided_by = own.strategy if own is not None else ""
    if divided_by:
        compute = "bfloat16"
    autocast = weights != compute if compute in ("bfloat16", "float16") else False
    objective = w.value("derived.objective")
    if is_unknown(objective) and (kinds := kinds_of(w)):
        objective = kinds[0]
        assumed.append(
            Guess(
                gettext("the objective is one of {names}: counted as {objective}").format(
                    names=", ".join(kinds), objective=objective
                )
            )
        )
    judges = _said(rollout.judges, w, assumed) if objective == "ppo" else None
    batch = judges.rows if judges is not None and judges.rows else w.value("training.per_device_train_batch_size")
    open_batch = not is_size(batch)
    if open_batch:
        batch = 1
        assumed.append(
            Guess(
                gettext(
                    "the batch of a card is not known: one row, and {most} at the high end; say it with --set training.per_device_train_batch_size=ROWS"
                ).format(most=_MOST_ROWS)
            )
        )
    online = objective in _ONLINE
    if objective == "online-dpo":
        raise Unanswerable(
            gettext(
                "{objective}: models that judge the answers lie beside the trained one, and are not counted yet"
            ).format(objective=objective)
        )
    purpose = w.stated("launch.purpose")
    if is_unknown(objective) and purpose in (*_PAIRS, *_REFERENCE):
        objective = purpose
        assumed.append(
            Guess(
                gettext("the objective is taken to be {objective}, after the program's name").format(objective=purpose)
            )
        )
    if is_unknown(objective):
        assumed.append(
            Guess(
                gettext(
                    "the objective is not known: counted as supervised fine-tuning, with one model and one row each"
                )
            )
        )
    divided = is_divided(w)
    if divided:
        raise Unanswerable(
            gettext("work divided within a row or a layer (training.{divided}) is not counted yet").format(
                divided=divided
            )
        )
    scored = 1.0
    if online:
        (length, scored), filled = _said(rollout.lengths, w, assumed), False
    else:
        length, filled = length_of(w, assumed)
        if more := seeing.beyond_the_limit(w):
            length = length._replace(high=length.high + more)
            assumed.append(gettext("a picture becomes up to {more} tokens after its row was cut").format(more=more))
    ways = next((value for name in SEQUENCE if is_size(value := w.stated(name)) and value > 1), 1)
    if ways > 1:
        length = Range(*(end / ways for end in length))
        assumed.append(gettext("each row is divided over {ways} cards, its logits too").format(ways=ways))
    tensor = tensor_ways(w)
    megatron = by_megatron(w)
    if tensor > 1 and not megatron:
        assumed.append(
            gettext("each matrix is divided over {ways} cards; embedding, head and logits at the low end only").format(
                ways=tensor
            )
        )
    if megatron and tensor > 1:
        length = Range(length.low / tensor, length.usual / tensor, length.high)  # where sequences are divided as well
    loss, rows, older = loss_of(w, assumed)
    if loss == "none" and not shape.tied:
        shape = shape._replace(parameters=shape.parameters - shape.vocab * shape.hidden, tied=True)  # no head of words
    attention = w.value("model.attn_implementation")
    if (
        not isinstance(attention, str) and w.value("training.flash_attention") is True
    ):  # axolotl's switch, which patches old releases as well
        attention = "flash_attention_2"
    eager = attention == "eager" or (not isinstance(attention, str) and _builds_scores(w, assumed))
    flash = isinstance(attention, str) and ("flash" in attention or attention == "flex_attention")
    rows_of = batch * (2 if objective in (*_PAIRS, "reward") else 1)
    alone = rows_of == 1  # nothing to pad to
    if not flash and filled and packs_into_one_row(w):
        # The packed rows of a batch become one row without padding, which other kernels than flash attention take with a mask of its square
        # (trl 1.16.0 trainer/sft_trainer.py, padding_free).
        length, rows_of, filled, alone = Range(*(end * rows_of for end in length)), 1, True, False
        masked = True
    else:
        masked = not (flash or filled or alone) or w.framework.repeats_keys
    host = w.framework.checkpoints_on_host
    targets, spread, copied, trained = adapter_of(w, shape, method, assumed)
    name = w.value("training.optim")
    optimizer = OPTIMIZERS.get(name) if isinstance(name, str) else None
    if name == "adamw_torch" and w.value("training.optimizer_fused") is True:  # torchtune's `optimizer.fused`
        optimizer = OPTIMIZERS["adamw_torch_fused"]
    if name in ("adamw_torch", "adam", "adamw") and w.value("training.optimizer_foreach") is False:
        optimizer = Optimizer(*ADAM, sure(0.0))  # one matrix after the other: no temporaries of all of them
    if optimizer is not None and has_own_optimizer(w):
        optimizer = optimizer._replace(temporary=sure(0.0))
    if isinstance(name, Unknown) and "adamw_torch" in name.reason:
        optimizer = OPTIMIZERS["adamw"]  # with or without the temporaries of a step
    if optimizer is None and divided_by and not w.is_stated("training.optim"):
        optimizer = OPTIMIZERS["adamw"]  # torch's (verl 0.7.0 workers/config/optimizer.py)
    if optimizer is None and not megatron:
        assumed.append(
            gettext("the optimizer is not known{name}: up to AdamW's states").format(
                name=f" ({name})" if isinstance(name, str) else ""
            )
        )
    expandable = "expandable_segments:True" in str(w.stated("launch.env.PYTORCH_CUDA_ALLOC_CONF"))
    packed = w.value("model.quant_method") in PACKED and weights in ("4bit", "4bit-double", "8bit")
    seen = seeing.tower(w, shape.parameters, rows_of, length)
    if seen is not None:
        assumed.append(
            gettext(
                "pictures: none at the low end, half of each row usually, all of it at the high end; the tower is frozen"
            )
            if seen.is_frozen
            else gettext(
                "pictures: none at the low end, half of each row usually, all of it in a tower that keeps it at the high end"
            )
        )
    outside, wide_norms = outside_width(w) if weights in BITS else (sure(2.0), False)
    dropout = w.value("lora.lora_dropout")
    plan = Plan(
        shape=shape, heads=heads, groups=groups, method="full" if method == "full" else "lora", weights=weights, autocast=autocast,
        mixed=is_mixed(w) or bool(divided_by),
        outside=outside, wide_norms=wide_norms, trained=trained, copied=copied,
        rank=rank_of(w) if method != "full" else 0, spread=spread, dropout=isinstance(dropout, (int, float)) and dropout > 0,
        optimizer=optimizer or UNKNOWN_OPTIMIZER, sharding=Sharding(), rows=rows_of, length=length,
        accumulates=_accumulates(w), checkpointed=_checkpointed(w, assumed), checkpoints_on_host=host,
        attention="eager" if eager else "masked" if masked else "sdpa", loss=loss, loss_rows=rows,
        reference=objective in _REFERENCE and method == "full" and w.value("training.precompute_ref_log_probs") is not True,
        cache=_CACHE, cache_large=_CACHE if filled or expandable or loss == "elastic" else _CACHE_MIXED, context=CONTEXT,
        apart=_APART_EXPANDABLE if expandable else _APART, loading=_LOADING, activations=factor,
        streams=method == "full" and (w.value("training.optimizer_in_bwd") is True or name in STREAMING),
        evaluated=_evaluated(w), compared=compared_logits(w, objective, loss), tensor=tensor, packed=packed, tower=seen.parameters if seen is not None else 0,
        tower_trained=seen is not None and not seen.is_frozen,
        pictures=seen.pictures if seen is not None else NO_SHARE, shifted=shifted_logits(w, objective, loss),
        narrow=narrow_logits(w, autocast), lean=w.value("training.use_liger_kernel") is True,
        squares=sure(1.0) if factor == ROUTED else factor, one_mask=not autocast and w.at_least("transformers", _MASKS_SINCE) is False,
    )  # fmt: skip
    if online:
        plan = _answering(w, plan, scored, assumed)
    if judges is not None:
        both = 2.0 if judges.at_once else 1.0
        plan = plan._replace(
            judges=judges.frozen, critics=judges.trained, scored=1.0, reference=method == "full",
            activations=Range(factor.low, factor.usual * both, factor.high * both),
        )  # fmt: skip
    if megatron:
        # Words are divided as well, and whole rows come before the head; float32 of the logits is made in place (megatron/core/tensor_parallel, layers.py
        # and cross_entropy.py).
        plan = plan._replace(
            optimizer=OPTIMIZERS["adamw_torch_fused"], checkpointed=True, narrow=_IN_PLACE, scored=float(tensor)
        )
        assumed.append(
            gettext("Megatron: blocks are taken to be computed again, its states to be divided over the copies")
        )
    assumed += [f"{targets}"] if targets else []
    plan, others = with_experts(w, plan, assumed)
    others += [_of_shape(w, one, other, method) for other in shapes[1:] for one in (plan, *others)]
    others += [plan._replace(loss="full", loss_rows=0)] if older else []
    if (
        plan.checkpointed
        and w.framework.checkpoints_since
        and w.scope(_CHECKPOINTING[0]) == PRESUMED
        and not any(map(w.is_stated, _CHECKPOINTING))
    ):
        assumed.append(
            gettext("whose trainer the program has is presumed: the high end is without gradient checkpointing")
        )
        others += [one._replace(checkpointed=False) for one in (plan, *others)]
    if open_batch:
        others += [one._replace(rows=one.rows * _MOST_ROWS) for one in (plan, *others)]
    if open_method:
        others += [_adapted(w, one) for one in (plan, *others)]
    if not eager and not flash and _is_own_code(kind):
        assumed.append(
            gettext("attention is code of the model's own: it may keep its scores, which the high end counts")
        )
        others += [one._replace(attention="eager") for one in (plan, *others)]
    if online and _compared_before(w, plan, assumed):
        others += [one._replace(reference=True) for one in (plan, *others)]
    return [
        Reading(
            started(plan, sharding, compute), type_, start, (*assumed, *notes),
            tuple(started(other, sharding, compute) for other in others),
        )
        for sharding, start, notes in ways_to_start(w)
    ]  # fmt: skip


def kinds_of(w: World) -> list[str]:
    """What the run may be trained for, the commonest first, where all of it is of one kind: answers that are learned from, or pairs of them."""
    classes = w.run.classes.get("training", ())
    kinds = [OBJECTIVES.get(name.removeprefix("?trl."), "") for name in classes if name.startswith("?trl.")]
    return kinds if kinds and any(set(kinds) <= set(kind) for kind in (rollout.ONLINE, _PAIRS)) else []


def _of_shape(w: World, plan: Plan, other: Alike, method: str) -> Plan:
    """The run with other dimensions of the model."""
    _, _, copied, trained = adapter_of(w, other.shape, method, [])
    share = other.shape.parameters / plan.shape.parameters
    return plan._replace(
        shape=other.shape, heads=other.heads, groups=other.groups, copied=copied, fused=round(plan.fused * share),
        trained=max(trained, round(plan.trained * share)),
    )  # fmt: skip


def _adapted(w: World, plan: Plan) -> Plan:
    """The least that is trained of a model: an adapter on weights in 4 bits."""
    _, spread, _, trained = adapter_of(w, plan.shape, "lora", [])
    return plan._replace(
        method="lora", weights="4bit", autocast=True, outside=sure(2.0), wide_norms=False, trained=trained, copied=0, rank=8, spread=spread, reference=False,
    )  # fmt: skip


def _builds_scores(w: World, assumed: list[str]) -> bool:
    """Whether attention that nobody has chosen keeps its scores: in old releases that of every model, else that of models without one of torch's own
    kernels (transformers 5.24.0 modeling_utils.py, get_correct_attn_implementation: sdpa, else eager)."""
    if w.at_least("transformers", _SDPA_SINCE) is False:
        return True
    if w.value("model.attention.sdpa") is not False or w.framework.own_attention:
        return False
    assumed.append(
        gettext("attention keeps its scores: for {kind} transformers has no other without flash attention").format(
            kind=w.value("model.type")
        )
    )
    return True


def _is_own_code(kind: object) -> bool:
    """Whether the model's code lies in its own repository, where attention of torch's kernels is nothing that transformers sees to."""
    return isinstance(kind, str) and bool((knowledge.rows("models/types").get(kind) or {}).get("custom_code"))


def _answering(w: World, plan: Plan, scored: float, assumed: list[str]) -> Plan:
    """With what writes the answers. The logits of prompts are built where the framework does not leave them out."""
    base = base_bytes(plan)
    made = _said(rollout.engine, w, usable(w), plan.shape, base, plan.rows, plan.length, assumed)
    of = rollout.names(w)
    parked = tuple(part for part, name in (of.parks or {}).items() if w.value(name) is True)
    scored = 1.0 if of.scores_prompts else scored
    return plan._replace(
        rollout=made.training, generating=made.generating, scored=scored, parked=parked,
        reference=plan.method == "full" and rollout.reference(w),
    )  # fmt: skip


def _said(ask: Callable[..., Any], *words: Any) -> Any:
    try:
        return ask(*words)
    except rollout.Unsaid as error:
        raise Unanswerable(str(error)) from None


def _checkpointed(w: World, assumed: list[str]) -> bool:
    value = w.value("derived.checkpointing")
    if isinstance(value, bool):
        return value
    since = w.framework.checkpoints_since
    if since and w.at_least(w.run.framework, since) is not False:
        assumed.append(gettext("gradient checkpointing is on, as in every trainer of TRL from 0.22.2 on"))
        return True
    return False


def _evaluated(w: World) -> int:
    """Rows of an evaluation batch, where there is evaluation during training."""
    when, rows = w.value("training.eval_strategy"), w.value("training.per_device_eval_batch_size")
    return rows if when in ("steps", "epoch") and is_size(rows) else 0


def _compared_before(w: World, plan: Plan, assumed: list[str]) -> bool:
    """Whether older releases keep a frozen copy where nobody says that answers are held against one."""
    of = rollout.names(w)
    if not of.copies_before or plan.reference or plan.method != "full" or any(map(w.is_stated, of.compares)):
        return False
    if not may_be_older(w, _ANSWERING, of.copies_before):
        return False
    assumed.append(
        gettext(
            "the release of {library} is not stated: before {release} a frozen copy is kept, which the high end counts"
        ).format(library=_ANSWERING, release=of.copies_before)
    )
    return True


def _accumulates(w: World) -> bool:
    steps = w.value("training.gradient_accumulation_steps")
    return not (isinstance(steps, int) and steps == 1)
