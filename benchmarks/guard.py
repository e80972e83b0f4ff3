"""What the guard costs: the time of its own calls within a step, the operations that it adds, and steps with and without it in turns. Needs the extra
`oracle`; see README.md."""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode

import stablint
from stablint.integrate.repeating import Recorder

BAR = 0.01


def model(width: int, layers: int) -> torch.nn.Module:
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            hidden_size=width, intermediate_size=3 * width, num_hidden_layers=layers, num_attention_heads=8, num_key_value_heads=4,
            vocab_size=8000,
        )
    )  # fmt: skip


def share(
    steps: int, clip: bool, width: int, layers: int, device: str = "cpu", lazy: bool = False
) -> tuple[float, float]:
    """Of pairs of steps, the median of what the guarded one takes more, and the seconds of the other. On a card the clock runs until it is idle."""
    made = model(width, layers).to(device)
    optimizer = torch.optim.AdamW(made.parameters(), lr=1e-5)
    rows = torch.randint(0, 8000, (2, 128) if device == "cpu" else (8, 512)).to(device)
    clock = time.process_time if device == "cpu" else time.perf_counter
    guard = stablint.TrainingGuard(share=None, lazy=lazy)
    guard.watch(made)
    recorder = guard._recorder
    assert recorder is not None

    def step(guarded: bool) -> float:
        recorder.batches[:] = []
        began = clock()
        with torch.autocast(device, torch.bfloat16, enabled=device != "cpu"):
            loss = made(input_ids=rows, labels=rows).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(made.parameters(), 1.0) if clip else None
        if guarded:
            guard.check(loss=loss, model=made, norm=norm, optimizer=optimizer)
        optimizer.step()
        optimizer.zero_grad()
        if device != "cpu":
            torch.cuda.synchronize()
        return clock() - began

    for _ in range(3):
        step(True)
    pairs = [(step(True), step(False)) for _ in range(steps)]
    bare = statistics.median(b for _, b in pairs)
    return statistics.median(a for a, _ in pairs) / bare - 1, bare


def own(steps: int, clip: bool, width: int, layers: int, rows: tuple[int, int]) -> tuple[float, float]:
    """The processor's seconds in the guard's own calls (the check, and what stands before the forward pass), and those of the whole step with them in
    it: medians. Both are of the same steps, so that what else the machine does slows both, and no difference of two large figures is taken."""
    made = model(width, layers)
    optimizer = torch.optim.AdamW(made.parameters(), lr=1e-5)
    batch = torch.randint(0, 8000, rows)
    clock, spent = time.process_time, [0.0]

    class Timed(Recorder):
        def _called(self, *given: Any) -> None:
            began = clock()
            super()._called(*given)
            spent[0] += clock() - began

    guard = stablint.TrainingGuard(share=None)
    guard.watch(made)
    assert guard._recorder is not None
    guard._recorder.close()
    guard._recorder = Timed(made)
    inside, whole = [], []
    for _ in range(steps + 3):
        spent[0], began = 0.0, clock()
        loss = made(input_ids=batch, labels=batch).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(made.parameters(), 1.0) if clip else None
        called = clock()
        guard.check(loss=loss, model=made, norm=norm, optimizer=optimizer)
        spent[0] += clock() - called
        optimizer.step()
        optimizer.zero_grad()
        whole.append(clock() - began)
        inside.append(spent[0])
    return statistics.median(inside[3:]), statistics.median(whole[3:])


class Counted(TorchDispatchMode):
    """Operations that reach torch's kernels, and the elements that they write."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = self.elements = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        self.operations += 1
        self.elements += sum(
            one.numel()
            for one in (made if isinstance(made, (list, tuple)) else [made])
            if isinstance(one, torch.Tensor)
        )
        return made


def operations(guarded: bool, clip: bool, width: int, layers: int) -> Counted:
    """Of one step, the third: the same on every machine."""
    made = model(width, layers)
    optimizer = torch.optim.AdamW(made.parameters(), lr=1e-5)
    batch = torch.randint(0, 8000, (2, 128))
    guard = stablint.TrainingGuard(share=None)
    if guarded:
        guard.watch(made)
    counted = Counted()
    for number in range(3):
        with counted if number == 2 else contextlib.nullcontext():
            loss = made(input_ids=batch, labels=batch).loss
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(made.parameters(), 1.0) if clip else None
            if guarded:
                guard.check(loss=loss, model=made, norm=norm, optimizer=optimizer)
            optimizer.step()
            optimizer.zero_grad()
    return counted


class Clock(transformers.TrainerCallback):
    """Seconds between the ends of steps."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        self.at.append(time.perf_counter())

    @property
    def median(self) -> float:
        return statistics.median(b - a for a, b in zip(self.at[5:], self.at[6:], strict=False))


