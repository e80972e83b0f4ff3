"""xtuner's Python configs of mmengine: `lr = 2e-4`, `model = dict(type=SupervisedFinetune, llm=dict(…), lora=dict(…))`.

Module-level names are the keys; values stand where the names are given them, so that a fix edits `lr = 2e-4` itself. The file is read, never run.
"""

from __future__ import annotations

from collections.abc import Iterator

from stablint.frameworks import huggingface
from stablint.frameworks import words as _codecs  # noqa: F401  registers the codecs used below
from stablint.frameworks.fragment import Block, Fragment, Row, last_word, lower_mapping, statement
from stablint.run.fact import CLOSED, OPEN, Explicit, Statement
from stablint.syntax.tree import Call, Document, Entry, Mapping, Module, Node, Scalar, Sequence, Unknown

_LLM = (
    ("pretrained_model_name_or_path", "model.name_or_path", "text"),
    ("torch_dtype", "model.dtype", "dtype"),
    ("attn_implementation", "model.attn_implementation", "text"),
    ("trust_remote_code", "model.trust_remote_code", "flag"),
    ("quantization_config.load_in_4bit", "quantization.load_in_4bit", "flag"),
    ("quantization_config.load_in_8bit", "quantization.load_in_8bit", "flag"),
    ("quantization_config.bnb_4bit_compute_dtype", "quantization.bnb_4bit_compute_dtype", "dtype"),
    ("quantization_config.bnb_4bit_quant_storage", "quantization.bnb_4bit_quant_storage", "dtype"),
    ("quantization_config.bnb_4bit_quant_type", "quantization.bnb_4bit_quant_type", "plain"),
    ("quantization_config.bnb_4bit_use_double_quant", "quantization.bnb_4bit_use_double_quant", "flag"),
)
_LORA = (
    ("r", "plain"),
    ("lora_alpha", "plain"),
    ("lora_dropout", "plain"),
    ("target_modules", "targets"),
    ("modules_to_save", "words"),
    ("bias", "plain"),
    ("task_type", "plain"),
    ("use_rslora", "flag"),
    ("use_dora", "flag"),
)
_ROWS = (
    *((f"model.llm.{key}", fact, codec) for key, fact, codec in _LLM),
    *((f"model.{key}", fact, codec) for key, fact, codec in _LLM),  # `framework = "huggingface"`: the model itself
    *((f"model.{part}.{key}", f"lora.{key}", codec) for part in ("lora", "llm_lora") for key, codec in _LORA),
    ("model.freeze_llm", "training.projector_only", "flag"),
    ("model.use_activation_checkpointing", "training.gradient_checkpointing", "flag"),
    ("model.beta", "training.beta", "plain"),
    ("model.loss_type", "training.loss_type", "plain"),
    ("model.label_smoothing", "training.label_smoothing", "plain"),
    ("optim_wrapper.optimizer.type", "training.optim", "optimizer"),
    ("optim_wrapper.optimizer.lr", "training.learning_rate", "plain"),
    ("optim_wrapper.optimizer.weight_decay", "training.weight_decay", "plain"),
    ("optim_wrapper.optimizer.eps", "training.adam_epsilon", "plain"),
    ("optim_wrapper.clip_grad.max_norm", "training.max_grad_norm", "plain"),
    ("optim_wrapper.accumulative_counts", "training.gradient_accumulation_steps", "plain"),
    ("optim_wrapper.dtype", "training.amp_dtype", "dtype"),
    ("train_dataloader.batch_size", "training.per_device_train_batch_size", "plain"),
    ("train_dataloader.num_workers", "training.dataloader_num_workers", "plain"),
    ("train_dataloader.dataset.max_length", "training.max_length", "plain"),
    ("train_dataloader.dataset.pack_to_max_length", "training.packing", "flag"),
    ("train_cfg.max_epochs", "training.num_train_epochs", "plain"),
    ("train_cfg.max_iters", "training.max_steps", "plain"),
    ("default_hooks.checkpoint.interval", "training.save_steps", "plain"),
    ("default_hooks.checkpoint.max_keep_ckpts", "training.save_total_limit", "plain"),
    ("default_hooks.logger.interval", "training.logging_steps", "plain"),
    ("randomness.seed", "training.seed", "plain"),
    ("work_dir", "training.output_dir", "text"),
)
ROWS: dict[str, Row | tuple[Row, ...]] = {
    **{key: Row(key, fact, codec) for key, fact, codec in _ROWS},
    "optim_wrapper.optimizer.betas": (
        Row("optim_wrapper.optimizer.betas", "training.adam_beta1", "first"),
        Row("optim_wrapper.optimizer.betas", "training.adam_beta2", "second"),
    ),
}
# xtuner 1.x: calls of config classes (xtuner/v1/config, xtuner/v1/train). What the model's own class and the environment say stays open.
FIRST: dict[str, Row] = {
    f"{owner}.{key}": Row(f"{owner}.{key}", fact, codec)
    for owner, key, fact, codec in (
        ("AdamWConfig", "lr", "training.learning_rate", "plain"),
        ("AdamWConfig", "weight_decay", "training.weight_decay", "plain"),
        ("AdamWConfig", "max_grad_norm", "training.max_grad_norm", "plain"),
        ("AdamWConfig", "eps", "training.adam_epsilon", "plain"),
        ("MuonConfig", "lr", "training.learning_rate", "plain"),
        ("MuonConfig", "weight_decay", "training.weight_decay", "plain"),
        ("LRConfig", "lr_type", "training.lr_scheduler_type", "plain"),
        ("LRConfig", "warmup_ratio", "training.warmup_ratio", "plain"),
        ("TrainerConfig", "load_from", "model.name_or_path", "text"),
        ("TrainerConfig", "global_batch_size", "training.global_batch_size", "plain"),
        ("TrainerConfig", "total_epoch", "training.num_train_epochs", "plain"),
        ("TrainerConfig", "total_step", "training.max_steps", "plain"),
        ("TrainerConfig", "work_dir", "training.output_dir", "text"),
        ("RLColocateTrainerConfig", "load_from", "model.name_or_path", "text"),
        ("RLColocateTrainerConfig", "train_batch_size", "training.global_batch_size", "plain"),
        ("RLColocateTrainerConfig", "work_dir", "training.output_dir", "text"),
        ("RLDisaggregatedTrainerConfig", "load_from", "model.name_or_path", "text"),
        ("RLDisaggregatedTrainerConfig", "train_batch_size", "training.global_batch_size", "plain"),
    )
}
_OF_FIRST = frozenset(key.partition(".")[0] for key in FIRST) | {"GRPOLossConfig"}
# Classes of xtuner/model by what they train for; the others fine-tune on whole texts.
_OBJECTIVES = {"DPO": "dpo", "ORPO": "orpo", "RewardModel": "rm"}


