"""What reinforcement learning keeps on a card besides: the tokens of prompt and answer, and the engine that writes the answers."""

from __future__ import annotations

from typing import Any, NamedTuple

from stablint.language import gettext
from stablint.memory.plan import NO_SHARE, Range
from stablint.memory.shape import Shape
from stablint.run.fact import ABSENT
from stablint.run.world import World

GIB = 2**30
ONLINE = ("grpo", "rloo", "gspo", "dapo", "reinforce")  # one model that answers, and at most a frozen copy of it
SHORTEST = 64
# A prompt that nobody cuts: those of published recipes for reasoning are a few hundred tokens long.
_PROMPT = Range(SHORTEST, 256, 1024)
_ACTOR, _ENGINE = "trainer.actor_rollout_ref.actor.", "trainer.actor_rollout_ref.rollout."
# What an engine that sleeps leaves: graphs, workspaces and buffers, which are in neither of the pools that it frees (vllm v1/worker/gpu_worker.py, sleep).
_ASLEEP = Range(0.0, 1.0 * GIB, 2.0 * GIB)
_GRAPHS = Range(0.0, 0.3 * GIB, 1.0 * GIB)  # captured after the share was measured out


class Names(NamedTuple):
    """Where a framework says it. `share` of the whole card, whatever lies there already; `sleeps` between two rounds of answers."""

    prompt: str
    answer: str
    share: str
    sleeps: str


_TRL = Names("training.max_prompt_length", "training.max_completion_length", "training.vllm_gpu_memory_utilization", "training.vllm_enable_sleep_mode")  # fmt: skip  # noqa: E501
NAMES = {
    "trl": _TRL,
    "unsloth": _TRL._replace(share="model.gpu_memory_utilization", sleeps=""),
    "ms-swift": _TRL._replace(prompt="training.max_length", sleeps="training.sleep_level"),
    "verl": Names("trainer.data.max_prompt_length", "trainer.data.max_response_length", _ENGINE + "gpu_memory_utilization", _ENGINE + "free_cache_engine"),
}  # fmt: skip
_SHARES = {
    "unsloth": 0.5,
    "ms-swift": 0.9,
    "verl": 0.5,
}  # where nobody says one (verl 0.7.0 rollout.yaml, swift 4.0.0 rlhf_args.py)


class Rollout(NamedTuple):
    """Bytes of the engine while weights are trained, and while it answers."""

    training: Range
    generating: Range


class Unsaid(Exception):
    """What is not stated and cannot be taken for anything."""


def names(w: World) -> Names:
    found = NAMES.get(w.run.framework, _TRL if w.value("derived.trl_arguments") is True else None)
    if found is None:
        raise Unsaid(
            gettext("{framework}: how long its prompts and answers are is not read yet").format(
                framework=w.run.framework or gettext("this program")
            )
        )
    return found


def lengths(w: World, assumed: list[str]) -> tuple[Range, float]:
    """Tokens of a prompt with its answer, and the share of them that is answer."""
    of = names(w)
    most = w.value(of.answer)
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
    """A frozen copy of the whole model, where the answers are held against one."""
    if w.run.framework == "verl":
        asked = (w.value(_ACTOR + "use_kl_loss"), w.value("trainer.algorithm.use_kl_in_reward"))
        away = w.value("trainer.actor_rollout_ref.ref.fsdp_config.param_offload") is True
        return True in asked and not away
    beta = w.value("training.beta")
    return not (isinstance(beta, (int, float)) and beta == 0)


def engine(
    w: World, room: float | None, shape: Shape, base: float, batch: int, length: Range, assumed: list[str]
) -> Rollout:
    """`room` is what the card has, in GiB; `base` the bytes of the trained model's weights on it.

    vLLM takes its share of the whole card, and wants it to be free (vllm v1/worker/utils.py, request_memory: total_memory x gpu_memory_utilization).
    What it counts into it is its own weights, the largest forward pass and the cache; earlier all that its process had on the card, the trainer's
    weights too (vllm-project/vllm 0012cf69 v1/worker/gpu_worker.py, determine_available_memory: allocated_bytes.all.peak): the low end.
    """
    of = names(w)
    if not _answers_here(w, of, assumed):
        return Rollout(NO_SHARE, NO_SHARE)
    if not _by_engine(w):
        return Rollout(NO_SHARE, _cached(w, shape, batch, length))
    if room is None:
        raise Unsaid(
            gettext("the engine that answers takes a share of the card, which is not known: name it with --gpu")
        )
    share = w.value(of.share)
    if share is ABSENT and w.run.framework in _SHARES:
        share = _SHARES[w.run.framework]
    if not isinstance(share, (int, float)) or isinstance(share, bool) or not 0 < share <= 1:
        raise Unsaid(gettext("the share of the engine that answers is not known ({name})").format(name=of.share))
    taken = share * room * GIB
    assumed.append(
        gettext("vLLM takes {share} of the card: {size} GiB").format(share=f"{share:g}", size=f"{taken / GIB:.1f}")
    )
    if w.run.framework == "unsloth":  # both use the same weights, and the share is of what is free
        mine = Range(*(max(taken * part - base, 0.0) for part in (0.9, 0.97, 1.0)))
        return Rollout(mine, mine)
    least = max(2.0 * shape.parameters / _tensor_parallel(w), taken - base)
    mine = Range(*(one + more for one, more in zip((min(least, taken), taken, taken), _GRAPHS, strict=True)))
    return Rollout(_ASLEEP if _sleeps(w, of) else mine, mine)


def _answers_here(w: World, of: Names, assumed: list[str]) -> bool:
    """Whether the answers are written on the cards that train."""
    if w.run.framework in ("verl", "unsloth") or not _by_engine(w):
        return True
    mode = w.value("training.vllm_mode")
    if mode == "server" or mode is ABSENT:  # before TRL 0.18 it had a card of its own
        return False
    if mode != "colocate":
        raise Unsaid(gettext("whether vLLM runs on the cards that train depends on the release (training.vllm_mode)"))
    return True


def _by_engine(w: World) -> bool:
    if w.run.framework == "verl":
        return True
    if w.run.framework == "unsloth":
        return w.value("model.fast_inference") is True
    return w.value("training.use_vllm") is True


def _sleeps(w: World, of: Names) -> bool:
    value = w.value(of.sleeps)
    if w.run.framework == "verl":
        return value is not False
    return value is True or (isinstance(value, int) and not isinstance(value, bool) and value > 0)


def _tensor_parallel(w: World) -> int:
    name = _ENGINE + "tensor_model_parallel_size" if w.run.framework == "verl" else "training.vllm_tensor_parallel_size"
    value = w.value(name)
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
