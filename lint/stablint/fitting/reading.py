"""The facts of a run → plans: one for each way in which it may be started. What is not known is a range, or the reason why nothing can be said."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from stablint.base import knowledge
from stablint.base.language import gettext, ngettext
from stablint.fitting import rollout, seeing
from stablint.memory.plan import NO_SHARE, Optimizer, Plan, Range, Sharding, sure
from stablint.memory.shape import Shape
from stablint.run.derived.memory import offloads
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.framework import Rollout
from stablint.run.releases.pep440 import release_key
from stablint.run.world import World
from stablint.syntax.tree import Unknown

GIB = 2**30
_LARGEST = 10**15
SHORTEST = 64  # tokens of a short answer: rows of which nothing is known are no shorter
_USUAL = 1024  # to which TRL cuts where nothing is said (trl 1.16.0 trainer/sft_config.py, max_length)
_LENGTHS = ("training.max_length", "trainer.max_length", "trainer.max_seq_length", "model.max_seq_length", "data.block_size", "data.max_length")  # fmt: skip
_PAIRS = ("dpo", "cpo", "orpo", "simpo", "ipo")
_ONLINE = (*rollout.ONLINE, "ppo", "online-dpo")
_REFERENCE = ("dpo", "kto", "ipo")
_OUTSIDE = ("embed_tokens", "lm_head", "wte", "embed_in", "embed_out", "word_embeddings", "output")
_ATTENTION = {
    "q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "query_key_value", "W_pack", "c_attn", "out_proj", "attn.c_proj", "query", "key", "value",
    "wq", "wk", "wv", "wo",
}  # fmt: skip
# Types whose language model is that of another type, as transformers builds them.
_SAME = {
    "gemma3": "gemma3_text", "qwen2_vl": "qwen2", "qwen2_5_vl": "qwen2", "qwen3_vl": "qwen3", "mistral3": "mistral", "llava": "llama", "yi": "llama",
}  # fmt: skip
# Types that were not traced, and the traced one that is built like them: no gate beside the first linear layer of a block.
_NEAREST = dict.fromkeys(
    ("phi", "gpt2", "gptj", "gpt_bigcode", "opt", "bloom", "mpt", "starcoder2", "codegen"), "gpt_neox"
)
# Bytes a logit at the most, where a trainer keeps the trained model's float32 logits for its metrics while the reference answers: logits 4 and their
# log-softmax 4 of both, and in TRL the loss of the chosen rows' answers, 2 (trl 0.11.4 trainer/dpo_trainer.py, get_batch_loss_metrics;
# LLaMA-Factory 0.9.3 train/dpo/trainer.py, concatenated_forward). By library: the first release that was not read or does otherwise, and the bytes.
_COMPARED = {"llamafactory": ("0.9.4", 16.0), "trl": ("0.12.0", 18.0)}
# Their feed-forward network is four times as wide as the model where the configuration says nothing (transformers 5.17.0 models/gpt2, gptj, gpt_neo,
# codegen and gpt_bigcode configuration: n_inner or intermediate_size None; models/bloom/modeling_bloom.py, BloomMLP; mpt configuration: expansion_ratio).
_FOUR_WIDTHS = ("gpt2", "gptj", "gpt_neo", "codegen", "gpt_bigcode", "bloom", "mpt")
_PACKED = ("gptq", "awq")
_LAID = ("auto", "balanced", "balanced_low_0", "sequential")  # device_map: layers over all cards of one process
_SDPA_SINCE = (
    "4.36.0"  # transformers' Llama had one attention before, which builds the scores (models/llama/modeling_llama.py)
)
# Masks are of the model's dtype before, and one serves all blocks; later ones are of switches, of which each block makes its own in that dtype
# (transformers 4.52.4 models/llama/modeling_llama.py, _update_causal_mask; 4.53.3 masking_utils.py; torch aten/native/transformers/attention.cpp,
# convert_boolean_attn_mask).
_MASKS_SINCE = "4.53.0"
_FUSED_SINCE = "5.0.0"  # experts are one parameter a block
_BITS = ("4bit", "4bit-double", "8bit")
_ANSWERING = "trl"
_WRAPPED = ("wrapped",)  # rows cut anywhere, a batch of which stays a batch
_SEEING = ("gemma3", "mistral3", "llava")
_PARALLEL = (
    "pipeline_parallel_size", "parallelism_config", "tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size",
)  # fmt: skip
_TENSOR = (
    "training.tensor_parallel_size", "training.tp_size", "training.tensor_parallel_dim", "training.parallelism_config.tp_size",
    "accelerate.parallelism_config.parallelism_config_tp_size",
)  # fmt: skip
# Over how many cards a row is divided: its tokens, and what is kept of them (ring attention and Ulysses both).
_SEQUENCE = (
    "training.sequence_parallel_size", "training.context_parallel_size", "training.sequence_parallel_degree", "training.context_parallel_dim",
    "training.parallelism_config.cp_size", "training.parallelism_config.sp_size",
    "accelerate.parallelism_config.parallelism_config_cp_size", "accelerate.parallelism_config.parallelism_config_sp_size",
    "trainer.actor_rollout_ref.actor.ulysses_sequence_parallel_size",
)  # fmt: skip
# CUDA, its kernels and the libraries' workspaces: 0.4 to 0.8 GiB of context alone, 1.4 in Unsloth's estimator, 1 to 2 GB with the first
# allocations (accelerate's guide on the memory of training), 2.4 where published figures are read from outside.
_CONTEXT = Range(0.4 * GIB, 0.8 * GIB, 1.6 * GIB)
_NCCL = Range(0.2 * GIB, 0.5 * GIB, 1.0 * GIB)
# Shares of what comes and goes: a quarter for rows of one length. For the logits of rows that differ the median, and what nine of ten stay below, of the
# allocator replayed over traced steps: 20 cases of how lengths can differ (benchmarks/allocator.py; benchmarks/README.md has them).
_CACHE, _CACHE_MIXED = Range(0.0, 0.25, 0.4), Range(0.0, 1.1, 2.7)
# Segments that grow close the gaps between blocks, whatever their sizes; how far nobody has measured here.
_APART, _APART_EXPANDABLE = Range(0.0, 1.0, 1.0), Range(0.0, 0.0, 1.0)
# Parameters that FSDP and ZeRO-3 gather block by block lie in blocks of another stream, which are not free before that has ended, so that each gather
# may take new ones: beyond what was counted the driver showed up to 0.9 of a fully trained model in fms-acceleration's runs on two cards, and no more
# than the other unknowns have room for where an adapter trains one (benchmarks/first_sight.md, the third draw's table).
_REGATHERED = Range(0.0, 0.0, 1.0)
# Seen before the first step: 5% above the arithmetic at least in 21 notebooks that print it.
_LOADING = Range(0.0, 0.0, 0.05)
_UNTRACED = Range(0.8, 1.0, 1.25)
# What several experts a token keep, against one feed-forward network of the width that the model's configuration states: 1.6 and 1.9 times in traces
# of Mixtral and Qwen3-MoE, more where many narrow experts are chosen.
_ROUTED = Range(1.0, 1.7, 4.0)
# transformers gives embeddings states in 32 bits beside an 8-bit Adam (5.17.0 trainer.py, register_module_override), and its Adafactor keeps two
# float32 copies of the parameter that it updates (optimization.py, Adafactor.step).
# Bytes a trained parameter: states in half precision, states in float32, widths of the parameter for a moment (torch.optim's foreach
# implementations keep one temporary; bitsandbytes: 8 bits and a scale a block; Adafactor: rows and columns).
_ADAM, _ONE = (sure(4.0), sure(8.0)), (sure(2.0), sure(4.0))
_OPTIMIZERS = {
    "adamw_torch": Optimizer(*_ADAM, sure(1.0)), "adamw_hf": Optimizer(*_ADAM, sure(0.0)), "adamw_torch_fused": Optimizer(*_ADAM, sure(0.0)),
    "adamw_apex_fused": Optimizer(*_ADAM, sure(0.0)), "adam": Optimizer(*_ADAM, sure(1.0)), "adamw": Optimizer(*_ADAM, Range(0.0, 0.0, 1.0)),
    "adamw_bnb_8bit": Optimizer(sure(2.03), sure(2.03), sure(0.0), embedding=5.97),
    "adamw_8bit": Optimizer(sure(2.03), sure(2.03), sure(0.0), embedding=5.97),
    "paged_adamw_8bit": Optimizer(Range(0.0, 2.03, 2.03), Range(0.0, 2.03, 2.03), sure(0.0)),
    "paged_adamw_32bit": Optimizer(Range(0.0, 8.0, 8.0), Range(0.0, 8.0, 8.0), sure(0.0)),
    "paged_adamw": Optimizer(Range(0.0, 8.0, 8.0), Range(0.0, 8.0, 8.0), sure(0.0)),
    "adafactor": Optimizer(sure(0.02), sure(0.02), sure(0.0), largest=2.0), "sgd": Optimizer(Range(0.0, 0.0, 2.0), Range(0.0, 0.0, 4.0), sure(0.0)),
    "lion": Optimizer(*_ONE, sure(1.0)), "lion_32bit": Optimizer(*_ONE, sure(0.0)), "lion_8bit": Optimizer(sure(1.02), sure(1.02), sure(0.0)),
    "paged_lion_8bit": Optimizer(Range(0.0, 1.02, 1.02), Range(0.0, 1.02, 1.02), sure(0.0)), "rmsprop": Optimizer(*_ONE, sure(1.0)),
    "lomo": Optimizer(sure(0.0), sure(0.0), sure(0.0)), "adalomo": Optimizer(Range(0.0, 0.02, 0.1), Range(0.0, 0.02, 0.1), sure(0.0)),
    "muon": Optimizer(Range(2.0, 2.0, 4.0), Range(4.0, 4.0, 8.0), sure(1.0)),
}  # fmt: skip
_WHOLE = ("float32", "float16", "bfloat16")  # weights that no library has packed
# They update each matrix as soon as its gradient is there, and drop it (arXiv 2306.09782, section 3).
_STREAMING = ("lomo", "adalomo")
_UNKNOWN_OPTIMIZER = Optimizer(Range(0.0, 4.0, 8.0), Range(0.0, 8.0, 12.0), Range(0.0, 1.0, 1.0))


class Guess(str):
    """An assumption that may be wrong beyond what the range has room for."""


class Reading(NamedTuple):
    """A run as one way of starting it makes it."""

    plan: Plan
    type: str  # of the traced model whose figures are used
    start: str
    assumptions: tuple[str, ...]
    others: tuple[Plan, ...] = ()  # the same as other releases have it that may run as well

    @property
    def is_guessed(self) -> bool:
        return any(isinstance(one, Guess) for one in self.assumptions)


class Unanswerable(Exception):
    """Why nothing can be said of the run's memory."""


