"""A callback for transformers' Trainer: the check before the first step, and a stop when the numbers are gone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any


class TrainingGuard:
    """`trainer.add_callback(stablint.TrainingGuard())`.

    At the start it raises UnsafeConfig if a finding is an error. During training it stops the run when the logged gradient norm or loss
    is not a number, or when the loss was exactly 0 in `patience` logs running. It needs no import of transformers: a callback is asked
    for its events by name.
    """

    def __init__(self, *, gpu: str | Iterable[str] | None = None, patience: int = 3) -> None:
        self.gpu, self.patience = gpu, patience
        self.stopped = ""  # why
        self._zeros = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        from stablint.api import assert_safe

        assert_safe(
            training_args=args, model=kwargs.get("model"), tokenizer=kwargs.get("processing_class"), gpu=self.gpu
        )

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        for name in ("grad_norm", "loss"):
            value = (logs or {}).get(name)
            if isinstance(value, float) and not math.isfinite(value):
                self._stop(control, f"{name} is {value}")
        loss = (logs or {}).get("loss")
        if loss is not None:
            self._zeros = self._zeros + 1 if loss == 0 else 0
            if self._zeros >= self.patience:
                self._stop(control, f"the loss was 0 in {self._zeros} logs running")

    def _stop(self, control: Any, why: str) -> None:
        from stablint.secrets import exit

        if not self.stopped:
            exit.warn(f"stablint stops the training: {why}", 3)
        self.stopped = self.stopped or why
        control.should_training_stop = True

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Every other event is nobody's concern."""
        if name.startswith("on_"):
            return _nothing
        raise AttributeError(name)


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None
