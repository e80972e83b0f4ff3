"""The GPUs of a machine, from recorded answers: which road is believed, what is visible, and what a run is held to."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from stablint.hardware import live
from stablint.hardware import probes as probes
from stablint.hardware.probes import Output
from tests.hardware import answers

LINUX = "Linux x86_64"


def machine_that(
    nvml: object = answers.NO_LIBRARY,
    smi: str | None = None,
    slices: str = "",
    rocm: str | None = None,
    apple: str = "",
    environment: dict[str, str] | None = None,
    system: str = LINUX,
    **more: object,
) -> live.Machine:
    """A machine whose programs answer so; None for a program that is not there, HANGS for one that never ends."""

    def ask(command: Sequence[str], seconds: float) -> Output:
        assert 0 < seconds <= probes.LIMIT
        if command[0] == sys.executable:
            return Output(None, "", "") if nvml == HANGS else Output(0, json.dumps(nvml), "")
        if command[0].endswith("sysctl"):
            return Output(0, apple, "")
        if command[0] == "rocm-smi":
            return Output(0, rocm or "", "")
        if smi == HANGS:
            return Output(None, "", "")
        if "-L" in command:
            return Output(0, slices, "")
        if smi == answers.OLD_DRIVER_SMI and "compute_cap" in command[1]:
            return Output(2, answers.UNKNOWN_FIELD, "")
        return Output(9 if smi == answers.NO_DRIVER_SMI else 0, smi or "", "")

    there = {"nvidia-smi": smi, "rocm-smi": rocm}
    which: Callable[[str], str | None] = lambda name: name if there[name] is not None else None  # noqa: E731
    return live.machine(ask, environment or {}, system=system, which=which, torch=more.get("torch", NO_TORCH))


HANGS = "(never answers)"
NO_TORCH = object()


def summary(found: live.Machine) -> tuple[str, str, list[str]]:
    return found.state, found.probe, [name for name, _ in live.targets(found)]


A100 = answers.nvml(("NVIDIA A100-SXM4-80GB", 80.0, (8, 0)))
TWO_3090 = answers.nvml(*[("NVIDIA GeForce RTX 3090", 24.0, (8, 6))] * 2)
MIXED = answers.nvml(("NVIDIA GeForce RTX 3090", 24.0, (8, 6)), ("Tesla V100-PCIE-16GB", 16.0, (7, 0)))


@pytest.mark.parametrize(
    ("answering", "expected"),
    [
        ({"nvml": A100}, ("found", "nvml", ["NVIDIA A100-SXM4-80GB x1"])),
        ({"nvml": TWO_3090}, ("found", "nvml", ["NVIDIA GeForce RTX 3090 x2"])),
        ({"nvml": MIXED}, ("found", "nvml", ["NVIDIA GeForce RTX 3090 x2", "Tesla V100-PCIE-16GB x2"])),
        ({"nvml": answers.nvml()}, ("no-gpu", "nvml", [])),
        ({"nvml": answers.NO_DRIVER}, ("no-driver", "nvml", [])),
        ({"nvml": HANGS, "smi": answers.A100_SMI}, ("hung-driver", "nvml", [])),
        ({"smi": answers.A100_SMI}, ("found", "nvidia-smi", ["NVIDIA A100-SXM4-80GB x1"])),
        ({"smi": answers.RTX_3090_TWICE_SMI}, ("found", "nvidia-smi", ["NVIDIA GeForce RTX 3090 x2"])),
        ({"smi": answers.OLD_DRIVER_SMI}, ("found", "nvidia-smi", ["Tesla T4 x1"])),
        ({"smi": "No devices were found\n"}, ("no-gpu", "nvidia-smi", [])),
        ({"smi": answers.NO_DRIVER_SMI}, ("no-driver", "nvidia-smi", [])),
        ({"smi": HANGS}, ("hung-driver", "nvidia-smi", [])),
        ({"rocm": answers.ROCM}, ("found", "rocm-smi", ["AMD Instinct MI300X OAM x2"])),
        ({"apple": answers.APPLE, "system": "Darwin arm64"}, ("found", "sysctl", ["Apple M2 Max x1"])),
        ({}, ("no-driver", "nvml", [])),
    ],
)
def test_every_machine_is_told_apart(answering, expected):
    assert summary(machine_that(**answering)) == expected


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ("0", ["RTX 3090"]),
        ("1,0", ["V100", "RTX 3090"]),
        ("0,7,1", ["RTX 3090"]),  # up to the first that is none
        ("-1", []),
        ("", []),
        ("GPU-00000001", ["V100"]),
        ("GPU-0000000", []),  # could be either
        ("0,0", ["RTX 3090"]),
    ],
)
def test_cuda_visible_devices(value, left):
    found = machine_that(MIXED, environment={"CUDA_VISIBLE_DEVICES": value})
    assert [next(word for word in ("RTX 3090", "V100") if word in card.name) for card in found.visible] == left
    assert found.state == ("found" if left else "all-hidden")
    assert len(found.cards) == 2


def test_a_process_gets_one_slice_of_a_card_in_mig_mode():
    found = machine_that(answers.nvml_mig())
    ((name, gpu),) = live.targets(found)
    assert (gpu.count, gpu.memory_gib, gpu.native_bf16) == (1, 39.25, True)
    assert "3g.40gb" in name and any("MIG" in note for note in found.notes)
    second = machine_that(answers.nvml_mig(), environment={"CUDA_VISIBLE_DEVICES": "MIG-7b1c0000-2"})
    assert [card.uuid for card in second.visible] == ["MIG-7b1c0000-2"]


def test_nvidia_smi_lists_slices_as_well():
    found = machine_that(smi=answers.A100_SMI, slices=answers.MIG_LIST)
    assert [(card.mig, card.memory_gib, card.parent) for card in found.cards[1:]] == [("3g.40gb", 40.0, 0)] * 2
    assert len(found.visible) == 1


def test_several_kinds_are_said_to_be_several():
    assert any("several kinds" in note for note in machine_that(MIXED).notes)
    assert not machine_that(TWO_3090).notes


def test_measured_memory_counts_and_the_rest_is_knowledge():
    ((_, gpu),) = live.targets(machine_that(answers.nvml(("NVIDIA A100-SXM4-80GB", 79.25, (8, 0)))))
    facts = gpu.facts()
    assert facts["target.gpu.memory_gib"] == 79.25
    assert (facts["target.gpu.native_bf16"], facts["target.gpu.compute_capability"], facts["target.gpu.count"]) == (
        True,
        8.0,
        1,
    )


@pytest.mark.parametrize(
    ("capability", "bf16", "fp8"), [((7, 5), False, False), ((8, 0), True, False), ((12, 0), True, True)]
)
def test_a_card_without_an_entry_is_known_by_its_compute_capability(capability, bf16, fp8):
    ((_, gpu),) = live.targets(machine_that(answers.nvml(("NVIDIA Prototype Zed", 24.0, capability))))
    assert (gpu.native_bf16, gpu.fp8, gpu.memory_gib) == (bf16, fp8, 24.0)


def torch_like(hip: str | None = None, cards: tuple[str, ...] = (), mps: bool = False) -> SimpleNamespace:
    """As much of torch as is asked."""
    properties = [SimpleNamespace(name=name, total_memory=24 * answers.GIB, major=8, minor=6) for name in cards]
    return SimpleNamespace(
        version=SimpleNamespace(hip=hip, cuda=None if hip or mps else "12.8"),
        cuda=SimpleNamespace(
            is_available=lambda: bool(cards),
            device_count=lambda: len(cards),
            get_device_properties=lambda n: properties[n],
        ),
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps)),
    )


def test_torch_is_asked_where_nvml_says_nothing():
    found = machine_that(
        torch=torch_like(cards=("NVIDIA GeForce RTX 3090",)), environment={"CUDA_VISIBLE_DEVICES": "1"}
    )
    assert summary(found) == ("found", "torch", ["NVIDIA GeForce RTX 3090 x1"])  # its own numbering, filtered already


def test_torch_of_rocm_and_of_apple():
    assert machine_that(torch=torch_like(hip="6.4", cards=("AMD Instinct MI300X",))).vendor == "amd"
    apple = machine_that(torch=torch_like(mps=True))
    assert (apple.vendor, live.targets(apple)[0][1].device) == ("apple", "mps")


def test_a_torch_that_hangs_is_left(monkeypatch):
    monkeypatch.setattr(probes, "LIMIT", 0.2)
    slow = torch_like(cards=("x",))
    slow.cuda.is_available = lambda: time.sleep(5)
    assert machine_that(torch=slow).state == "hung-driver"


@pytest.mark.skipif(os.name != "posix", reason="a shell script stands in for nvidia-smi")
def test_a_program_that_never_ends_is_killed_with_its_children(tmp_path):
    fake = tmp_path / "nvidia-smi"
    fake.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {tmp_path}/child\nsleep 60\n")
    fake.chmod(0o755)
    assert probes.nvidia_smi(probes.ask, 0.5, lambda name: str(fake)).state == probes.HUNG
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        if not alive(child):
            return
        time.sleep(0.02)
    raise AssertionError("its child is still there")


def alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(os.name != "posix", reason="a shell script stands in for nvidia-smi")
def test_a_real_program_is_read(tmp_path):
    fake = tmp_path / "nvidia-smi"
    fake.write_text(
        f"#!/bin/sh\ncase $1 in -L) exit 0;; esac\nprintf '{answers.RTX_3090_TWICE_SMI}'\n".replace("\n1,", "\\n1,")
    )
    fake.chmod(0o755)
    found = probes.nvidia_smi(probes.ask, 2, lambda name: str(fake))
    assert (found.state, len(found.cards), found.detail) == (probes.FOUND, 2, "535.183.01")


def test_the_child_that_asks_nvml_answers_on_any_machine():
    """With or without the library, the driver or a card: one of the known states, and never a crash."""
    found = probes.nvml(probes.ask, 20)
    assert found.state in (probes.FOUND, probes.NO_CARD, probes.NO_DRIVER, probes.NOT_THERE)


def test_auto_says_why_there_is_none(monkeypatch):
    machines = [
        (machine_that(HANGS), "answer"),
        (machine_that(answers.nvml()), "no GPU"),
        (machine_that(), "no GPU driver"),
    ]
    for found, word in machines:
        monkeypatch.setattr(live, "machine", lambda folders=(), found=found: found)
        with pytest.raises(live.NoTarget, match=word):
            live.auto()