def read(w: World) -> list[Reading]:
    """The ways in which the run may be started, the likeliest first. Raises Unanswerable."""
    assumed: list[str] = []
    method = w.value("derived.method")
    if method not in ("full", "lora", "qlora"):
        raise Unanswerable(
            gettext("how the model is trained is not known ({method})").format(
                method=method if isinstance(method, str) else "derived.method"
            )
        )
    shape, heads, groups = _shape(w)
    kind = w.value("model.type")
    type_, factor = _traced(kind if isinstance(kind, str) else "", assumed, w.value("model.is_moe") is True)
    weights = _weights(w, method, assumed)
    compute = w.value("derived.compute_dtype")
    own = w.framework.rollout
    divided_by = own.strategy if own is not None else ""
    if divided_by:
        compute = "bfloat16"
    autocast = weights != compute if compute in ("bfloat16", "float16") else False
    batch = w.value("training.per_device_train_batch_size")
    if not _is_size(batch):
        raise Unanswerable(
            gettext("the batch of a card is not known: pass --set training.per_device_train_batch_size=ROWS")
        )
    objective = w.value("derived.objective")
    online = objective in rollout.ONLINE
    if objective in _ONLINE and not online:
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
        length, filled = _length(w, assumed)
    ways = next((value for name in _SEQUENCE if _is_size(value := w.stated(name)) and value > 1), 1)
    if ways > 1:
        length = Range(*(end / ways for end in length))
        assumed.append(gettext("each row is divided over {ways} cards, its logits too").format(ways=ways))
    tensor = tensor_ways(w)
    if tensor > 1:
        assumed.append(
            gettext("each matrix is divided over {ways} cards; embedding, head and logits at the low end only").format(
                ways=tensor
            )
        )
    loss, rows, older = _loss(w, assumed)
    attention = w.value("model.attn_implementation")
    eager = attention == "eager" or (not isinstance(attention, str) and _builds_scores(w, assumed))
    flash = isinstance(attention, str) and ("flash" in attention or attention == "flex_attention")
    rows_of = batch * (2 if objective in _PAIRS else 1)
    alone = rows_of == 1  # nothing to pad to
    if not flash and filled and _packs_into_one_row(w):
        # The packed rows of a batch become one row without padding, which other kernels than flash attention take with a mask of its square
        # (trl 1.16.0 trainer/sft_trainer.py, padding_free).
        length, rows_of, filled, alone = Range(*(end * rows_of for end in length)), 1, True, False
        masked = True
    else:
        masked = not (flash or filled or alone) or w.framework.repeats_keys
    host = w.framework.checkpoints_on_host
    targets, spread, copied, trained = _adapter(w, shape, method, assumed)
    name = w.value("training.optim")
    optimizer = _OPTIMIZERS.get(name) if isinstance(name, str) else None
    if name == "adamw_torch" and w.value("training.optimizer_fused") is True:  # torchtune's `optimizer.fused`
        optimizer = _OPTIMIZERS["adamw_torch_fused"]
    if name in ("adamw_torch", "adam", "adamw") and w.value("training.optimizer_foreach") is False:
        optimizer = Optimizer(*_ADAM, sure(0.0))  # one matrix after the other: no temporaries of all of them
    if isinstance(name, Unknown) and "adamw_torch" in name.reason:
        optimizer = _OPTIMIZERS["adamw"]  # with or without the temporaries of a step
    if optimizer is None and divided_by and not w.is_stated("training.optim"):
        optimizer = _OPTIMIZERS["adamw"]  # torch's (verl 0.7.0 workers/config/optimizer.py)
    if optimizer is None:
        assumed.append(
            gettext("the optimizer is not known{name}: up to AdamW's states").format(
                name=f" ({name})" if isinstance(name, str) else ""
            )
        )
    expandable = "expandable_segments:True" in str(w.stated("launch.env.PYTORCH_CUDA_ALLOC_CONF"))
    packed = w.value("model.quant_method") in _PACKED and weights in ("4bit", "4bit-double", "8bit")
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
    rank = w.value("lora.r")
    quantised = weights in _BITS
    dropout = w.value("lora.lora_dropout")
    plan = Plan(
        shape=shape, heads=heads, groups=groups, method="full" if method == "full" else "lora", weights=weights, autocast=autocast,
        mixed=_is_mixed(w) or bool(divided_by),
        outside=_outside(w) if quantised else sure(2.0), trained=trained, copied=copied,
        rank=rank if _is_size(rank) and method != "full" else 0, spread=spread, dropout=isinstance(dropout, (int, float)) and dropout > 0,
        optimizer=optimizer or _UNKNOWN_OPTIMIZER, sharding=Sharding(), rows=rows_of, length=length,
        accumulates=_accumulates(w), checkpointed=_checkpointed(w, assumed), checkpoints_on_host=host,
        attention="eager" if eager else "masked" if masked else "sdpa", loss=loss, loss_rows=rows,
        reference=objective in _REFERENCE and method == "full" and w.value("training.precompute_ref_log_probs") is not True,
        cache=_CACHE, cache_large=_CACHE if filled or expandable or loss == "elastic" else _CACHE_MIXED, context=_CONTEXT,
        apart=_APART_EXPANDABLE if expandable else _APART, loading=_LOADING, activations=factor,
        streams=method == "full" and (w.value("training.optimizer_in_bwd") is True or name in _STREAMING),
        evaluated=_evaluated(w), compared=_compared(w, objective, loss), tensor=tensor, packed=packed, tower=seen.parameters if seen is not None else 0,
        tower_trained=seen is not None and not seen.is_frozen,
        pictures=seen.pictures if seen is not None else NO_SHARE, shifted=_shifted(w, objective, loss),
        narrow=_narrow(w, autocast), lean=w.value("training.use_liger_kernel") is True,
        squares=sure(1.0) if factor == _ROUTED else factor, one_mask=not autocast and w.at_least("transformers", _MASKS_SINCE) is False,
    )  # fmt: skip
    if online:
        plan = _answering(w, plan, scored, assumed)
    assumed += [f"{targets}"] if targets else []
    plan, others = _experts(w, plan, assumed)
    others += [plan._replace(loss="full", loss_rows=0)] if older else []
    if online and _compared_before(w, plan, assumed):
        others += [one._replace(reference=True) for one in (plan, *others)]
    return [
        Reading(
            _started(plan, sharding, compute), type_, start, (*assumed, *notes),
            tuple(_started(other, sharding, compute) for other in others),
        )
        for sharding, start, notes in _starts(w)
    ]  # fmt: skip


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


