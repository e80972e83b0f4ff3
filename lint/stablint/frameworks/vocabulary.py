"""Every dialect's own words for facts, for those who write: which table a piece of text was read by, and by which keys it says a fact."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stablint.base.light import NamedTuple
from stablint.frameworks import (
    accelerate,
    axolotl,
    deepspeed,
    fsdp,
    huggingface,
    llamafactory,
    peft,
    registry,
    swift,
    torchtune,
)
from stablint.frameworks.fragment import Block, Row, Rows, spelled
from stablint.frameworks.keyed import module_of
from stablint.frameworks.launch import commands as launch_commands
from stablint.frameworks.launch import scripts as launch_scripts
from stablint.frameworks.programs import lightning
from stablint.run.framework import framework
from stablint.syntax.shell import reader as shell_reader
from stablint.syntax.tree import Document, Mapping, Module, Script


def _nothing(key: str) -> Row | None:
    return None


class Words(NamedTuple):
    """A dialect's table and what it makes of other keys. `takes`: the library's own names that it knows; None for all of them."""

    rows: Rows
    other: Callable[[str], Row | None] = _nothing
    takes: frozenset[str] | None = frozenset()


# The library's names that axolotl's schema has too, and a few of its own that are read as if they were the library's (axolotl 0.19.0,
# utils/schemas/); it drops what it does not know.
_AXOLOTL = frozenset({
    "accelerator_config", "adam_beta1", "adam_beta2", "adam_epsilon", "attn_implementation", "auto_find_batch_size", "beta", "bf16", "cpo_alpha",
    "dataloader_drop_last", "dataloader_num_workers", "dataloader_pin_memory", "dataloader_prefetch_factor", "ddp_broadcast_buffers",
    "ddp_bucket_cap_mb", "ddp_find_unused_parameters", "ddp_timeout", "deepspeed", "eval_steps", "eval_strategy", "fp16",
    "gradient_accumulation_steps", "gradient_checkpointing", "gradient_checkpointing_kwargs", "greater_is_better", "group_by_length",
    "hf_use_auth_token", "hub_model_id", "hub_strategy", "learning_rate", "load_best_model_at_end", "load_in_4bit", "load_in_8bit", "logging_steps",
    "lora_alpha", "lora_dropout", "lora_modules_to_save", "lora_r", "lora_target_modules", "loss_type", "lr_scheduler_kwargs", "max_grad_norm",
    "max_steps", "metric_for_best_model", "neftune_noise_alpha", "optim_args", "optim_target_modules", "output_dir", "remove_unused_columns",
    "resume_from_checkpoint", "rpo_alpha", "save_only_model", "save_steps", "save_strategy", "save_total_limit", "seed", "simpo_gamma", "tf32",
    "torch_compile", "torch_compile_backend", "torch_compile_mode", "trust_remote_code", "warmup_ratio", "warmup_steps", "weight_decay",
})  # fmt: skip
_HF = Words(huggingface.ROWS, huggingface.training_row, None)
WORDS: dict[str, Words] = {
    "hf-args": _HF, "trl": _HF,
    "llamafactory": Words(llamafactory.ROWS, huggingface.training_row, None),
    "ms-swift": Words(swift.ROWS, huggingface.training_row, None),
    "axolotl": Words(axolotl.ROWS, axolotl.row, _AXOLOTL),
    "torchtune": Words(torchtune.ROWS),
    "accelerate": Words(accelerate.ROWS, accelerate.row, None),
    "deepspeed": Words(deepspeed.ROWS, deepspeed.row, None),
    "peft": Words(peft.ROWS, peft.row, None),
    "fsdp": Words({}, fsdp.row, None),
}  # fmt: skip
# A file that somebody names is read by whoever names it, whatever else its keys look like.
_BY_LAYER = {"deepspeed-file": "deepspeed", "accelerate-file": "accelerate", "adapter-file": "peft"}
_LAUNCHER = Words({}, accelerate.flag_row, None)


def words_of(dialect: str) -> Words | None:
    """Frameworks without an entry take nothing that their table does not say; their modules are loaded where such a text was met."""
    found = WORDS.get(dialect)
    return Words(module_of(dialect).ROWS) if found is None and framework(dialect).has_reader else found


def words(document: Document, layer: str, number: int, dialects: tuple[str, ...]) -> Words | None:
    """The words of the text in which a statement of this layer stands; `dialects` are those of its run, in case one was named by the user."""
    root = document.root
    if layer == "accelerate-flags":
        return _LAUNCHER
    if layer in _BY_LAYER:
        return words_of(_BY_LAYER[layer])
    if isinstance(root, Script):
        if layer != "flags":
            return None
        command = root.commands[number]
        keys = frozenset(spelled(entry.key) for entry in command.flags.entries)
        return _of_generation(launch_commands.reader(command, shell_reader.split_launch), keys, flags=True)
    if isinstance(root, Module) and layer == "file":
        return words_of("xtuner")
    if isinstance(root, Module) and layer == "call":
        return Words(lightning.LIGHTNING)  # keywords of other calls are the library's own names
    if not isinstance(root, Mapping):
        return None
    found = _recognised(Block(document, "document", "", root, root.start, root.end, document.number))
    keys = frozenset(entry.key for entry in root.entries)
    return _of_generation(found if found in dialects or not dialects else dialects[0], keys)


def _of_generation(dialect: str, keys: frozenset[str], *, flags: bool = False) -> Words | None:
    """Frameworks that gave their settings new names: a text goes on in the names that it has."""
    known = words_of(dialect)
    if known is None:
        return None
    if known is _HF:
        own = launch_scripts.script(keys, flags=flags)
        return known._replace(rows=own.rows) if own is not None else known
    choose = getattr(module_of(dialect), "rows_for", None) if framework(dialect).module else None
    return known._replace(rows=choose(keys)) if choose is not None else known


def _recognised(block: Block) -> str:
    if not _latest or _latest[0][0] is not block.mapping:
        keys = frozenset(entry.key for entry in block.mapping.entries)
        scores = {name: dialect.recognise(keys, block) for name, dialect in registry.DOCUMENTS.items()}
        _latest[:] = [(block.mapping, max(scores, key=scores.__getitem__))]
    return _latest[0][1]


_latest: list[tuple[Mapping, str]] = []
"""The last text that was recognised: its remedies are worded one after the other."""


def rows_for(fact: str, known: Words, prefix: str = "") -> Iterator[Row]:
    """The dialect's ways of saying a fact: its own words first, then the library's, where the dialect takes those too.

    `prefix` is what the neighbours put before FSDP's options (`fsdp_`).
    """
    flat = [(key, row) for key, rows in known.rows.items() for row in ((rows,) if isinstance(rows, Row) else rows)]
    same = [
        (key, row) for key, row in flat if row.fact == fact and known.rows is not deepspeed.ROWS
    ]  # those are only read
    yield from (row for key, row in same if huggingface.ROWS.get(key) is not row)
    yield from (row for key, row in same if huggingface.ROWS.get(key) is row and _takes(known, key))
    name = fact.partition(".")[2]
    for key in (name, fact, f"{prefix}{name}", f"fsdp_config.{prefix}{name}", f"deepspeed_config.{name}"):
        passed = known.other(key) if key not in known.rows and _takes(known, key.partition(".")[0]) else None
        if passed is not None and passed.fact == fact:
            yield passed


def _takes(known: Words, key: str) -> bool:
    return known.takes is None or key in known.takes
