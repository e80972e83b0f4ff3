"""The guard as a callback of Lightning, whichever of its two names is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback

if TYPE_CHECKING:
    from stablint.integrate.guard import TrainingGuard


def callback(guard: TrainingGuard) -> Any:
    return _GuardCallback(guard)


class _GuardCallback(Callback):  # type: ignore[misc]  # without Lightning the base is unknown
    """Lightning has no weights to hold back: a step that is not taken spoils none."""

    def __init__(self, guard: TrainingGuard) -> None:
        self._guard = guard

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        # `training_step` often calls `self.model`, and the module itself has no forward pass then.
        self._guard.watch(pl_module, parts=True)

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        """Behind `backward`, before clipping."""
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        self._guard.check(optimizer=optimizer, scaler=scaler)
        if self._guard.stopped:
            trainer.should_stop = True

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._guard.close()