def _packs_into_one_row(w: World) -> bool:
    since = w.framework.packs_into_one_row
    return (
        bool(since)
        and w.value("training.packing") is True
        and w.value("training.packing_strategy") not in _WRAPPED
        and w.at_least(w.run.framework, since) is not False
    )


def _compared(w: World, objective: Any, loss: str) -> Range:
    """What the trained model's logits cost beside the reference's; at the high end alone where the release may do otherwise."""
    if objective != "dpo" or loss != "full" or w.value("training.precompute_ref_log_probs") is True:
        return NO_SHARE
    library = (
        w.run.framework if w.run.framework in _COMPARED else "trl" if w.value("derived.trl_arguments") is True else ""
    )
    if library not in _COMPARED:
        return NO_SHARE
    before, each = _COMPARED[library]
    later = w.at_least(library, before)
    return NO_SHARE if later else Range(0.0, 0.0 if later is None else each, each)


def _shifted(w: World, objective: Any, loss: str) -> Range:
    """Bytes a logit at the end of the forward pass where the model's own loss copies the logits to shift them; at the high end alone where the release
    may not."""
    if loss != "full" or not (is_unknown(objective) or objective in ("sft", "pretrain")):
        return NO_SHARE
    if any(_holds(w, row) is True for row in knowledge.load("memory/kernels")["narrow"]):
        return NO_SHARE  # of another loss
    low, usual, high = 0.0, 0.0, 0.0
    for row in knowledge.load("memory/kernels")["shifted"]:
        sure_of_it = _holds(w, row)
        if sure_of_it is not False:
            high = max(high, row["shifted"])
        if sure_of_it is True:
            low, usual = max(low, row["shifted"]), max(usual, row["shifted"])
    return Range(low, usual, high)


