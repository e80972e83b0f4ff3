"""`--gpu-memory`: what a run can have of a card, whatever is sold and whether the card has a name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stablint
from stablint.cli import main
from stablint.config.options import Wrong, options
from stablint.hardware.gpu import parse_gpu, parse_gpu_memory

_RUN = """\
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
dataset: alpaca_en_demo
template: qwen
cutoff_len: 1024
output_dir: out
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
learning_rate: 1.0e-4
bf16: true
"""


@pytest.fixture
def run(tmp_path: Path) -> str:
    path = tmp_path / "train.yaml"
    path.write_text(_RUN, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("20", (20.0, None)),
        ("23.6 GiB", (23.6, None)),
        ("64GB x8", (64.0, 8)),
        ("64 x 8", (64.0, 8)),
        ("80×2", (80.0, 2)),
        ("0", None),
        ("x8", None),
        ("20 x0", None),
        ("T4", None),
        ("", None),
        ("20 30", None),
    ],
)
def test_what_is_said(said: str, meant: tuple[float, int | None] | None) -> None:
    assert parse_gpu_memory(said) == meant


def test_a_named_card_keeps_all_but_its_memory() -> None:
    ((name, card),) = options(["A100 x2"], gpu_memory="20").gpus
    assert (name, card.count, card.memory_gib, card.most_memory_gib) == ("A100 20GB x2", 2, 20.0, 20.0)
    whole = parse_gpu("A100-80GB")
    assert whole is not None
    assert (card.arch, card.native_bf16) == (whole.arch, whole.native_bf16)


def test_a_slice_of_a_card_of_one_size_is_called_by_its_own() -> None:
    ((name, _),) = options(["A100-80GB"], gpu_memory="20").gpus
    assert "80GB" not in name and name.endswith("20GB")


def test_a_card_without_a_name_has_nothing_else() -> None:
    ((name, card),) = options(gpu_memory="64 x8").gpus
    facts = card.facts()
    assert (name, facts["target.gpu.count"], facts["target.gpu.most_memory_gib"]) == ("GPU of 64 GiB x8", 8, 64.0)
    known = {fact for fact, value in facts.items() if isinstance(value, (int, float, str))}
    assert known == {"target.gpu.name", "target.gpu.count", "target.gpu.memory_gib", "target.gpu.most_memory_gib", "target.gpu.least_memory_gib"}  # fmt: skip


def test_nonsense_is_refused_with_what_to_write() -> None:
    with pytest.raises(Wrong, match="a number of GiB, such as 20"):
        options(gpu_memory="much")


@pytest.mark.parametrize(("memory", "verdict"), [("40", "fits"), ("14", "does-not-fit")])
def test_it_decides_the_verdict(run: str, memory: str, verdict: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["fit", run, "--gpu-memory", memory, "--isolated", "--output-format", "json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["verdict"], told["target"]["usable_gib"], code) == (verdict, float(memory), verdict == "does-not-fit")


def test_the_library_says_it_too(run: str) -> None:
    (told,) = stablint.fit(run, gpu_memory=14, isolated=True)
    assert told.verdict == "does-not-fit"
    assert any(one.code == "M101" for one in stablint.check(run, gpu_memory=10, isolated=True).diagnostics)
    assert stablint.advise(run, gpu="A100", gpu_memory="20", isolated=True)
    with pytest.raises(ValueError, match="gpu-memory"):
        stablint.fit(run, gpu_memory="much", isolated=True)


def test_settings_say_it_of_a_target(tmp_path: Path, run: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "stablint.toml").write_text('[[target]]\ngpu = "A100"\nmemory = 10\n', encoding="utf-8")
    main(["check", run, "--output-format", "json"])
    assert "M101" in capsys.readouterr().out
    main(["check", run, "--gpu-memory", "40", "--output-format", "json"])
    assert "M101" not in capsys.readouterr().out


def test_new_writes_for_a_slice() -> None:
    made = stablint.new("Qwen/Qwen2.5-7B-Instruct", gpu="A100", gpu_memory=20, framework="trl")
    assert made.verdict == "fits"
    assert made.usable_gib == 20.0
