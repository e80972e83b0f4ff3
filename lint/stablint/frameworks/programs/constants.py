"""Python scripts that keep their settings in module-level constants or dicts: `micro_batch_size = 4`, `train_args = {"learning_rate": 2e-5, …}`.

Only where the file holds no call that this tool reads: then nothing else says what is trained. What the code does with the names is not seen, so
that all of it is presumed.
"""

from __future__ import annotations

from collections.abc import Set

from stablint.frameworks import huggingface
from stablint.frameworks.fragment import Block, Fragment, Row, lower_mapping
from stablint.run.fact import OPEN, PRESUMED
from stablint.syntax.tree import Document, Mapping, Module

# Names of litgpt's scripts before 0.4, which many others share.
_CONSTANTS = (
    ("learning_rate", "training.learning_rate"),
    ("micro_batch_size", "training.per_device_train_batch_size"),
    ("batch_size", "training.global_batch_size"),
    ("weight_decay", "training.weight_decay"),
    ("override_max_seq_length", "training.max_length"),
    ("warmup_steps", "training.warmup_steps"),
    ("lora_r", "lora.r"),
    ("lora_alpha", "lora.lora_alpha"),
    ("lora_dropout", "lora.lora_dropout"),
)
CONSTANTS = {key: Row(key, fact) for key, fact in _CONSTANTS}
# Dicts of settings: the words of TrainingArguments, and those of trainers that count alike.
_OWN = (
    ("train_batch_size", "training.per_device_train_batch_size", "plain"),
    ("eval_batch_size", "training.per_device_eval_batch_size", "plain"),
    ("max_epochs", "training.num_train_epochs", "plain"),
    ("num_epochs", "training.num_train_epochs", "plain"),
    ("epochs", "training.num_train_epochs", "plain"),
    ("lr", "training.learning_rate", "plain"),
    ("optimizer", "training.optim", "plain"),
    ("lora.r", "lora.r", "plain"),
    ("lora.lora_alpha", "lora.lora_alpha", "plain"),
    ("lora.lora_dropout", "lora.lora_dropout", "plain"),
    ("lora.target_modules", "lora.target_modules", "words"),
)
SETTINGS: dict[str, Row | tuple[Row, ...]] = {
    **huggingface.ROWS,
    **{key: Row(key, fact, codec) for key, fact, codec in _OWN},
}
ADAPTER = {
    key: Row(key, fact, codec)
    for key, fact, codec in (
        ("r", "lora.r", "plain"),
        ("lora_alpha", "lora.lora_alpha", "plain"),
        ("lora_dropout", "lora.lora_dropout", "plain"),
        ("target_modules", "lora.target_modules", "words"),
    )
}
_RATES = frozenset({"learning_rate", "lr"})
_LENGTHS = frozenset({"num_train_epochs", "max_epochs", "num_epochs", "epochs", "max_steps"})
_BATCHES = frozenset({"train_batch_size", "per_device_train_batch_size", "batch_size", "micro_batch_size"})


def recognise(document: Document) -> bool:
    module = document.root
    return isinstance(module, Module) and (_is_script(module.names) or bool(_settings(module)))


def may_hold_settings(words: Set[str]) -> bool:
    """Whether a text of these words may hold constants or a dict that are recognised."""
    script = "micro_batch_size" in words and len(words & CONSTANTS.keys()) >= 3
    return script or not (words.isdisjoint(_RATES) or words.isdisjoint(_LENGTHS) or words.isdisjoint(_BATCHES))


def _saved(module: Module) -> set[int]:
    """Where the dicts begin that are written into files: they are read as those."""
    return {
        node.start
        for call in module.calls
        if call.name.rpartition(".")[2] in ("dump", "dumps", "safe_dump")
        for node in call.positional
        if isinstance(node, Mapping)
    }


def _is_script(names: Mapping) -> bool:
    keys = {entry.key for entry in names.entries}
    return "micro_batch_size" in keys and len(keys & CONSTANTS.keys()) >= 3


def _settings(module: Module) -> list[tuple[str, Mapping]]:
    """Dicts that say rate, batch and length of a training, and those beside them that say an adapter."""
    saved = _saved(module)
    dicts = [
        (entry.key, entry.value)
        for entry in module.names.entries
        if isinstance(entry.value, Mapping) and entry.value.start not in saved and not huggingface.is_prose(entry.value)
    ]
    found = [
        (name, value)
        for name, value in dicts
        if (keys := {entry.key for entry in value.entries}) & _RATES
        and keys & _LENGTHS
        and keys & _BATCHES
        and sum(1 for key in keys if key in SETTINGS or huggingface.training_row(key) is not None) >= 4
    ]
    if len(found) != 1:
        return []  # several of them: which one holds is not known
    adapters = [
        (name, value)
        for name, value in dicts
        if "lora" in name.lower() and {"r", "lora_alpha"} <= {entry.key for entry in value.entries}
    ]
    return found + (adapters if len(adapters) == 1 else [])


def lower(document: Document) -> tuple[Fragment, ...]:
    module = document.root
    assert isinstance(module, Module)
    if _is_script(module.names):
        block = Block(document, "document", "", module.names, module.names.start, module.names.end, document.number)
        statements = tuple(lower_mapping(block, CONSTANTS, "call", lambda key: None))
        lora = {"lora": ("litgpt.finetune_lora",)} if any(one.fact == "lora.r" for one in statements) else {}
        return (Fragment("python", block, "call", statements, {"training": PRESUMED, "lora": OPEN}, lora, entry=True),)
    fragments = []
    for number, (name, mapping) in enumerate(_settings(module)):
        block = Block(document, "document", name, mapping, mapping.start, mapping.end, number)
        rows = SETTINGS if number == 0 else ADAPTER
        other = huggingface.training_row if number == 0 else _nothing
        statements = tuple(lower_mapping(block, rows, "call", other))
        links = huggingface.links(statements)
        scopes = {"training": OPEN, "lora": OPEN}
        classes = {"training": (huggingface.BASE,)} if number == 0 else {}
        fragments.append(Fragment("python", block, "call", statements, scopes, classes, links, entry=number == 0))
    return tuple(fragments)


def _nothing(key: str) -> Row | None:
    return None
