"""Bytes of a run by arithmetic: against figures that others measured, and against laws that hold for every model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.memory import state, step
from stablint.memory.shape import Shape

GIB = 2**30
LLAMA_7B = Shape(6738415616, 32, 4096, 11008, 4096, 4096, 32000, False)
MISTRAL_7B = Shape(7241732096, 32, 4096, 14336, 4096, 1024, 32000, False)
LLAMA_70B = Shape(68976648192, 80, 8192, 28672, 8192, 1024, 32000, False)
ALL_LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]

shapes = st.builds(
    Shape,
    parameters=st.integers(10**8, 10**11),
    layers=st.integers(1, 120),
    hidden=st.sampled_from([512, 4096, 8192]),
    intermediate=st.sampled_from([2048, 14336]),
    query=st.sampled_from([512, 4096]),
    key_value=st.sampled_from([128, 1024]),
    vocab=st.integers(1000, 300_000),
    tied=st.booleans(),
)


def test_a_block_has_the_parameters_of_its_matrices():
    attention = 4 * 4096 * 4096
    assert LLAMA_7B.layer == pytest.approx(attention + 3 * 4096 * 11008, rel=0.001)


def test_adapter_of_rank_8_on_all_linears_of_llama_7b():
    # peft prints "trainable params: 19,988,480" for this model, rank 8 and all linear layers
    assert LLAMA_7B.adapter(ALL_LINEAR, 8) == 19_988_480


@pytest.mark.parametrize("name", ["fc1", "fc2", "dense_h_to_4h", "dense_4h_to_h", "w1", "w2", "w3"])
def test_a_linear_of_the_wide_layer_is_hidden_by_intermediate(name):
    shape = Shape(1_414_647_808, 24, 2048, 8192, 2048, 2048, 50304, False)
    assert shape.adapter([name], 16) == 16 * 24 * (2048 + 8192)


def test_70b_in_four_bits_is_34_gib():
    held = state.adapter(LLAMA_70B, "4bit", 0, double=True)
    assert 33 < held.total / GIB < 35


@pytest.mark.parametrize(
    ("dtype", "stage", "processes", "deepspeed", "bytes_each"),
    [
        ("float32", 0, 1, False, 16),
        ("bfloat16", 0, 1, False, 8),
        ("bfloat16", 0, 8, True, 16),
        ("bfloat16", 1, 8, True, 2 + 2 + 12 / 8),
        ("bfloat16", 2, 8, True, 2 + 14 / 8),
        ("bfloat16", 3, 8, True, 16 / 8),
    ],
)
def test_bytes_a_parameter_of_adamw(dtype, stage, processes, deepspeed, bytes_each):
    held = state.full(10**9, dtype, "adamw_torch", stage=stage, processes=processes, deepspeed=deepspeed)
    assert held.total == pytest.approx(10**9 * bytes_each)


def test_offloaded_states_are_not_on_the_card():
    held = state.full(10**9, "bfloat16", "adamw_torch", stage=2, processes=1, deepspeed=True, offloaded=True)
    assert held.total == 2 * 10**9


def test_published_adapter_run_within_a_fifth():
    # litgpt's tutorials/resource-tables.md: Llama-2-7B, LoRA, bf16-true, micro batch 2, longest row 1304: 29.07 GB
    tokens = 2 * 1304
    rows = step.activations(LLAMA_7B, tokens, checkpointing=False, adapter=True)
    rows += step.logits(LLAMA_7B, tokens, fused=False)
    held = state.adapter(LLAMA_7B, "bfloat16", LLAMA_7B.adapter(["q_proj", "v_proj"], 8))
    assert (held.total + rows) / 1e9 == pytest.approx(29.07, rel=0.2)


@given(shapes, st.integers(1, 100_000), st.booleans())
def test_checkpointing_and_a_fused_loss_never_cost_memory(shape, tokens, adapter):
    whole = step.activations(shape, tokens, checkpointing=False, adapter=adapter)
    less = step.activations(shape, tokens, checkpointing=True, adapter=adapter)
    assert shape.layers < 3 or less <= whole
    assert step.logits(shape, tokens, fused=True) <= step.logits(shape, tokens, fused=False)


@given(shapes, st.integers(1, 50_000))
def test_rows_cost_in_proportion(shape, tokens):
    for checkpointing in (False, True):
        one = step.activations(shape, tokens, checkpointing=checkpointing, adapter=True)
        assert step.activations(shape, 2 * tokens, checkpointing=checkpointing, adapter=True) == pytest.approx(2 * one)


@given(st.integers(10**8, 10**11), st.integers(0, 3), st.integers(1, 64))
def test_more_cards_never_cost_a_card_more(parameters, stage, processes):
    fewer = state.full(parameters, "float32", "", stage=stage, processes=processes, deepspeed=False)
    more = state.full(parameters, "float32", "", stage=stage, processes=2 * processes, deepspeed=False)
    assert more.total <= fewer.total