def _narrow(w: World, autocast: bool) -> Range:
    """Bytes a logit where nothing makes them float32; at the low end alone where the release may."""
    if autocast or _is_mixed(w):
        return NO_SHARE
    for row in knowledge.load("memory/kernels")["narrow"]:
        holds = _holds(w, row)
        if holds is not False:
            each = float(row["narrow"])
            return sure(each) if holds else Range(each, 0.0, 0.0)
    return NO_SHARE


def _answering(w: World, plan: Plan, scored: float, assumed: list[str]) -> Plan:
    """With what writes the answers. The logits of prompts are built where the framework does not leave them out."""
    base = _base_bytes(plan)
    made = _said(rollout.engine, w, usable(w), plan.shape, base, plan.rows, plan.length, assumed)
    of = rollout.names(w)
    parked = tuple(part for part, name in (of.parks or {}).items() if w.value(name) is True)
    scored = 1.0 if of.scores_prompts else scored
    return plan._replace(
        rollout=made.training, generating=made.generating, scored=scored, parked=parked,
        reference=plan.method == "full" and rollout.reference(w),
    )  # fmt: skip


def _base_bytes(plan: Plan) -> float:
    width = {"float32": 4.0, "8bit": 1.0, "4bit": 0.56, "4bit-double": 0.52}.get(plan.weights, 2.0)
    return width * plan.shape.parameters


