"""The guard of a training: the check before the first step, and a stop before a step that would write NaN into the weights.

As a callback of transformers' Trainer (and TRL's), beside accelerate, Lightning or a loop of one's own. torch and the others are imported when a
training is at hand, never before.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import stablint
from stablint.base import knowledge
from stablint.files.faults import attempt
from stablint.integrate import accelerated, repeating
from stablint.integrate import lightning as lightning_guard
from stablint.integrate import tensors as tensor_checks
from stablint.integrate.judge import Judge, Reading, Sign
from stablint.secrets import exit

if TYPE_CHECKING:
    from stablint.integrate.repeating import Found, Recorder

RAISE, STOP, SKIP = "raise", "stop", "skip"
SHARE = 0.01  # of the time of a step, which the guard may cost
_SETTLED = 20  # steps after which its cost is known well enough
_CHECKPOINT = "checkpoint"


class TrainingStopped(Exception):
    """The next step would have written what is no number into the weights, or nothing is learnt any more.

    `step` is that step, from 1; `sign` what was seen; `module` the first one where the numbers are lost, as far as a repetition shows it;
    `settings` what is suspected, as (code, setting, message).
    """

    def __init__(
        self,
        step: int,
        sign: str,
        module: str | None,
        where: str,
        settings: tuple[tuple[str, str, str], ...],
        taken: bool = False,
    ) -> None:
        self.step, self.sign, self.module, self.settings = step, sign, module, settings
        lines = [f"step {step} {'was taken before it could be read' if taken else 'is not taken'}: {sign}"]
        lines += [f"  {where}"] if where else []
        lines += [f"  suspected: {code} {message}" for code, _, message in settings]
        super().__init__("\n".join(lines))


class TrainingGuard:
    """`trainer.add_callback(stablint.TrainingGuard())`; `guard.wrap(accelerator)`; `guard.check(…)` in a loop of one's own; `guard.lightning()`.

    At the start it raises UnsafeConfig if a finding is an error (`at_start=False` leaves that out). Before every optimizer step it reads the norm of
    the gradients. Where that is no number, the step is not taken and nothing is saved:

    - `on_nan="raise"`: TrainingStopped, on every process;
    - `"stop"`: the training ends by itself, `stopped` says why;
    - `"skip"`: the step is left out, at most `patience` running, then TrainingStopped.

    `lazy` reads a step later and never waits for the device: the weights in memory may then be lost, checkpoints are not. A checkpoint is held back
    while the last step was not healthy or a weight is not finite, and what `save_total_limit` deletes waits for a healthy step behind the new one.
    """

    def __init__(
        self,
        *,
        on_nan: str = RAISE,
        gpu: str | Iterable[str] | None = None,
        patience: int = 3,
        lazy: bool = False,
        at_start: bool = True,
        share: float | None = SHARE,
    ) -> None:
        if on_nan not in (RAISE, STOP, SKIP):
            raise ValueError(f"on_nan={on_nan!r}: it is one of {RAISE}, {STOP}, {SKIP}")
        if lazy and on_nan == SKIP:
            raise ValueError("on_nan='skip' with lazy=True: what is read a step later cannot be left out any more")
        self.on_nan, self.gpu, self.patience, self.lazy, self.at_start = on_nan, gpu, patience, lazy, at_start
        self.stopped = ""  # why
        self.module: str | None = None  # the first one where the numbers were lost
        self.held: list[str] = []  # saves that were held back
        self.skipped = 0  # steps that were left out
        self.signs: list[str] = []  # what was warned of
        self._share, self._every, self._spent, self._began, self._steps = share, 1, 0.0, 0.0, 0
        self._judge = Judge(patience, _agree)
        self._running = 0  # bad steps
        self._bad = False  # the last reading
        self._model: Any = None
        self._optimizers: list[tuple[Any, Any]] = []  # with the handle of their hook
        self._recorder: Recorder | None = None
        self._listening = False
        self._norm: Any = None
        self._read_norm: float | None = None
        self._loss: Any = None
        self._pending: tuple[int, Any, Any] | None = None  # lazy: step, norm, loss
        self._own_norm = False  # computed here, since nobody clips
        self._synced = False  # the last backward was the last one of its step
        self._step = 0  # that is about to be taken
        self._decided = self._taken = False  # of this step
        self._scaler: Any = None
        self._own_loop = False  # nobody counts steps but we
        self._args: Any = None
        self._limit: int | None = None  # save_total_limit, while we keep it
        self._waiting = False  # a deletion waits for a healthy step
        self._seen = False  # any reading of a step at all

    # --- transformers' Trainer -------------------------------------------------------------------------------------------------

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        model = kwargs.get("model")
        if self.at_start:
            stablint.assert_safe(
                training_args=args, model=model, tokenizer=kwargs.get("processing_class"), gpu=self.gpu
            )
        optimizer = kwargs.get("optimizer")
        self._args = args
        if model is None or optimizer is None:
            return
        self._watch(model, whole=not getattr(args, "torch_compile", False))
        self._listen(None)
        self._hook(optimizer)
        self._limit = getattr(args, "save_total_limit", None)
        if not any(parameter.requires_grad for parameter in model.parameters()):
            self._warn("no parameter of the model is trained (requires_grad is False everywhere)")

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._begin(state.global_step + 1)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._recorder is None:
            return
        if not self._decided:
            self._decide()
        if self.stopped:
            control.should_training_stop = True

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._after_scaler(bool(getattr(kwargs.get("optimizer"), "step_was_skipped", False)))
        if self.stopped:
            control.should_training_stop = True

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._recorder is None:
            return
        self._recorder.clear()
        self._delete_waiting(args, state)
        self._hold(args, control, f"{_CHECKPOINT}-{state.global_step}")

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._recorder is not None:
            self._hold(args, control, f"{_CHECKPOINT}-{state.global_step}")

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        value = (metrics or {}).get("eval_loss")
        if isinstance(value, float) and value != value:
            self._warn("the evaluation's loss is NaN")

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Where no event before the step ever came, what is logged is all there is."""
        logs = logs or {}
        self._judge.policy = self._judge.policy or any("reward" in name for name in logs)
        if self._seen or ("loss" not in logs and "grad_norm" not in logs):
            return
        norm, loss = (
            value if isinstance(value := logs.get(name), (int, float)) else None for name in ("grad_norm", "loss")
        )
        step = getattr(state, "global_step", 0)
        sign = self._judge.sign(Reading(step, 0.0 if norm is None and loss == 0 else norm, loss))
        if sign is not None and sign.fatal:
            self._step, control.should_training_stop = step, True
            self._act(Sign(sign.name, f"{sign.words}, as it was logged", True), taken=True)
        elif sign is not None:
            self._warn(sign.words)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._read_pending()
        if self._waiting and self._is_finite():
            self._delete_waiting(args, state)
        self._close()

    # --- accelerate ------------------------------------------------------------------------------------------------------------

    def wrap(self, accelerator: Any) -> Any:
        """Watch the optimizer steps and the saves of this Accelerator; it is given back. With "stop", ask `guard.stopped` in the loop."""
        self._own_loop = True
        self._listen(accelerator)
        return accelerator

    def before_backward(self, accelerator: Any, loss: Any) -> bool:
        """Whether the loss may go backward. DeepSpeed steps in there, so what is wrong with the loss must be known before."""
        if self._own_loop:
            self._adopt(accelerator)
            if self._synced or not self._step:  # the backward before was the last one of its step
                self._after_scaler(bool(self._step) and accelerator.optimizer_step_was_skipped)
                self._begin(self._step + 1, keep=True)
                if self._recorder is not None:
                    del self._recorder.batches[:-1]  # the forward pass of this loss has been
            self._synced = accelerator.sync_gradients
        self._loss = loss.detach() if hasattr(loss, "detach") else loss
        if not accelerated.is_deepspeed(accelerator):
            return True
        sign = self._judge.sign(Reading(self._step, None, self._tensors().numbers([self._loss])[0]))
        if sign is None or not sign.fatal:
            return not self.stopped
        self._decided = True
        self._act(sign)
        return False

    def after_backward(self, accelerator: Any) -> None:
        if not accelerated.is_deepspeed(accelerator) or not accelerator.sync_gradients:
            return
        self._decided = True
        engine = accelerator.deepspeed_engine_wrapped.engine
        norm = self._tensors().numbers([accelerator.deepspeed_engine_wrapped.get_global_grad_norm()])[0]
        own = bool(getattr(engine, "fp16_enabled", bool)())
        skipped = norm is not None and norm < 0  # DeepSpeed's own word for an overflow that it skipped
        sign = self._judge.sign(Reading(self._step, norm, None, own or skipped, skipped))
        self._tell(sign, taken=True)

    def normed(self, norm: Any) -> None:
        self._norm = norm

    def may_save(self, what: str, together: bool = False) -> bool:
        """Whether the weights are worth keeping. Weights that are spread over processes are asked of all, and so is what they do `together`."""
        self._read_pending()
        if not self._bad and not self.stopped and self._is_finite(together):
            return True
        self._holding(what)
        return False

    # --- a loop of one's own ---------------------------------------------------------------------------------------------------

    def watch(self, model: Any, *, parts: bool = False) -> None:
        """Keep the batches of a step for a repetition: only with it the first bad module can be named. `parts`: the loop may call what the model
        holds instead of the model."""
        self._own_loop = True
        self._watch(model, parts=parts)

    def check(
        self, *, model: Any = None, loss: Any = None, norm: Any = None, optimizer: Any = None, scaler: Any = None
    ) -> bool:
        """Behind `backward` and before `optimizer.step()`: whether the step may be taken. On all processes alike.

        `norm` is what clipping has computed; without it the gradients of `model` are looked at. A scaler's own skips are left to it. False: the
        gradients are dropped, go on with the next batch, or end the loop where `guard.stopped` says why. Raises TrainingStopped.
        """
        self._own_loop = True
        if model is not None and self._model is None:
            self._model = _unwrapped(model)
        self._begin(self._step + 1, keep=True)
        self._norm, self._loss, self._scaler = norm, loss, scaler
        self._optimizers = [(optimizer, None)] if optimizer is not None else self._optimizers
        self._decide()
        if scaler is not None:
            self._after_scaler(False)
        if self._recorder is not None:
            self._recorder.clear()
        return not (self._bad or self.stopped)

    def lightning(self) -> Any:
        """The same as a callback of Lightning: `Trainer(callbacks=[guard.lightning()])`."""
        return lightning_guard.callback(self)

    def close(self) -> None:
        """Take all hooks away. The Trainer's end does it by itself."""
        self._close()

    @property
    def cost(self) -> float:
        """The guard's share of the time of all steps so far, what it waited for the device left out."""
        spent = time.perf_counter() - self._began if self._began else 0.0
        return self._spent / spent if spent and self._steps else 0.0

    # --- inside ----------------------------------------------------------------------------------------------------------------

    def _tensors(self) -> Any:
        return tensor_checks

    def _watch(self, model: Any, whole: bool = True, parts: bool = False) -> None:
        self._model = _unwrapped(model)
        if self._recorder is None:
            self._recorder = repeating.Recorder(self._model, parts=parts)
            if not whole:  # what is compiled is not hooked into
                self._recorder.close()

    def _listen(self, accelerator: Any) -> None:
        if self._listening or not _has("accelerate"):
            return
        accelerated.listen(self, accelerator)
        self._listening = True

    def _adopt(self, accelerator: Any) -> None:
        """What the Accelerator has prepared since."""
        if accelerator._models and self._recorder is None:
            self._watch(accelerator._models[0])
        self._scaler = getattr(accelerator, "scaler", None)
        for optimizer in accelerator._optimizers:
            self._hook(optimizer)

    def _hook(self, optimizer: Any) -> None:
        """Before each real step of the optimizer inside: a scaler that skips does not get there."""
        inner = getattr(optimizer, "optimizer", optimizer)
        if any(one is inner for one, _ in self._optimizers) or not hasattr(inner, "register_step_pre_hook"):
            return
        self._scaler = getattr(optimizer, "scaler", None) or self._scaler
        self._optimizers.append((inner, inner.register_step_pre_hook(self._stepping)))

    def _stepping(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._taken:
            self._taken = True
            if not self._decided:
                self._decide()
        if self._bad or self.stopped:
            self._tensors().drop(None, optimizer)

    def _begin(self, step: int, keep: bool = False) -> None:
        now = time.perf_counter()
        self._began = self._began or now
        self._steps += 1
        self._step = step
        self._norm = self._loss = self._read_norm = None
        self._decided = self._taken = False
        if self._recorder is not None and not keep:
            self._recorder.clear()
        if self._steps == _SETTLED:
            self._began, self._spent = now, 0.0  # the first steps of a process are no measure
        if self._share is not None and self._steps % (2 * _SETTLED) == 0 and self.cost > self._share:
            self._thin()

    def _thin(self) -> None:
        """Only a norm that nobody else computes can be left out."""
        if self._own_norm and self._every < 64:
            self._every *= 2
            self._warn(
                f"the guard took {self.cost:.1%} of the steps' time: it reads every {self._every}th from now on, and before every save"
            )
            self._began, self._spent = time.perf_counter(), 0.0

    def _decide(self) -> None:
        """Read this step, or with `lazy` the one before."""
        began, waited = time.perf_counter(), 0.0
        self._decided = self._seen = True
        if self.stopped:
            self._drop()
            return
        norm = self._norm
        self._own_norm = norm is None
        if norm is None and self._model is not None and self._steps % self._every == 0:
            norm = self._tensors().gradients(self._model)
            if norm is not None and self._tensors().processes() > 1 and _is_sharded(self._model):
                norm = self._tensors().of_all(float(norm))
                norm = max(norm) if all(one == one for one in norm) else float("nan")
        self._norm = norm
        now: tuple[int, Any, Any] | None = (self._step, norm, self._loss)
        if self.lazy:
            now, self._pending = self._pending, now
        if now is not None:
            waited = self._read(now)
        self._spent += time.perf_counter() - began - waited

    def _read(self, pending: tuple[int, Any, Any]) -> float:
        """One synchronisation of the device: norm and loss together. Returns the seconds that it took."""
        step, norm, loss = pending
        began = time.perf_counter()
        norm, loss = self._tensors().numbers([norm, loss])
        waited = time.perf_counter() - began
        self._read_norm = norm
        if self._scaler is not None and not _finite(norm):
            return waited  # the scaler looks itself; what it did is read behind the step
        self._tell(self._judge.sign(Reading(step, norm, loss, self._scaler is not None)), taken=self.lazy)
        return waited

    def _read_pending(self) -> None:
        if self._pending is not None:
            pending, self._pending = self._pending, None
            self._read(pending)

    def _after_scaler(self, skipped: bool) -> None:
        """Behind the step of a loss scaler: whether it was taken, and what is left of the scale."""
        if self._scaler is None or not (skipped or not _finite(self._read_norm)):
            return  # a fused optimizer is called all the same and skips inside: only the norm tells
        (loss,) = self._tensors().numbers([self._loss])
        scale = float(self._scaler.get_scale())
        self._tell(self._judge.sign(Reading(self._step, self._read_norm, loss, True, True, scale)), taken=False)

    def _tell(self, sign: Sign | None, *, taken: bool) -> None:
        if sign is None or not sign.fatal:
            self._bad, self._running = False, 0
            if sign is not None:
                self._warn(sign.words)
            return
        self._act(sign, taken=taken)

    def _act(self, sign: Sign, *, taken: bool = False) -> None:
        """`taken`: the step is done already, so that it cannot be left out."""
        self._bad = True
        self._running += 1
        if self.on_nan == SKIP and not taken and self._running <= self.patience:
            self.skipped += 1
            self._drop()
            self._warn(f"step {self._step} is left out: {sign.words}")
            return
        found = None if taken else self._first()  # behind the step all weights are lost alike
        self.module = found.module if found is not None else None
        where = found.words() if found is not None else ""
        self._drop()
        if self.on_nan == STOP:
            self._stop(sign, self._step, where)
            return
        stopped = TrainingStopped(self._step, sign.words, self.module, where, self._suspected(sign.name), taken)
        self.stopped = str(stopped)
        self._close()
        raise stopped

    def _stop(self, sign: Sign, step: int, where: str = "") -> None:
        if not self.stopped:
            self.stopped = f"step {step}: {sign.words}" + (f"; {where}" if where else "")
            self._warn(f"stablint stops the training: {self.stopped}")

    def _first(self) -> Found | None:
        """The first bad module, agreed by all processes: the batch of one of them is the bad one."""
        if self._recorder is None or not self._recorder.batches:
            return None
        found, _ = attempt(
            repeating.first, self._model, list(self._recorder.batches), whole=self._tensors().processes() > 1
        )
        every = [one for one in self._tensors().of_all(found) if one is not None]
        return next((one for one in every if one.what != "loss"), every[0] if every else None)

    def _suspected(self, symptom: str) -> tuple[tuple[str, str, str], ...]:
        """The settings of this run that are known to bring it about."""
        if self._args is None:
            return ()
        rows = knowledge.load("messages")["symptoms"]
        rules = rows[symptom]["hazards"] if symptom in rows else ()
        report, _ = attempt(stablint.check, training_args=self._args, model=self._model, gpu=self.gpu)
        told = [one for one in report.diagnostics if one.rule in rules and one.severity != "info"] if report else []
        return tuple((one.code, one.setting or "", one.message) for one in told[:3])

    def _drop(self) -> None:
        if self._model is not None:
            self._tensors().drop(self._model)
        for optimizer, _ in self._optimizers:
            self._tensors().drop(None, optimizer)

    def _is_finite(self, together: bool = True) -> bool:
        if self._model is None:
            return True
        tensors = self._tensors()
        here = bool(tensors.finite(self._model))
        return not tensors.any_process(not here) if together or _is_sharded(self._model) else here

    # --- checkpoints -----------------------------------------------------------------------------------------------------------

    def _hold(self, args: Any, control: Any, name: str) -> None:
        if self.stopped:
            control.should_training_stop, control.should_evaluate = True, False
        if not control.should_save:
            return
        if not self.may_save(name, together=True):
            control.should_save = False
        elif self._limit and _rotate() is not None:
            args.save_total_limit = None  # the Trainer deletes while it saves; we do when the next step was healthy
            self._waiting = True

    def _holding(self, what: str) -> None:
        self.held.append(what)
        self._warn(f"not saved: {what}; the last step was not healthy, or a weight is not finite")

    def _delete_waiting(self, args: Any, state: Any) -> None:
        """`save_total_limit`, behind a healthy step."""
        if not self._waiting or self._bad or self.stopped:
            return
        self._waiting = False
        args.save_total_limit = self._limit
        if not getattr(args, "should_save", False):
            return
        rotate = _rotate()
        if rotate is not None:
            best = getattr(state, "best_model_checkpoint", None)
            rotate(output_dir=args.output_dir, save_total_limit=self._limit, best_model_checkpoint=best, use_mtime=True)

    # --- ends ------------------------------------------------------------------------------------------------------------------

    def _warn(self, words: str) -> None:
        self.signs.append(words)
        exit.warn(words, 3)

    def _close(self) -> None:
        if self._recorder is not None:
            self._recorder.close()
        for _, handle in self._optimizers:
            if handle is not None:
                handle.remove()
        self._optimizers = []
        if self._listening:
            accelerated.leave(self)
            self._listening = False
        if self._limit and self._args is not None:
            self._args.save_total_limit = self._limit

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Every other event is nobody's concern."""
        if name.startswith("on_"):
            return _nothing
        raise AttributeError(name)


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _agree(said: bool) -> bool:
    if "torch" not in sys.modules:
        return said
    return tensor_checks.any_process(said)


def _has(library: str) -> bool:
    return find_spec(library) is not None


def _rotate() -> Callable[..., None] | None:
    """transformers' own deletion, as it is called since 5.0; older trainers keep theirs to themselves."""
    from transformers import trainer_utils

    return getattr(trainer_utils, "rotate_checkpoints", None)


def _finite(value: float | None) -> bool:
    """What nobody computed is not known to be bad."""
    return value is None or math.isfinite(value)


def _unwrapped(model: Any) -> Any:
    """Without the shell of DistributedDataParallel, whose forward and backward talk to the others; a sharding shell stays."""
    return model.module if type(model).__name__ in ("DistributedDataParallel", "DataParallel") else model


def _is_sharded(model: Any) -> bool:
    return (
        any(hasattr(parameter, "to_local") or hasattr(parameter, "_is_sharded") for parameter in model.parameters())
        or "FullyShardedDataParallel" in type(model).__name__
    )
