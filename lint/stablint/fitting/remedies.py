"""What would make a run fit: changes of its settings, searched from the cheapest on, each recomputed from the changed facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from stablint.base.language import gettext, ngettext
from stablint.fitting.answer import FITS, TIGHT, Told, answer, judged
from stablint.fitting.cards import EACH_BATCH
from stablint.fitting.terms import GIB
from stablint.fix import change, editors
from stablint.memory.plan import Sharding
from stablint.report.model import FileEdits
from stablint.run.derived.registry import RULES
from stablint.run.fact import ABSENT, Explicit, Fact
from stablint.run.world import Run, World

_MOST = 4  # that are told
_ROOM = 0.95  # of what is usable
_DEEPEST = 3  # changes together
_SHORTEST = 512  # tokens that rows are cut to
FREE, SLOWER, LIBRARY, CONTEXT, RESULT = range(5)
COSTS = (
    "costs nothing", "somewhat slower", "needs another library", "longer rows are cut", "another training than was asked for",
)  # fmt: skip


class Move(NamedTuple):
    kind: str  # of one kind at most one is taken
    title: str
    facts: Mapping[str, Any]
    cost: int
    shards: bool = False  # weights, gradients and states over all processes; a file of DeepSpeed says it


class Remedy(NamedTuple):
    """`peak`: low, usual and high end in GiB, `likely` those from rows of half the limit on; `files` are the edits, empty where the text cannot take them."""

    title: str
    facts: dict[str, Any]
    cost: str
    rank: int
    peak: tuple[float, float, float]
    verdict: str
    files: tuple[FileEdits, ...] = ()
    needed: float = 0.0  # the high end without the allocator's unused blocks
    likely: tuple[float, float, float] = (0.0, 0.0, 0.0)


def remedies(world: World, told: Told) -> list[Remedy]:
    """Nothing where the run fits, or nothing is known of it. Sets of changes of which no smaller one would do, cheapest first."""
    if told.reading is None or told.verdict == FITS or told.usable is None:
        return []
    moves = [one for one in sorted(_moves(world, told), key=lambda move: move.cost) if _helps(world, told, [one])]
    enough: list[tuple[Move, ...]] = []
    found: list[Remedy] = []
    best: Remedy | None = None
    for count in range(1, _DEEPEST + 1):
        for chosen in combinations(moves, count):
            if len({one.kind for one in chosen}) < count or any(_titles(one) <= _titles(chosen) for one in enough):
                continue
            remedy = _tried(world, told, chosen)
            if remedy is None:
                continue
            if remedy.verdict == FITS:
                enough.append(chosen)
            if remedy.verdict == FITS or remedy.peak[1] <= _ROOM * (told.least or told.usable):
                found.append(remedy)
            elif best is None or remedy.peak[2] < best.peak[2]:
                best = remedy
    found.sort(key=lambda one: (one.rank, len(one.facts), one.verdict != FITS, -one.peak[1]))
    kept: list[Remedy] = []
    for one in found:  # the gentlest of its kind is enough
        if not any(_same_kind(one, other) for other in kept):
            kept.append(one)
    chosen_ones = kept[:_MOST] or ([best] if best is not None and best.verdict == TIGHT else [])
    return [_written(world.run, one) for one in chosen_ones]


def _titles(chosen: tuple[Move, ...]) -> set[str]:
    return {one.title for one in chosen}


def _same_kind(one: Remedy, other: Remedy) -> bool:
    """Whether `other` is the same change, or a part of this one that is enough by itself."""
    if one.facts.keys() == other.facts.keys():
        return other.verdict == FITS or one.verdict != FITS
    return other.verdict == FITS and one.facts.items() >= other.facts.items()


def _helps(world: World, told: Told, chosen: list[Move]) -> bool:
    """Whether the change alone lowers the peak, or another one's with it: what binds now is one moment of several."""
    after = _answered(world, told, chosen)
    if after.estimate is None or told.estimate is None:
        return False
    before = told.estimate.moments
    return any(after.estimate.moments[name] < size * 0.99 for name, size in before.items())


