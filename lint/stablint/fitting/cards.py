"""How a run is divided over cards: processes and what each shards, as its launcher and its files say it, or as nobody does."""

from __future__ import annotations

from typing import Any

from stablint.base.language import gettext, ngettext
from stablint.fitting.terms import GIB, is_size
from stablint.fitting.weights import WHOLE
from stablint.memory.plan import NO_SHARE, Plan, Range, Sharding
from stablint.run.derived.memory import offloads
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.world import World

_LAID = ("auto", "balanced", "balanced_low_0", "sequential")  # device_map: layers over all cards of one process
_PARALLEL = (
    "pipeline_parallel_size", "parallelism_config", "tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size",
)  # fmt: skip
_TENSOR = (
    "training.tensor_parallel_size", "training.tp_size", "training.tensor_parallel_dim", "training.parallelism_config.tp_size",
    "accelerate.parallelism_config.parallelism_config_tp_size", "launch.megatron.tensor_model_parallel_size",
)  # fmt: skip
# Over how many cards a row is divided: its tokens, and what is kept of them (ring attention and Ulysses both).
SEQUENCE = (
    "training.sequence_parallel_size", "training.context_parallel_size", "training.sequence_parallel_degree", "training.context_parallel_dim",
    "training.parallelism_config.cp_size", "training.parallelism_config.sp_size",
    "accelerate.parallelism_config.parallelism_config_cp_size", "accelerate.parallelism_config.parallelism_config_sp_size",
    "trainer.actor_rollout_ref.actor.ulysses_sequence_parallel_size", "launch.megatron.context_parallel_size",
)  # fmt: skip
# CUDA, its kernels and the libraries' workspaces: 0.4 to 0.8 GiB of context alone, 1.4 in Unsloth's estimator, 1 to 2 GB with the first
# allocations (accelerate's guide on the memory of training), 2.4 where published figures are read from outside.
CONTEXT = Range(0.4 * GIB, 0.8 * GIB, 1.6 * GIB)
_NCCL = Range(0.2 * GIB, 0.5 * GIB, 1.0 * GIB)
# Parameters that FSDP and ZeRO-3 gather block by block lie in blocks of another stream, which are not free before that has ended, so that each gather
# may take new ones: beyond what was counted the driver showed up to 0.9 of a fully trained model in fms-acceleration's runs on two cards, and no more
# than the other unknowns have room for where an adapter trains one (benchmarks/first_sight/memory.md, the third draw's table).
_REGATHERED = Range(0.0, 0.0, 1.0)


# Asks transformers' Trainer to have gradients divided in every micro batch.
EACH_BATCH = "training.accelerator_config.gradient_accumulation_kwargs.sync_each_batch"


def is_divided(w: World) -> str:
    """The setting that divides layers or matrices between cards; empty where nothing does."""
    told = any(w.is_stated(name) for name in (*_TENSOR, *SEQUENCE) if "parallelism_config." in name)
    names = [name for name in _PARALLEL if not (told and name == "parallelism_config")]
    return next((name for name in names if w.stated(f"training.{name}") not in (ABSENT, None, 1)), "")


def tensor_ways(w: World) -> int:
    """Over how many cards each matrix is divided."""
    return next((value for name in _TENSOR if is_size(value := w.stated(name)) and value > 1), 1)


def has_own_optimizer(w: World) -> bool:
    """Whether DeepSpeed's file names the optimizer: then it is fused (deepspeed 0.19.8 runtime/engine.py, _configure_basic_optimizer)."""
    return w.is_stated("deepspeed.optimizer.type")


def started(plan: Plan, sharding: Sharding, compute: Any) -> Plan:
    context = CONTEXT
    if sharding.engine == "deepspeed" and compute in ("float16", "bfloat16") and plan.weights in WHOLE:
        # The engine casts the whole module before it comes onto the card, and nothing is cast again (deepspeed 0.19.8 runtime/engine.py,
        # _configure_distributed_model).
        plan = plan._replace(weights=compute, autocast=False)
    if sharding.processes > 1:
        context = Range(*(one + more for one, more in zip(CONTEXT, _NCCL, strict=True)))
    if sharding.weights > 1 and sharding.engine in ("fsdp", "deepspeed") and plan.method == "full":
        plan = plan._replace(regathered=_REGATHERED)
    if sharding.engine == "fsdp" and plan.mixed:
        plan = plan._replace(
            autocast=True
        )  # what is trained becomes float32 first (accelerate 1.15.0 accelerator.py:2037)
    return plan._replace(sharding=sharding, context=context)


