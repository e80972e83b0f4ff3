"""Calls of libraries' functions and classes that some release's signature does not take (run/releases/signatures.py), as facts of the program.

`launch.calls.missing.N`, `launch.calls.surplus.N`, `launch.calls.twice.N`: the Nth call as `[name, sure, places, names …]`; `launch.calls.unknown.N.NAME`:
one of its arguments. Sure is what no branch and no unused function makes, nothing catches and nobody has put another function in the place of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs.seen import seen_in
from stablint.run.fact import Explicit, Place, Statement
from stablint.run.releases.signatures import Callable, Handed, callable_of, is_method_of, misfit
from stablint.syntax.tree import Call, Document, Entry, Module, Scalar

_PACKAGES = frozenset(
    ["transformers", "trl", "peft", "accelerate", "deepspeed", "sentence_transformers", "bitsandbytes", "datasets"]
)
# Unsloth puts classes of its own, with other constructors, in the place of these packages' ones.
_PATCHED = frozenset(["transformers", "trl", "peft"])
# Their arguments are settings, of which other hazards ask whether the class has them.
_SETTINGS = frozenset({"arguments", "adapter", "quantiser", "trainer", "loader", "unsloth-adapter", "own-trainer"})


def misfits(document: Document, module: Module) -> tuple[Statement, ...]:
    """What is wrong with the calls of a program in some release."""
    found: tuple[Statement, ...] | None = module.notes.get(misfits)
    if found is None:
        found = module.notes[misfits] = tuple(_all(document, module)) if not module.tests else ()
    return found


def _all(document: Document, module: Module) -> Iterator[Statement]:
    patched = seen_in(r"^[ \t]*(?:from|import)[ \t]+unsloth\b", document, re.MULTILINE) is not None
    for number, call in enumerate(module.calls):
        known = _called(call)
        if known is None:
            continue
        package = known.name.partition(".")[0]
        if (patched and package in _PATCHED) or not _is_imported(document, package) or _is_replaced(document, call):
            continue
        yield from _of(document, number, call, known)


def _called(call: Call) -> Callable | None:
    if call.local or call.parsed or "." not in call.name or call.start == call.end:
        return None
    made = call.receiver
    if isinstance(made, Call):
        owner = last_word(made.name)
        if made.local or not owner[:1].isupper() or made.name.partition(".")[0] not in _PACKAGES:
            return None
        word = last_word(call.name)
        own = callable_of(f"{made.name}.{word}")
        if own is not None or owner not in python_kinds.TRAINERS or is_method_of(made.name.partition(".")[0], word):
            return own  # a trainer of another package inherits what no class of that package defines anew
        return callable_of(f"transformers.Trainer.{word}")
    return callable_of(call.name) if call.name.partition(".")[0] in _PACKAGES else None


def _is_imported(document: Document, package: str) -> bool:
    """And no variable: many a program calls its data `datasets`."""
    imported = seen_in(rf"^[ \t]*(?:import|from)[ \t]+{package}\b", document, re.MULTILINE)
    return imported is not None and seen_in(rf"(?:^|[\s,;]){package}[ \t]*=[^=]", document, re.MULTILINE) is None


def _is_replaced(document: Document, call: Call) -> bool:
    """Whether the program puts something of its own in the place of what is called."""
    word = last_word(call.name)
    return seen_in(rf"\b{re.escape(word)}(?:\.__init__|\.__new__)?[ \t]*=[^=]", document) is not None and not any(
        entry.key == word for entry in call.arguments.entries
    )


def _of(document: Document, number: int, call: Call, known: Callable) -> Iterator[Statement]:
    names = tuple(dict.fromkeys(entry.key for entry in call.arguments.entries))
    handed = Handed(len(call.positional), names)
    sure = not (call.attempt or call.conditional or call.doubtful)
    wrong = [misfit(signature, handed) for signature in known.ever()]
    at = call.name_start, call.name_end
    if not call.arguments.open:
        for kind in ("missing", "surplus", "twice"):
            seen = _less_self(handed, kind) if _is_of_class(call) else handed
            found = wrong if seen == handed else [misfit(signature, seen) for signature in known.ever()]
            if any(getattr(one, kind) for one in found):
                value = [known.name, sure, seen.places, *names]
                yield _said(document, f"launch.calls.{kind}.{number}", value, last_word(call.name), *at, None)
    kind = python_kinds.kind(call)
    if kind == "trainer" or kind not in _SETTINGS:
        for entry in call.arguments.entries:
            ever = kind == "trainer" and any(entry.key in one.named for one in known.ever())  # other hazards tell when
            if not ever and any(entry.key in one.unknown for one in wrong):
                fact = f"launch.calls.unknown.{number}.{entry.key}"
                yield _said(
                    document, fact, [known.name, sure, 0, entry.key], entry.key, entry.key_start, entry.key_end, entry
                )


def _is_of_class(call: Call) -> bool:
    """`Trainer.save_model(self, "out")`: by a class, so that the first argument may be the instance."""
    owner = call.name.split(".")[-2]
    return not isinstance(call.receiver, Call) and owner[:1].isupper() and bool(call.positional)


def _less_self(handed: Handed, kind: str) -> Handed:
    """What is handed over if the first argument is the instance, or is not: whichever has less of this fault."""
    return handed if kind == "missing" else Handed(handed.places - 1, handed.names)


def _said(
    document: Document, fact: str, value: list[object], word: str, start: int, end: int, entry: Entry | None
) -> Statement:
    entry = entry or Entry(fact, start, start, Scalar(word, start, end, "name", False))
    return Statement(fact, value, value, Explicit(Place(document, word, start, end, entry, (word,)), "call", 0))