def _said(ask: Callable[..., Any], *words: Any) -> Any:
    try:
        return ask(*words)
    except rollout.Unsaid as error:
        raise Unanswerable(str(error)) from None


def is_divided(w: World) -> str:
    """The setting that divides layers or matrices between cards; empty where nothing does."""
    told = any(w.is_stated(name) for name in (*_TENSOR, *_SEQUENCE) if "parallelism_config." in name)
    names = [name for name in _PARALLEL if not (told and name == "parallelism_config")]
    return next((name for name in names if w.stated(f"training.{name}") not in (ABSENT, None, 1)), "")


def tensor_ways(w: World) -> int:
    """Over how many cards each matrix is divided."""
    return next((value for name in _TENSOR if _is_size(value := w.stated(name)) and value > 1), 1)


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
    return rows if when in ("steps", "epoch") and _is_size(rows) else 0


def _is_mixed(w: World) -> bool:
    """Whether mixed precision is asked for, whatever the weights are loaded in."""
    switches = (w.value("training.bf16"), w.value("training.fp16"))
    return True in switches or w.value("accelerate.mixed_precision") in ("bfloat16", "float16")


def _started(plan: Plan, sharding: Sharding, compute: Any) -> Plan:
    context = _CONTEXT
    if sharding.engine == "deepspeed" and compute in ("float16", "bfloat16") and plan.weights in _WHOLE:
        # The engine casts the whole module before it comes onto the card, and nothing is cast again (deepspeed 0.19.8 runtime/engine.py,
        # _configure_distributed_model).
        plan = plan._replace(weights=compute, autocast=False)
    if sharding.processes > 1:
        context = Range(*(one + more for one, more in zip(_CONTEXT, _NCCL, strict=True)))
    if sharding.weights > 1 and sharding.engine in ("fsdp", "deepspeed") and plan.method == "full":
        plan = plan._replace(regathered=_REGATHERED)
    if sharding.engine == "fsdp" and plan.mixed:
        plan = plan._replace(
            autocast=True
        )  # what is trained becomes float32 first (accelerate 1.15.0 accelerator.py:2037)
    return plan._replace(sharding=sharding, context=context)


def _shape(w: World) -> tuple[Shape, int, int]:
    names = ("parameters", "layers", "hidden", "intermediate", "heads", "kv_heads", "vocab")
    values = {name: w.value(f"model.{name}") for name in names}
    text = seeing.dimensions(w)
    if text is not None:
        values = {name: text[name] for name in names}
    if is_unknown(values["kv_heads"]):
        values["kv_heads"] = values["heads"]  # the most that there can be
    if is_unknown(values["intermediate"]) and w.value("model.type") in _FOUR_WIDTHS and _is_size(values["hidden"]):
        values["intermediate"] = 4 * values["hidden"]
    missing = [name for name, value in values.items() if not _is_size(value)]
    if missing:
        raise Unanswerable(
            gettext("the model's dimensions are not known ({names}): name it with --model, or give its folder").format(
                names=", ".join(missing)
            )
        )
    width = w.value("model.head_dim") if text is None else text["head_dim"]
    tied = w.value("model.tied_embeddings") if text is None else text["tied_embeddings"]
    depth = width if isinstance(width, int) else values["hidden"] // values["heads"]
    shape = Shape(
        values["parameters"], values["layers"], values["hidden"], values["intermediate"], values["heads"] * depth,
        values["kv_heads"] * depth, values["vocab"], tied is True,
    )  # fmt: skip
    return shape, values["heads"], values["kv_heads"]


