"""Bytes that one training step keeps for the rows of a batch: saved activations, the workspace of one layer, and the logits.

Per token and layer, in elements (arXiv 2205.05198, section 4, redone for gated decoders with fused attention): norms in float32,
inputs of the linears, queries, keys and values, and the gated product.
"""

from __future__ import annotations

from stablint.memory.shape import Shape

# Bytes a logit costs: the half-precision logits, their float32 copy, its gradient, and the gradient in half precision
# (transformers 5.23.0 loss/loss_utils.py, ForCausalLMLoss: `logits.float()`). A fused or chunked loss keeps next to nothing of it.
_LOGIT, _LOGIT_FUSED = 12.0, 0.5


def activations(shape: Shape, tokens: int, *, checkpointing: bool, adapter: bool, width: int = 2) -> float:
    """Bytes of what is saved for the backward pass. `width` is that of the compute dtype; a frozen linear saves no input."""
    norms = shape.hidden * 4 / width * 4 if not adapter else 2 * shape.hidden
    inside = 4 * shape.hidden + 2 * shape.query + 2 * shape.key_value + (3 if adapter else 4) * shape.intermediate
    layer = width * (norms + inside)
    if not checkpointing:
        return shape.layers * layer * tokens
    return width * shape.hidden * shape.layers * tokens + layer * tokens


def logits(shape: Shape, tokens: int, *, fused: bool, width: int = 2) -> float:
    return shape.vocab * tokens * (_LOGIT_FUSED if fused else _LOGIT + (width - 2))
