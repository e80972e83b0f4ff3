"""xtuner's Python configs of mmengine: `lr = 2e-4`, `model = dict(type=SupervisedFinetune, llm=dict(…), lora=dict(…))`.

Module-level names are the keys; values stand where the names are given them, so that a fix edits `lr = 2e-4` itself. The file is read, never run.
"""

from __future__ import annotations

from collections.abc import Iterator

from stablint.base.light import cast
from stablint.frameworks import huggingface
from stablint.frameworks import words as _codecs  # noqa: F401  registers the codecs used below
from stablint.frameworks.fragment import Block, Fragment, Row, last_word, lower_mapping, statement, table
from stablint.run.fact import CLOSED, OPEN, Explicit, Statement
from stablint.syntax.tree import Call, Document, Entry, Mapping, Module, Node, Scalar, Sequence, Unknown

ROWS = table("xtuner")
FIRST = cast("dict[str, Row]", table("xtuner", "first"))
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
