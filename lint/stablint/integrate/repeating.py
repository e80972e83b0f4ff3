"""Which module is the first: the batches of a step are run once more, without a step, while every module is watched.

Hooks on all modules all the time would cost a third of every step; a repetition costs one step, once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

_KEPT = 64  # batches of one optimizer step that are kept for a repetition
_ROWS = 8  # rows that are named


class Batch(NamedTuple):
    """What a model was called with, and the state of its dice."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dice: tuple[Any, ...]
    autocast: tuple[str, Any] | None  # device type and dtype
    part: Any = None  # of the model, that was called instead of the model itself


class Found(NamedTuple):
    """`what` is one of: weights, batch, forward, loss, backward, gradient."""

    what: str
    module: str  # empty where it is none
    dtype: str
    largest: float | None  # |x| of the finite values that went in
    rows: tuple[int, ...]
    batch: int  # of the step, from 1

    def words(self) -> str:
        name = f"`{self.module or 'the model itself'}`"
        told = {
            "weights": f"the weights of {name} were not finite before the step",
            "batch": f"the batch holds values that are not finite, in `{self.module}`",
            "forward": f"first in {name}, on the way forward",
            "loss": "repeated alone, the model loses no number: it arises in the loss outside of it, or does not repeat",
            "backward": f"first in {name}, on the way back (its outputs are finite)",
            "gradient": f"first in the gradient of the weights of {name}",
        }[self.what]
        more = [self.dtype] if self.dtype else []
        more += [f"largest input {self.largest:.4g}"] if self.largest is not None else []
        more += [f"rows {', '.join(map(str, self.rows))}"] if self.rows else []
        more += [f"batch {self.batch} of the step"] if self.batch > 1 else []
        return told + (f" ({'; '.join(more)})" if more else "")


