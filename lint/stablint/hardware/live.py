"""The accelerators of this machine: which ones, by which road they were found, and which of them a process may use."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from stablint.hardware import isolated as child
from stablint.hardware import probes as probes
from stablint.hardware.gpu import Gpu, parse_gpu
from stablint.hardware.probes import FOUND, HUNG, NO_CARD, NO_DRIVER, NOT_THERE, Answer, Card

# What hides devices from a process, by the maker of the driver.
FILTERS = {
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
    "amd": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
}


class Machine(NamedTuple):
    """`state`: found, all-hidden (cards are there, none is visible), no-gpu, no-driver, hung-driver, failed.

    `cards` are those of the machine, `visible` those that a process started here gets; `tried` are the answers of all roads.
    """

    state: str
    probe: str
    vendor: str
    cards: tuple[Card, ...]
    visible: tuple[Card, ...]
    tried: tuple[Answer, ...]
    notes: tuple[str, ...] = ()


def machine(
    ask: probes.Ask | None = None,
    environment: Mapping[str, str] = os.environ,
    *,
    torch: Any = None,
    system: str = "",
    which: probes.Which | None = None,
    folders: Sequence[str] = (),
) -> Machine:
    """Ask NVML, then torch (where it is imported already, or given), then nvidia-smi; rocm-smi and sysctl where they are the road.

    All together takes two seconds at most. Nothing that lies in the repositories of the current folder and of `folders` is started or read.
    The other arguments stand in for the machine in tests.
    """
    outside = child.Outside(folders)
    which = which or outside.program
    ask = ask or partial(probes.ask, outside=outside)
    ends = time.monotonic() + probes.LIMIT
    torch = torch if torch is not None else sys.modules.get("torch")
    tried: list[Answer] = []

    def left() -> float:
        return max(ends - time.monotonic(), 0.05)

    if (system or f"{platform.system()} {platform.machine()}") == "Darwin arm64":
        tried.append(probes.apple(ask, left()))
        return _judged(tried, environment)
    tried.append(probes.nvml(ask, left()))
    if not _settled(tried[-1]) and torch is not None and hasattr(torch, "cuda"):
        tried.append(probes.torch_cuda(torch, left()))
    if not any(_settled(answer) for answer in tried):
        tried.append(probes.nvidia_smi(ask, left(), which))
    if not any(_settled(answer) for answer in tried):
        tried.append(probes.rocm_smi(ask, left(), which))
    return _judged(tried, environment)


def _settled(answer: Answer) -> bool:
    """Found, or hung: whoever asks the same driver again hangs as well."""
    return answer.state in (FOUND, HUNG)


def _judged(tried: Sequence[Answer], environment: Mapping[str, str]) -> Machine:
    best = next((answer for answer in tried if _settled(answer)), None)
    if best is None:
        order = (NO_CARD, probes.FAILED, NO_DRIVER, NOT_THERE)
        best = min(tried, key=lambda answer: order.index(answer.state))
        state = NO_DRIVER if best.state == NOT_THERE else best.state
        return Machine(state, best.probe, "", (), (), tuple(tried))
    visible, notes = _visible(best, environment)
    state = "all-hidden" if best.cards and not visible else best.state
    return Machine(state, best.probe, best.vendor, best.cards, visible, tuple(tried), notes)


def _visible(answer: Answer, environment: Mapping[str, str]) -> tuple[tuple[Card, ...], tuple[str, ...]]:
    whole = [card for card in answer.cards if card.parent is None]
    slices = [card for card in answer.cards if card.parent is not None]
    notes: list[str] = []
    if slices or len({card.name for card in whole}) > 1:
        notes += _remarks(whole, slices, environment)
    if answer.probe == "torch":  # it has looked at the filters itself
        return answer.cards, tuple(notes)
    name = next((name for name in FILTERS.get(answer.vendor, ()) if name in environment), None)
    cut = {card.parent for card in slices}
    usable = [card for card in whole if card.number not in cut]
    if name is None:
        return tuple(slices[:1] if slices else usable), tuple(notes)
    chosen = chosen_by(environment[name], whole, slices)
    notes.append(f"{name}={environment[name]} leaves {len(chosen)} of {len(usable) + len(slices)}")
    return chosen, tuple(notes)


def _remarks(whole: Sequence[Card], slices: Sequence[Card], environment: Mapping[str, str]) -> list[str]:
    remarks = []
    if slices:
        # https://docs.nvidia.com/datacenter/tesla/mig-user-guide/ (CUDA device enumeration)
        remarks.append(f"MIG: {len(slices)} slices; a process gets one of them")
    if len({card.name for card in whole}) > 1 and environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        remarks.append("several kinds of card: CUDA numbers the fastest first unless CUDA_DEVICE_ORDER=PCI_BUS_ID")
    return remarks


def chosen_by(value: str, whole: Sequence[Card], slices: Sequence[Card] = ()) -> tuple[Card, ...]:
    """The devices that CUDA_VISIBLE_DEVICES leaves: indices or the beginnings of UUIDs, up to the first that is none.

    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#env-vars; an empty value leaves none.
    """
    chosen: list[Card] = []
    for word in value.split(",") if value.strip() else ():
        word = word.strip()
        found = _device(word, whole, slices)
        if found is None or found in chosen:
            break
        chosen.append(found)
    if any(card.parent is not None for card in chosen):
        chosen = [card for card in chosen if card.parent is not None][:1]
    return tuple(chosen)


def _device(word: str, whole: Sequence[Card], slices: Sequence[Card]) -> Card | None:
    if word.isdigit():
        card = next((card for card in whole if card.number == int(word)), None)
        part = next((one for one in slices if card is not None and one.parent == card.number), None)
        return part or card
    if not word.upper().startswith(("GPU-", "MIG-")):
        return None
    fitting = [card for card in (*whole, *slices) if card.uuid.lower().startswith(word.lower())]
    return fitting[0] if len(fitting) == 1 else None


def targets(found: Machine) -> tuple[tuple[str, Gpu], ...]:
    """One target for each kind of visible card, as `--gpu` would name it. A run over several kinds is held to each of them."""
    kinds: dict[tuple[str, int], list[Card]] = {}
    for card in found.visible:
        kinds.setdefault((card.name, round(card.memory_gib or 0)), []).append(card)
    count = len(found.visible)
    return tuple((f"{cards[0].name} x{count}", gpu(cards[0], count, found.vendor)) for cards in kinds.values())


def gpu(card: Card, count: int, vendor: str) -> Gpu:
    """What knowledge has under the card's name, with the memory that was measured; else what its compute capability tells."""
    known = parse_gpu(card.name)
    if known is not None:
        measured = card.memory_gib if card.memory_gib is not None else known.memory_gib
        found = round(measured, 2) if measured is not None else None
        return known._replace(
            count=count, memory_gib=found, reported_gib=None, most_memory_gib=found, least_memory_gib=found
        )
    has = card.capability
    return Gpu(
        name=card.name, count=count, options=(card.name,), vendor=vendor, arch=None, device="mps" if vendor == "apple" else "cuda",
        compute_capability=has, native_bf16=_from(has, 8.0), emulated_bf16=None, fp16_tensor_cores=_from(has, 7.0), tf32=_from(has, 8.0),
        fp8=_from(has, 8.9), flash_attention_2=_from(has, 8.0), memory_gib=round(card.memory_gib, 2) if card.memory_gib else None,
    )  # fmt: skip


def _from(capability: float | None, least: float) -> bool | None:
    """CUDA programming guide, table of features by compute capability."""
    return None if capability is None else capability >= least


_WHY = {
    NO_CARD: "this machine has no GPU that its driver knows",
    NO_DRIVER: "this machine has no GPU driver",
    HUNG: "the GPU driver did not answer within two seconds",
    "all-hidden": "no GPU is visible to this process",
    probes.FAILED: "asking for the GPUs failed",
}


class NoTarget(Exception):
    """`--gpu auto` found nothing that a run could be held to; the message says why."""


def auto(folders: Sequence[str] = ()) -> tuple[tuple[str, Gpu], ...]:
    """The targets of this machine, for `--gpu auto` of a check of these folders. Raises NoTarget."""
    found = machine(folders=folders)
    if not found.visible:
        detail = next((answer.detail for answer in found.tried if answer.probe == found.probe and answer.detail), "")
        raise NoTarget(
            _WHY.get(found.state, found.state)
            + (f" ({detail})" if detail else "")
            + ": name the GPU of the run, as in --gpu A100-80GB"
        )
    return targets(found)
