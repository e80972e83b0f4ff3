"""What memory depends on, as plain numbers and words: the input of `predict`. A number that is not known is a range."""

from __future__ import annotations

from typing import NamedTuple

from stablint.memory.shape import Shape


class Range(NamedTuple):
    """The least that it can be, what is usual, the most."""

    low: float
    usual: float
    high: float


def sure(value: float) -> Range:
    return Range(value, value, value)


NO_SHARE = sure(0.0)


class Optimizer(NamedTuple):
    """Bytes a trained parameter: its states in half precision and in float32, and what a step takes for a moment (in widths of the parameter)."""

    half: Range
    full: Range
    temporary: Range
    largest: float = 0.0  # what a step takes besides, in float32 widths of the largest matrix
    embedding: float = 0.0  # bytes of states that an embedding has more than other parameters


class Sharding(NamedTuple):
    """Over how many cards weights, gradients and states are divided, and what the engine keeps besides, in bytes."""

    weights: int = 1
    gradients: int = 1
    states: int = 1
    stage: int = 0  # of ZeRO, whose buffers are there with one process as well
    engine: str = "none"  # none | ddp | deepspeed | fsdp | split | megatron
    processes: int = 1
    bucket: float = 5e8  # elements: reduce_bucket_size of DeepSpeed (runtime/zero/config.py)
    live: float = 1e9  # elements: stage3_max_live_parameters
    states_on_host: bool = False
    weights_on_host: bool = False
    collected: int = 0  # batches whose logits one card collects, beside its own
    deferred: Range = NO_SHARE  # 1 where gradients stay whole on each card until the last micro batch of a step


class Plan(NamedTuple):
    """One training run on one card, with one way of being started."""

    shape: Shape
    heads: int
    groups: int  # key-value heads
    method: str  # full | lora | qlora
    weights: str  # float32 | float16 | bfloat16 | 4bit | 4bit-double | 8bit: as the base lies on the card
    autocast: bool  # computed in half precision whatever the weights are in
    mixed: bool  # mixed precision is asked for: FSDP then keeps what is trained in float32
    outside: Range  # bytes a parameter of embedding and head beside a quantised base
    trained: int  # parameters of the adapter
    copied: int  # parameters of embedding and head that an adapter trains whole
    rank: int
    spread: str  # all | attention: where the adapter sits
    dropout: bool
    optimizer: Optimizer
    sharding: Sharding
    rows: int  # of one forward pass, with chosen and rejected ones both
    length: Range  # tokens a row
    accumulates: bool
    checkpointed: bool
    checkpoints_on_host: bool
    attention: str  # masked | sdpa | eager
    loss: str  # full | chunked | piecewise | fused | elastic | none: no logits
    loss_rows: int
    reference: bool  # a frozen copy of the model
    cache: Range  # of the allocator: a share of what comes and goes in each step
    cache_large: Range  # the same of its largest pieces, the logits
    context: Range  # bytes of CUDA, its libraries and, with several processes, NCCL
    apart: Range  # a share of what does not take the places of other pieces: gradients, and the logits of the same step
    loading: Range  # a share of the weights: blocks that reading a checkpoint piece by piece leaves unused
    activations: Range  # a factor on what was traced: 1 for a traced type
    evaluated: int = 0  # rows of one evaluation batch, whose logits are built without anything kept for a backward pass
    streams: bool = False  # each gradient is used and dropped as soon as it is there
    rollout: Range = NO_SHARE  # bytes of the engine that answers, while weights are trained
    generating: Range = NO_SHARE  # and while it answers
    parked: tuple[str, ...] = ()  # components that lie in the host's memory while it answers
    scored: float = 1.0  # share of the tokens whose logits are built
    compared: Range = NO_SHARE  # bytes a logit while a reference answers beside the trained model's logits
    narrow: Range = NO_SHARE  # bytes a logit, where the loss makes none of them float32
    shifted: Range = NO_SHARE  # bytes a logit at the end of the forward pass, where a release copies them to shift them
    regathered: Range = (
        NO_SHARE  # a share of the parameters that an engine gathers and drops, whose places nothing else takes
    )
    tensor: int = 1  # cards that share each matrix of a block
    packed: bool = False  # quantised weights lie in buffers, which no engine divides
    fused: int = 0  # parameters of experts that are no linear layers, which quantisers pass by
    tower: int = 0  # parameters of what sees pictures
    tower_trained: bool = False  # they may be trained as well
    pictures: Range = NO_SHARE  # bytes that pictures take in it
    lean: bool = False  # Liger's norms and activations, which keep their inputs only
    judges: Range = NO_SHARE  # frozen models of this size beside the trained one and its reference
    critics: Range = NO_SHARE  # models of this size that are trained beside it
    one_mask: bool = False  # one mask serves all blocks
    wide_norms: bool = False  # norms beside a quantised base are float32, whatever embedding and head are
    squares: Range = sure(1.0)  # the same factor on what grows with the square of the rows

    @property
    def computes_wide(self) -> bool:
        """Whether blocks are computed from float32 weights. Under mixed precision FSDP gathers them in half precision, and autocast has nothing to cast
        (torch.distributed.fsdp MixedPrecision, param_dtype, which accelerate sets; utils/dataclasses.py, set_mixed_precision)."""
        return self.weights == "float32" and not (self.sharding.engine == "fsdp" and self.mixed)
