"""torchtune's YAML: components named by `_component_`, their arguments beside them. What it lacks of HF's defaults is not assumed."""

from __future__ import annotations

from stablint.dialect import huggingface
from stablint.dialect.fragment import Block, Fragment, Row, lower_mapping
from stablint.run.fact import CLOSED, OPEN
from stablint.source.tree import Mapping, Scalar

_ROWS = (
    ("checkpointer.checkpoint_dir", "model.name_or_path", "text"),
    ("dtype", "model.dtype", "dtype"),
    ("batch_size", "training.per_device_train_batch_size", "plain"),
    ("epochs", "training.num_train_epochs", "plain"),
    ("gradient_accumulation_steps", "training.gradient_accumulation_steps", "plain"),
    ("optimizer.lr", "training.learning_rate", "plain"),
    ("optimizer.weight_decay", "training.weight_decay", "plain"),
    ("lr_scheduler.num_warmup_steps", "training.warmup_steps", "plain"),
    ("clip_grad_norm", "training.max_grad_norm", "plain"),
    ("tokenizer.max_seq_len", "training.max_length", "plain"),
    ("dataset.packed", "training.packing", "flag"),
    ("enable_activation_checkpointing", "training.gradient_checkpointing", "flag"),
    ("seed", "training.seed", "plain"),
    ("output_dir", "training.output_dir", "text"),
    ("model.lora_rank", "lora.r", "plain"),
    ("model.lora_alpha", "lora.lora_alpha", "plain"),
    ("model.lora_dropout", "lora.lora_dropout", "plain"),
    ("model.use_dora", "lora.use_dora", "flag"),
    ("model.quantize_base", "quantization.load_in_4bit", "flag"),
)  # fmt: skip
ROWS: dict[str, Row | tuple[Row, ...]] = {key: Row(key, fact, codec) for key, fact, codec in _ROWS}

_SECTIONS = (
    "model",
    "tokenizer",
    "optimizer",
    "checkpointer",
    "dataset",
    "loss",
    "metric_logger",
    "quantizer",
    "lr_scheduler",
)


def recognise(keys: frozenset[str], block: Block) -> int:
    """At least one section of its own names a component of torchtune."""
    named = [component for section in _SECTIONS if section in keys and (component := _component(block, section))]
    return 97 if any("torchtune" in name for name in named) or len(named) >= 3 else 0


def _component(block: Block, section: str) -> str:
    part = block.mapping.get(section)
    name = part.get("_component_") if isinstance(part, Mapping) else None
    return str(name.value) if isinstance(name, Scalar) else ""


def lower(block: Block, layer: str = "file") -> Fragment:
    """Training without an optimizer is none: evaluation, generation and quantisation recipes leave everything open."""
    statements = tuple(lower_mapping(block, ROWS, layer, lambda key: None))
    state = CLOSED if block.mapping.get("optimizer") is not None else OPEN
    return Fragment(
        "torchtune", block, layer, statements,
        {"training": OPEN, "lora": state, "quantization": OPEN, "model": state, "data": OPEN, "trainer": OPEN, "tokenizer": OPEN, "fsdp": OPEN},
        {}, huggingface.links(statements), entry=True, framework="torchtune",
    )  # fmt: skip
