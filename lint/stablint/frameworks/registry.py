"""Which dialect a document is, by its structure; and its lowering."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from stablint.base.light import Any, NamedTuple
from stablint.frameworks import accelerate, deepspeed, fsdp, huggingface, near_keys, peft, unknown_keys, xtuner
from stablint.frameworks import model_config as model
from stablint.frameworks.fragment import Block, Fragment, keys_of
from stablint.frameworks.launch import commands as launch_commands
from stablint.frameworks.programs import constants as program_constants
from stablint.frameworks.programs import reader as program_reader
from stablint.frameworks.unnamed_secrets import with_commanded, with_secrets
from stablint.run.framework import Framework, framework, records
from stablint.syntax.shell import reader as shell_reader
from stablint.syntax.tree import Document, Entry, Mapping, Module, Scalar


class Dialect(NamedTuple):
    recognise: Callable[[frozenset[str], Block], int]
    lower: Callable[[Block], Fragment]


def _late(module: str, may: Callable[[frozenset[str], Block], bool], framework: str = "") -> Dialect:
    """One whose module is loaded where a document may be its own. `framework`: whose record says all of it, and the module reads for several."""

    def its() -> Any:
        loaded = import_module(f"stablint.frameworks.{module}")
        return loaded.module_of(framework) if framework else loaded

    def recognise(keys: frozenset[str], block: Block) -> int:
        return int(its().recognise(keys, block)) if may(keys, block) else 0

    def lower(block: Block) -> Fragment:
        found: Fragment = its().lower(block)
        return found

    return Dialect(recognise, lower)


def _of_framework(name: str, record: Framework) -> Dialect:
    """A framework whose files are told by its module, which is asked where the record says so, or by its record alone."""
    if record.files is not None:
        told_by = record.files.told_by
        return _late("keyed", lambda keys, _: keys.issuperset(told_by), name)

    def may(keys: frozenset[str], block: Block) -> bool:
        return not keys.isdisjoint(record.asked_by_keys) or any(
            type(one.value) is Mapping and one.value.get(key) is not None
            for key in record.asked_by_sections
            for one in block.mapping.entries
        )

    return _late(record.module, may)


def _is_table_of_tables(keys: frozenset[str], block: Block) -> bool:
    return block.document.format == "json" and all(type(one.value) is Mapping for one in block.mapping.entries)


def _has_a_rate_or_sections(keys: frozenset[str], block: Block) -> bool:
    return not keys.isdisjoint(_RATES) or any(type(one.value) is Mapping for one in block.mapping.entries)


_RATES = frozenset({"lr", "learning_rate", "max_lr", "base_lr", "peak_lr"})


# Documents with keys. `trl` is lowered by huggingface.py, which tells the two apart by their keys.
DOCUMENTS: dict[str, Dialect] = {
    "model": Dialect(model.recognise, model.lower),
    "peft": Dialect(peft.recognise, peft.lower),
    "accelerate": Dialect(accelerate.recognise, accelerate.lower),
    "deepspeed": Dialect(deepspeed.recognise, deepspeed.lower),
    **{name: _of_framework(name, one) for name, one in records().items() if one.tells_files},
    "fsdp": Dialect(fsdp.recognise, fsdp.lower),
    "hf-args": Dialect(huggingface.recognise, huggingface.lower),
    "llamafactory-data": _late("llamafactory_data", _is_table_of_tables),
    "own": _late("own", _has_a_rate_or_sections),  # what no library's file is may be one for a program of its own
}
_HF, _OWN = DOCUMENTS["hf-args"], DOCUMENTS["own"]
NAMES = (*DOCUMENTS, "trl", "xtuner", "python", "notebook", "shell")
_ENOUGH = 30


PROGRAM = "python"  # as which a module is read that trains for a program, whatever it says itself


def lower(document: Document, named: str | None = None) -> tuple[Fragment, ...]:
    """The fragments of a document; none where it is no training configuration. `named` (--dialect) overrides recognition of keyed documents."""
    root = document.root
    if isinstance(root, Mapping):
        block = Block(document, "document", "", root, root.start, root.end, document.number)
        dialect = _best(block, named)
        return (with_secrets(_with_unread(dialect.lower(block))),) if dialect is not None else ()
    if document.format == "python":
        if _is_generated(document):
            return ()
        if isinstance(root, Module) and (
            root.names.get("model") is not None or any(c.name[:7] == "xtuner." for c in root.calls)
        ):
            if xtuner.recognise(document):
                return (xtuner.lower(document),)
        told = isinstance(root, Module) and (named == PROGRAM or program_reader.recognise(document) > 0)
        found = tuple(program_reader.lower(document)) if told else _constants(document)
        if document.view is not None and document.view.host in ("notebook", "databricks") and not document.view.name:
            found = tuple(f._replace(dialect="notebook") if f.dialect == "python" else f for f in found)
        return found
    if document.format == "shell":
        commands = launch_commands.lower(document, shell_reader.split_launch)
        return with_commanded(document, tuple(with_secrets(_with_unread(one)) for one in commands))
    return ()


def _constants(document: Document) -> tuple[Fragment, ...]:
    return program_constants.lower(document) if program_constants.recognise(document) else ()


def _with_unread(fragment: Fragment) -> Fragment:
    if fragment.dialect in ("trl", "hf-args") and fragment.block.kind == "document":
        keys = frozenset([entry.key for entry in fragment.block.mapping.entries])
        if not near_keys.misspelled(keys) and not (fragment.dialect == "trl" and near_keys.of_others(keys)):
            return fragment
    elif not framework(fragment.dialect).readers:
        return fragment
    return unknown_keys.with_unread(fragment)


def _best(block: Block, named: str | None) -> Dialect | None:
    if named is not None:
        return DOCUMENTS.get("hf-args" if named == "trl" else named)
    keys = keys_of(block.mapping)
    flat = Mapping not in {type(entry[3]) for entry in block.mapping.entries}
    stage = block.mapping.get("stage")
    told = keys | {f"stage: {stage.value}"} if isinstance(stage, Scalar) else keys
    if flat and told in _flat:  # keys, and the stage, alone decide where nothing is nested
        return _settings(_flat[told], block)
    if _is_written_down(keys) or _is_tracked(keys, block.mapping):
        return None
    best, score = None, _ENOUGH - 1
    others = () if flat else _named_by_sections(block.mapping)
    for name, dialect in DOCUMENTS.items():
        if dialect is _OWN and best is not None and "learning_rate" in keys:
            break  # it is asked last, and says no more of such a file than whoever knows it
        if others and name in _COMMANDED and name not in others:
            continue
        found = dialect.recognise(keys, block)
        if found > score:
            best, score = dialect, found
    if flat and best is not _OWN:
        _flat[told] = best
    return _settings(best, block)


_COMMANDED = {name: name.replace("-", "_") + "_" for name, one in records().items() if one.tells_files}


def _named_by_sections(mapping: Mapping) -> tuple[str, ...]:
    """The frameworks that a section of the file is called after, `verl_platform_config:`: it is of no other one."""
    sections = [one.key for one in mapping.entries if type(one.value) is Mapping]
    return tuple(name for name, word in _COMMANDED.items() if any(key.startswith(word) for key in sections))


_WRITTEN = tuple(frozenset(one.written_down) for one in records().values() if one.written_down)
_FEW = 3


def _is_written_down(keys: frozenset[str]) -> bool:
    """Whether a run of some framework wrote the file for itself."""
    return any(len(keys & words) >= _FEW for words in _WRITTEN)


_VALUE = frozenset({"value", "desc"})


def _is_tracked(keys: frozenset[str], mapping: Mapping) -> bool:
    """What Weights & Biases wrote down of a run: each key in a box of its own (wandb 0.22.0 sdk/lib/config_util.py)."""
    if keys.isdisjoint({"_wandb", "wandb_version"}):
        return False
    boxes = [one.value for one in mapping.entries if one.key != "wandb_version"]
    return bool(boxes) and all(type(box) is Mapping and "value" in keys_of(box) <= _VALUE for box in boxes)


def _is_generated(document: Document) -> bool:
    """A trainer that Unsloth writes when it is imported, with the releases that it was made for at its top (unsloth-zoo 2025.11.1 compiler.py)."""
    return document.text.text.startswith('"""') and "__UNSLOTH_VERSIONING__" in document.text.text[:_TOP]


