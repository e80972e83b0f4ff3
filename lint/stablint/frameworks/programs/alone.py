"""What only some processes come to, though all of them must: facts `launch.alone.<call>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs.seen import calls, stated, tests_above
from stablint.run.fact import Statement
from stablint.syntax.tree import Document, Module

# What every process must come to: it exchanges weights, gradients or results with the others. By what it is a method of.
_TOGETHER = re.compile(
    r"(?:\w{1,40}\.){0,8}(?:\w{0,40}trainer\.(?:train|evaluate|predict|save_model|save_state)|accelerator\.(?:prepare|gather|gather_for_metrics|reduce|backward"
    r"|save_state|get_state_dict|wait_for_everyone|pad_across_processes)|\w{0,40}engine\.save_checkpoint|(?:distributed|dist)\.(?:barrier|all_reduce"
    r"|all_gather|all_gather_object|broadcast_object_list))"
)


def told(document: Document, module: Module) -> Iterator[Statement]:
    """The first call of each word that exchanges something between processes, in a branch that some of them take."""
    if not module.alone:
        return
    if told not in module.notes:
        module.notes[told] = tuple(_told(document, module))
    yield from module.notes[told]


def _told(document: Document, module: Module) -> Iterator[Statement]:
    named: set[str] = set()
    shared: dict[str, bool] = {}  # words that the other processes call as well
    for call in module.calls:
        word = last_word(call.name)
        if word not in named and not call.local and _TOGETHER.fullmatch(call.name):
            if any(start <= call.start < end for start, end in module.alone):
                if word not in shared:
                    shared[word] = _others_call(word, module, document)
                if shared[word]:
                    continue
                named.add(word)
                yield stated(document, f"launch.alone.{word}", call.name, word, call.name_start, call.name_end)


def _others_call(word: str, module: Module, document: Document) -> bool:
    """Whether the other processes call it in a branch of theirs: `if rank != 0: barrier()` before, `if rank == 0: barrier()` behind."""
    text = document.text.text
    elsewhere = (
        call for call in calls(module, word) if not any(start <= call.start < end for start, end in module.alone)
    )
    return any(_RANK.search(test) for call in elsewhere for test in tests_above(text, call.start))


_RANK = re.compile(r"\brank|_rank|main_process|process_zero|process_index|\Aelse\b")