def recognise(document: Document) -> int:
    """A model and what optimises it, both as dicts with a `type`; TrainingArguments take the optimiser's place in its other mode."""
    module = document.root
    if not isinstance(module, Module):
        return 0
    names = module.names
    if len({last_word(call.name) for call in _first_calls(module)}) >= 2:
        return 95
    typed = [name for name in ("model", "optim_wrapper", "training_args") if _type(names.get(name)) is not None]
    model = names.get("model")
    whole = isinstance(model, Mapping) and isinstance(model.get("llm"), Mapping) and names.get(_NAMED) is not None
    return 95 if (len(typed) >= 2 and "model" in typed) or whole else 0


_NAMED = "pretrained_model_name_or_path"  # the name that all of its published configs begin with


def _type(node: Node | None) -> Node | None:
    return node.get("type") if isinstance(node, Mapping) else None


def _word(node: Node | None) -> str:
    """The last word of a `type`, where it is known."""
    found = _type(node)
    return last_word(found.value) if isinstance(found, Scalar) and isinstance(found.value, str) else ""


def _first_calls(module: Module) -> list[Call]:
    return [call for call in module.calls if call.name.startswith("xtuner.v1.") and last_word(call.name) in _OF_FIRST]


def _lower_first(document: Document, module: Module) -> Fragment:
    calls = _first_calls(module)
    block = Block(document, "document", "", module.names, calls[0].start, calls[-1].end, document.number)
    statements: list[Statement] = []
    for call in calls:
        owner = last_word(call.name)
        for entry in call.arguments.entries:
            row = FIRST.get(f"{owner}.{entry.key}")
            if row is not None:
                statements.append(statement(block, entry, (owner, entry.key), row, "file"))
        if owner == "GRPOLossConfig":
            entry = Entry(
                owner, call.name_start, call.name_end, Scalar("grpo", call.name_start, call.name_end, "name", False)
            )
            statements.append(statement(block, entry, (owner,), Row(owner, "training.stage"), "file"))
    return Fragment(
        "xtuner", block, "file", tuple(statements), dict.fromkeys(("training", "lora", "quantization", "model"), OPEN), {},
        huggingface.links(tuple(statements)), entry=True, framework="xtuner-v1",
    )  # fmt: skip