def _experts(w: World, plan: Plan, assumed: list[str]) -> tuple[Plan, list[Plan]]:
    """The run as the likeliest release keeps experts, and as others do that may run it. Before transformers 5 each expert has linear layers; from
    there on those of a block are one parameter, which bitsandbytes and adapters on linear layers pass by (transformers 5.0.0
    models/mixtral/modeling_mixtral.py, MixtralExperts)."""
    shape, adapted = plan.shape, plan.method != "full" and plan.spread != "attention"
    if w.value("model.is_moe") is not True or not (adapted or plan.weights in _BITS):
        return plan, []
    experts = max(
        shape.parameters - shape.outside - 2 * shape.layers * shape.hidden * (shape.query + shape.key_value), 0
    )
    count, trained = w.value("model.experts"), plan.trained
    if adapted and _is_size(count):
        # Three matrices of hidden x width an expert (gate, up and down): the width is what the parameters leave.
        width = experts // (3 * shape.hidden * shape.layers * count)
        trained += 3 * plan.rank * shape.layers * count * (shape.hidden + width)
    linear, fused = plan._replace(trained=trained), plan._replace(fused=experts)
    if w.at_least("transformers", _FUSED_SINCE) is False:
        return linear, []
    if not _may_be_older(w, "transformers", _FUSED_SINCE):
        return fused, []
    assumed.append(
        gettext(
            "experts: neither quantised nor with an adapter from transformers {release} on, which the range has beside releases before"
        ).format(release=_FUSED_SINCE)
    )
    return fused, [linear]


def _compared_before(w: World, plan: Plan, assumed: list[str]) -> bool:
    """Whether older releases keep a frozen copy where nobody says that answers are held against one."""
    of = rollout.names(w)
    if not of.copies_before or plan.reference or plan.method != "full" or any(map(w.is_stated, of.compares)):
        return False
    if not _may_be_older(w, _ANSWERING, of.copies_before):
        return False
    assumed.append(
        gettext(
            "the release of {library} is not stated: before {release} a frozen copy is kept, which the high end counts"
        ).format(library=_ANSWERING, release=of.copies_before)
    )
    return True


