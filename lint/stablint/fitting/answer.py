"""One run on one card: how much it needs, whether that is there, and what decides."""

from __future__ import annotations

from typing import NamedTuple

from stablint.base import knowledge
from stablint.base.language import gettext
from stablint.fitting.cards import is_divided, tensor_ways
from stablint.fitting.likely import likely
from stablint.fitting.reading import read
from stablint.fitting.terms import GIB, Reading, Unanswerable, least_usable, usable
from stablint.memory.plan import Range, sure
from stablint.memory.predict import Estimate, predict
from stablint.run.derived.memory import offloads
from stablint.run.world import World

FITS, TIGHT, NOT, UNKNOWN = "fits", "tight", "does-not-fit", "unknown"
_ROOM_OF_GUESSES = 0.75  # where an assumption may be wrong beyond what the range has room for
_HALF = 0.5  # of what is usable: more than that usually, and more than there is room for at the high end
# Where gaps take the usual figure beyond it, they may not be given back in time: of five threads whose figure lay there, though what must be there at
# once was less, three ran out (benchmarks/first_sight/memory.md).
_SURE = 0.8
_ROOM = 0.95  # of what is usable: beyond that nothing is left for an evaluation or a longer row

# By component: what it is, and the facts that it comes from.
BECAUSE: dict[str, tuple[str, tuple[str, ...]]] = {
    "weights": ("the model", ("model.parameters", "derived.weights_dtype")),
    "quantisation": ("one matrix in half precision", ("derived.weights_dtype",)),
    "copies": (
        "of weights in half precision, which autocast keeps",
        ("derived.weights_dtype", "derived.compute_dtype"),
    ),
    "adapters": ("the adapter", ("lora.r", "lora.target_modules")),
    "gradients": ("of what is trained", ("derived.method", "training.gradient_accumulation_steps")),
    "optimizer": ("states", ("training.optim",)),
    "step": ("for the moment of a step", ("training.optim",)),
    "gathered": ("parameters that the engine keeps whole", ("derived.zero_stage", "derived.fsdp")),
    "buckets": ("communication", ("derived.world_size", "derived.zero_stage")),
    "activations": (
        "kept for the backward pass",
        ("training.per_device_train_batch_size", "training.max_length", "derived.checkpointing"),
    ),
    "attention": (
        "grows with the square of the rows",
        ("model.attn_implementation", "training.max_length", "training.per_device_train_batch_size"),
    ),
    "logits": ("rows × tokens × words", ("training.per_device_train_batch_size", "training.max_length", "model.vocab")),
    "vision": ("the part that sees, and pictures in it", ("model.type", "training.max_length")),
    "reference": ("a frozen copy to compare with", ("derived.objective",)),
    "judges": ("models that give rewards and values", ("derived.objective",)),
    "rollout": (
        "of the engine that answers",
        ("training.use_vllm", "training.vllm_mode", "training.vllm_gpu_memory_utilization"),
    ),
    "context": ("CUDA and its libraries", ("derived.world_size",)),
    "cache": ("gaps and unused blocks; shrinks where memory is short", ("training.packing", "training.max_length")),
}


class Told(NamedTuple):
    """GiB throughout. `reading` is the likeliest way of starting the run; None where nothing can be said, and `why`."""

    target: str
    usable: float | None
    least: float | None  # usable of the smallest card that the target's name may mean
    verdict: str
    reading: Reading | None
    estimate: Estimate | None
    readings: tuple[tuple[Reading, Estimate, str], ...]
    why: str
    rows: int | None = None  # the most at a time that fit, where that was asked for

    @property
    def peak(self) -> tuple[float, float, float]:
        """Low, usual and high end."""
        assert self.estimate is not None
        low, usual, high = (one / GIB for one in self.estimate.peak)
        return low, usual, high

    @property
    def likely(self) -> tuple[float, float, float]:
        """The same from rows of half the limit on."""
        assert self.estimate is not None and self.reading is not None
        traced = knowledge.load(f"memory/{self.reading.type}")
        low, usual, high = (one / GIB for one in likely(self.reading.plan, traced, self.estimate.peak))
        return low, usual, high


def answer(world: World, target: str) -> Told:
    room, least = usable(world), least_usable(world)
    try:
        readings = read(world)
    except Unanswerable as error:
        return Told(target, room, least, _by_weights(world, room), None, None, (), str(error))
    found = tuple((one, *judged(one, room, least)) for one in readings)
    reading, estimate, word = found[0]
    return Told(
        target, room, least, word, reading, estimate, found, "" if room is not None else "the card is not known"
    )


def judged(reading: Reading, room: float | None, least: float | None) -> tuple[Estimate, str]:
    """The estimate as it would show on the card, and the verdict. The allocator keeps no more than there is room for.

    What fits on the largest of several cards alone (`room` against `least`) is not said to fit.
    """
    estimate = estimated(reading)
    word = verdict(estimate, room, reading)
    if word == FITS and verdict(estimate, least, reading) != FITS:
        word = TIGHT
    return (_within(estimate, room * GIB) if room is not None else estimate), word