def lower(document: Document) -> Fragment:
    module = document.root
    assert isinstance(module, Module)
    if _first_calls(module):
        return _lower_first(document, module)
    names = module.names
    block = Block(document, "document", "", names, names.start, names.end, document.number)
    statements = tuple(_statements(block, names))
    model = names.get("model")
    adapter = isinstance(names.get("lora"), Mapping) or (
        isinstance(model, Mapping) and any(isinstance(model.get(part), Mapping) for part in ("lora", "llm_lora"))
    )
    quantised = any(one.fact.startswith("quantization.") for one in statements)
    classes: dict[str, tuple[str, ...]] = {"lora": ("peft.LoraConfig",)} if adapter else {}
    if quantised:
        classes["quantization"] = ("transformers.BitsAndBytesConfig",)
    if names.get("training_args") is not None:
        classes["training"] = (huggingface.BASE,)
    return Fragment(
        "xtuner", block, "file", statements,
        dict.fromkeys(("training", "lora", "quantization", "model", "fsdp", "accelerate"), CLOSED)
        | {"data": OPEN, "tokenizer": OPEN, "trainer": OPEN},
        classes, huggingface.links(statements), entry=True, framework="xtuner",
    )  # fmt: skip


# The names that all of its configs give these settings first; what the parts below make of them wins.
_CONSTANTS = {
    "max_length": Row("max_length", "training.max_length"),
    "batch_size": Row("batch_size", "training.per_device_train_batch_size"),
    "accumulative_counts": Row("accumulative_counts", "training.gradient_accumulation_steps"),
    "lr": Row("lr", "training.learning_rate"),
}


def _statements(block: Block, names: Mapping) -> Iterator[Statement]:
    typed = tuple(above for above in _BUILT if _word(_below(names, above)) in ("LoraConfig", "BitsAndBytesConfig"))
    read = [_of_class(one, typed) for one in lower_mapping(block, ROWS, "file", _other)]
    stated = {one.fact for one in read}
    if "lora.r" in stated:  # a frozen model with an adapter of its own is trained through that
        read = [one for one in read if one.fact != "training.projector_only"]
    yield from read
    yield from (one for one in lower_mapping(block, _CONSTANTS, "file", lambda key: None) if one.fact not in stated)
    model, wrapper = names.get("model"), names.get("optim_wrapper")
    objective = _OBJECTIVES.get(_word(model))
    if objective is not None and isinstance(model, Mapping):
        yield _named(block, model, "model", "training.stage", objective)
    if isinstance(wrapper, Mapping) and _word(wrapper):
        yield _named(block, wrapper, "optim_wrapper", "training.optim_wrapper", _word(wrapper))
    yield from _schedule(block, names.get("param_scheduler"))


