"""Which dialect a document is, by its structure; and its lowering."""

from __future__ import annotations

from collections.abc import Callable

from stablint.dialect import (
    accelerate,
    axolotl,
    deepspeed,
    fsdp,
    huggingface,
    llamafactory,
    model,
    peft,
    swift,
)
from stablint.dialect.fragment import Block, Fragment, keys_of
from stablint.dialect.unnamed_secrets import with_secrets
from stablint.record import NamedTuple
from stablint.source.tree import Document, Mapping, Module


class Dialect(NamedTuple):
    recognise: Callable[[frozenset[str], Block], int]
    lower: Callable[[Block], Fragment]


def _torchtune(keys: frozenset[str], block: Block) -> int:
    """Rare dialects are loaded where a document may be theirs."""
    if not any(type(e.value) is Mapping and e.value.get("_component_") is not None for e in block.mapping.entries):
        return 0
    from stablint.dialect import torchtune

    return torchtune.recognise(keys, block)


def _lower_torchtune(block: Block) -> Fragment:
    from stablint.dialect import torchtune

    return torchtune.lower(block)


def _litgpt(keys: frozenset[str], block: Block) -> int:
    if "train" not in keys:
        return 0
    from stablint.dialect import litgpt

    return litgpt.recognise(keys, block)


def _lower_litgpt(block: Block) -> Fragment:
    from stablint.dialect import litgpt

    return litgpt.lower(block)


def _own(keys: frozenset[str], block: Block) -> int:
    """What no library's file is may be one for a program of its own."""
    if keys.isdisjoint(_RATES) and not any(type(entry.value) is Mapping for entry in block.mapping.entries):
        return 0
    from stablint.dialect import own

    return own.recognise(keys, block)


def _lower_own(block: Block) -> Fragment:
    from stablint.dialect import own

    return own.lower(block)


_RATES = frozenset({"lr", "learning_rate", "max_lr", "base_lr", "peak_lr"})


def _verl(keys: frozenset[str], block: Block) -> int:
    if "actor_rollout_ref" not in keys and not ("trainer" in keys and "optim" in keys):
        return 0
    from stablint.dialect import verl

    return verl.recognise(keys, block)


def _lower_verl(block: Block) -> Fragment:
    from stablint.dialect import verl

    return verl.lower(block)


def _llamafactory_data(keys: frozenset[str], block: Block) -> int:
    """LLaMA-Factory's table of data sets is JSON alone, and holds nothing but tables."""
    if block.document.format != "json" or any(type(entry.value) is not Mapping for entry in block.mapping.entries):
        return 0
    from stablint.dialect import llamafactory_data

    return llamafactory_data.recognise(keys, block)


def _lower_llamafactory_data(block: Block) -> Fragment:
    from stablint.dialect import llamafactory_data

    return llamafactory_data.lower(block)


# Documents with keys. `trl` is lowered by huggingface.py, which tells the two apart by their keys.
DOCUMENTS: dict[str, Dialect] = {
    "model": Dialect(model.recognise, model.lower),
    "peft": Dialect(peft.recognise, peft.lower),
    "accelerate": Dialect(accelerate.recognise, accelerate.lower),
    "deepspeed": Dialect(deepspeed.recognise, deepspeed.lower),
    "axolotl": Dialect(axolotl.recognise, axolotl.lower),
    "llamafactory": Dialect(llamafactory.recognise, llamafactory.lower),
    "torchtune": Dialect(_torchtune, _lower_torchtune),
    "litgpt": Dialect(_litgpt, _lower_litgpt),
    "ms-swift": Dialect(swift.recognise, swift.lower),
    "fsdp": Dialect(fsdp.recognise, fsdp.lower),
    "hf-args": Dialect(huggingface.recognise, huggingface.lower),
    "verl": Dialect(_verl, _lower_verl),
    "llamafactory-data": Dialect(_llamafactory_data, _lower_llamafactory_data),
    "own": Dialect(_own, _lower_own),
}
_HF = DOCUMENTS["hf-args"]
NAMES = (*DOCUMENTS, "trl", "xtuner", "python", "notebook", "shell")
_ENOUGH = 30


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
        from stablint.dialect import python

        if isinstance(root, Module) and (
            root.names.get("model") is not None or any(c.name[:7] == "xtuner." for c in root.calls)
        ):
            from stablint.dialect import xtuner

            if xtuner.recognise(document):
                return (xtuner.lower(document),)
        found = tuple(python.lower(document)) if python.recognise(document) else _constants(document)
        if document.view is not None and document.view.host in ("notebook", "databricks") and not document.view.name:
            found = tuple(f._replace(dialect="notebook") if f.dialect == "python" else f for f in found)
        return found
    if document.format == "shell":
        from stablint.dialect import shell
        from stablint.source.shell import split_launch

        return (
            tuple(with_secrets(_with_unread(one)) for one in shell.lower(document, split_launch))
            if shell.recognise(document, split_launch)
            else ()
        )
    return ()


# Frameworks of which it is known which keys they take (dialect/unread.py).
_KEYS_KNOWN = frozenset(
    {"llamafactory", "axolotl", "ms-swift", "accelerate", "openrlhf", "trl", "torchtune", "litgpt", "verl"}
)


def _constants(document: Document) -> tuple[Fragment, ...]:
    from stablint.dialect import constants

    return constants.lower(document) if constants.recognise(document) else ()


def _with_unread(fragment: Fragment) -> Fragment:
    if fragment.dialect in ("trl", "hf-args") and fragment.block.kind == "document":
        from stablint.dialect.misspelled import misspelled, of_others

        keys = frozenset([entry.key for entry in fragment.block.mapping.entries])
        if not misspelled(keys) and not (fragment.dialect == "trl" and of_others(keys)):
            return fragment
    elif fragment.dialect not in _KEYS_KNOWN:
        return fragment
    from stablint.dialect import unread

    return unread.with_unread(fragment)


def _best(block: Block, named: str | None) -> Dialect | None:
    if named is not None:
        return DOCUMENTS.get("hf-args" if named == "trl" else named)
    keys = keys_of(block.mapping)
    flat = Mapping not in {type(entry[3]) for entry in block.mapping.entries}
    if flat and keys in _flat:  # keys alone decide where nothing is nested
        return _settings(_flat[keys], block)
    if swift.is_record(keys) or _is_tracked(keys, block.mapping):
        return None
    best, score = None, _ENOUGH - 1
    for dialect in DOCUMENTS.values():
        found = dialect.recognise(keys, block)
        if found > score:
            best, score = dialect, found
    if flat and best is not DOCUMENTS["own"]:
        _flat[keys] = best
    return _settings(best, block)


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
    """Nothing where the keys are those of a run, but label or describe them."""
    return None if best is _HF and huggingface.is_prose(block.mapping) else best


_flat: dict[frozenset[str], Dialect | None] = {}
