"""What reinforcement learning keeps on a card besides: the tokens of prompt and answer, and the engine that writes the answers."""

from __future__ import annotations

from typing import Any, NamedTuple

from stablint.base.language import gettext
from stablint.memory.plan import NO_SHARE, Range
from stablint.memory.shape import Shape
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.framework import Rollout, framework
from stablint.run.world import World

GIB = 2**30
ONLINE = ("grpo", "rloo", "gspo", "dapo", "reinforce")  # one model that answers, and at most a frozen copy of it
SHORTEST = 64
_TRAINERS = "trl"  # whose classes programs of anybody's use
# A prompt that nobody cuts: those of published recipes for reasoning are a few hundred tokens long.
_PROMPT = Range(SHORTEST, 256, 1024)
# What an engine that sleeps leaves: graphs, workspaces and buffers, which are in neither of the pools that it frees (vllm v1/worker/gpu_worker.py, sleep).
_ASLEEP = Range(0.0, 1.0 * GIB, 2.0 * GIB)
_GRAPHS = Range(0.0, 0.3 * GIB, 1.0 * GIB)  # captured after the share was measured out


class Held(NamedTuple):
    """Bytes of the engine while weights are trained, and while it answers."""

    training: Range
    generating: Range


class Unsaid(Exception):
    """What is not stated and cannot be taken for anything."""


def names(w: World) -> Rollout:
    """Where the run's framework says it; a program with TRL's trainers says it as TRL does."""
    found = w.framework.rollout
    if found is None and w.value("derived.trl_arguments") is True:
        found = framework(_TRAINERS).rollout
    if found is None:
        raise Unsaid(
            gettext("{framework}: how long its prompts and answers are is not read yet").format(
                framework=w.run.framework or gettext("this program")
            )
        )
    return found


class Judges(NamedTuple):
    """Of PPO: models of the trained one's size beside it that are frozen, and that are trained; and rows of one step."""

    frozen: Range
    trained: Range
    rows: int | None
    at_once: bool


_BY_HAND = "trl.PPOTrainer.step"  # the program works out the rewards; values come from a head on the trained model (trl 0.11.4 trainer/ppo_trainer.py)


def judges(w: World, assumed: list[str]) -> Judges:
    of = names(w)
    if not of.in_ppo or (of.alone_by and w.stated("launch.launcher") != of.alone_by):
        raise Unsaid(
            gettext("ppo: the models that judge the answers may lie on cards of their own, which is not counted yet")
        )
    if w.value("derived.trainer") == _BY_HAND:
        assumed.append(
            gettext("what rewards the answers is the program's own: nothing, and a model of this size at the high end")
        )
        rows = w.value("training.mini_batch_size")
        return Judges(Range(0.0, 0.0, 1.0), NO_SHARE, rows if _is_size(rows) else None, False)
    assumed.append(
        gettext(
            "PPO: models that give rewards and values are taken to be of this size, and next to nothing at the low end"
        )
    )
    return Judges(Range(0.0, 1.0, 1.0), Range(0.0, 1.0, 1.0), None, of.at_once)


def lengths(w: World, assumed: list[str]) -> tuple[Range, float]:
    """Tokens of a prompt with its answer, and the share of them that is answer."""
    of = names(w)
    most = w.value(of.in_ppo if w.value("derived.objective") == "ppo" else of.answer)
    if w.value("derived.trainer") == _BY_HAND:
        most, takes = 2 * _PROMPT.high, w.value("model.max_positions")
        assumed.append(
            gettext(
                "how long prompts and answers are stands where the program generates: {low} to {high} tokens each"
            ).format(low=f"{_PROMPT.low:.0f}", high=f"{_PROMPT.high:.0f}")
        )
        return Range(2 * _PROMPT.low, 2 * _PROMPT.usual, min(most, takes) if _is_size(takes) else most), 1.0
    if not _is_size(most):
        raise Unsaid(gettext("the longest answer is not known ({name})").format(name=of.answer))
    prompt = w.value(of.prompt)
    if _is_size(prompt):
        asked = Range(min(SHORTEST, prompt), prompt, prompt)
        assumed.append(
            gettext("prompts reach {prompt} tokens and answers {answer}; the low end has {least} of each").format(
                prompt=prompt, answer=most, least=SHORTEST
            )
        )
    else:
        asked = _PROMPT
        assumed.append(
            gettext("no length of prompts is stated: {low} to {high} tokens, and answers up to {answer}").format(
                low=f"{asked.low:.0f}", high=f"{asked.high:.0f}", answer=most
            )
        )
    answer = Range(min(SHORTEST, most), most, most)
    return Range(*(one + other for one, other in zip(asked, answer, strict=True))), answer.usual / (
        asked.usual + answer.usual
    )


