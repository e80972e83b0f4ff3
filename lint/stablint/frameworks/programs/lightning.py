"""The Trainer and the Fabric of Lightning: what their keywords mean for a run."""

from __future__ import annotations

from stablint.frameworks import words as _codecs  # noqa: F401  registers the codecs used below
from stablint.frameworks.fragment import Block, Fragment, Row, lower_mapping

LIGHTNING: dict[str, Row | tuple[Row, ...]] = {
    **{
        key: Row(key, fact)
        for key, fact in (
            ("devices", "launch.processes_per_node"), ("num_nodes", "launch.nodes"), ("max_epochs", "training.num_train_epochs"),
            ("max_steps", "training.max_steps"), ("accumulate_grad_batches", "training.gradient_accumulation_steps"),
            ("gradient_clip_val", "training.max_grad_norm"),
        )
    },
    "precision": (Row("precision", "model.dtype", "weights"), Row("precision", "training.amp_dtype", "autocast")),
}  # fmt: skip


def lower(block: Block) -> Fragment:
    """Its `precision` is autocast's dtype (`16-mixed`) or that of all weights (`16-true`)."""
    statements = tuple(
        one
        for one in lower_mapping(block, LIGHTNING, "call", lambda key: None)
        if one.fact != "model.dtype" or one.value != "float32"  # with autocast the weights stay as the model was loaded
    )
    return Fragment("python", block, "call", statements, {}, {}, entry=True)
