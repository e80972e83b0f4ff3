"""What a program sets on its arguments when they are made already.

transformers reads some of them in `__post_init__` and never again (4.30.2 to 5.23.0 training_args.py, trainer.py): DeepSpeed and FSDP are
prepared there, autocast is told to accelerate there, TF32 is switched there. Others are only checked there.
"""

from __future__ import annotations

from collections.abc import Iterable

from stablint.frameworks.fragment import Block, Row, statement
from stablint.run.fact import Statement
from stablint.syntax.tree import Call, Entry, Module, Scalar, Unknown

# Nothing reads them behind the constructor; the value is what the run then has of them. Trainers before 4.30 did look at the second group.
_GONE = frozenset({"deepspeed", "tf32"})
_UNCLEAR = frozenset({"fsdp", "bf16", "fp16"})
IGNORED = _GONE | _UNCLEAR
# With them the program prepares by itself what the constructor would have.
_PREPARES = frozenset({"hf_deepspeed_config", "deepspeed_plugin", "mixed_precision", "fsdp_plugin_args"})


def ignored(call: Call) -> frozenset[str]:
    """Attributes of these arguments that are set in vain."""
    return frozenset() if call.late & _PREPARES else call.late & IGNORED


def without(block: Block, call: Call) -> tuple[Block, tuple[Statement, ...]]:
    """The arguments as the constructor sees them, and a statement `launch.late.<name>` for what is set in vain."""
    names = ignored(call)
    if not names or _made_again(block):
        return block, ()
    kept: list[Entry] = []
    said: list[Statement] = []
    for entry in block.mapping.entries:
        if entry.key not in names or not _is_late(entry, call):
            kept.append(entry)
            continue
        said.append(statement(block, entry, (entry.key,), Row(entry.key, f"launch.late.{entry.key}"), "call"))
        if entry.key in _UNCLEAR:
            node = entry.value
            unknown = Unknown("it is set when the arguments are made already")
            kept.append(entry._replace(value=Scalar(unknown, node.start, node.end, "unknown", False)))
    return block._replace(mapping=block.mapping._replace(entries=tuple(kept))), tuple(said)


def is_unchecked(block: Block, call: Call) -> bool:
    """Whether attributes are set later that count, but that the constructor has not seen, which alone asks most of what is asked of them: it
    holds them against each other, and DeepSpeed's file against some."""
    return not _made_again(block) and bool(call.late - {"*"})


def _is_late(entry: Entry, call: Call) -> bool:
    return entry.key_start >= call.end


def _made_again(block: Block) -> bool:
    """Asked once a program: it may have many calls, of each of which it is asked."""
    module = block.document.root
    if not isinstance(module, Module):
        return False
    if _made_again not in module.notes:
        module.notes[_made_again] = any(call.name.endswith("__post_init__") for call in module.calls)
    found: bool = module.notes[_made_again]
    return found


def sets_in_vain(calls: Iterable[Call]) -> frozenset[str]:
    """The same of a whole program."""
    found = list(calls)
    if any(call.name.endswith("__post_init__") for call in found):
        return frozenset()
    return frozenset().union(*(ignored(call) for call in found))
