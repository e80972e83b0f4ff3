"""What the guard asks of torch: a norm, whether weights are finite, gradients that are dropped, and one word of all processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import torch
import torch.distributed as dist

T = TypeVar("T")


def norm(tensors: Iterable[Any]) -> Any:
    """The square norm of all as a tensor on its device, NaN where one is; None of nothing. Summed up in float32, so that float16 does not overflow."""
    groups: dict[tuple[Any, Any], list[Any]] = {}
    for tensor in tensors:
        tensor = tensor.detach()
        tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        if tensor.is_sparse:
            tensor = tensor.coalesce().values()
        if tensor.numel() and tensor.is_floating_point():
            groups.setdefault((tensor.device, tensor.dtype), []).append(tensor)
    norms = [_of_group(group, dtype) for (_, dtype), group in groups.items()]
    return torch.linalg.vector_norm(torch.stack([one.to(norms[0].device) for one in norms])) if norms else None


def _of_group(group: list[Any], dtype: Any) -> Any:
    half = dtype in (torch.float16, torch.bfloat16)
    norms = torch._foreach_norm(group, 2, dtype=torch.float32) if half else torch._foreach_norm(group, 2)
    return torch.linalg.vector_norm(torch.stack(norms)).float()


def gradients(model: Any) -> Any:
    """The norm of all gradients. Of sharded gradients (DTensor) it is this process's share."""
    return norm(parameter.grad for parameter in model.parameters() if parameter.grad is not None)


def finite(model: Any) -> bool:
    """Whether all weights are, as far as this process holds them. Buffers may be masks of minus infinities."""
    found = norm(model.parameters())
    return found is None or bool(torch.isfinite(found))


def numbers(values: Sequence[Any]) -> list[float | None]:
    """Tensors, numbers or None as floats; those on a device in one synchronisation."""
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    told: list[float] = []
    if tensors:
        flat = [(value.full_tensor() if hasattr(value, "full_tensor") else value).detach() for value in tensors]
        flat = [value.float().mean() if value.numel() != 1 else value.float().reshape(()) for value in flat]
        told = torch.stack([value.to(flat[0].device) for value in flat]).tolist()
    rest = iter(told)
    return [
        next(rest) if isinstance(value, torch.Tensor) else None if value is None else float(value) for value in values
    ]


def drop(model: Any, optimizer: Any = None) -> None:
    """Without gradients a step leaves every weight and every moment as it is, weight decay included."""
    for parameter in model.parameters() if model is not None else ():
        parameter.grad = None
    if optimizer is not None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = None


def processes() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def any_process(said: bool) -> bool:
    """Whether any process says so. All must ask."""
    if processes() == 1:
        return said
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    flag = torch.tensor([float(said)], device=device)
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())


def of_all(said: T) -> list[T]:
    """What every process says. All must ask."""
    if processes() == 1:
        return [said]
    found: list[Any] = [None] * processes()
    dist.all_gather_object(found, said)
    return found
