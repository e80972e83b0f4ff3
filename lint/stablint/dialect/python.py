"""Python files: the calls that build configs, load the model and build the trainer, each lowered by the table of its class.

A file that builds the trainer itself says everything about adapters; one that only builds arguments does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from stablint.dialect import huggingface, peft
from stablint.dialect.fragment import Block, Fragment, Row, last_word, lower_mapping, statement
from stablint.run.fact import CLOSED, OPEN, PRESUMED, Explicit, Place, Statement
from stablint.run.objective import OBJECTIVES
from stablint.source.tree import Call, Document, Entry, Module, Scalar

_ARGUMENTS = {
    "TrainingArguments": huggingface.BASE,
    "Seq2SeqTrainingArguments": "transformers.Seq2SeqTrainingArguments",
} | {name: f"trl.{name}" for name in OBJECTIVES}
_QUANTISERS = {
    "BitsAndBytesConfig": "bitsandbytes", "GPTQConfig": "gptq", "AwqConfig": "awq", "HqqConfig": "hqq", "EetqConfig": "eetq",
    "QuantoConfig": "quanto", "AqlmConfig": "aqlm", "TorchAoConfig": "torchao", "FineGrainedFP8Config": "fp8", "Mxfp4Config": "mxfp4",
    "HiggsConfig": "higgs", "SpQRConfig": "spqr", "FPQuantConfig": "fp_quant", "AutoRoundConfig": "auto-round", "VptqConfig": "vptq",
    "BitNetQuantConfig": "bitnet", "FbgemmFp8Config": "fbgemm_fp8", "MetalConfig": "metal", "CompressedTensorsConfig": "compressed-tensors",
}  # fmt: skip
_QUANTISER_ROWS = {
    "bnb_4bit_compute_dtype": Row("bnb_4bit_compute_dtype", "quantization.bnb_4bit_compute_dtype", "dtype"),
    "bnb_4bit_quant_storage": Row("bnb_4bit_quant_storage", "quantization.bnb_4bit_quant_storage", "dtype"),
}
_UNSLOTH = ("FastLanguageModel", "FastModel", "FastVisionModel", "FastLlamaModel")
_LOADER_ROWS: dict[str, Row | tuple[Row, ...]] = {
    **{key: row for key, row in huggingface.ROWS.items() if key.startswith(("quantization_config.",))},
    "pretrained_model_name_or_path": Row("pretrained_model_name_or_path", "model.name_or_path", "text"),
    "model_name": Row("model_name", "model.name_or_path", "text"),
    "torch_dtype": Row("torch_dtype", "model.dtype", "dtype"),
    "dtype": Row("dtype", "model.dtype", "dtype"),
    "load_in_4bit": Row("load_in_4bit", "quantization.load_in_4bit", "flag"),
    "load_in_8bit": Row("load_in_8bit", "quantization.load_in_8bit", "flag"),
    "max_seq_length": Row("max_seq_length", "model.max_seq_length"),
}
_TRAINERS = frozenset(
    [
        "Trainer",
        "Seq2SeqTrainer",
        "SFTTrainer",
        "DPOTrainer",
        "KTOTrainer",
        "GRPOTrainer",
        "RewardTrainer",
        "RLOOTrainer",
        "ORPOTrainer",
        "CPOTrainer",
        "PPOTrainer",
        "OnlineDPOTrainer",
        "BCOTrainer",
        "PRMTrainer",
        "GKDTrainer",
        "UnslothTrainer",
    ]
)
_LIBRARIES = ("transformers.", "trl.", "unsloth.", "optimum.")  # other libraries have a Trainer of their own
_TRAINER_LINKS = frozenset({"args", "model", "peft_config", "config"})


def recognise(document: Document) -> int:
    module = document.root
    return 90 if isinstance(module, Module) and any(_kind(call) not in ("", "data") for call in module.calls) else 0


def _kind(call: Call) -> str:
    word = last_word(call.name)
    if word in _ARGUMENTS:
        return "arguments"
    if word in _QUANTISERS:
        return "quantiser"
    if word in _TRAINERS:
        return "trainer" if call.name == word or call.name.startswith(_LIBRARIES) else ""
    if word == "load_dataset":
        return "data"
    if word.endswith("Config") and (call.name.startswith("peft.") or word == "LoraConfig"):
        return "adapter"
    if word == "from_pretrained" and _is_model_class(call.name.rpartition(".")[0]):
        return "loader"
    if word == "get_peft_model" and call.name.rpartition(".")[0].rpartition(".")[2] in _UNSLOTH:
        return "unsloth-adapter"
    if word == "gradient_checkpointing_enable":
        return "checkpointing"
    if word == "Accelerator":
        return "accelerator"
    return ""


def _is_model_class(name: str) -> bool:
    word = last_word(name)
    return (
        word.startswith(("AutoModel", "FastLanguage", "FastModel", "FastVision"))
        or "For" in word[1:]
        or word in ("AutoPeftModelForCausalLM",)
    )


def lower(document: Document) -> Iterator[Fragment]:
    """One fragment a telling call; the first arguments call, or the loader where there is none, makes the run."""
    module = document.root
    assert isinstance(module, Module)
    kinds = [(call, kind) for call in module.calls if (kind := _kind(call))]
    whole = any(kind == "trainer" for _, kind in kinds) and any(kind == "loader" for _, kind in kinds)
    adapters = any(kind in ("adapter", "unsloth-adapter") for _, kind in kinds) or any(
        "peft" in call.name for call in module.calls
    )
    lora = (
        CLOSED
        if whole and not adapters
        else OPEN
        if adapters and not any("adapter" in kind for _, kind in kinds)
        else PRESUMED
    )
    view = document.view
    own = "notebook" if view is not None and view.host == "notebook" and not view.name else "python"
    framework = _framework([call.name for call, _ in kinds])
    for index, (call, kind) in enumerate(kinds):
        block = Block(document, "call", call.name, call.arguments, call.start, call.end, index, call)
        fragment = _LOWER[kind](block, call)
        dialect = own if fragment.dialect == "python" else fragment.dialect
        yield fragment._replace(
            dialect=dialect, framework=framework if fragment.entry else "", scopes=_scopes(kind, call, lora)
        )


def _framework(names: list[str]) -> str:
    if any(name.startswith("unsloth.") or last_word(name.rpartition(".")[0]) in _UNSLOTH for name in names):
        return "unsloth"
    return "trl" if any(name.startswith("trl.") for name in names) else "transformers"


def _scopes(kind: str, call: Call, lora: str) -> dict[str, str]:
    state = OPEN if call.arguments.open else CLOSED
    if kind == "arguments":
        return {
            "training": state,
            "lora": lora,
            "quantization": PRESUMED,
            "model": PRESUMED,
            "fsdp": state,
            "tokenizer": OPEN,
        }
    if kind == "adapter" or kind == "unsloth-adapter":
        return {"lora": state}
    if kind == "quantiser":
        return {"quantization": state}
    if kind == "loader":
        return {
            "model": state,
            "quantization": state if not any(e.key == "quantization_config" for e in call.arguments.entries) else OPEN,
        }
    if kind == "trainer":
        return {"trainer": state}
    return {}


def _arguments(block: Block, call: Call) -> Fragment:
    own = _ARGUMENTS[last_word(call.name)]
    classes = (own,) if own == huggingface.BASE else (own, huggingface.BASE)
    statements = tuple(lower_mapping(block, _ARGUMENT_ROWS, "call", _argument_row))
    return Fragment(
        "python", block, "call", statements, {}, {"training": classes}, huggingface.links(statements), entry=True
    )


_ARGUMENT_ROWS = {key: row for key, row in huggingface.ROWS.items() if row.fact.startswith("training.") or "." in key}


def _argument_row(key: str) -> Row | None:
    """A keyword that no release of the class knows is still that class's: it is what an unknown argument looks like."""
    return huggingface.training_row(key) or Row(key, "training." + key)