class Recorder:
    """Keeps what the model is called with during one optimizer step. References only: the loop holds these tensors anyway."""

    def __init__(self, model: Any, *, parts: bool = False) -> None:
        """`parts`: what the model holds is watched as well, for a loop that calls this instead of the model."""
        self.model = model
        self.batches: list[Batch] = []
        self._inside = False
        called = [model, *(model.children() if parts else ())]
        self._handles = [one.register_forward_pre_hook(self._called, with_kwargs=True) for one in called]
        if parts:
            self._handles.append(model.register_forward_hook(self._left))
        self._parts = parts
        self._cuda = torch.cuda.is_available() and torch.cuda.is_initialized()

    def _called(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        whole = module is self.model
        if whole:
            self._inside = self._parts
        elif self._inside:
            return
        if not module.training or not torch.is_grad_enabled() or len(self.batches) >= _KEPT:
            return
        dice = (torch.get_rng_state(), torch.cuda.get_rng_state() if self._cuda else None)
        self.batches.append(Batch(args, kwargs, dice, _autocast(), None if whole else module))

    def _left(self, *_: Any) -> None:
        self._inside = False

    def clear(self) -> None:
        self.batches.clear()

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()
        self.clear()


def first(model: Any, batches: list[Batch], *, whole: bool = False) -> Found | None:
    """The first place where the numbers are lost; None where a repetition loses none. The gradients are gone afterwards.

    `whole` repeats every batch whatever the earlier ones show: where weights are spread over processes, all must call alike.
    """
    found = _weights(model)
    for number, batch in enumerate(batches, 1):
        if found is not None and not whole:
            return found
        seen = _Seen(number)
        with _as_it_was(batch), _watched(model, seen):
            for parameter in model.parameters():
                parameter.grad = None
            seen.batch(batch)
            called = model if batch.part is None else batch.part
            loss = _loss(called(*batch.args, **batch.kwargs))
            if loss is not None and loss.requires_grad:
                loss.backward()
        found = found or seen.found(model, loss)
    return found or (Found("loss", "", "", None, (), 1) if batches else None)


def _loss(output: Any) -> Any:
    """The loss that the model itself gives, if it gives one."""
    if isinstance(output, dict) or hasattr(output, "keys"):
        output = output.get("loss") if "loss" in output else None
    elif isinstance(output, (tuple, list)):
        output = output[0] if output else None
    return output if isinstance(output, torch.Tensor) and output.numel() == 1 else None


def _weights(model: Any) -> Found | None:
    for name, parameter in model.named_parameters():
        if parameter.is_floating_point() and not _is_finite(parameter):
            return Found("weights", name.rpartition(".")[0], _dtype(parameter), None, (), 1)
    return None


class _Seen:
    """What the hooks of one repetition saw."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._batch: Found | None = None
        self._forward: Found | None = None
        self._backward: Found | None = None

    def batch(self, batch: Batch) -> None:
        named = [*((str(at), value) for at, value in enumerate(batch.args)), *batch.kwargs.items()]
        for name, value in named:
            if name.endswith("mask"):
                continue  # of minus infinities by their nature
            for tensor in _tensors(value):
                if not _is_finite(tensor):
                    self._batch = Found("batch", name, _dtype(tensor), None, _bad_rows(tensor), self._number)
                    return

    def forward(self, name: str, given: Any, output: Any) -> None:
        outputs, inputs = _tensors(output), _tensors(given)
        self._follow(name, inputs, outputs)
        bad = next((tensor for tensor in outputs if not _is_finite(tensor)), None)
        if bad is None or self._forward is not None:
            return
        if all(_is_finite(tensor) or _is_mask(tensor) for tensor in inputs):
            self._forward = Found("forward", name, _dtype(bad), _size(inputs), _bad_rows(bad), self._number)

    def _follow(self, name: str, inputs: list[Any], outputs: list[Any]) -> None:
        """On the way back: the first module whose inputs get a gradient that is not finite while its outputs got one that is."""
        sizes: list[float | None] = []

        def behind(gradient: Any) -> None:
            sizes.append(_size([gradient]) if _is_finite(gradient) else None)

        def before(gradient: Any) -> None:
            if self._backward is None and sizes and None not in sizes and not _is_finite(gradient):
                rows = _bad_rows(gradient)
                self._backward = Found("backward", name, _dtype(gradient), None, rows, self._number)

        for tensor in outputs:
            if tensor.requires_grad:
                tensor.register_hook(behind)
        for tensor in inputs:
            if tensor.requires_grad:
                tensor.register_hook(before)

    def found(self, model: Any, loss: Any) -> Found | None:
        found = self._batch or self._forward
        if found is not None:
            return found
        if loss is not None and not _is_finite(loss):
            return Found("loss", "", _dtype(loss), None, (), self._number)
        if self._backward is not None:
            return self._backward
        for name, parameter in model.named_parameters():
            if parameter.grad is not None and not _is_finite(parameter.grad):
                return Found("gradient", name.rpartition(".")[0], _dtype(parameter.grad), None, (), self._number)
        return None


@contextlib.contextmanager
def _watched(model: Any, seen: _Seen) -> Iterator[None]:
    handles = []
    for name, module in model.named_modules():
        handles.append(module.register_forward_hook(_forward_hook(seen, name), with_kwargs=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _forward_hook(seen: _Seen, name: str) -> Callable[..., None]:
    def hook(module: Any, args: Any, kwargs: Any, output: Any) -> None:
        seen.forward(name, (args, kwargs), output)

    return hook


@contextlib.contextmanager
def _as_it_was(batch: Batch) -> Iterator[None]:
    """With the dice and the precision of that call; the dice of now come back."""
    cuda = batch.dice[1] is not None
    now = (torch.get_rng_state(), torch.cuda.get_rng_state() if cuda else None)
    torch.set_rng_state(batch.dice[0])
    if cuda:
        torch.cuda.set_rng_state(batch.dice[1])
    try:
        if batch.autocast is None:
            yield
        else:
            with torch.autocast(batch.autocast[0], dtype=batch.autocast[1]):
                yield
    finally:
        torch.set_rng_state(now[0])
        if cuda:
            torch.cuda.set_rng_state(now[1])


def _autocast() -> tuple[str, Any] | None:
    """Releases before 2.4 ask for the graphics card alone."""
    if not hasattr(torch, "get_autocast_dtype"):
        return ("cuda", torch.get_autocast_gpu_dtype()) if torch.is_autocast_enabled() else None
    kinds = [kind for kind in ("cuda", "cpu") if torch.is_autocast_enabled(kind)]
    return (kinds[0], torch.get_autocast_dtype(kinds[0])) if kinds else None


def _tensors(value: Any) -> list[Any]:
    """Floating tensors in what a module takes or gives, however it is packed."""
    if isinstance(value, torch.Tensor):
        return [value] if value.is_floating_point() else []
    if hasattr(value, "values") and callable(value.values):
        return [tensor for one in value.values() for tensor in _tensors(one)]
    if isinstance(value, (tuple, list)):
        return [tensor for one in value for tensor in _tensors(one)]
    return []


def _is_finite(tensor: Any) -> bool:
    return bool(torch.isfinite(tensor.detach()).all())


def _is_mask(tensor: Any) -> bool:
    """Zeros and minus infinities, which a mask is made of."""
    tensor = tensor.detach()
    return bool(((tensor == 0) | (tensor == float("-inf"))).all())


def _size(tensors: list[Any]) -> float | None:
    """The largest finite absolute value."""
    sizes = [torch.nan_to_num(t.detach().float(), 0.0, 0.0, 0.0).abs().max().item() for t in tensors if t.numel()]
    return max(sizes, default=None)


def _bad_rows(tensor: Any) -> tuple[int, ...]:
    """The rows of a batch that are not finite, the first of them; none where there are no rows, or all are bad."""
    if tensor.dim() < 2:
        return ()
    bad = ~torch.isfinite(tensor.detach()).flatten(1).all(1)
    return () if bool(bad.all()) and len(bad) > 1 else tuple(bad.nonzero().flatten().tolist()[:_ROWS])


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")
