"""FSDP options in a file of their own: what `--fsdp_config FILE` names, or `fsdp` with its `fsdp_config` and nothing else."""

from __future__ import annotations

from stablint.frameworks.fragment import Block, Fragment, Row, listed, lower_mapping
from stablint.run.fact import OPEN

_OPTIONS = listed("transformers", "of_fsdp")
_WHOLE = {"fsdp", "fsdp_config"}


def _option(key: str) -> str:
    return key.removeprefix("fsdp_")


def recognise(keys: frozenset[str], block: Block) -> int:
    keys = frozenset(key for key in keys if not key.startswith("_"))  # remarks
    if keys and keys <= _WHOLE:
        return 91
    found = [key for key in keys if _option(key) in _OPTIONS]
    telling = any(key.startswith("fsdp_") for key in found) or "transformer_layer_cls_to_wrap" in keys
    return 91 if len(found) >= 2 and len(found) == len(keys) and telling else 0


def row(key: str) -> Row | None:
    head, dot, rest = key.partition(".")
    if head.startswith("_"):
        return None
    if head == "fsdp_config":
        return Row(key, "fsdp." + _option(rest)) if dot else Row(key, "training.fsdp_config")
    return Row(key, "training.fsdp") if key == "fsdp" else Row(key, "fsdp." + _option(key))


def lower(block: Block, layer: str = "file") -> Fragment:
    statements = tuple(lower_mapping(block, {}, layer, row))
    return Fragment("fsdp", block, layer, statements, {"fsdp": OPEN, "training": OPEN}, {})
