"""knowledge/shipped.yaml → the facts of the DeepSpeed configurations that a framework ships, by the name that a run gives for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml

READS = ("shipped.yaml",)

_FACTS = {
    "zero": "deepspeed.zero_optimization.stage",
    "optimizer": "deepspeed.zero_optimization.offload_optimizer.device",
    "param": "deepspeed.zero_optimization.offload_param.device",
    "gather": "deepspeed.zero_optimization.stage3_gather_16bit_weights_on_model_save",
    "bf16": "deepspeed.bf16.enabled",
    "fp16": "deepspeed.fp16.enabled",
    "batch": "deepspeed.train_batch_size",
    "micro": "deepspeed.train_micro_batch_size_per_gpu",
    "accumulation": "deepspeed.gradient_accumulation_steps",
    "clipping": "deepspeed.gradient_clipping",
}
_AUTO = dict.fromkeys(("bf16", "fp16", "batch", "micro", "accumulation", "clipping"), "auto")


def compile_shipped(root: Path) -> dict[str, object]:
    """`shipped/<framework>`: name → facts. A word that is not known raises KeyError."""
    document = read_yaml(root / "shipped.yaml")
    return {
        f"shipped/{framework}": {name: _facts(said) for name, said in entry["files"].items()}
        for framework, entry in document.items()
    }


def _facts(said: dict[str, Any]) -> dict[str, Any]:
    return {_FACTS[word]: value for word, value in {**_AUTO, **said}.items() if value is not None}