def by_megatron(w: World) -> bool:
    return w.stated("launch.command") == "megatron" or w.value("derived.megatron_arguments") is True


def _by_megatron(w: World, processes: int) -> Sharding:
    """Layers over pipelines, experts over cards, and states over the copies that are left: its optimizer divides them unless it is told not to
    (ms-swift 4.5.2 megatron/arguments/megatron_args.py, use_distributed_optimizer)."""
    pipelines, experts = (_size(w, f"launch.megatron.{name}_model_parallel_size") for name in ("pipeline", "expert"))
    copies = max(1, processes // (pipelines * max(1, _size(w, "launch.megatron.context_parallel_size"))))
    apart = pipelines * (experts if w.value("model.is_moe") is True else 1)
    return Sharding(apart, apart, max(apart, pipelines * copies), 0, "megatron", processes)


def _size(w: World, name: str) -> int:
    value = w.stated(name)
    return value if is_size(value) else 1


def ways_to_start(w: World) -> list[tuple[Sharding, str, tuple[str, ...]]]:
    """How the work is divided, in words, and what was assumed."""
    processes, count = w.value("derived.world_size"), w.value("target.gpu.count")
    cards = count if is_size(count) else 1
    states_away, weights_away = offloads(w)
    rule = w.framework.launch
    notes: tuple[str, ...] = ()
    known = is_size(processes)
    laid = w.stated("model.device_map") in _LAID
    if not known:
        one = rule is not None and rule.processes == "one"
        processes = 1 if one or laid else cards
        notes = (_started_by(processes, cards, rule.command if rule is not None else "", laid),) if cards > 1 else ()
    processes = max(1, processes // tensor_ways(w))  # the cards of one matrix work on the same rows
    stage = w.value("derived.zero_stage")
    if by_megatron(w):
        words = gettext("{engine} over {processes} processes").format(engine="Megatron", processes=processes)
        return [(_by_megatron(w, processes), words, notes)]
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
            weights, rest, rest, 0, "fsdp", processes, states_on_host=states_away, weights_on_host=weights_away,
            deferred=NO_SHARE if none else _deferred(w),
        )  # fmt: skip
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
    collected = cards if processes == 1 and cards > 1 and _collects(w) else 0
    if collected:
        start = gettext("one process, a batch on each of {cards} cards").format(cards=cards)
        notes = (
            *notes,
            gettext("one process wraps the model in torch.nn.DataParallel: the first card collects the logits of all"),
        )
    return [
        (Sharding(processes=processes, engine="ddp" if processes > 1 else "none", collected=collected), start, notes)
    ]


def _deferred(w: World) -> Range:
    """Whether the Trainer lets FSDP divide gradients after the last micro batch of a step only: `no_sync` (transformers 5.23.0 trainer.py; torch 2.13
    distributed/fsdp, `no_sync`: the gradients of the whole model are accumulated), of FSDP 2 from accelerate 1.11.0 on (accelerator.py, `no_sync`).
    transformers does not where `sync_each_batch` asks for that: up to 4.45, which leaves it to accelerate, and again from 5.2.0 on."""
    steps = w.value("training.gradient_accumulation_steps")
    if w.value("derived.hf_trainer") is not True or steps == 1:
        return NO_SHARE
    asked = w.value(EACH_BATCH) is True
    parted, later = w.at_least("transformers", "4.46"), w.at_least("transformers", "5.2.0")
    asked = asked and not (parted is True and later is False)
    defers = w.at_least("accelerate", "1.11.0") if w.value("fsdp.version") == 2 else True
    if (asked and (parted is False or later is True)) or defers is False:
        return NO_SHARE
    return Range(1.0 if defers and not asked and isinstance(steps, int) else 0.0, 1.0, 1.0)


def _collects(w: World) -> bool:
    """Whether the Trainer, started as one process beside several cards, copies the model to each in every step (transformers 5.24.0 trainer.py,
    _wrap_model: nn.DataParallel where n_gpu > 1, but not for weights in 8 or 4 bits)."""
    dtype = w.value("derived.weights_dtype")
    return w.stated("launch.launcher") == "python" and w.value("derived.hf_trainer") is True and dtype in WHOLE


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
    return float(value) if is_size(value) or isinstance(value, float) else default