def _adapter(block: Block, call: Call) -> Fragment:
    word = last_word(call.name)
    statements = [
        *lower_mapping(
            block, {"peft_type": Row("peft_type", "lora.peft_type")}, "call", lambda key: Row(key, "lora." + key)
        )
    ]
    statements.append(_named(block, call, "lora.peft_type", peft.TYPES.get(word, word)))
    return Fragment("peft", block, "call", tuple(statements), {}, {"lora": (f"peft.{word}",)})


def _quantiser(block: Block, call: Call) -> Fragment:
    word = last_word(call.name)
    statements = [*lower_mapping(block, _QUANTISER_ROWS, "call", lambda key: Row(key, "quantization." + key))]
    statements.append(_named(block, call, "quantization.quant_method", _QUANTISERS[word]))
    return Fragment("python", block, "call", tuple(statements), {}, {"quantization": (f"transformers.{word}",)})


def _loader(block: Block, call: Call) -> Fragment:
    statements = list(lower_mapping(block, _LOADER_ROWS, "call", lambda key: Row(key, "model." + key)))
    if call.positional and isinstance(call.positional[0], Scalar):
        node = call.positional[0]
        entry = Entry("model_name", node.start, node.start, node)
        statements.append(
            statement(block, entry, ("from_pretrained",), Row("from_pretrained", "model.name_or_path", "text"), "call")
        )
    entry_point = last_word(call.name.rpartition(".")[0]) in _UNSLOTH
    classes = {"model": ("unsloth.from_pretrained",)} if entry_point else {}
    return Fragment(
        "unsloth" if entry_point else "python",
        block,
        "call",
        tuple(statements),
        {},
        classes,
        huggingface.links(tuple(statements)),
        entry=True,
    )


