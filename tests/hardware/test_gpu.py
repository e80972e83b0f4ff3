"""What people write for an accelerator, and what stablint makes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.base import knowledge
from stablint.hardware.gpu import parse_gpu, suggestions
from stablint.syntax.tree import Unknown

# as written → name, GiB of one GPU, how many, native bf16
WRITTEN = [
    ("RTX 3090 x7", "GeForce RTX 3090", 24, 7, True),
    ("7x RTX 3090", "GeForce RTX 3090", 24, 7, True),
    ("7 x 3090", "GeForce RTX 3090", 24, 7, True),
    ("RTX3090*4", "GeForce RTX 3090", 24, 4, True),
    ("dual 3090", "GeForce RTX 3090", 24, 2, True),
    ("3090 Ti", "GeForce RTX 3090 Ti", 24, None, True),
    ("4090x2", "GeForce RTX 4090", 24, 2, True),
    ("2x4090", "GeForce RTX 4090", 24, 2, True),
    ("4090D", "GeForce RTX 4090 D", 24, None, True),
    ("2080 Ti", "GeForce RTX 2080 Ti", 11, None, False),
    ("2x2080 Ti 22GB", "GeForce RTX 2080 Ti 22GB", 22, 2, False),
    ("2080Ti 22G x2", "GeForce RTX 2080 Ti 22GB", 22, 2, False),
    ("2x 2080 Ti 11GB", "GeForce RTX 2080 Ti", 11, 2, False),
    ("T4 x2 (32GB)", "Tesla T4", 16, 2, False),
    ("TITAN RTX", "NVIDIA TITAN RTX", 24, None, False),
    ("NVIDIA GeForce GTX 1080 Ti", "GeForce GTX 1080 Ti", 11, None, False),
    ("rtx 5090", "GeForce RTX 5090", 32, None, True),
    ("A4000 16GB x2", "NVIDIA RTX A4000", 16, 2, True),
    ("RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation", 48, None, True),
    ("Quadro RTX 6000", "Quadro RTX 6000", 24, None, False),
    ("A100-80GB", "A100 80GB", 80, None, True),
    ("A100 80GB x8", "A100 80GB", 80, 8, True),
    ("A100-80", "A100 80GB", 80, None, True),
    ("8x A100 (640GB)", "A100 80GB", 80, 8, True),
    ("A100:8", "A100", None, 8, True),
    ("8 A100s", "A100", None, 8, True),
    ("NVIDIA A100-SXM4-80GB", "NVIDIA A100 SXM4 80GB", 80, None, True),
    ("NVIDIA A100 80GB PCIe", "NVIDIA A100 PCIe 80GB", 80, None, True),
    ("A100-SXM4-80GB MIG 1g.10gb", "A100 10GB", 10, None, True),
    ("A800", "A800", None, None, True),
    ("A10G x4", "NVIDIA A10G", 24, 4, True),
    ("v100 32GB x8", "V100 32GB", 32, 8, False),
    ("V100", "V100", None, None, False),
    ("Tesla V100-SXM2-32GB", "Tesla V100 SXM2 32GB", 32, None, False),
    ("Tesla V100-DGXS-32GB", "Tesla V100 SXM2 32GB", 32, None, False),
    ("Tesla V100-PCIE-32GB", "Tesla V100 PCIe 32GB", 32, None, False),
    ("P100", "P100", 16, None, False),
    ("T4", "Tesla T4", 16, None, False),
    ("nvidia-tesla-t4", "Tesla T4", 16, None, False),
    ("h100", "H100", None, None, True),
    ("8xH100", "H100", None, 8, True),
    ("H100-80G*8", "H100 80GB", 80, 8, True),
    ("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM5 80GB", 80, None, True),
    ("L20", "NVIDIA L20", 48, None, True),
    ("L40S", "NVIDIA L40S", 48, None, True),
    ("h20", "NVIDIA H20 96GB", 96, None, True),
    ("H20 141GB", "NVIDIA H20 141GB", 141, None, True),
    ("MI250X", "AMD Instinct MI250X (whole module)", 128, None, True),
    ("MI300X x8", "AMD Instinct MI300X", 192, 8, True),
    ("Gaudi 2", "Intel Gaudi 2", 96, None, True),
    ("Apple M2 Max", "Apple M2 family (MPS)", None, 1, False),
    ("cpu", "CPU", None, None, None),
    ("2080 Ti 22GB", "GeForce RTX 2080 Ti 22GB", 22, None, False),  # more memory soldered on: as stated
    ("RTX 4090 Laptop GPU", "GeForce RTX 4090 Laptop", 16, None, True),
    ("NVIDIA GeForce RTX 3080 Laptop GPU", "RTX 3080 Laptop", None, None, True),  # sold with 8 and with 16 GB
    ("RTX 2080 Laptop", "RTX 2080 Laptop", None, None, False),
    ("NVIDIA GH200 480GB", "NVIDIA GH200 480GB", 96, None, True),  # the driver tells the memory of the CPU
    ("H20-3e", "NVIDIA H20 141GB", 141, None, True),
    ("GTX 1060", "GeForce GTX 1060 6GB", 6, None, False),
    ("Jetson Orin NX", "Jetson Orin NX", None, None, True),
    ("DGX Spark", "NVIDIA GB10 (DGX Spark)", 128, 1, True),
    ("RTX 6000", "RTX 6000", None, None, None),  # three generations are called so
    ("RTX 6000 48GB", "RTX 6000 48GB", 48, None, True),
    ("p3.2xlarge", "Tesla V100 SXM2 16GB", 16, 1, False),
    ("p4d.24xlarge", "NVIDIA A100 SXM4 40GB", 40, 8, True),
    ("p5.48xlarge", "NVIDIA H100 SXM5 80GB", 80, 8, True),
    ("ml.g5.12xlarge", "NVIDIA A10G", 24, 4, True),
    ("g4dn.12xlarge x2", "Tesla T4", 16, 8, False),
    ("Standard_ND96asr_v4", "NVIDIA A100 SXM4 40GB", 40, 8, True),
    ("NC24ads_A100_v4", "NVIDIA A100 PCIe 80GB", 80, 1, True),
    ("a2-highgpu-8g", "NVIDIA A100 SXM4 40GB", 40, 8, True),
    ("a3-highgpu-8g", "NVIDIA H100 SXM5 80GB", 80, 8, True),
    ("g2-standard-48", "NVIDIA L4", 24, 4, True),
    ("BM.GPU4.8", "NVIDIA A100 SXM4 40GB", 40, 8, True),
    ("DGX A100", "A100", None, 8, True),
    ("Kaggle T4 x2", "Tesla T4", 16, 2, False),
]
NOBODY = ["RTX 9090", "A101", "A100 512GB", "foo 80GB", "80GB", "x8", "gtx", "", "x86", "RTX", "A100 somewhere"]


@pytest.mark.parametrize(("written", "name", "memory", "count", "bf16"), WRITTEN)
def test_understands_what_people_write(written, name, memory, count, bf16):
    gpu = parse_gpu(written)
    assert gpu is not None
    assert (gpu.name, gpu.memory_gib, gpu.count, gpu.native_bf16) == (name, memory, count, bf16)


@pytest.mark.parametrize("written", NOBODY)
def test_never_guesses(written):
    assert parse_gpu(written) is None


def test_a_card_by_its_full_name_is_itself():
    for row in knowledge.load("gpus")["cards"]:
        gpu = parse_gpu(row[0])
        assert gpu is not None and gpu.options == (row[0],)


def test_every_way_to_call_a_card_leads_to_it():
    known = knowledge.load("gpus")
    for spelled, label in known["labels"].items():
        for said in (spelled, label, label.lower(), label.upper().replace(" ", "-")):
            gpu = parse_gpu(said)
            assert gpu is not None, said
            assert set(gpu.options) <= {known["cards"][i][0] for i in known["names"][spelled]}, said


def test_at_least_140_accelerators():
    assert len(knowledge.load("gpus")["cards"]) >= 140


def test_an_unknown_name_gets_names_like_it():
    assert "RTX 5090" in suggestions("RTX 9090")
    assert suggestions("p4d.24xlrge")[0] == "p4d.24xlarge"
    assert suggestions("A100-8OGB")[0] == "A100-80GB"
    assert suggestions("V100-16GBB x8")[0] == "V100-16GB"
    assert suggestions("") == []


def test_facts_say_what_is_open_and_why():
    facts = parse_gpu("V100 x8").facts()
    assert facts["target.gpu.count"] == 8
    assert facts["target.gpu.compute_capability"] == 7.0
    assert facts["target.gpu.native_bf16"] is False
    assert facts["target.device"] == "cuda"
    assert isinstance(facts["target.gpu.memory_gib"], Unknown)
    assert "V100 SXM2 32GB" in facts["target.gpu.memory_gib"].reason


def test_a_gpu_of_another_maker_has_no_compute_capability():
    assert parse_gpu("MI300X").facts()["target.gpu.compute_capability"] is None


@given(st.text(max_size=60))
def test_no_text_breaks_it(text):
    assert parse_gpu(text) is None or parse_gpu(text).options
    assert isinstance(suggestions(text), list)


@given(st.sampled_from([row[0] for row in WRITTEN]), st.integers(1, 64))
def test_a_count_before_or_behind_is_the_same(written, count):
    alone = parse_gpu(written)
    if alone.count is None:
        assert parse_gpu(f"{count}x {written}") == parse_gpu(f"{written} x{count}") == alone._replace(count=count)
