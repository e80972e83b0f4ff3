"""How a fact is said in the text where it should stand: by which key of that text's own dialect, and in which words."""

from __future__ import annotations

import json

from stablint.base.light import Any, NamedTuple
from stablint.frameworks import vocabulary
from stablint.frameworks.codec import Unwritable, write
from stablint.frameworks.fragment import Row
from stablint.run.fact import Explicit
from stablint.run.releases.fields import field
from stablint.run.world import Run
from stablint.syntax.tree import Entry, Mapping

# Arguments whose flag takes a dictionary as JSON (transformers 5.23.0 training_args.py, _VALID_DICT_FIELDS).
_JSON = (
    "accelerator_config", "activation_checkpointing_kwargs", "fsdp_config", "gradient_checkpointing_kwargs", "lr_scheduler_kwargs",
)  # fmt: skip


class Insertion(NamedTuple):
    """`key: value` behind the entry `after`."""

    key: str
    value: Any
    after: Entry


def row_of(origin: Explicit, fact: str, run: Run) -> Row | None:
    """The entry of the dialect's table by which the statement was read; None where no table is known."""
    words = _words(origin, run)
    if words is None or not origin.place.path:
        return None
    key = ".".join(origin.place.path)
    found = words.rows.get(key) or words.other(key)
    rows = found if isinstance(found, tuple) and not isinstance(found, Row) else (found,)
    return next((row for row in rows if row is not None and row.fact == fact), None)


def said(value: Any, old: Any, row: Row | None) -> Any:
    """The value in the words that stand there now. Raises Unwritable."""
    return write("dtype" if row is None else row.codec, value, old)


def insertion(fact: str, value: Any, beside: Explicit, run: Run) -> Insertion | None:
    """The fact as a new setting in the text where another one stands; None where that text's dialect has no word for it."""
    entry, words = beside.place.entry, _words(beside, run)
    if entry is None or words is None:
        return None
    prefix = "fsdp_" if entry.key.startswith("fsdp_") or run.dialects[:1] == ("accelerate",) else ""
    for row in sorted(vocabulary.rows_for(fact, words, prefix), key=lambda row: not _is_current(row, run)):
        try:
            written = write(row.codec, value)
        except Unwritable:
            continue
        found = _placed(row.key, written, beside)
        if found is not None:
            return found
    return None


def _is_current(row: Row, run: Run) -> bool:
    """Whether every release that the run may have knows the key by this name: of `torch_dtype` and `dtype` the one that is there."""
    for owner in run.classes.get(row.fact.partition(".")[0], ()):
        known = field(owner.removeprefix("?"), row.key)
        allowed = run.releases.allowed(known.library) if known is not None else ()
        if known is not None and allowed:
            there = known.since is None or known.since <= allowed[0]
            return there and (known.removed_in is None or allowed[-1] < known.removed_in)
    return False


def _words(origin: Explicit, run: Run) -> vocabulary.Words | None:
    return vocabulary.words(origin.place.document, origin.layer, origin.block, run.dialects)


def _placed(key: str, value: Any, beside: Explicit) -> Insertion | None:
    """A flag is written as it is called; a dotted key of a document goes into the mappings that hold it."""
    place, root = beside.place, beside.place.document.root
    if not isinstance(root, Mapping):
        flags = [entry.key.replace("-", "_") for entry in _neighbours(place.entry, beside)]
        block, dot, last = key.rpartition(".")
        if dot and "." not in "".join(flags):
            if block not in _JSON or block in flags:
                return None
            key, value = block, json.dumps({last: value})
        return None if place.entry is None else Insertion(key, value, place.entry)
    mapping, path = root, key.split(".")
    above: tuple[str, ...] = ()
    while len(path) > 1 and isinstance(inner := mapping.get(path[0]), Mapping) and inner.entries:
        mapping, above, path = inner, (*above, path[0]), path[1:]
    if len(path) > 1 and mapping.get(path[0]) is not None:
        return None  # something else stands there
    for name in reversed(path[1:]):
        value = {name: value}
    same_level = place.entry if place.path[:-1] == above else None
    holder = next((e for e in mapping.entries if place.path[: len(above) + 1] == (*above, e.key)), None)
    return Insertion(path[0], value, same_level or holder or mapping.entries[-1])


def _neighbours(entry: Entry | None, beside: Explicit) -> tuple[Entry, ...]:
    """The flags of the command that an entry belongs to."""
    commands = getattr(beside.place.document.root, "commands", ())
    return next((c.flags.entries for c in commands if entry in c.flags.entries), ())
