"""The order in which a program imports, chooses its devices and makes its objects, where a library asks for another: facts `launch.shows.<what>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs.seen import seen_in, stated, tests_above
from stablint.run.fact import Statement
from stablint.syntax.tree import Call, Document, Module

# `unsloth.unsloth` is a copy that the repository carries: the installed package has no such module, and what the copy warns of is not known.
_UNSLOTH = re.compile(r"^(?:from|import)[ \t]+unsloth\b(?!\.unsloth\b)", re.MULTILINE)
_UNSLOTH_ANYWHERE = r"(?m)^[ \t]*(?:from|import)[ \t]+unsloth\b"
_PATCHED = re.compile(r"^(?:from|import)[ \t]+(?:transformers|trl|peft)\b", re.MULTILINE)
_TO_VISIBLE = re.compile(r"os\.environ(?:\[[\"']CUDA_VISIBLE_DEVICES[\"']\]\s*=(?!=)|\.update\()")


def unsloth(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`unsloth_imported_late`: its import stands below one of a library that it patches; both are found at the beginning of a line."""
    own, other = seen_in(_UNSLOTH, document), seen_in(_PATCHED, document)
    if own is not None and other is not None and other.start() < own.start():
        yield stated(document, "launch.shows.unsloth_imported_late", True, "unsloth", *own.span())
    if _only_by_branch not in module.notes:  # asked for every trainer of a program
        module.notes[_only_by_branch] = _only_by_branch(document.text.text)
    branch: tuple[int, int] | None = module.notes[_only_by_branch]
    if branch is not None:
        yield stated(document, "launch.shows.patched_by_branch", True, "unsloth", *branch)


def _only_by_branch(text: str) -> tuple[int, int] | None:
    """Where a program first imports Unsloth, if a test decides of all its imports whether they are reached."""
    first: tuple[int, int] | None = None
    for found in re.finditer(_UNSLOTH_ANYWHERE, text):
        if next(tests_above(text, found.end()), None) is None:
            return None
        first = first or found.span()
    return first


def visible(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`devices_chosen_late`: the visible cards are set when the arguments or the model are made already."""
    text = document.text.text
    seen = seen_in(_TO_VISIBLE, document)
    if seen is not None and "CUDA_VISIBLE_DEVICES" in text[seen.start() : seen.end() + 80]:
        begun = [one for one, kind in python_kinds.kinds(module) if kind in ("arguments", "loader") and not one.parsed]
        if begun and all(one.end < seen.start() for one in begun) and seen.start() < trainer.start:
            yield stated(document, "launch.shows.devices_chosen_late", True, "environ", seen.start(), seen.end())
