"""`guarded_program.py FOLDER PROCESSES ACTION [POISON [ZERO-STAGE]]`: a poisoned training under a guard; each process says a line."""

from __future__ import annotations

import os
import sys
import warnings

import transformers

import stablint
from tests.integrate import tiny


def main(folder: str, processes: int, action: str, poison: str = "forward", stage: str = "") -> None:
    warnings.simplefilter("ignore")
    model = tiny.model(poison)
    deepspeed = None
    if stage:
        deepspeed = {
            "zero_optimization": {"stage": int(stage)}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
            "gradient_clipping": 1.0, "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
        }  # fmt: skip
    args = transformers.TrainingArguments(
        output_dir=folder, per_device_train_batch_size=tiny.ROWS, max_steps=8, use_cpu=True, report_to=[], save_steps=2,
        save_total_limit=1, logging_strategy="no", disable_tqdm=True, learning_rate=1e-3, bf16=False,
        ddp_backend="gloo" if processes > 1 or deepspeed else None, deepspeed=deepspeed, optim="adamw_torch",
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


main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