_TOP = 400


def _settings(best: Dialect | None, block: Block) -> Dialect | None:
    """Nothing where the keys are those of a run, but label or describe them, or stand beside what came of it."""
    if best is _HF and huggingface.is_prose(block.mapping):
        return None
    if best in (_HF, _OWN) and any(map(_is_result, block.mapping.entries)):
        return None
    return best


# What only a run that is over can say: by the word that a key begins with the words that it ends in, but for a unit. The Trainer's own:
# `speed_metrics` of transformers 5.23.0.
_MEASURED = frozenset(["loss", "accuracy", "acc", "perplexity", "f1", "reward"])
_LASTED = frozenset(["runtime", "duration", "second", "flos"])
_RESULTS = {
    **dict.fromkeys(("train", "eval", "val", "test"), _MEASURED | _LASTED),
    **dict.fromkeys(("training", "total", "elapsed"), _LASTED | {"time", "date"}),
    **dict.fromkeys(("trained", "finished", "completed"), frozenset(["at", "on"])),
    "final": _MEASURED | {"step"},
    "peak": frozenset(["vram", "mem", "memory"]),
}
_UNITS = frozenset(["s", "sec", "secs", "seconds", "min", "minutes", "h", "hours", "mb", "mib", "gb", "gib"])
_LONGEST = 3  # words behind the first: `train_samples_per_second`


def _is_result(entry: Entry) -> bool:
    """A number that was measured, or a day: `eval_loss: steps` would be somebody's setting."""
    first, _, rest = entry.key.partition("_")
    ends = _RESULTS.get(first)
    if ends is None or type(entry.value) is not Scalar:
        return False
    words = [word for word in rest.split("_") if word not in _UNITS]
    if not words or len(words) > _LONGEST or words[-1] not in ends:
        return False
    value = entry.value.value
    return type(value) in (int, float) or (type(value) is str and value[:4].isdigit())


_flat: dict[frozenset[str], Dialect | None] = {}
