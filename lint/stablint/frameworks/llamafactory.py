"""LLaMA-Factory: YAML, JSON and flags of `llamafactory-cli train` and the older `src/train_bash.py`. Its own keys on top of TrainingArguments."""

from __future__ import annotations

from stablint.frameworks import huggingface, llamafactory_data
from stablint.frameworks.fragment import Block, Fragment, Link, listed, lower_mapping, table
from stablint.frameworks.near_keys import in_full
from stablint.run.fact import CLOSED, OPEN, Explicit, Place, Statement
from stablint.syntax.tree import Mapping, Scalar

ROWS = {**huggingface.ROWS, **table("llamafactory")}

# Keys of `llamafactory-cli chat` and `export`, which train nothing.
_NO_TRAINING = frozenset(["infer_backend", "export_dir"])
_PARTS = ("peft_config", "dist_config", "kernel_config", "quant_config", "init_config", "optim_config")
# The second generation's words; its own arguments are no TrainingArguments (src/llamafactory/v1/config/).
SECOND = table("llamafactory-v1")

_TELLING = listed("llamafactory", "telling")


_STAGES = frozenset(["pt", "sft", "rm", "ppo", "dpo", "kto"])  # 0.9.5 hparams/finetuning_args.py


def recognise(keys: frozenset[str], block: Block) -> int:
    found = keys & _TELLING
    strong = keys & {"finetuning_type", "stage", "template", "cutoff_len", "lora_target", "quantization_bit"}
    model = keys & {"model_name_or_path", "adapter_name_or_path"}
    stage = block.mapping.get("stage")
    its_own = not isinstance(stage, Scalar) or type(stage.value) is not str or stage.value in _STAGES
    if len(strong) >= 2 and (model or (its_own and len(found) >= 3)):
        return 94
    return 93 if (model and "template" in keys and keys & _NO_TRAINING) or _is_second(keys, block) else 0


def _is_second(keys: frozenset[str], block: Block) -> bool:
    """The second generation of its files: `model`, and parts that are named by `name`."""
    parts = [
        part
        for part in _PARTS
        if isinstance(inner := block.mapping.get(part), Mapping) and inner.get("name") is not None
    ]
    return (
        "model" in keys
        and bool(parts)
        and (len(parts) >= 2 or bool(keys & {"model_class", "train_dataset", "sample_backend"}) or len(keys) <= 3)
    )


def lower(block: Block, layer: str = "file", command: str = "") -> Fragment:
    keys = frozenset(entry.key for entry in block.mapping.entries)
    if block.kind == "document" and _is_second(keys, block):
        return _second(block, layer)
    if block.kind == "flags" and (command := _command(block)) in _STAGE_OF:
        said = _named(block, command, layer)
        return Fragment("llamafactory", block, layer, (said,), {}, {}, (), entry=True, framework="llamafactory-v1")
    if block.kind == "flags" and not block.mapping.entries:  # the file says of which generation it is
        return Fragment("llamafactory", block, layer, (), {}, {}, (), entry=True)
    if block.kind == "flags":  # keys of a file are compared whole (0.9.5 hparams/parser.py, parse_dict)
        block = in_full(block, ROWS, ("llamafactory.train", "llamafactory.infer"))
    statements = tuple(lower_mapping(block, ROWS, layer, huggingface.training_row, flags=block.kind == "flags"))
    if block.kind == "flags" and "export_model.py" in " ".join((*getattr(block.origin, "words", ()), block.name)):
        place = Place(
            block.document, "export", block.start, block.end, None, ("export",)
        )  # a script of its own before 0.7.1
        origin = Explicit(place, layer, block.number)
        statements += (Statement("launch.command", "export", "export", origin),)
    sets, tables = _rows(block, statements)
    no_training = bool(keys & _NO_TRAINING) and "stage" not in keys
    state = OPEN if block.mapping.open or no_training else CLOSED
    return Fragment(
        "llamafactory", block, layer, (*statements, *sets),
        dict.fromkeys(("training", "lora", "quantization", "model", "fsdp"), state)
        | {"data": OPEN if block.mapping.open else CLOSED, "trainer": CLOSED, "tokenizer": OPEN},
        {"training": (huggingface.BASE,), **_switched_on(statements)}, (*huggingface.links(statements), *tables), entry=True,
        framework="llamafactory",
    )  # fmt: skip


def _rows(block: Block, statements: tuple[Statement, ...]) -> tuple[tuple[Statement, ...], tuple[Link, ...]]:
    """The sets that are trained on, and the table that says what they are."""
    if not any(one.fact == "data.dataset" for one in statements):
        return (), ()
    return llamafactory_data.used(block, statements)


# Commands of the second generation's command line (src/llamafactory/v1/launcher.py).
_STAGE_OF = {"sft": "sft", "dpo": "dpo", "rm": "rm"}


def _command(block: Block) -> str:
    return (*block.name.split(), "", "")[1]


def _named(block: Block, command: str, layer: str) -> Statement:
    place = Place(block.document, command, block.start, block.end, None, (command,))
    return Statement("training.stage", _STAGE_OF[command], command, Explicit(place, layer, block.number))


def _switched_on(statements: tuple[Statement, ...]) -> dict[str, tuple[str, ...]]:
    """The config classes that it builds: of PEFT unless the run is a full one, of bitsandbytes where bits are named."""
    said = {one.fact: one.value for one in statements}
    classes: dict[str, tuple[str, ...]] = {}
    if said.get("training.finetuning_type", "lora") == "lora":
        classes["lora"] = ("peft.LoraConfig",)
    if said.get("quantization.load_in_4bit") is True or said.get("quantization.load_in_8bit") is True:
        classes["quantization"] = ("transformers.BitsAndBytesConfig",)
    return classes


def _second(block: Block, layer: str) -> Fragment:
    statements = tuple(lower_mapping(block, SECOND, layer, lambda key: None))
    said = {one.fact: one.value for one in statements}
    state = OPEN if block.mapping.open or said.get("training.learning_rate") is None else CLOSED
    classes: dict[str, tuple[str, ...]] = (
        {"lora": ("peft.LoraConfig",)} if said.get("training.finetuning_type") == "lora" else {}
    )
    return Fragment(
        "llamafactory", block, layer, statements,
        dict.fromkeys(("training", "lora", "quantization", "model"), state) | dict.fromkeys(("data", "fsdp", "trainer", "tokenizer"), OPEN),
        classes, huggingface.links(statements), entry=True, framework="llamafactory-v1",
    )  # fmt: skip
