"""`guarded_program.py FOLDER PROCESSES ACTION`: a poisoned training under a guard, as a program of its own; each process says a line at its end."""

from __future__ import annotations

import os
import sys
import warnings

import transformers

import stablint
from tests.integrate import tiny


def main(folder: str, processes: int, action: str) -> None:
    warnings.simplefilter("ignore")
    model = tiny.model("forward")
    args = transformers.TrainingArguments(
        output_dir=folder, per_device_train_batch_size=tiny.ROWS, max_steps=8, use_cpu=True, report_to=[], save_steps=2,
        save_total_limit=1, logging_strategy="no", disable_tqdm=True, learning_rate=1e-3, bf16=False,
        ddp_backend="gloo" if processes > 1 else None,
    )  # fmt: skip
    rows = tiny.Rows(step=None, processes=processes)
    rows.marked = (tiny.STEP - 1) * tiny.ROWS * processes + tiny.ROWS * processes - 1  # the last row of the step
    guard = stablint.TrainingGuard(on_nan=action, at_start=False)
    trainer = transformers.Trainer(model=model, args=args, train_dataset=rows, callbacks=[guard])
    try:
        trainer.train()
    finally:
        print(
            f"RANK{os.environ.get('RANK', '0')} finite={tiny.is_finite(model.parameters())} module={guard.module}\n",
            end="",
            flush=True,
        )


main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