def _tried(world: World, told: Told, chosen: tuple[Move, ...]) -> Remedy | None:
    after = _answered(world, told, list(chosen))
    if after.estimate is None or after.peak[2] >= told.peak[2]:
        return None
    facts = {name: value for move in chosen for name, value in move.facts.items()}
    cost = max(move.cost for move in chosen)
    title = ", ".join(move.title for move in chosen)
    costs = sorted({move.cost for move in chosen} - {FREE}) or [FREE]
    words = "; ".join(gettext(COSTS[one]) for one in costs)
    rank, needed = sum(4**move.cost for move in chosen) + cost, after.estimate.needed / GIB
    return Remedy(title, facts, words, rank, after.peak, after.verdict, needed=needed, likely=after.likely)


def _answered(world: World, told: Told, chosen: list[Move]) -> Told:
    """What would be said of the run with these changes."""
    after = answer(changed(world, chosen), told.target)
    if after.reading is None or not any(one.shards for one in chosen):
        return after
    count = after.reading.plan.sharding.processes
    sharding = Sharding(count, count, count, 3, "deepspeed", count, float(after.reading.plan.shape.hidden) ** 2)
    reading = after.reading._replace(
        plan=after.reading.plan._replace(sharding=sharding),
        others=tuple(other._replace(sharding=sharding) for other in after.reading.others),
    )
    estimate, word = judged(reading, after.usable, after.least)
    return after._replace(reading=reading, estimate=estimate, verdict=word)


def changed(world: World, chosen: list[Move]) -> World:
    """The same run with other settings, whether its text can say them or not."""
    return with_facts(world, {name: value for move in chosen if not move.shards for name, value in move.facts.items()})


def with_facts(world: World, facts: Mapping[str, Any]) -> World:
    """The same run with these facts; ABSENT takes one out."""
    explicit = dict(world.run.explicit)
    place = next((fact.origin for fact in explicit.values() if isinstance(fact.origin, Explicit)), None)
    for name, value in facts.items():
        if value is ABSENT:
            explicit.pop(name, None)
            continue
        known = explicit.get(name)
        explicit[name] = (known or Fact(name, value, place))._replace(value=value, presumed=False)
    return World(world.run._replace(explicit=explicit), RULES, world.choice)


