"""accelerate's own doors, watched: `backward`, `clip_grad_norm_` and the saves of every Accelerator, or of one, while a guard listens.

A callback of the Trainer is handed no Accelerator, and the norm that clipping has computed goes through it: so the class is wrapped, and unwrapped
when the last guard has gone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

from accelerate import Accelerator


class Listener(Protocol):
    def before_backward(self, accelerator: Any, loss: Any) -> bool: ...
    def after_backward(self, accelerator: Any) -> None: ...
    def normed(self, norm: Any) -> None: ...
    def may_save(self, what: str) -> bool: ...


_listeners: list[tuple[Listener, Any]] = []  # with the Accelerator, None for any
_original: dict[str, Callable[..., Any]] = {}


def listen(listener: Listener, accelerator: Any = None) -> None:
    _listeners.append((listener, accelerator))
    if not _original:
        _wrap()


def leave(listener: Listener) -> None:
    _listeners[:] = [pair for pair in _listeners if pair[0] is not listener]
    if not _listeners:
        for name, method in _original.items():
            setattr(Accelerator, name, method)
        _original.clear()


def is_deepspeed(accelerator: Any) -> bool:
    """Steps inside its `backward`."""
    return str(getattr(accelerator.distributed_type, "value", "")) == "DEEPSPEED"


def _of(accelerator: Any) -> list[Listener]:
    return [listener for listener, its in _listeners if its is None or its is accelerator]


def _wrap() -> None:
    for name in ("backward", "clip_grad_norm_", "save_state", "save_model"):
        _original[name] = getattr(Accelerator, name)
    backward, clip = _original["backward"], _original["clip_grad_norm_"]

    @wraps(backward)
    def watched_backward(self: Any, loss: Any, **kwargs: Any) -> None:
        said = [listener.before_backward(self, loss) for listener in _of(self)]
        if all(said):
            backward(self, loss, **kwargs)
            for listener in _of(self):
                listener.after_backward(self)

    @wraps(clip)
    def watched_clip(self: Any, *args: Any, **kwargs: Any) -> Any:
        norm = clip(self, *args, **kwargs)
        for listener in _of(self):
            listener.normed(norm)
        return norm

    Accelerator.backward, Accelerator.clip_grad_norm_ = watched_backward, watched_clip
    for name in ("save_state", "save_model"):
        setattr(Accelerator, name, _held(_original[name]))


def _held(save: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(save)
    def watched_save(self: Any, *args: Any, **kwargs: Any) -> Any:
        said = [listener.may_save(save.__name__) for listener in _of(self)]
        return save(self, *args, **kwargs) if all(said) else None

    return watched_save
