"""The ways to ask a machine for its accelerators: NVML, torch, nvidia-smi, rocm-smi, sysctl. Each answers in bounded time or not at all.

A hung driver can leave a process that cannot be killed, so no answer is ever waited for in this process.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any, NamedTuple

from stablint.hardware import isolated as child

LIMIT = 2.0  # seconds that all questions together may take

FOUND, NO_CARD, NO_DRIVER, HUNG, NOT_THERE, FAILED = (
    "found",
    "no-gpu",
    "no-driver",
    "hung-driver",
    "not-there",
    "failed",
)
"""What a road comes to. `not-there`: its own library or program is missing, which says nothing about the machine."""


class Card(NamedTuple):
    """One device as its driver reports it. A MIG slice is a device of its own; `mig` is its profile, `parent` the number of its card."""

    number: int  # as its driver counts
    name: str
    memory_gib: float | None
    uuid: str = ""
    capability: float | None = None
    mig: str = ""
    parent: int | None = None


class Answer(NamedTuple):
    probe: str
    state: str
    cards: tuple[Card, ...] = ()
    detail: str = ""  # the driver's release, or what went wrong
    vendor: str = "nvidia"


class Output(NamedTuple):
    """What a process said; `code` is None where it did not end in time."""

    code: int | None
    stdout: str
    stderr: str


Ask = Callable[[Sequence[str], float], Output]
Which = Callable[[str], str | None]


def ask(command: Sequence[str], seconds: float, outside: child.Outside | None = None) -> Output:
    """Run a program, away from the checkout, for at most so long. One that does not end is killed and left: waiting could take for ever."""
    environment = (outside or child.Outside()).environment()
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True,
            encoding="utf-8", errors="replace", cwd=child.FOLDER, env=environment,
        )  # fmt: skip
    except OSError as error:
        return Output(127, "", str(error))
    try:
        out, err = process.communicate(timeout=max(seconds, 0.05))
    except subprocess.TimeoutExpired:
        _kill(process)
        return Output(None, "", "")
    return Output(process.returncode, out, err)


def _kill(process: subprocess.Popen[str]) -> None:
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:  # it ended just now
        return


# Runs in a child: prints one JSON object. Codes of NVML: 9 driver not loaded, 12 library not found (nvml.h, nvmlReturn_t).
_NVML = """
import json, sys
try:
    import pynvml as n
except ImportError:
    print(json.dumps({"state": "not-there"})); sys.exit()
def text(x): return x.decode() if isinstance(x, bytes) else x
def tried(call, *a):
    try: return call(*a)
    except n.NVMLError: return None
def card(h, i, parent=None):
    memory, cc = tried(n.nvmlDeviceGetMemoryInfo, h), tried(n.nvmlDeviceGetCudaComputeCapability, h)
    return {"index": i, "name": text(n.nvmlDeviceGetName(h)), "uuid": text(tried(n.nvmlDeviceGetUUID, h) or ""),
            "memory": memory and memory.total, "capability": cc and cc[0] + cc[1] / 10, "parent": parent}
try:
    n.nvmlInit()
    cards = []
    for i in range(n.nvmlDeviceGetCount()):
        h = n.nvmlDeviceGetHandleByIndex(i)
        cards.append(card(h, i))
        mode = tried(n.nvmlDeviceGetMigMode, h)
        if mode and mode[0]:
            for j in range(n.nvmlDeviceGetMaxMigDeviceCount(h)):
                m = tried(n.nvmlDeviceGetMigDeviceHandleByIndex, h, j)
                if m: cards.append(card(m, j, i))
    print(json.dumps({"state": "found" if cards else "no-gpu", "cards": cards, "driver": text(n.nvmlSystemGetDriverVersion())}))
except n.NVMLError as e:
    print(json.dumps({"state": "no-driver" if e.value in (9, 12) else "failed", "detail": str(e)}))
"""
_PROFILE = re.compile(r"\b\d+g\.\d+gb\b(?:\+\w+)?")


def nvml(ask: Ask, seconds: float) -> Answer:
    """nvidia-ml-py in a child process. https://docs.nvidia.com/deploy/nvml-api/"""
    said = ask(child.python(_NVML), seconds)
    if said.code is None:
        return Answer("nvml", HUNG)
    try:
        data: dict[str, Any] = json.loads(said.stdout)
    except ValueError:
        return Answer("nvml", FAILED, (), _last_line(said.stderr))
    return Answer(
        "nvml", data["state"], nvml_cards(data.get("cards", ())), data.get("driver") or data.get("detail") or ""
    )


def nvml_cards(rows: Sequence[dict[str, Any]]) -> tuple[Card, ...]:
    cards = []
    for row in rows:
        profile = _PROFILE.search(row["name"].lower())
        sliced = profile[0] if profile and row["parent"] is not None else "mig" if row["parent"] is not None else ""
        memory = row["memory"] / 2**30 if row["memory"] else None
        cards.append(Card(row["index"], row["name"], memory, row["uuid"], row["capability"], sliced, row["parent"]))
    return tuple(cards)


_FIELDS = ("index", "name", "memory.total", "uuid", "driver_version", "compute_cap")