def _is_size(value: Any) -> bool:
    """Whether it is a number of things that a run could have."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST


def _traced(kind: str, assumed: list[str], experts: bool) -> tuple[str, Range]:
    types = knowledge.load("memory/types")
    name = kind if kind in types else _SAME.get(kind, "")
    if kind in _SEEING:
        assumed.append(Guess(gettext("images are not counted: their tokens and the vision tower come on top")))
    if name in types:
        return name, sure(1.0)
    if experts:
        assumed.append(
            Guess(
                gettext("experts: activations of a dense model of this width, {low} to {high} times").format(
                    low=f"{_ROUTED.low:g}", high=f"{_ROUTED.high:g}"
                )
            )
        )
        return "llama", _ROUTED
    near = _NEAREST.get(kind, "llama")
    assumed.append(
        gettext("activations of {kind} were not traced: those of {near}, 0.8 to 1.25 times").format(
            kind=kind or gettext("an unknown type"), near=near
        )
    )
    return near, _UNTRACED


def _weights(w: World, method: str, assumed: list[str]) -> str:
    own = w.framework.rollout
    if own is not None and own.strategy:
        return _loaded(w, own)
    dtype = w.value("derived.weights_dtype")
    if w.value("model.quant_method") in _PACKED:
        # Four bits with a scale of 16 and a zero of 4 bits a group of 128, or eight.
        eight = re.search(r"int-?8|w8|8-?bit", str(w.value("model.name_or_path")), re.IGNORECASE)
        return "8bit" if eight or dtype == "8bit" else "4bit-double"
    if dtype in ("4bit", "8bit"):
        name = "quantization.bnb_4bit_use_double_quant"
        double = w.value(name) is True or (w.framework.doubles_quantisation and not w.is_stated(name))
        return "4bit-double" if dtype == "4bit" and double else str(dtype)
    if dtype in _WHOLE:
        return str(dtype)
    if w.value("derived.compute_dtype") in ("float16", "bfloat16"):
        assumed.append(Guess(gettext("the weights are taken to be in half precision")))
        return "bfloat16"
    published = w.value("model.native_dtype")
    if published in ("float16", "bfloat16"):
        assumed.append(Guess(gettext("the weights are taken to be in half precision")))
        return str(published)
    raise Unanswerable(gettext("the dtype of the weights is not known: pass --set model.dtype=bfloat16, or what it is"))


def _loaded(w: World, own: Rollout) -> str:
    """What FSDP shards is loaded in float32 and computed with in bfloat16 (verl 0.7.0 trainer/config/engine/fsdp.yaml, model_dtype)."""
    strategy = w.value(own.strategy)
    if isinstance(strategy, str) and strategy not in ("fsdp", "fsdp2"):
        raise Unanswerable(gettext("work divided by {engine} is not counted yet").format(engine=strategy))
    return "bfloat16" if any(w.value(name) in ("bf16", "bfloat16") for name in own.loads) else "float32"


def _outside(w: World) -> Range:
    """Bytes a parameter of embedding and head beside a quantised base: PEFT's preparation makes them float32, where it is called, but not beside GPTQ
    (peft 0.21.2 utils/other.py, is_gptq_quantized)."""
    if w.value("model.quant_method") == "gptq":
        return sure(2.0)
    for row in knowledge.load("memory/kernels")["outside"]:
        if _holds(w, row) is True:
            return sure(4.0)
    return Range(2.0, 2.0, 4.0)


def _length(w: World, assumed: list[str]) -> tuple[Range, bool]:
    """Tokens a row, and whether every row is filled up to the limit."""
    for name in _LENGTHS:
        value = w.value(name)
        if _is_size(value) and (w.is_stated(name) or value != w.value("model.max_positions")):
            most = value
            switches = ("training.packing", "data.pad_to_max_length", "training.pad_to_sequence_len")
            filled = w.is_stated("data.block_size") or any(w.value(switch) is True for switch in switches)
            if not filled:
                assumed.append(
                    gettext(
                        "rows reach {most} tokens ({name}); the range begins where the longest have half of them, the least with rows of {least}"
                    ).format(most=most, name=name, least=min(SHORTEST, most))
                )
            return (sure(most) if filled else Range(min(SHORTEST, most), most, most)), filled
    most = w.value("model.max_positions")
    if not _is_size(most):
        raise Unanswerable(gettext("the longest row is not known: pass --set training.max_length=TOKENS"))
    assumed.append(
        gettext(
            "the longest row is not known: {usual} tokens usually, half to four times as many in the range; {least} and the model's {most} decide "
            "what fits in any case; say it with --set training.max_length=TOKENS"
        ).format(least=min(SHORTEST, most), usual=min(_USUAL, most), most=most)
    )
    return Range(min(SHORTEST, most), min(_USUAL, most), most), False


def _holds(w: World, row: dict[str, Any]) -> bool | None:
    """Whether a row of kernels.yaml is about this run; None where that depends on something that is not known."""
    if "framework" in row and row["framework"] != w.run.framework:
        return False
    if "types" in row and w.value("model.type") not in row["types"]:
        return False
    if "objectives" in row and w.value("derived.objective") not in row["objectives"]:
        return False
    answers: list[bool | None] = []
    for name, wanted in row.get("when", {}).items():
        value = w.value(name)
        answers.append(None if is_unknown(value) else value == wanted and type(value) is type(wanted))
    if "from" in row:
        answers.append(w.at_least(row["library"], row["from"]))
    if "before" in row:
        later = w.at_least(row["library"], row["before"])
        answers.append(None if later is None else not later)
    return False if False in answers else None if None in answers else True


def _may_be_older(w: World, library: str, release: str) -> bool:
    return any(one < release_key(release) for one in w.run.releases.allowed(library))


def _loss(w: World, assumed: list[str]) -> tuple[str, int, bool]:
    """The loss, the rows of its pieces, and whether an older release that may run as well builds the whole logits."""
    for row in knowledge.load("memory/kernels")["loss"]:
        if _holds(w, row) is True:
            library = row.get("library", "")
            older = "from" in row and _may_be_older(w, library, row["from"])
            if older:
                assumed.append(
                    gettext(
                        "the release of {library} is not stated: before {release} whole logits are built, which the high end counts"
                    ).format(library=library, release=row["from"])
                )
            return row["loss"], row.get("rows", 2048), older
    return "full", 0, False


def _adapter(w: World, shape: Shape, method: str, assumed: list[str]) -> tuple[str, str, int, int]:
    """Where the adapter sits: words, the traced spread, parameters of embedding and head trained whole, parameters of the adapter."""
    if method == "full":
        return "", "all", 0, 0
    rank, named = w.value("lora.r"), w.value("lora.target_modules")
    rank = rank if _is_size(rank) else 8
    whole = named in ("all-linear", "all", ["all"], ["all-linear"])
    targets = w.value("model.linear_modules") if whole or not isinstance(named, list) else named
    if not isinstance(targets, list) or not all(isinstance(one, str) for one in targets):
        targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    words = ""
    if not whole and not isinstance(named, list):
        words = gettext("the adapter is taken to sit on every linear layer")
    kept = w.value("lora.modules_to_save")
    outside = [one for one in (kept if isinstance(kept, list) else []) if one in _OUTSIDE]
    copied = shape.vocab * shape.hidden * len(outside)
    inner = [one for one in targets if one not in _OUTSIDE]
    outer = 0 if whole else len([one for one in targets if one in _OUTSIDE])
    spread = "attention" if inner and set(inner) <= _ATTENTION else "all"
    if w.value("model.is_moe") is True:
        inner = [one for one in inner if one in _ATTENTION]  # those on experts: _experts
    trained = shape.adapter(inner, rank) + outer * rank * (shape.vocab + shape.hidden)
    return words, spread, copied, trained


def _accumulates(w: World) -> bool:
    steps = w.value("training.gradient_accumulation_steps")
    return not (isinstance(steps, int) and steps == 1)


def _starts(w: World) -> list[tuple[Sharding, str, tuple[str, ...]]]:
    """How the work is divided, in words, and what was assumed."""
    processes, count = w.value("derived.world_size"), w.value("target.gpu.count")
    cards = count if _is_size(count) else 1
    states_away, weights_away = offloads(w)
    rule = w.framework.launch
    notes: tuple[str, ...] = ()
    known = _is_size(processes)
    laid = w.stated("model.device_map") in _LAID
    if not known:
        one = rule is not None and rule.processes == "one"
        processes = 1 if one or laid else cards
        notes = (_started_by(processes, cards, rule.command if rule is not None else "", laid),) if cards > 1 else ()
    processes = max(1, processes // tensor_ways(w))  # the cards of one matrix work on the same rows
    stage = w.value("derived.zero_stage")
    own = w.framework.rollout
    if own is not None and own.strategy:
        words = gettext("{engine} over {processes} processes").format(engine="FSDP", processes=processes)
        return [(Sharding(processes, processes, processes, 0, "fsdp", processes), words, notes)]
    if w.value("derived.fsdp") is True or (w.framework.shards_processes and processes > 1):
        strategy = str(w.value("fsdp.sharding_strategy")).upper()
        grad_only = "GRAD_OP" in strategy
        none = "NO_SHARD" in strategy
        weights = 1 if grad_only or none else processes
        rest = 1 if none else processes
        sharding = Sharding(
            weights, rest, rest, 0, "fsdp", processes, states_on_host=states_away, weights_on_host=weights_away
        )
        return [
            (sharding, gettext("{engine} over {processes} processes").format(engine="FSDP", processes=processes), notes)
        ]
    asked = w.stated("deepspeed.zero_optimization.stage")
    if isinstance(asked, int) and w.value("derived.deepspeed") is False:
        stage = asked  # what if: a stage that no file of the run brings with it
    if isinstance(stage, int) and (w.value("derived.deepspeed") is True or isinstance(asked, int)):
        shards = [processes if stage >= least else 1 for least in (3, 2, 1)]
        sharding = Sharding(
            shards[0], shards[1], shards[2], stage, "deepspeed", processes, _elements(w, "reduce_bucket_size", 5e8),
            _elements(w, "stage3_max_live_parameters", 1e9), states_away, weights_away,
        )  # fmt: skip
        return [
            (
                sharding,
                gettext("{engine} over {processes} processes").format(engine=f"ZeRO-{stage}", processes=processes),
                notes,
            )
        ]
    split = laid or (rule is not None and rule.rest == "split")
    if split and processes == 1 and cards > 1:
        return [
            (
                Sharding(cards, cards, cards, 0, "split", 1),
                gettext("one process, layers over {cards} cards").format(cards=cards),
                notes,
            )
        ]
    if is_unknown(stage) and w.value("derived.deepspeed") is not False and not w.framework.library:
        notes = (*notes, gettext("no sharding is stated: every card holds everything"))
    start = (
        gettext("{processes} processes, a whole copy each").format(processes=processes)
        if processes > 1
        else gettext("one process")
    )
    return [(Sharding(processes=processes, engine="ddp" if processes > 1 else "none"), start, notes)]


def _started_by(processes: int, cards: int, command: str, laid: bool) -> str:
    """Why there are so many processes, where no file says it."""
    if laid:
        # accelerate 1.15.0 accelerator.py, prepare_model: a model with device_map="auto" is trained in no distributed mode.
        return gettext("one process: `device_map` lays the layers over the cards, which several processes cannot train")
    if not command:
        return gettext("{processes} processes, one for each card: nothing says how the run is started").format(
            processes=processes
        )
    return ngettext(
        "{processes} process: what `{command}` starts on {cards} cards",
        "{processes} processes: what `{command}` starts on {cards} cards",
        processes,
    ).format(processes=processes, command=command, cards=cards)


def _elements(w: World, name: str, default: float) -> float:
    """A size of DeepSpeed; transformers makes the square of the hidden width of a bucket that is `auto` (integrations/deepspeed.py)."""
    value, hidden = w.value(f"deepspeed.zero_optimization.{name}"), w.value("model.hidden")
    if value == "auto" and name == "reduce_bucket_size" and isinstance(hidden, int):
        return float(hidden * hidden)
    return float(value) if _is_size(value) or isinstance(value, float) else default


def usable(w: World) -> float | None:
    """GiB that a run can have of one card: what torch reports of it. Of several that one name is sold for, the largest."""
    return _gib(w.value("target.gpu.most_memory_gib"))


def least_usable(w: World) -> float | None:
    """The same of the smallest of them."""
    return _gib(w.value("target.gpu.least_memory_gib"))


def _gib(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
