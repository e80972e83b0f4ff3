"""axolotl's YAML, and flags that override it. It casts what pydantic can cast (`1e-4` is a number there) and fills its own defaults into
TrainingArguments."""

from __future__ import annotations

import re

from stablint.base.light import Any
from stablint.frameworks import huggingface
from stablint.frameworks.fragment import Block, Fragment, Row, listed, lower_mapping, table
from stablint.run.fact import CLOSED, OPEN, is_unknown
from stablint.run.releases.reader_keys import reader
from stablint.syntax.tree import Entry, Scalar

ROWS = {**huggingface.ROWS, **table("axolotl")}

_TELLING = listed("axolotl", "telling")


def recognise(keys: frozenset[str], block: Block) -> int:
    score = _score(keys)
    return 0 if score and _is_another_s(keys) else score


def _score(keys: frozenset[str]) -> int:
    found = keys & _TELLING
    if "base_model" in keys and len(found) >= 3:
        return 95
    if {"base_model", "datasets", "learning_rate"} <= keys:
        return 91
    return (
        91 if "micro_batch_size" in keys and "rl" in keys else 60 if {"micro_batch_size", "sequence_len"} <= keys else 0
    )


_FOREIGN = 4  # keys that axolotl never had: of 86 files for it, those of its own releases among them, none has as many as a fifth of such keys


def _is_another_s(keys: frozenset[str]) -> bool:
    """Whether many of the keys are no release's: a file for a program of one's own may have axolotl's names beside others. A plugin brings keys."""
    known = reader("axolotl.config")
    if known is None or "plugins" in keys:
        return False
    told = [key for key in keys if key[:1] not in "_."]
    foreign = sum(not known.ever(key) for key in told)
    return foreign >= _FOREIGN and foreign * 5 >= len(told)


def row(key: str) -> Row:
    """Its own keys are facts by their names, those of plugins too: it hands none of them on that it does not know."""
    return huggingface.training_row(key) or Row(key, "training." + key)


# Arguments of its command line that are no keys of the file (axolotl 0.18.0, cli/args.py and cli/main.py), and the launcher's.
_OF_THE_COMMAND = frozenset(
    {"launcher", "cloud", "sweep", "debug", "debug_text_only", "debug_num_examples", "prompter", "shard", "num_processes", "main_process_port"}
)  # fmt: skip


def _flag(key: str) -> Row | None:
    return None if key in _OF_THE_COMMAND or key.startswith("no_") else row(key)


def _switched_off(entry: Entry) -> Entry:
    """`--no-load-in-4bit`: each truth value has such a flag beside its own (axolotl 0.19.0, cli/generate_config_options.py:41)."""
    value = entry.value
    if not entry.key.replace("-", "_").startswith("no_") or not isinstance(value, Scalar) or value.value is not True:
        return entry
    return entry._replace(key=entry.key[3:], value=value._replace(value=False, editable=False))


def _left_out(said: dict[str, Any]) -> frozenset[str]:
    """Switches that it leaves out beside others: fp16 beside bf16 (0.19.0 core/builders/base.py:271), four bits of an `adapter: lora` beside eight
    (loaders/model.py:829)."""
    found = {"training.fp16"} if said.get("training.bf16") is True and said.get("training.fp16") is True else set()
    if said.get("training.adapter") == "lora" and said.get("quantization.load_in_8bit") is True:
        found.add("quantization.load_in_4bit")
    return frozenset(found)


def _names_its_file(block: Block) -> bool:
    words = (one.value for one in getattr(block.origin, "positionals", ()))
    return any(isinstance(word, str) and re.fullmatch(r"[^${}<>*?]+\.ya?ml", word) is not None for word in words)


def lower(block: Block, layer: str = "file", command: str = "") -> Fragment:
    """A file, or the flags of `axolotl train FILE --learning-rate 1e-4`: `load_cfg` puts them over the file's keys (cli/config.py)."""
    flags = block.kind == "flags"
    # with a sweep each run takes other keys of that file; and a file that the caller names may say anything
    if flags and (any(entry.key == "sweep" for entry in block.mapping.entries) or not _names_its_file(block)):
        block = block._replace(mapping=block.mapping._replace(open=True))
    if flags:
        block = block._replace(mapping=block.mapping._replace(entries=tuple(map(_switched_off, block.mapping.entries))))
    statements = tuple(lower_mapping(block, ROWS, layer, _flag if flags else row, flags=flags))
    said = {one.fact: one.value for one in statements}
    left_out = _left_out(said)
    statements = tuple(one._replace(value=False) if one.fact in left_out else one for one in statements)
    classes: dict[str, tuple[str, ...]] = {}
    adapter = said.get("training.adapter")
    if not is_unknown(adapter) and adapter:
        classes["lora"] = ("peft.LoraConfig",)
    if said.get("quantization.load_in_4bit") is True or said.get("quantization.load_in_8bit") is True:
        classes["quantization"] = ("transformers.BitsAndBytesConfig",)
    return Fragment(
        "axolotl", block, layer, statements,
        dict.fromkeys(("training", "lora", "quantization", "model", "data", "fsdp", "trainer"), OPEN if block.mapping.open else CLOSED) | {"tokenizer": OPEN},
        classes, huggingface.links(statements), entry=True, framework="axolotl",
    )  # fmt: skip