def nvidia_smi(ask: Ask, seconds: float, which: Which | None = None) -> Answer:
    """`nvidia-smi --query-gpu`; `-L` names the MIG slices. Drivers older than 510 do not know compute_cap."""
    program = (which or child.Outside().program)("nvidia-smi")
    if program is None:
        return Answer("nvidia-smi", NOT_THERE, (), "nvidia-smi is not on the PATH")
    for fields in (_FIELDS, _FIELDS[:-1]):
        said = ask([program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"], seconds)
        if said.code is None:
            return Answer("nvidia-smi", HUNG)
        if "is not a valid field" not in said.stdout + said.stderr:
            break
    text = said.stdout + said.stderr
    if "couldn't communicate with the NVIDIA driver" in text or "Driver/library version mismatch" in text:
        return Answer("nvidia-smi", NO_DRIVER, (), _last_line(text))
    if "No devices were found" in text:
        return Answer("nvidia-smi", NO_CARD)
    if said.code:
        return Answer("nvidia-smi", FAILED, (), _last_line(text))
    cards, driver = smi_cards(said.stdout)
    listed = ask([program, "-L"], seconds)
    if listed.code == 0:
        cards += smi_slices(listed.stdout, cards)
    return Answer("nvidia-smi", FOUND if cards else NO_CARD, cards, driver)


def smi_cards(text: str) -> tuple[tuple[Card, ...], str]:
    """The cards of a `--query-gpu` table without units (memory in MiB), and the driver's release."""
    cards, driver = [], ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) >= 5 and cells[0].isdigit():
            driver = cells[4]
            memory = float(cells[2]) / 1024 if _number(cells[2]) else None
            capability = float(cells[5]) if len(cells) > 5 and _number(cells[5]) else None
            cards.append(Card(int(cells[0]), cells[1], memory, cells[3], capability))
    return tuple(cards), driver


_SLICE = re.compile(r"\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[^)]+)\)")


def smi_slices(text: str, cards: Sequence[Card]) -> tuple[Card, ...]:
    """The MIG slices of `nvidia-smi -L`; their memory is what the profile's name says."""
    found, parent = [], None
    for line in text.splitlines():
        if top := re.match(r"GPU (\d+): ", line):
            parent = next((card for card in cards if card.number == int(top[1])), None)
        elif (part := _SLICE.match(line)) and parent is not None:
            size = re.search(r"\.(\d+)gb", part[1])
            memory = float(size[1]) if size else None
            found.append(
                Card(
                    int(part[2]),
                    f"{parent.name} MIG {part[1]}",
                    memory,
                    part[3],
                    parent.capability,
                    part[1],
                    parent.number,
                )
            )
    return tuple(found)


def rocm_smi(ask: Ask, seconds: float, which: Which | None = None) -> Answer:
    program = (which or child.Outside().program)("rocm-smi")
    if program is None:
        return Answer("rocm-smi", NOT_THERE, (), "rocm-smi is not on the PATH", "amd")
    said = ask([program, "--showproductname", "--showmeminfo", "vram", "--showuniqueid", "--json"], seconds)
    if said.code is None:
        return Answer("rocm-smi", HUNG, vendor="amd")
    try:
        rows: dict[str, dict[str, str]] = json.loads(said.stdout)
    except ValueError:
        return Answer("rocm-smi", NO_DRIVER, (), _last_line(said.stdout + said.stderr), "amd")
    cards = rocm_cards(rows)
    return Answer("rocm-smi", FOUND if cards else NO_CARD, cards, vendor="amd")


def rocm_cards(rows: dict[str, dict[str, str]]) -> tuple[Card, ...]:
    cards = []
    for key, row in rows.items():
        if number := re.fullmatch(r"card(\d+)", key):
            name = next(
                (row[word] for word in ("Card Series", "Card series", "Card Model", "Card model") if row.get(word)),
                "AMD GPU",
            )
            size = row.get("VRAM Total Memory (B)", "")
            cards.append(
                Card(int(number[1]), name, float(size) / 2**30 if _number(size) else None, row.get("Unique ID", ""))
            )
    return tuple(cards)


def apple(ask: Ask, seconds: float) -> Answer:
    """The chip's name and the memory that it shares with the host."""
    said = ask(["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string", "hw.memsize"], seconds)
    name, _, size = said.stdout.strip().partition("\n")
    if not name.startswith("Apple"):
        return Answer("sysctl", NO_CARD, vendor="apple")
    return Answer("sysctl", FOUND, (Card(0, name, float(size) / 2**30 if _number(size) else None),), vendor="apple")


def torch_cuda(torch: Any, seconds: float) -> Answer:
    """A torch that is imported already. It sees what CUDA_VISIBLE_DEVICES leaves; asked in a thread, for CUDA itself may hang."""
    found: list[Answer] = []
    thread = Thread(target=lambda: found.append(_torch_cuda(torch)), daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else Answer("torch", HUNG)


def _torch_cuda(torch: Any) -> Answer:
    hip = getattr(torch.version, "hip", None)
    if not torch.cuda.is_available():
        mps = getattr(torch.backends, "mps", None)
        if mps is not None and mps.is_available():
            return Answer("torch", FOUND, (Card(0, "Apple", None),), vendor="apple")
        built = hip or torch.version.cuda
        return Answer(
            "torch",
            NO_CARD if built else NOT_THERE,
            (),
            "" if built else "torch is built without CUDA",
            "amd" if hip else "nvidia",
        )
    cards = []
    for index in range(torch.cuda.device_count()):
        has = torch.cuda.get_device_properties(index)
        cards.append(Card(index, has.name, has.total_memory / 2**30, "", None if hip else has.major + has.minor / 10))
    return Answer(
        "torch",
        FOUND if cards else NO_CARD,
        tuple(cards),
        f"ROCm {hip}" if hip else f"CUDA {torch.version.cuda}",
        "amd" if hip else "nvidia",
    )


def _number(text: str) -> bool:
    return bool(re.fullmatch(r"\d+(\.\d+)?", text.strip()))


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""