def _unsloth_adapter(block: Block, call: Call) -> Fragment:
    rows = {"use_gradient_checkpointing": Row("use_gradient_checkpointing", "training.gradient_checkpointing")}
    statements = [*lower_mapping(block, rows, "call", lambda key: Row(key, "lora." + key))]
    statements.append(_named(block, call, "lora.peft_type", "LORA"))
    return Fragment("unsloth", block, "call", tuple(statements), {}, {"lora": ("peft.LoraConfig",)})


def _trainer(block: Block, call: Call) -> Fragment:
    """Its keywords are facts of their own, but for those that only join it with the other calls."""
    rows = dict.fromkeys(_TRAINER_LINKS, ())
    statements = tuple(lower_mapping(block, rows, "call", lambda key: Row(key, "trainer." + key)))
    word = last_word(call.name)
    stated = {entry.key for entry in call.arguments.entries}
    classes: dict[str, tuple[str, ...]] = {
        "trainer": (f"{'trl' if word not in ('Trainer', 'Seq2SeqTrainer') else 'transformers'}.{word}",)
    }
    if (
        "args" not in stated
        and not call.arguments.open
        and len(call.positional) < 2
        and word[:-7] + "Config" in _ARGUMENTS
    ):
        classes["training"] = (_ARGUMENTS[word[:-7] + "Config"], huggingface.BASE)
    return Fragment("python", block, "call", statements, {}, classes, entry=True)


def _checkpointing(block: Block, call: Call) -> Fragment:
    statements = [*lower_mapping(block, {}, "call", lambda key: Row(key, "training." + key))]
    statements.append(_named(block, call, "training.gradient_checkpointing", True))
    return Fragment("python", block, "call", tuple(statements), {}, {})


def _accelerator(block: Block, call: Call) -> Fragment:
    rows = {"mixed_precision": Row("mixed_precision", "accelerate.mixed_precision", "dtype")}
    return Fragment(
        "python",
        block,
        "call",
        tuple(lower_mapping(block, rows, "call", lambda key: Row(key, "accelerate." + key))),
        {},
        {},
    )


def _named(block: Block, call: Call, fact: str, value: object) -> Statement:
    """What the call's own name says; shown at the name."""
    node = Scalar(value, call.name_start, call.name_end, "name", False)
    word = last_word(call.name)
    entry = Entry(word, call.name_start, call.name_end, node)
    return Statement(
        fact,
        value,
        value,
        Explicit(Place(block.document, word, call.name_start, call.name_end, entry, (word,)), "call", block.number),
    )


def _data(block: Block, call: Call) -> Fragment:
    rows = {"streaming": Row("streaming", "data.is_iterable", "flag")}
    return Fragment("python", block, "call", tuple(lower_mapping(block, rows, "call", lambda key: None)), {}, {})


_LOWER = {
    "data": _data,
    "arguments": _arguments, "adapter": _adapter, "quantiser": _quantiser, "loader": _loader, "unsloth-adapter": _unsloth_adapter,
    "trainer": _trainer, "checkpointing": _checkpointing, "accelerator": _accelerator,
}  # fmt: skip
