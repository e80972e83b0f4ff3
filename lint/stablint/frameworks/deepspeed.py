"""DeepSpeed's JSON: every path is a fact of its own. Short pydantic names (`prefetch_bucket_size`) are other spellings of the aliases."""

from __future__ import annotations

import json
from collections.abc import Iterable

from stablint.base.libraries import difflib
from stablint.base.light import Pattern
from stablint.frameworks import hydra
from stablint.frameworks.fragment import Block, Fragment, Row, listed, lower_mapping
from stablint.run.fact import CLOSED, OPEN
from stablint.syntax.tree import Mapping, Node, Scalar, Sequence

_TOP = listed("deepspeed", "top")
# `stage3_…` keys of zero_optimization that pydantic also takes under their field names (deepspeed runtime/zero/config.py, `alias`).
_SHORT = ("prefetch_bucket_size", "param_persistence_threshold", "max_live_parameters", "max_reuse_distance", "model_persistence_threshold",
          "gather_16bit_weights_on_model_save", "use_all_reduce_for_fetch_params", "module_granularity_threshold")  # fmt: skip
ROWS = {
    key: Row(key, f"deepspeed.zero_optimization.stage3_{name}")
    for name in _SHORT
    for key in (f"zero_optimization.{name}",)
}


def recognise(keys: frozenset[str], block: Block) -> int:
    known = len(keys & _TOP)
    strong = keys & {
        "zero_optimization",
        "train_micro_batch_size_per_gpu",
        "steps_per_print",
        "zero_allow_untested_optimizer",
        "communication_data_type",
    }
    sections = sum(
        1
        for entry in block.mapping.entries
        if entry.key in ("fp16", "bf16", "bfloat16") and hasattr(entry.value, "entries")
    )
    if not known or known * 2 < len(keys):
        return 0
    if strong or sections:
        return 95
    return 60 if "train_batch_size" in keys and len(keys) > 1 and (keys <= _TOP or _misspelled(keys - _TOP)) else 0


def _misspelled(keys: frozenset[str]) -> bool:
    """Does each of them resemble a key of DeepSpeed's? Asked of the few files that have its batch size and half of its keys."""
    return all(difflib.get_close_matches(key, _TOP, 1, 0.85) for key in keys)


def knows_none(keys: Iterable[str]) -> bool:
    """Whether none of the keys, nor one that is misspelled, is of DeepSpeed's own top level."""
    given = frozenset(keys)
    return not given & _TOP and not any(_misspelled(frozenset((key,))) for key in given)


def row(key: str) -> Row:
    return Row(key, "deepspeed." + key)


def inline(key: str, path: str) -> Row:
    """A key of a block that stands in another text, under its place there: as in a file of its own."""
    known = ROWS.get(path)
    return Row(key, known.fact if known is not None else "deepspeed." + path)


_NUMBER = Pattern(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?\Z")


def _as_json(mapping: Mapping) -> Mapping:
    """JSON's numbers in a file that is called YAML, where `1e9` is text: whoever hands it to DeepSpeed reads it as JSON, whatever its name is
    (deepspeed 0.19.8 runtime/config.py, transformers 5.23.0 integrations/deepspeed.py)."""
    return mapping._replace(entries=tuple(entry._replace(value=_number(entry.value)) for entry in mapping.entries))


def _number(node: Node) -> Node:
    if isinstance(node, Mapping):
        return _as_json(node)
    if isinstance(node, Sequence):
        return node._replace(items=tuple(map(_number, node.items)))
    if isinstance(node, Scalar) and node.form == "plain" and isinstance(node.value, str) and _NUMBER.match(node.value):
        return node._replace(value=float(node.value))
    return node


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def lower(block: Block, layer: str = "deepspeed-file") -> Fragment:
    if block.document.format == "yaml" and block.kind == "document" and _is_json(block.document.text.text):
        block = block._replace(mapping=_as_json(block.mapping))
    statements = lower_mapping(block, ROWS, layer, row)
    if block.document.format == "yaml" and "${" in block.document.text.text:  # OmegaConf's interpolations
        statements = [hydra.read(one) for one in statements]
    return Fragment(
        dialect="deepspeed", block=block, layer=layer, statements=tuple(statements),
        scopes={"deepspeed": OPEN if block.mapping.open else CLOSED}, classes={}, framework="",
    )  # fmt: skip
