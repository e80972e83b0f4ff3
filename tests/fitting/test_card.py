"""What `fit` says of runs that were measured on a card: the range holds what the card showed (benchmarks/card.md)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stablint.cli import main

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# By round: gradients beside logits, with checkpointing and without, optimizers with states of 2 and of no bytes, Liger's kernels, adapters.
RUNS = {
    "first": ("full-reentrant-adafactor", "full-sgd", "full-8bit", "full-liger", "lora-liger", "trl-long"),
    "second": ("full-3b-fused", "full-qwen3-checkpointed", "full-neox-fp32", "full-liger-qwen", "full-pure-llama", "lora-8b-all"),
}  # fmt: skip


@pytest.fixture(scope="module")
def card() -> ModuleType:
    spec = importlib.util.spec_from_file_location("card", BENCHMARKS / "card.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("round_", "name"), [(round_, name) for round_, names in RUNS.items() for name in names])
def test_the_bounds_hold_what_the_card_showed(
    round_: str, name: str, card: ModuleType, tmp_path: Path, capsys: Any
) -> None:
    seen = json.loads((BENCHMARKS / "card" / f"{round_}.measured.json").read_text(encoding="utf-8"))[name]["used"]
    models, every = card.cases()
    case = every[name]
    path = card.written(case, models[case["model"]], tmp_path)
    file = path if path.suffix == ".py" else tmp_path / "run.sh"
    words = [word for release in card.RELEASES for word in ("--with", release)]
    if case["kind"] == "trainer":
        words += ["--set", f"data.block_size={case['length']}"]
    main(["fit", str(file), "--gpu", "H100-80GB x1", "--isolated", *words, "--output-format", "json"])
    told = json.loads(capsys.readouterr().out)
    low, high = told["bounds_gib"]
    assert low <= seen <= high
    assert low <= told["range_gib"][0] <= told["peak_gib"] <= told["range_gib"][1] <= high
    assert told["peak_gib"] == pytest.approx(seen, rel=0.1)
