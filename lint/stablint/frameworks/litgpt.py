"""litgpt: YAML of its config_hub, and the same keys as dotted flags of `litgpt finetune_lora …`. jsonargparse casts every number."""

from __future__ import annotations

from stablint.frameworks import huggingface
from stablint.frameworks import words as _codecs  # noqa: F401  registers the codecs used below
from stablint.frameworks.fragment import Block, Fragment, Row, lower_mapping, statement, table
from stablint.run.fact import CLOSED, OPEN, PRESUMED, Statement
from stablint.syntax.tree import Command, Entry, Scalar

ROWS = table("litgpt")
_SHORT = Row("optimizer", "training.optim", "optimizer")  # a name instead of a section
_PLACES = frozenset({"lora_query", "lora_key", "lora_value", "lora_projection", "lora_mlp", "lora_head"})
_OWN = _PLACES | {
    "checkpoint_dir", "out_dir", "tokenizer_dir", "initial_checkpoint_dir", "model_config", "logger_name", "num_nodes", "devices", "precision",
}  # fmt: skip
_COMMANDS = {"finetune": "lora", "finetune_lora": "lora", "finetune_full": "full", "finetune_adapter": "adapter",
             "finetune_adapter_v2": "adapter", "pretrain": "full"}  # fmt: skip

_SCRIPTS = {"lora": "lora", "full": "full", "adapter": "adapter", "adapter_v2": "adapter"}


def recognise(keys: frozenset[str], block: Block) -> int:
    """`train` and `eval` sections with litgpt's own arguments beside them; what parts of a block have an adapter no other framework says so."""
    if "train" not in keys or len(keys & _OWN) < 3:
        return 0
    return 94 if block.mapping.get("eval") or "optimizer" in keys or keys & _PLACES else 0


def recognise_flags(keys: frozenset[str], command: Command) -> bool:
    """Its scripts before 0.4: `python finetune/lora.py --checkpoint_dir …`."""
    return keys >= {"checkpoint_dir", "out_dir"} and not keys.isdisjoint({"precision", "data_dir", "quantize"})


def is_command(words: tuple[str, ...]) -> bool:
    return len(words) >= 2 and words[0].rpartition("/")[2] == "litgpt" and words[1] in _COMMANDS


def lower(block: Block, layer: str = "file", command: str = "") -> Fragment:
    """The commands share their keys; which one reads a file is told by its adapter keys, or by the model that pretraining names."""
    flags = block.kind == "flags"
    if flags:  # jsonargparse reads each word as YAML
        block = block._replace(mapping=block.mapping._replace(entries=tuple(map(_nothing, block.mapping.entries))))
    statements = [
        one
        for one in lower_mapping(block, ROWS, layer, {"optimizer": _SHORT}.get, flags=flags)
        if not (one.fact == "training.optim" and isinstance(one.value, dict))
    ]
    words = block.origin.words if flags and isinstance(block.origin, Command) else ()
    script = "" if is_command(words) else _script(words)
    if is_command(words):
        statements += _of_command(block, words, layer)
    elif script:
        statements.append(_says(block, script, "training.finetuning_type", _SCRIPTS[script], layer))
    elif not flags and (named := next((e for e in block.mapping.entries if e.key == "tokenizer_dir"), None)):
        said = statement(block, named, ("tokenizer_dir",), Row("tokenizer_dir", "training.stage", "text"), layer)
        statements.append(said._replace(value="pt"))  # only `litgpt pretrain` is told where the tokenizer is
    stated = {one.fact for one in statements}
    lora = any(fact.startswith("lora.") for fact in stated) or any(
        one.fact == "training.finetuning_type" and one.value == "lora" for one in statements
    )
    classes = {"lora": ("litgpt.finetune_lora",)} if lora else {}
    state = OPEN if block.mapping.open else PRESUMED if script else CLOSED
    return Fragment(
        "litgpt", block, layer, tuple(statements),
        dict.fromkeys(("training", "lora", "quantization", "model", "deepspeed", "fsdp", "accelerate"), state) | {"data": OPEN},
        classes, huggingface.links(tuple(statements)), entry=True, framework="litgpt",
    )  # fmt: skip


def _nothing(entry: Entry) -> Entry:
    """`--train.max_norm null`"""
    value = entry.value
    is_null = isinstance(value, Scalar) and value.value in ("null", "~")
    return entry._replace(value=value._replace(value=None)) if is_null and isinstance(value, Scalar) else entry


def _script(words: tuple[str, ...]) -> str:
    """Its scripts before 0.4: `python finetune/lora.py`."""
    names = [word.rpartition("/")[2].removesuffix(".py") for word in words if word.endswith(".py")]
    return next((name for name in names if name in _SCRIPTS), "")


def _says(block: Block, word: str, fact: str, value: str, layer: str) -> Statement:
    """What a word of the command means."""
    node = Scalar(value, block.start, block.start, "name", False)
    return statement(block, Entry(word, block.start, block.start, node), (word,), Row(word, fact), layer)


def _of_command(block: Block, words: tuple[str, ...], layer: str) -> list[Statement]:
    """`litgpt finetune_lora MODEL`: the command says what is trained, its first argument the model."""
    found = [
        _says(block, words[1], "training.finetuning_type", _COMMANDS[words[1]], layer),
        _says(block, words[1], "launch.command", words[1], layer),
    ]
    if words[1] == "pretrain":
        found.append(_says(block, words[1], "training.stage", "pt", layer))
    positionals = [word for word in getattr(block.origin, "positionals", ()) if word.value not in words[:2]]
    if positionals:
        entry = Entry("checkpoint_dir", positionals[0].start, positionals[0].start, positionals[0])
        found.append(
            statement(block, entry, ("checkpoint_dir",), Row("checkpoint_dir", "model.name_or_path", "text"), layer)
        )
    return found
