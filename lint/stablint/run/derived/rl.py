"""What verl and OpenRLHF work out of their keys before they start: cards, completions of a step, what one card gets of them."""

from __future__ import annotations

import math

from stablint.run.world import Answer, World
from stablint.syntax.tree import Unknown

_ACTOR, _ROLLOUT, _CRITIC = "trainer.actor_rollout_ref.actor.", "trainer.actor_rollout_ref.rollout.", "trainer.critic."


def cards(w: World) -> Answer:
    """All cards of the run (verl utils/config.py, validate_config: n_gpus)."""
    return _product(w, "trainer.trainer.n_gpus_per_node", "trainer.trainer.nnodes")


def completions(w: World) -> Answer:
    """Prompts of a step times completions of each (verl utils/config.py: real_train_batch_size)."""
    return _product(w, "trainer.data.train_batch_size", _ROLLOUT + "n")


def engine_cards(w: World) -> Answer:
    """Cards of one inference engine (verl workers/fsdp_workers.py, _build_rollout: infer_world_size)."""
    sizes = ("tensor_model_parallel_size", "data_parallel_size", "pipeline_model_parallel_size")
    return _product(w, *(_ROLLOUT + size for size in sizes))


def mini_batch_per_card(w: World) -> Answer:
    """Completions of one update of the actor on one group of cards (verl workers/fsdp_workers.py, __init__: the normalised ppo_mini_batch_size)."""
    return _per_group(w, _ACTOR)


def critic_batch_per_card(w: World) -> Answer:
    """The same of the critic, which has an update and a sequence parallelism of its own (CriticWorker.__init__)."""
    return _per_group(w, _CRITIC)


def _per_group(w: World, worker: str) -> Answer:
    names = (
        worker + "ppo_mini_batch_size",
        _ROLLOUT + "n",
        "derived.rl_cards",
        worker + "ulysses_sequence_parallel_size",
    )
    mini, each, all_cards, shared = (w.value(name) for name in names)
    if all(_is_count(one) for one in (mini, each, all_cards, shared)) and all_cards >= shared:
        return Answer(mini * each // (all_cards // shared), names)
    return Answer(Unknown("not all of it is known"), names)


def vllm_cards(w: World) -> Answer:
    """Cards of all of OpenRLHF's inference engines."""
    return _product(w, "training.vllm_num_engines", "training.vllm_tensor_parallel_size")


def spare_batches(w: World) -> Answer:
    """Micro batches of a rollout less groups of the actor's processes (openrlhf 0.11.2 cli/train_ppo_ray.py:757): below 0 some have none."""
    counts = (
        "training.num_generations",
        "training.rollout_batch_size",
        "training.micro_rollout_batch_size",
        "derived.world_size",
    )
    shared = ("training.ring_attn_size", "deepspeed.tensor_parallel.autotp_size")
    each, prompts, micro, actors = (w.value(name) for name in counts)
    ring, tensor = (w.value(name) for name in shared)
    if all(_is_count(one) for one in (each, prompts, micro, actors)) and not isinstance(ring, Unknown):
        groups = actors // (ring if _is_count(ring) else 1) // (tensor if _is_count(tensor) else 1)
        return Answer(each * prompts // micro - groups, (*counts, *shared))
    return Answer(Unknown("not all of it is known"), counts)


def length(w: World) -> Answer:
    """Tokens of the longest prompt with the longest completion."""
    names = ("trainer.data.max_prompt_length", "trainer.data.max_response_length")
    prompt, response = (w.value(name) for name in names)
    if _is_count(prompt) and _is_count(response):
        return Answer(prompt + response, names)
    return Answer(Unknown("not both are known"), names)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _product(w: World, *names: str) -> Answer:
    values = [w.value(name) for name in names]
    known = all(_is_count(value) for value in values)
    return Answer(math.prod(values) if known else Unknown("not all of it is known"), names)