def _other(key: str) -> Row | None:
    head, dot, rest = key.partition(".")
    if dot and head == "training_args":
        found = huggingface.ROWS.get(rest) or huggingface.training_row(rest)
        return Row(key, found.fact, found.codec) if found is not None else None
    if dot and head == "lora" and rest != "type":
        return Row(key, "lora." + rest)
    for above, namespace in _BUILT.items():
        name = key.removeprefix(above)
        if name != key and name != "type" and "." not in name:
            return Row(key, namespace + name)
    return None


# What is built from a `type` takes all that stands beside it as keyword arguments (mmengine registry/build_functions.py, build_from_cfg).
_BUILT = {"model.lora.": "lora.", "model.llm_lora.": "lora.", "model.llm.quantization_config.": "quantization."}
_CLASSES = {"lora": "peft.LoraConfig", "quantization": "transformers.BitsAndBytesConfig"}


def _below(names: Mapping, path: str) -> Node | None:
    node: Node | None = names
    for part in path.split(".")[:-1]:
        node = node.get(part) if isinstance(node, Mapping) else None
    return node


def _of_class(one: Statement, typed: tuple[str, ...]) -> Statement:
    """The class that reads the key, as if the dict were its call."""
    origin = one.origin
    reader = _CLASSES.get(one.fact.partition(".")[0])
    if reader is None or not isinstance(origin, Explicit) or not origin.place.setting.startswith(typed):
        return one
    place = origin.place._replace(path=origin.place.path[-1:])
    return one._replace(origin=origin._replace(reader=reader, place=place))


def _named(block: Block, holder: Mapping, key: str, fact: str, value: object) -> Statement:
    entry = next(entry for entry in holder.entries if entry.key == "type")
    said = statement(block, entry, (key, "type"), Row(f"{key}.type", fact, "text"), "file")
    return said._replace(value=value)


def _schedule(block: Block, node: Node | None) -> Iterator[Statement]:
    """A list of schedulers: a linear one before the last is the warm-up, the last one the schedule."""
    parts = node.items if isinstance(node, Sequence) else (node,) if isinstance(node, Mapping) else ()
    words = [_word(part) for part in parts]
    kind = (
        {"CosineAnnealingLR": "cosine", "LinearLR": "linear", "ConstantLR": "constant"}.get(words[-1])
        if words
        else None
    )
    if kind is None or node is None:
        return
    yield _at(block, node, "training.lr_scheduler_type", kind)
    ends = [
        end.value if isinstance(part, Mapping) and isinstance(end := part.get("end"), Scalar) else None
        for part in parts
    ]
    share: object = 0.0
    if words[0] == "LinearLR" and len(words) > 1:
        warm, whole = ends[0], ends[-1]
        known = isinstance(warm, (int, float)) and isinstance(whole, (int, float)) and whole
        share = warm / whole if known else Unknown("where the warm-up ends is not written down")  # type: ignore[operator]
    yield _at(block, node, "training.warmup_ratio", share)


def _at(block: Block, node: Node, fact: str, value: object) -> Statement:
    entry = Entry("param_scheduler", node.start, node.end, Scalar(value, node.start, node.end, "name", False))
    return statement(block, entry, ("param_scheduler",), Row("param_scheduler", fact), "file")


def lower_flags(block: Block, layer: str = "flags", command: str = "") -> Fragment:
    """`xtuner train CONFIG --deepspeed NAME`: the config joins by its path; names of DeepSpeed files that it ships are known (knowledge/shipped.yaml)."""
    rows = {"deepspeed": Row("deepspeed", "training.deepspeed", "text"), "work_dir": Row("work_dir", "training.output_dir", "text"),
            "seed": Row("seed", "training.seed")}  # fmt: skip
    statements = tuple(lower_mapping(block, rows, layer, lambda key: None, flags=True))
    return Fragment(
        "xtuner",
        block,
        layer,
        statements,
        {"training": OPEN},
        {},
        huggingface.links(statements),
        entry=True,
        framework="xtuner",
    )
