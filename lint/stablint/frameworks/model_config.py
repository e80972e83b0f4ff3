"""A model folder's config.json: what the checkpoint is by nature. It makes no run of its own."""

from __future__ import annotations

from stablint.frameworks.fragment import Block, Fragment, Row, lower_mapping

_ROWS = {
    "torch_dtype": Row("torch_dtype", "model.native_dtype", "dtype"),
    "dtype": Row("dtype", "model.native_dtype", "dtype"),
}


def recognise(keys: frozenset[str], block: Block) -> int:
    if "model_type" in keys and (keys & _DIMENSIONS or ("architectures" in keys and keys & _WRITTEN)):
        return 98
    return 0


_DIMENSIONS = frozenset(["hidden_size", "num_hidden_layers", "vocab_size", "n_embd", "d_model", "text_config"])
# What `save_pretrained` writes beside the architectures; tables of tensors name those, too.
_WRITTEN = frozenset(
    ["transformers_version", "torch_dtype", "dtype", "auto_map", "_name_or_path", "initializer_range", "bos_token_id", "eos_token_id",
     "num_attention_heads", "max_position_embeddings", "vision_config", "llm_config", "is_encoder_decoder"]
)  # fmt: skip


def lower(block: Block, layer: str = "model-file") -> Fragment:
    rows = {**_ROWS}
    statements = tuple(lower_mapping(block, rows, layer, lambda key: None))
    return Fragment("model", block, layer, statements, {}, {}, framework="")
