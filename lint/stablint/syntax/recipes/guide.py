"""A README or another guide → the commands that its fenced blocks tell the reader to give, each block a script of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.syntax import limits
from stablint.syntax.embedded import Builder, Parse
from stablint.syntax.recipes.workload import HOST, told_to_shells
from stablint.syntax.tree import Document, Text, View

_FENCE = re.compile(r"[ \t]{0,12}(```|~~~)[`~]{0,9}[ \t]{0,9}([\w+-]{0,40})")
_OF_A_SHELL = frozenset(["", "bash", "sh", "shell", "console", "zsh", "shell-session"])
_PROMPT = re.compile(r"[ \t]{0,40}\$[ \t]{1,9}")


def documents(text: Text, parse: Parse) -> tuple[Document, ...]:
    return told_to_shells(text, "guide", _so_many, parse)


def _so_many(source: str, spent: limits.Spent) -> Iterator[View]:
    for number, view in enumerate(_blocks(source)):
        if number >= limits.LINES.most:
            spent.reached(limits.LINES, view.pieces[0].at, view.pieces[0].at)
            return
        yield view


def _blocks(source: str) -> Iterator[View]:
    """The text of every fenced block that is a shell's or says no language, without the prompts before its lines."""
    fence, builder, at = "", Builder(), 0
    while at < len(source):
        end = source.find("\n", at)
        end = len(source) if end < 0 else end
        found = _FENCE.match(source, at, end)
        if not fence:
            if found is not None:
                fence, builder, of_shell = found[1], Builder(), found[2].lower() in _OF_A_SHELL
        elif found is not None and found[1] == fence and not found[2]:
            fence = ""
            if of_shell and builder.length:
                yield builder.view(HOST)
        elif of_shell:
            prompt = _PROMPT.match(source, at, end)
            start = prompt.end() if prompt is not None else at
            builder.keep(source[start:end], start)
            builder.put("\n", end, end)
        at = end + 1
