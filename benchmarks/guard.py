"""What the guard costs: steps with and without it taken in turns in one process, CPU time. Needs the extra `oracle`; see README.md."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
import transformers

import stablint

BAR = 0.01


def model(width: int, layers: int) -> torch.nn.Module:
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            hidden_size=width, intermediate_size=3 * width, num_hidden_layers=layers, num_attention_heads=8, num_key_value_heads=4,
            vocab_size=8000,
        )
    )  # fmt: skip


def share(steps: int, clip: bool, width: int, layers: int) -> float:
    """Of pairs of steps, the median of what the guarded one takes more."""
    made = model(width, layers)
    optimizer = torch.optim.AdamW(made.parameters(), lr=1e-5)
    rows = torch.randint(0, 8000, (2, 128))
    guard = stablint.TrainingGuard(share=None)
    guard.watch(made)
    recorder = guard._recorder
    assert recorder is not None

    def step(guarded: bool) -> float:
        recorder.batches[:] = []
        began = time.process_time()
        loss = made(input_ids=rows, labels=rows).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(made.parameters(), 1.0) if clip else None
        if guarded:
            guard.check(loss=loss, model=made, norm=norm, optimizer=optimizer)
        optimizer.step()
        optimizer.zero_grad()
        return time.process_time() - began

    for _ in range(3):
        step(True)
    pairs = [(step(True), step(False)) for _ in range(steps)]
    return statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs) - 1


def recording(calls: int) -> float:
    """Seconds of what stands before every forward pass: references, and the state of the dice."""
    made = torch.nn.Linear(1, 1)
    guard = stablint.TrainingGuard()
    x = torch.ones(1, 1)

    def took(work: Callable[[torch.Tensor], object]) -> float:
        began = time.process_time()
        for _ in range(calls):
            work(x)
            if guard._recorder is not None:
                guard._recorder.clear()
        return (time.process_time() - began) / calls

    bare = took(made)
    guard.watch(made)
    return took(made) - bare


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=8)
    given = parser.parse_args()
    torch.set_num_threads(1)
    missed = False
    for clip in (True, False):
        found = share(given.steps, clip, given.width, given.layers)
        bar = BAR if clip else None
        missed |= bar is not None and found > bar
        print(f"{'the norm of clipping' if clip else 'a norm of its own'}: {found:+.2%} of a step")
    print(f"before each forward pass: {recording(2000) * 1e6:.0f} µs")
    raise SystemExit(missed)


if __name__ == "__main__":
    main()
