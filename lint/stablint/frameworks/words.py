"""Codecs of the words that one framework has for another's: read into the fact's word, and written back where a fix sets the fact.

Importing the module adds them to the codecs. A word that is none of theirs is left as it stands.
"""

from __future__ import annotations

from collections.abc import Callable

from stablint.base.light import Any
from stablint.frameworks.codec import CODECS, WRITERS, Read, Unwritable, Write, read_text
from stablint.syntax.tree import Unknown

# Classes of optimizers by the names that TrainingArguments have for them (transformers trainer.py, get_optimizer_cls_and_kwargs).
_OPTIMIZERS = {
    "torch.optim.AdamW": "adamw_torch", "torch.optim.adamw.AdamW": "adamw_torch", "torch.optim.SGD": "sgd", "torch.optim.Adagrad": "adagrad",
    "torch.optim.RMSprop": "rmsprop", "bitsandbytes.optim.AdamW8bit": "adamw_bnb_8bit", "bitsandbytes.optim.PagedAdamW": "paged_adamw_32bit",
    "bitsandbytes.optim.PagedAdamW32bit": "paged_adamw_32bit", "bitsandbytes.optim.PagedAdamW8bit": "paged_adamw_8bit",
    "bitsandbytes.optim.Lion": "lion_32bit", "bitsandbytes.optim.Lion8bit": "lion_8bit", "bitsandbytes.optim.PagedLion8bit": "paged_lion_8bit",
}  # fmt: skip
_SHORT = {"AdamW": "adamw_torch", "SGD": "sgd"}
# Lightning's `precision`: dtype of the weights, dtype of autocast (lightning fabric/connector.py, _PRECISION_INPUT).
_PRECISION = {
    "bf16-true": ("bfloat16", None), "16-true": ("float16", None), "32-true": ("float32", "float32"), "64-true": ("float64", None),
    "bf16-mixed": ("float32", "bfloat16"), "16-mixed": ("float32", "float16"), "bf16": ("float32", "bfloat16"), "16": ("float32", "float16"),
    "32": ("float32", "float32"), "32-full": ("float32", "float32"),
}  # fmt: skip
_SHORT_DTYPES = {"bfloat16": "bf16", "float16": "16", "float32": "32"}


def name_of(optimizer: str) -> str:
    """What TrainingArguments call the class, empty where they have none."""
    return _OPTIMIZERS.get(optimizer, "")


def _read_optimizer(raw: Any) -> Any:
    return (_OPTIMIZERS.get(raw) or _SHORT.get(raw, raw)) if isinstance(raw, str) else raw


def _write_optimizer(value: Any, old: Any) -> Any:
    table = _OPTIMIZERS if isinstance(old, str) and "." in old else _SHORT
    found = next((word for word, meant in table.items() if meant == value), None)
    if found is None:
        raise Unwritable(f"no optimizer class is called `{value}`")
    return found


# What `fit` of sentence-transformers calls a schedule, in any case (5.1.2 fit_mixin.py, `_get_scheduler`).
_SCHEDULES = {
    "constantlr": "constant", "warmupconstant": "constant_with_warmup", "warmuplinear": "linear", "warmupcosine": "cosine",
    "warmupcosinewithhardrestarts": "cosine_with_restarts",
}  # fmt: skip


def _read_schedule(raw: Any) -> Any:
    return _SCHEDULES.get(raw.lower(), raw) if isinstance(raw, str) else raw


def _write_schedule(value: Any, old: Any) -> Any:
    found = next((word for word, meant in _SCHEDULES.items() if meant == value), None)
    if found is None:
        raise Unwritable(f"`fit` has no schedule for `{value}`")
    return found


def _read_weights(raw: Any) -> Any:
    return _PRECISION[str(raw)][0] if str(raw) in _PRECISION else raw


def _read_autocast(raw: Any) -> Any:
    return _PRECISION[str(raw)][1] if str(raw) in _PRECISION else None


def _write_precision(kinds: tuple[str, ...]) -> Write:
    """`16-mixed` → `bf16-mixed`: the dtype changes, the kind stays."""

    def writer(value: Any, old: Any) -> Any:
        kind = str(old).partition("-")[2] or "mixed"
        if kinds == ("mixed",) and value == "float32":
            return "32-true"
        if kind in ("true", "full") and kinds == ("mixed",) and value in ("float16", "bfloat16"):
            kind = "mixed"  # autocast is asked for where all weights had one dtype
        if kind not in kinds or value not in _SHORT_DTYPES or (value == "float32" and kind == "mixed"):
            raise Unwritable(f"`{old}` has no counterpart in {value}")
        return f"{_SHORT_DTYPES[value]}-{kind}"

    return writer


def _read_builder(raw: Any) -> Any:
    """`torchtune.models.llama3_1.qlora_llama3_1_8b` trains an adapter."""
    word = raw.rpartition(".")[2] if isinstance(raw, str) else ""
    return "lora" if word.startswith(("lora_", "qlora_")) or "_lora_" in word or "qlora" in word else "full"


def _read_builder_bits(raw: Any) -> Any:
    return isinstance(raw, str) and "qlora" in raw.rpartition(".")[2]


# What litgpt's commands declare for `quantize`: `bnb.int8` those that generate, `bnb.int8-training` those that train.
_OF_LITGPT = frozenset(["bnb.nf4", "bnb.nf4-dq", "bnb.fp4", "bnb.fp4-dq", "bnb.int8", "bnb.int8-training"])


def _bnb(part: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda raw: part(raw[4:]) if isinstance(raw, str) and raw in _OF_LITGPT else None


def _known(read: Read) -> Read:
    """What is filled in elsewhere is none of the words, and none of them is missing there: it stays unknown."""

    def reader(raw: Any) -> Any:
        value = read_text(raw)
        return value if type(value) is Unknown else read(value)

    return reader


def _read_positive(raw: Any) -> Any:
    """A size of which 0 says that there is no such thing."""
    return raw > 0 if isinstance(raw, (int, float)) else raw is not None


def _of_what_else(value: Any, old: Any) -> Any:
    raise Unwritable(f"`{old}` decides more than this")


_READERS: dict[str, Read] = {
    "optimizer": _read_optimizer, "sentence-schedule": _read_schedule, "weights": _read_weights, "autocast": _read_autocast,
    "word-4bit": lambda raw: raw == "4bit", "word-8bit": lambda raw: raw == "8bit" or raw is True,
    "positive": _read_positive, "builder": _read_builder, "builder-4bit": _read_builder_bits,
    "bnb-4bit": _bnb(lambda kind: kind[:3] in ("nf4", "fp4")), "bnb-8bit": _bnb(lambda kind: kind.startswith("int8")),
    "bnb-type": _bnb(lambda kind: kind[:3] if kind[:3] in ("nf4", "fp4") else None), "bnb-double": _bnb(lambda kind: kind.endswith("-dq")),
}  # fmt: skip
_WRITE: dict[str, Write] = {
    "optimizer": _write_optimizer, "sentence-schedule": _write_schedule,
    "weights": _write_precision(("true", "full")), "autocast": _write_precision(("mixed",)),
    **dict.fromkeys(("positive", "word-4bit", "word-8bit", "builder", "builder-4bit", "bnb-4bit", "bnb-8bit", "bnb-type", "bnb-double"), _of_what_else),
}  # fmt: skip
CODECS.update({name: _known(read) for name, read in _READERS.items()})
WRITERS.update(_WRITE)
