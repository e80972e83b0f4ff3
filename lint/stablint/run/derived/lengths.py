"""Counts that another list or number must match; few hazards ask for them."""

from __future__ import annotations

import math

from stablint.run.fact import ABSENT, is_unknown
from stablint.run.world import Answer, World
from stablint.syntax.tree import Unknown


def cpt_tokens(w: World) -> Answer:
    """Tokens of a CPT context: one if none are given (peft tuners/cpt/config.py, __post_init__)."""
    name = "lora.cpt_token_ids"
    tokens = w.value(name)
    if tokens in (ABSENT, None):
        return Answer(1, (name,))
    return Answer(len(tokens) if isinstance(tokens, list) else Unknown("the tokens are not known"), (name,))


def reward_functions(w: World) -> Answer:
    """Reward functions of an online trainer, where a program lists them; a single one is no list (trl trainer/grpo_trainer.py)."""
    name = "trainer.reward_funcs"
    functions = w.stated(name)
    return Answer(len(functions) if isinstance(functions, list) else Unknown("they are not listed"), (name,))


def recipe_reward_functions(w: World) -> Answer:
    """Reward functions that a recipe lists, and the model that it names besides (trl scripts/grpo.py)."""
    names = ("training.reward_funcs", "training.reward_model_name_or_path")
    functions, model = (w.stated(name) for name in names)
    if not isinstance(functions, list) or is_unknown(model):
        return Answer(Unknown("they are not listed"), names)
    return Answer(len(functions) + (model not in (ABSENT, None)), names)


def parallel_size(w: World) -> Answer:
    """Processes that accelerate's parallelism takes: the product of its sizes (accelerate parallelism_config.py, total_size)."""
    block = "accelerate.parallelism_config.parallelism_config_"
    names = tuple(f"{block}{part}_size" for part in ("dp_replicate", "dp_shard", "tp", "cp", "sp"))
    sizes = [1 if w.value(name) in (ABSENT, None) else w.value(name) for name in names]
    if all(isinstance(size, int) and not isinstance(size, bool) for size in sizes):
        return Answer(math.prod(sizes), tuple(name for name in names if w.is_stated(name)))
    return Answer(Unknown("a size is not known"), names)
