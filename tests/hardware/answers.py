"""What machines answer when they are asked for their GPUs: recorded in form, with made-up serials. One entry a machine."""

from __future__ import annotations

GIB = 2**30

A100_SMI = "0, NVIDIA A100-SXM4-80GB, 81920, GPU-5a6c1f0e-0d3b-4c1e-9a51-000000000001, 550.54.15, 8.0\n"
RTX_3090_TWICE_SMI = (
    "0, NVIDIA GeForce RTX 3090, 24576, GPU-11111111-2222-3333-4444-000000000001, 535.183.01, 8.6\n"
    "1, NVIDIA GeForce RTX 3090, 24576, GPU-22222222-2222-3333-4444-000000000002, 535.183.01, 8.6\n"
)
MIXED_SMI = (
    "0, NVIDIA GeForce RTX 3090, 24576, GPU-11111111-2222-3333-4444-000000000001, 535.183.01, 8.6\n"
    "1, Tesla V100-PCIE-16GB, 16384, GPU-33333333-2222-3333-4444-000000000003, 535.183.01, 7.0\n"
)
OLD_DRIVER_SMI = "0, Tesla T4, 15109, GPU-44444444-2222-3333-4444-000000000004, 470.82.01\n"
MIG_LIST = """\
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5a6c1f0e-0d3b-4c1e-9a51-000000000001)
  MIG 3g.40gb     Device  0: (UUID: MIG-7b1c0000-0000-5000-8000-000000000001)
  MIG 3g.40gb     Device  1: (UUID: MIG-7b1c0000-0000-5000-8000-000000000002)
"""
NO_DRIVER_SMI = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)
UNKNOWN_FIELD = 'Field "compute_cap" is not a valid field to query.\n'


def nvml(
    *cards: tuple[str, float, tuple[int, int] | None], driver: str = "550.54.15", **more: object
) -> dict[str, object]:
    """What the child process prints for whole cards: name, GiB, compute capability."""
    rows = [
        {
            "index": number,
            "name": name,
            "uuid": f"GPU-{number:08d}-aaaa",
            "memory": int(size * GIB),
            "capability": capability and capability[0] + capability[1] / 10,
            "parent": None,
        }
        for number, (name, size, capability) in enumerate(cards)
    ]
    return {"state": "found" if rows else "no-gpu", "cards": rows, "driver": driver, **more}


def nvml_mig() -> dict[str, object]:
    """An A100 in MIG mode with two slices: the second one is `MIG-…2`."""
    answer = nvml(("NVIDIA A100-SXM4-80GB", 80.0, (8, 0)))
    rows = answer["cards"]
    assert isinstance(rows, list)
    for number in (0, 1):
        rows.append(
            {
                "index": number,
                "name": "NVIDIA A100-SXM4-80GB MIG 3g.40gb",
                "uuid": f"MIG-7b1c0000-{number + 1}",
                "memory": int(39.25 * GIB),
                "capability": 8.0,
                "parent": 0,
            }
        )
    return answer


NO_LIBRARY: dict[str, object] = {"state": "not-there"}
NO_DRIVER: dict[str, object] = {"state": "no-driver", "detail": "NVML Shared Library Not Found"}

ROCM = """{"card0": {"Unique ID": "0x1", "VRAM Total Memory (B)": "206141652992", "VRAM Total Used Memory (B)": "297668608",
 "Card Series": "AMD Instinct MI300X OAM", "Card Model": "0x74a1", "Card Vendor": "Advanced Micro Devices, Inc. [AMD/ATI]"},
"card1": {"Unique ID": "0x2", "VRAM Total Memory (B)": "206141652992", "VRAM Total Used Memory (B)": "297668608",
 "Card Series": "AMD Instinct MI300X OAM", "Card Model": "0x74a1", "Card Vendor": "Advanced Micro Devices, Inc. [AMD/ATI]"},
"system": {"Driver version": "6.8.5"}}"""
APPLE = "Apple M2 Max\n68719476736\n"
