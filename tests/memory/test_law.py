"""What the formulas make of a whole step against what torch counted of it (tools/trace_memory.py): other dimensions, and more layers, than the
coefficients were solved from."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from stablint.memory.plan import Optimizer, Plan, Range, Sharding, sure
from stablint.memory.predict import MOMENTS, _dequantised, _gradients, predict, variant_names
from stablint.memory.shape import Shape

ROOT = Path(__file__).parents[2]
TRACED = sorted(path for path in (ROOT / "knowledge" / "memory").glob("*.yaml") if path.stem != "kernels")
NOTHING = Optimizer(sure(0.0), sure(0.0), sure(0.0))


@cache
def content(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    return found


def plan_of(point: dict[str, Any]) -> Plan:
    """The plan that a traced variant stands for. Weights and gradients are not in a trace: they are taken out below."""
    tuned, weights, kept, attention = point["variant"].split("/")
    x = point["dims"]
    query, key_value = x["a"] * x["d"], x["g"] * x["d"]
    layer = x["h"] * (2 * query + 2 * key_value + 3 * x["i"])
    shape = Shape(
        point["layers"] * layer + 2 * x["v"] * x["h"], point["layers"], x["h"], x["i"], query, key_value, x["v"], False
    )
    full = tuned == "full"
    return Plan(
        shape=shape, heads=x["a"], groups=x["a"], method="full" if full else "lora",
        weights={"bf16": "bfloat16", "fp32": "float32", "pure": "float32", "4bit": "8bit", "kbit": "8bit"}[weights], autocast=weights != "pure", mixed=True,
        outside=sure(2.0 if weights == "4bit" else 4.0),
        trained=0, copied=0, rank=x["r"],
        spread="attention" if "attention" in tuned else "all", dropout=tuned.endswith("-dropout"), optimizer=NOTHING, sharding=Sharding(),
        rows=x["b"], length=sure(x["s"]), accumulates=True, checkpointed=kept == "checkpointed", checkpoints_on_host=False, attention=attention,
        loss="full", loss_rows=0, reference=False, cache=sure(0.0), cache_large=sure(0.0), context=sure(0.0),
        apart=sure(0.0), loading=sure(0.0), activations=sure(1.0),
    )  # fmt: skip


def transient(plan: Plan, traced: dict[str, Any]) -> float:
    """The highest of the moments, without what lies there all the time."""
    parts = predict(plan._replace(optimizer=NOTHING), traced)
    gradients = sum(_gradients(plan, 1).values())
    dequantised = _dequantised(plan)
    return max(
        parts.moments[name] - parts.proven - gradients - (dequantised if name == MOMENTS[2] else 0.0)
        for name in MOMENTS[:3]
    )


@pytest.mark.parametrize("path", TRACED, ids=lambda path: path.stem)
def test_the_formula_is_within_two_per_cent_of_the_trace(path: Path) -> None:
    traced, wrong = content(path), []
    assert traced["law"]
    for point in traced["law"]:
        plan = plan_of(point)
        assert variant_names(plan)[0] == point["variant"]
        found = transient(plan, traced)
        if found != pytest.approx(point["peak"], rel=0.02):
            wrong.append(f"{point['variant']}-{point['layers']}: {found / point['peak'] - 1:+.1%}")
    assert wrong == []


@pytest.mark.slow
def test_a_trace_gives_what_is_on_record() -> None:
    """Where torch, transformers and peft are installed: the tool's own check of one variant."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("peft")
    words = [sys.executable, str(ROOT / "tools" / "trace_memory.py"), "llama", "--check", "--only", "full/bf16/kept/sdpa"]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr[-500:]


@pytest.mark.parametrize("path", TRACED, ids=lambda path: path.stem)
def test_more_of_anything_never_takes_less(path: Path) -> None:
    traced = content(path)
    plan = plan_of(traced["law"][0])
    least = predict(plan, traced).peak.usual
    for more in (plan._replace(rows=plan.rows + 1), plan._replace(length=sure(plan.length.usual + 512)), plan._replace(reference=True)):  # fmt: skip
        assert predict(more, traced).peak.usual > least
    wide = predict(plan._replace(length=Range(64, 512, 4096)), traced).peak
    assert wide.low < wide.usual < wide.high
