"""Which of a program's tokenizers its trainings pad with."""

from __future__ import annotations

import re
from bisect import bisect_right

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs import kinds as python_kinds
from stablint.syntax.tree import Document, Entry, Module

_TOP_LEVEL = re.compile(r"^[^\s#)\]}]", re.MULTILINE)
_DEFINES = re.compile(r"(?:async[ \t]+)?def\b|class\b")
_USES = frozenset({"collator", "trainer", "own-trainer"})


def of_trainings(document: Document, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """What is said of tokenizers in the functions that train or collate, where each of these has a tokenizer of its own; else all of it."""
    module, text = document.root, document.text.text
    if not isinstance(module, Module):
        return entries
    begins = [found.start() for found in _TOP_LEVEL.finditer(text)]

    def home(at: int) -> int:
        """Where the function or class begins in which the place lies; -1 for the module's own lines."""
        number = bisect_right(begins, at)
        return begins[number - 1] if number and _DEFINES.match(text, begins[number - 1]) else -1

    users = {home(one.start) for one, kind in python_kinds.kinds(module) if kind in _USES}
    if not users or -1 in users:
        return entries
    own = {home(entry.key_start) for entry in entries}
    own |= {
        home(one.start) for one in module.calls if "Tokenizer" in one.name and last_word(one.name) == "from_pretrained"
    }
    return tuple(one for one in entries if home(one.key_start) in (*users, -1)) if users <= own else entries
