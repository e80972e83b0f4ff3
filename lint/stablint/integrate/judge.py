"""Readings of training steps → what is wrong with them. Knows numbers only: no tensors, no libraries."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

SKIPS = 20  # optimizer steps running that a loss scaler may leave out before its scale counts as collapsed
LEAST_SCALE = 1.0  # below it a scaler shrinks the loss instead of stretching it
_WINDOW = 64  # norms that the running median is taken of
_FEWEST = 16  # of them before a norm can be far from it
_SPIKE = 100.0  # times that median


class Reading(NamedTuple):
    """One optimizer step before it is taken. Norm and loss are None where nobody computed them."""

    step: int  # from 1
    norm: float | None
    loss: float | None  # of this process alone
    scaled: bool = False  # a loss scaler skips steps that are not finite
    skipped: bool = False  # it has skipped this one
    scale: float | None = None


class Sign(NamedTuple):
    name: str  # of a symptom in knowledge/messages/symptoms.yaml, or of a warning
    words: str
    fatal: bool  # the step must not be taken; else a warning


class Judge:
    """Feed it every step in order.

    `agree` says whether any process of the run says so. It is asked only where a norm, which is the same on all of them, has led all of them to
    the question: no process waits for another that does not come.
    """

    def __init__(self, patience: int, agree: Callable[[bool], bool] = bool) -> None:
        self._patience, self._agree = patience, agree
        self._norms: deque[float] = deque(maxlen=_WINDOW)
        self._zeros = self._skips = self._bad_losses = 0
        self.policy = False  # a policy's loss is 0 by its nature
        self._spiked = False

    def sign(self, reading: Reading) -> Sign | None:
        if reading.scaled:
            return self._scaled(reading)
        norm, loss = reading.norm, reading.loss
        if norm is not None and not math.isfinite(norm):
            return Sign("nan-gradients", f"the norm of the gradients is {norm}", True)
        if norm is None and loss is not None and self._agree(not math.isfinite(loss)):
            return Sign("nan-gradients", f"the loss is {loss}{_elsewhere(loss)}", True)
        return self._still(norm, loss) or self._spike(norm)

    def _scaled(self, reading: Reading) -> Sign | None:
        """A scaler skips what overflows, and settles: single skips are healthy, a row of them is not."""
        bad = reading.skipped or (reading.norm is not None and not math.isfinite(reading.norm))
        if not bad:
            self._skips = self._bad_losses = 0
            return self._still(reading.norm, reading.loss)
        self._skips += 1
        loss = reading.loss
        nan = self._agree(loss is not None and not math.isfinite(loss))
        self._bad_losses = self._bad_losses + 1 if nan else 0
        if self._bad_losses >= self._patience:
            return Sign(
                "nan-gradients",
                f"the loss was not finite in {self._bad_losses} steps running, before any scaling",
                True,
            )
        if self._skips >= SKIPS:
            return Sign("loss-scale-collapse", f"the loss scaler skipped {self._skips} steps running", True)
        if reading.scale is not None and reading.scale < LEAST_SCALE:
            return Sign("loss-scale-collapse", f"the loss scale has fallen to {reading.scale:g}", True)
        return None

    def _still(self, norm: float | None, loss: float | None) -> Sign | None:
        """No gradient at all, and no loss to have one of."""
        if norm != 0.0:
            self._zeros = 0
            return None
        has_loss = loss is None or (math.isfinite(loss) and loss != 0.0)
        if self._agree(has_loss):
            self._zeros = 0
            return None
        self._zeros += 1
        if self._zeros < self._patience:
            return None
        words = f"loss {loss} and a gradient of 0 in {self._zeros} steps running"
        return Sign("zero-loss", words, not self.policy) if not self.policy or self._zeros == self._patience else None

    def _spike(self, norm: float | None) -> Sign | None:
        if norm is None:
            return None
        usual = median(self._norms) if len(self._norms) >= _FEWEST else 0.0
        self._norms.append(norm)
        if not usual or norm <= _SPIKE * usual:
            return None
        told, self._spiked = self._spiked, True
        return (
            None if told else Sign("spike", f"the norm of the gradients is {norm:.3g}, its median {usual:.3g}", False)
        )


def _elsewhere(loss: float) -> str:
    return "" if not math.isfinite(loss) else " here, and not finite on another process"
