"""A loaded model, or its config, → what was asked of it and what it is by nature. Knows transformers' objects by their shape only."""

from __future__ import annotations

from typing import Any, NamedTuple

from stablint.integrate.values import Opaque, plain
from stablint.models import nature as models


class Described(NamedTuple):
    """`asked` are the words of `from_pretrained` that would load it so, `nature` its `model.*` facts.

    `quantization` and `adapter` are the configs that it carries itself.
    """

    asked: dict[str, Any]
    nature: dict[str, Any]
    quantization: Any
    adapter: Any
    loaded: bool  # with its weights


def described(model: Any) -> Described:
    """Of a PreTrainedModel, a PeftModel around one, or a config. Raises TypeError for anything else."""
    adapter = getattr(model, "peft_config", None) if _is_peft(model) else None
    inner = model.get_base_model() if adapter is not None and hasattr(model, "get_base_model") else model
    config = getattr(inner, "config", inner)
    if not hasattr(config, "to_dict") or not hasattr(config, "model_type"):
        raise TypeError(f"model: {type(model).__name__} is neither a PreTrainedModel nor its config")
    loaded = config is not inner
    words: dict[str, Any] = plain(config.to_dict())
    nature = {name: value for name, value in models.from_config(words).items() if value is not None}
    asked: dict[str, Any] = {}
    name = getattr(config, "_name_or_path", None)
    if isinstance(name, str) and name:
        asked["pretrained_model_name_or_path"] = name
        nature = {**(models.describe(name) or {}), **nature}
    if loaded:
        asked |= _loaded(inner)
        nature.setdefault("model.parameters", _count(inner))
    attention = getattr(config, "_attn_implementation", None)
    if loaded and isinstance(attention, str):
        asked["attn_implementation"] = attention
    quantization = getattr(config, "quantization_config", None)
    if quantization is not None and loaded and _made_on_loading(inner):
        nature.pop("model.quant_method", None)  # not the checkpoint's own: asked for when it was loaded
    return Described(asked, nature, quantization, adapter, loaded)


def _is_peft(model: Any) -> bool:
    return any(base.__name__ in ("PeftModel", "PeftMixedModel") for base in type(model).__mro__)


def _loaded(model: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    dtype = plain(getattr(model, "dtype", None))
    if isinstance(dtype, str) and not isinstance(dtype, Opaque):
        asked["dtype"] = dtype
    placed = getattr(model, "hf_device_map", None)
    if isinstance(placed, dict) and len({str(device) for device in placed.values()}) > 1:
        asked["device_map"] = plain(placed)
    return asked


def _made_on_loading(model: Any) -> bool:
    quantizer = getattr(model, "hf_quantizer", None)
    return quantizer is not None and not getattr(quantizer, "pre_quantized", False)


def _count(model: Any) -> int:
    """All parameters. transformers counts packed 4-bit weights by what they stand for."""
    return int(model.num_parameters())