def reference(w: World) -> bool:
    """A frozen copy of the whole model on the card, where the answers are held against one."""
    of = names(w)
    asked = [w.value(name) for name in of.compares]
    wanted = any(value is True or is_unknown(value) or (type(value) in (int, float) and value != 0) for value in asked)
    return wanted and not (of.copy_away and w.value(of.copy_away) is True)


def engine(
    w: World, room: float | None, shape: Shape, base: float, batch: int, length: Range, assumed: list[str]
) -> Held:
    """`room` is what the card has, in GiB; `base` the bytes of the trained model's weights on it.

    vLLM takes its share of the whole card, and wants it to be free (vllm v1/worker/utils.py, request_memory: total_memory x gpu_memory_utilization).
    What it counts into it is its own weights, the largest forward pass and the cache; earlier all that its process had on the card, the trainer's
    weights too (vllm-project/vllm 0012cf69 v1/worker/gpu_worker.py, determine_available_memory: allocated_bytes.all.peak): the low end.
    """
    of = names(w)
    here = _answers_here(w, of)
    if here is None:
        assumed.append(
            gettext(
                "whether vLLM runs on the cards that train depends on the release ({name}): on others at the low end"
            ).format(name=of.place)
        )
    elif not here:
        return Held(NO_SHARE, NO_SHARE)
    if not _by_engine(w, of):
        return Held(NO_SHARE, _cached(w, shape, batch, length))
    if room is None:
        raise Unsaid(
            gettext("the engine that answers takes a share of the card, which is not known: name it with --gpu")
        )
    share = w.value(of.share)
    if share is ABSENT and of.usual_share:
        share = of.usual_share
    if not isinstance(share, (int, float)) or isinstance(share, bool) or not 0 < share <= 1:
        raise Unsaid(gettext("the share of the engine that answers is not known ({name})").format(name=of.share))
    taken = share * room * GIB
    assumed.append(
        gettext("vLLM takes {share} of the card: {size} GiB").format(share=f"{share:g}", size=f"{taken / GIB:.1f}")
    )
    if of.same_weights:
        mine = Range(*(max(taken * part - base, 0.0) for part in (0.9, 0.97, 1.0)))
        return Held(mine, mine)
    own = 2.0 * shape.parameters / _split(w, of)
    if taken < own:  # it loads them all the same, and has no room for its cache then (vllm v1/core/kv_cache_utils.py)
        assumed.append(
            gettext("which is less than its weights, {size} GiB: it does not start so").format(size=f"{own / GIB:.1f}")
        )
    least, most = max(own, taken - base), max(own, taken)
    mine = Range(*(one + more for one, more in zip((min(least, most), most, most), _GRAPHS, strict=True)))
    held = Held(_ASLEEP if _sleeps(w, of) else mine, mine)
    return held if here else Held(*(one._replace(low=0.0) for one in held))


def _answers_here(w: World, of: Rollout) -> bool | None:
    """Whether the answers are written on the cards that train; None where releases differ and none is stated."""
    if not of.place or not _by_engine(w, of):
        return True
    mode = w.value(of.place)
    if mode == "server" or (mode is ABSENT and w.at_least(_TRAINERS, "0.18.0") is False):  # it had a card of its own
        return False
    return True if mode == "colocate" else None


def _by_engine(w: World, of: Rollout) -> bool:
    return not of.engine or w.value(of.engine) is True


def _sleeps(w: World, of: Rollout) -> bool:
    value = w.value(of.sleeps) if of.sleeps else ABSENT
    if value is ABSENT:
        return of.asleep
    return value is True or (type(value) is int and value > 0)


def _split(w: World, of: Rollout) -> int:
    value = w.value(of.cards) if of.cards else 1
    return value if _is_size(value) else 1


def _cached(w: World, shape: Shape, batch: int, length: Range) -> Range:
    """Keys and values of the rows that transformers' own generation answers at once: one step's at least, those of all steps until the next round
    in releases that collect them first (trl 0.18 trainer/grpo_trainer.py)."""
    steps = w.value("training.steps_per_generation")
    steps = steps if _is_size(steps) else w.value("training.gradient_accumulation_steps")
    many = batch * (steps if _is_size(steps) else 1)
    each = 4.0 * shape.layers * shape.key_value
    return Range(each * batch * length.low, each * many * length.usual, each * many * length.high)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