def _moves(w: World, told: Told) -> Iterator[Move]:
    assert told.reading is not None
    plan, framework = told.reading.plan, w.framework
    batch, steps = (
        w.value(f"training.{name}") for name in ("per_device_train_batch_size", "gradient_accumulation_steps")
    )
    if isinstance(batch, int) and isinstance(steps, int) and not isinstance(batch, bool):
        smaller = batch
        while smaller > 1 and smaller % 2 == 0:
            smaller //= 2
            later = steps * (batch // smaller)
            facts = {
                "training.per_device_train_batch_size": smaller,
                "training.gradient_accumulation_steps": later,
            }
            title = ngettext(
                "{rows} row at a time, accumulated over {steps} steps",
                "{rows} rows at a time, accumulated over {steps} steps",
                smaller,
            ).format(rows=smaller, steps=later)
            yield Move("batch", title, facts, SLOWER)
    fewer = plan.evaluated
    while fewer > 1:
        fewer //= 2
        title = ngettext("{rows} row at a time in evaluation", "{rows} rows at a time in evaluation", fewer)
        facts = {"training.per_device_eval_batch_size": fewer}
        yield Move("evaluation", title.format(rows=fewer), facts, SLOWER)
    if plan.attention == "eager" and w.value("model.attention.sdpa") is not False:
        yield Move("attention", gettext("sdpa attention"), {"model.attn_implementation": "sdpa"}, FREE)
    elif plan.attention == "eager" and w.value("model.attention.flash_attention") is True:
        flash = {"model.attn_implementation": "flash_attention_2"}
        yield Move("attention", gettext("flash attention"), flash, LIBRARY)
    if not plan.checkpointed:
        yield Move(
            "checkpointing", gettext("gradient checkpointing"), {"training.gradient_checkpointing": True}, SLOWER
        )
    if plan.loss == "full" and framework.hands_liger_on:
        yield Move("loss", gettext("Liger's fused loss"), {"training.use_liger_kernel": True}, LIBRARY)
    elif plan.loss == "full" and framework.as_fused_loss is not None:
        facts = {name: value for name, value in framework.as_fused_loss.items() if not w.is_stated(name)}
        if len(facts) == len(framework.as_fused_loss):  # what is stated is not written over
            yield Move("loss", gettext("Liger's fused loss"), facts, LIBRARY)
    if plan.method == "full" and plan.optimizer.half.usual > 3 and plan.sharding.engine != "deepspeed":
        yield Move("optimizer", gettext("Adam's states in 8 bits"), {"training.optim": "adamw_8bit"}, LIBRARY)
    yield from _shorter(w, plan.length.high)
    sharding = plan.sharding
    yield from _away(w, sharding, plan.method)
    if sharding.processes > 1 and sharding.engine == "ddp" and plan.weights in ("bfloat16", "float16", "float32"):
        yield _all_divided(sharding, shards=True)
    # A frozen base loses nothing in the dtype that it was published in; adapters stay in float32.
    published = w.value("model.native_dtype") == "bfloat16" and w.value("derived.compute_dtype") == "bfloat16"
    if plan.weights == "float32" and plan.method == "lora" and framework.dtype_in_file and published:
        yield Move("weights", gettext("the base in bfloat16, as it was published"), {"model.dtype": "bfloat16"}, FREE)
    if plan.method == "full" and framework.as_adapter:
        yield Move("method", gettext("a LoRA adapter"), framework.as_adapter, RESULT)
    elif plan.weights in ("bfloat16", "float16", "float32") and framework.as_four_bits and plan.method != "full":
        yield Move("weights", gettext("the base in 4 bits"), framework.as_four_bits, RESULT)


def _all_divided(sharding: Sharding, *, shards: bool) -> Move:
    title = gettext("ZeRO-3 over {number} processes").format(number=sharding.processes)
    return Move("sharding", title, {"deepspeed.zero_optimization.stage": 3}, SLOWER, shards)


def _away(w: World, sharding: Sharding, method: str) -> Iterator[Move]:
    """What the engine at work can divide further, or keep in the host's memory."""
    if sharding.engine == "deepspeed":
        if sharding.stage in (1, 2) and sharding.processes > 1:
            yield _all_divided(sharding, shards=False)
        if sharding.stage and not sharding.states_on_host and method == "full":
            facts = {"deepspeed.zero_optimization.offload_optimizer.device": "cpu"}
            yield Move("host", gettext("the optimizer's states in the host's memory"), facts, SLOWER)
    if sharding.deferred.high and method == "full" and w.at_least("transformers", "5.2.0") is True:
        yield Move("sharding", gettext("gradients divided in every micro batch"), {EACH_BATCH: True}, SLOWER)
    if sharding.engine == "fsdp" and not sharding.weights_on_host and w.value("derived.fsdp") is True:
        yield Move("host", gettext("weights and states in the host's memory"), {"fsdp.offload_params": True}, SLOWER)


def _shorter(w: World, length: float) -> Iterator[Move]:
    for name in ("training.max_length", "trainer.max_seq_length", "model.max_seq_length"):
        if w.is_stated(name):
            shorter = int(length)
            while shorter >= 2 * _SHORTEST:
                shorter //= 2
                yield Move(
                    "length",
                    gettext("rows of at most {number} tokens").format(number=shorter),
                    {name: shorter},
                    CONTEXT,
                )
            return


def _written(run: Run, one: Remedy) -> Remedy:
    stage = "deepspeed.zero_optimization.stage"
    if stage in one.facts and stage not in run.explicit:
        return one  # it takes a file of its own
    changes = [editors.Change(name, value) for name, value in one.facts.items()]
    try:
        return one._replace(files=change.edits(run, "training.per_device_train_batch_size", changes))
    except editors.Impossible:
        return one