def in_the_trainer(rounds: int, width: int, layers: int) -> tuple[float, float]:
    """The same as a callback of transformers' Trainer on a card: whole runs of 60 steps in turns."""
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 8000, (512, 512)).tolist()]
    took: dict[bool, list[float]] = {True: [], False: []}
    for number in range(2 * rounds):
        guarded, clock = number % 2 == 0, Clock()
        with tempfile.TemporaryDirectory() as folder:
            args = transformers.TrainingArguments(
                output_dir=folder, per_device_train_batch_size=8, max_steps=60, report_to=[], save_strategy="no", logging_steps=10,
                disable_tqdm=True, bf16=True, learning_rate=1e-5,
            )  # fmt: skip
            calls = [clock, *([stablint.TrainingGuard(at_start=False, share=None)] if guarded else [])]
            transformers.Trainer(model=model(width, layers), args=args, train_dataset=rows, callbacks=calls).train()
        took[guarded].append(clock.median)
    bare = statistics.median(took[False])
    return statistics.median(took[True]) / bare - 1, bare


def poisoned() -> bool:
    """Trainings on a card that are poisoned at step 7: whether each ends there, in finite weights, with the right module named."""
    from tests.integrate import tiny

    good = True
    for half in ("bf16", "fp16"):
        for poison in ("forward", "backward", "gradient"):
            for action in ("raise", "stop", "skip"):
                made = tiny.model(poison).to("cuda" if torch.cuda.is_available() else "cpu")
                with tempfile.TemporaryDirectory() as folder:
                    args = transformers.TrainingArguments(
                        output_dir=folder, per_device_train_batch_size=tiny.ROWS, max_steps=8, report_to=[], save_steps=2,
                        save_total_limit=2, logging_strategy="no", disable_tqdm=True, learning_rate=1e-3, optim="adamw_torch",
                        use_cpu=not torch.cuda.is_available(), **{half: torch.cuda.is_available()},
                    )  # fmt: skip
                    guard = stablint.TrainingGuard(on_nan=action, at_start=False)
                    trainer = transformers.Trainer(
                        model=made, args=args, train_dataset=tiny.Rows(for_ever=half == "fp16"), callbacks=[guard]
                    )
                    ended = "ran through"
                    try:
                        trainer.train()
                    except stablint.TrainingStopped as stop:
                        ended = f"raised at step {stop.step}"
                    finite = tiny.is_finite(made.parameters())
                    saved = tiny.checkpoints(Path(folder))
                print(
                    f"{half} {poison} {action}: {ended}, stopped {guard.stopped[:60]!r}, module {guard.module}, skipped {guard.skipped}, weights finite {finite}, saved {saved}",  # noqa: E501
                    flush=True,
                )  # fmt: skip
                good &= finite and all(saved.values())
    return good


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
    parser.add_argument("--card", action="store_true", help="on the first card: also in the Trainer, and with poison")
    given = parser.parse_args()
    missed = False
    if given.card:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        missed |= not poisoned()
        for clip in (True, False):
            for lazy in (False, True):
                found, bare = share(given.steps, clip, 1024, 12, "cuda", lazy)
                print(f"card, {'the norm of clipping' if clip else 'a norm of its own'}{', lazy' if lazy else ''}: {found:+.2%} of a step of {bare * 1e3:.1f} ms", flush=True)  # fmt: skip  # noqa: E501
        found, bare = in_the_trainer(3, 1024, 12)
        print(f"card, in the Trainer: {found:+.2%} of a step of {bare * 1e3:.1f} ms", flush=True)
        raise SystemExit(missed or found > BAR)
    torch.set_num_threads(1)
    for clip in (True, False):
        name, bar = ("the norm of clipping", BAR) if clip else ("a norm of its own", None)
        for rows in ((2, 128), (4, 512)):
            spent, step = own(given.steps, clip, given.width, given.layers, rows)
            missed |= bar is not None and spent / step > bar
            print(f"{name}, {rows[0]} rows of {rows[1]}: its own calls take {spent * 1e6:.0f} µs, {spent / step:.3%} of a step of {step * 1e3:.1f} ms", flush=True)  # fmt: skip  # noqa: E501
        bare, more = (operations(guarded, clip, given.width, given.layers) for guarded in (False, True))
        print(f"{name}: {more.operations - bare.operations} operations more than {bare.operations}, {more.elements - bare.elements} elements written more than {bare.elements}", flush=True)  # fmt: skip  # noqa: E501
        found, _ = share(given.steps, clip, given.width, given.layers)
        print(
            f"{name}: {found:+.2%} of a step by the difference of steps in turns, which a busy machine drowns",
            flush=True,
        )
    print(f"before each forward pass: {recording(2000) * 1e6:.0f} µs")
    raise SystemExit(missed)


if __name__ == "__main__":
    main()