def _within(estimate: Estimate, room: float) -> Estimate:
    """Blocks that nothing uses are given back before memory runs out (torch c10/cuda/CUDACachingAllocator.cpp, release_cached_blocks): beyond the
    card's room a run has what it needs, and nothing more."""
    if estimate.peak.high <= room:
        return estimate
    ends = zip(estimate.peak, estimate.pressed, strict=True)
    peak = Range(*(min(end, max(room, needed)) for end, needed in ends))
    parts = {
        name: {**one, "cache": max(one.get("cache", 0.0) - max(sum(one.values()) - peak.usual, 0.0), 0.0)}
        for name, one in estimate.parts.items()
    }
    usual = max(sum(one.values()) for one in parts.values())
    # Of those that the same room holds, the one that needs the most of it.
    moment = max(parts, key=lambda name: (sum(parts[name].values()) > usual - 1, -parts[name]["cache"]))
    return estimate._replace(
        parts=parts, moment=moment, components={name: size for name, size in parts[moment].items() if size},
        peak=Range(min(peak.low, usual), usual, max(peak.high, usual)),
    )  # fmt: skip


def estimated(reading: Reading) -> Estimate:
    traced = knowledge.load(f"memory/{reading.type}")
    found = predict(reading.plan, traced)
    for other in (predict(plan, traced) for plan in reading.others):
        found = found._replace(
            peak=_either(found.peak, other.peak),
            pressed=_either(found.pressed, other.pressed),
            proven=min(found.proven, other.proven),
        )
    return found


def _either(one: Range, other: Range) -> Range:
    return one._replace(low=min(one.low, other.low), high=max(one.high, other.high))


def verdict(estimate: Estimate, room: float | None, reading: Reading | None = None) -> str:
    """Fits with every row at its longest, does not with the shortest, or something between decides. The allocator's unused blocks are given back
    before it runs out, so they are seen but not needed: so it was where it was replayed, and nobody has replayed what engines gather and drop."""
    if room is None:
        return UNKNOWN
    if estimate.peak.low / GIB > room:
        return NOT
    if (
        reading is not None
        and gathers(reading)
        and estimate.peak.high / GIB > room * _ROOM
        and estimate.peak.usual / GIB > room * _HALF
    ):
        return TIGHT
    if _gaps_fill(estimate, room):
        return TIGHT
    share = _ROOM_OF_GUESSES if reading is not None and reading.is_guessed else _ROOM
    return FITS if estimate.needed / GIB <= room * share else TIGHT


def _gaps_fill(estimate: Estimate, room: float) -> bool:
    usual, gaps = estimate.peak.usual / GIB, (estimate.peak.usual - estimate.pressed.usual) / GIB
    return usual > room * _SURE and gaps > room * (1 - _ROOM)


def gathers(reading: Reading) -> bool:
    """Whether weights come and go in pieces, or the gradients of a model that is trained whole. Packed weights lie in buffers, which nothing gathers."""
    plan, sharding = reading.plan, reading.plan.sharding
    shards = sharding.gradients if plan.method == "full" else 1 if plan.packed else sharding.weights
    return shards > 1 and sharding.engine in ("fsdp", "deepspeed")


def _by_weights(world: World, room: float | None) -> str:
    """Where nothing else can be said the weights may say enough."""
    cast = world.value("derived.deepspeed") is not False and world.value("derived.compute_dtype") in (
        "float16",
        "bfloat16",
    )
    if cast and offloads(world)[1]:
        return UNKNOWN
    # DeepSpeed casts the whole module before it comes onto the card.
    weights = world.value("derived.weights_half_per_card_gib" if cast else "derived.weights_per_card_gib")
    least = weights if isinstance(weights, float) else 0.0
    if not is_divided(world) and tensor_ways(world) == 1:
        states = world.fact("derived.training_state_gib")
        if isinstance(states.value, float) and not states.presumed:
            least = max(least, states.value)
    return NOT if room is not None and least > room else UNKNOWN


def _fits_short(reading: Reading, room: float) -> bool:
    """Whether the length of rows alone decides: with the shortest the high end of everything else fits."""
    plans = [plan._replace(length=sure(plan.length.low)) for plan in (reading.plan, *reading.others)]
    return estimated(reading._replace(plan=plans[0], others=tuple(plans[1:]))).needed / GIB <= room


def decides(told: Told) -> str:
    """What a verdict between the two depends on."""
    if told.estimate is None or told.reading is None or told.usable is None or told.verdict != TIGHT:
        return ""
    needed = told.estimate.needed / GIB
    if told.least is not None and told.least < told.usable and needed <= told.usable * _ROOM:
        return gettext(
            "fits on the card of {size} GiB, and not surely on that of {least} which has the same name: write which"
        ).format(size=f"{told.usable:.0f}", least=f"{told.least:.0f}")
    length = told.reading.plan.length
    if length.low < length.high and needed > told.usable and _fits_short(told.reading, told.usable):
        return gettext("fits with short rows, not with rows of {number} tokens").format(number=f"{length.high:,.0f}")
    if needed > told.usable:
        return gettext("the low end fits, the high end does not")
    if gathers(told.reading) and needed <= told.usable * _ROOM:
        return gettext(
            "what is needed at once fits, what {engine} gathers and drops may not be given back in time"
        ).format(engine="FSDP" if told.reading.plan.sharding.engine == "fsdp" else "ZeRO")
    if needed <= told.usable * _ROOM and _gaps_fill(estimated(told.reading), told.usable):
        return gettext(
            "at most {needed} GiB are needed at once, which fits; with what the allocator usually keeps the card is nearly full"
        ).format(needed=f"{needed:.1f}")
    if told.reading.is_guessed and needed <= told.usable * _ROOM:
        return gettext("fits if what is assumed holds, with {share} of the card to spare").format(
            share=f"{1 - needed / told.usable:.0%}"
        )
    return gettext("little is left")
