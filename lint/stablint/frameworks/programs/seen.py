"""What a program does, as statements of the call that shows it; and what is asked of a whole program for each of its trainers, and answered once."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from stablint.frameworks.fragment import last_word
from stablint.run.fact import Explicit, Place, Statement
from stablint.syntax.embedded import end_in_file, start_in_file
from stablint.syntax.tree import Call, Document, Entry, Module, Node, Scalar, Unknown, View

# Whatever else makes an adapter trainable, or may: peft's set_adapter and set_requires_grad, a loop over the parameters.
UNFREEZES = re.compile(
    r"requires_grad|is_trainable|\bset_adapter\b|\bload_adapter\b|\badd_adapter\b|\bunfreeze|mark_only_lora|trainable_params"
)


def stated(document: Document, fact: str, value: object, name: str, start: int, end: int) -> Statement:
    """What a program shows there. `name`: what the place is called."""
    entry = Entry(fact, start, start, Scalar(value, start, end, "name", False))
    said = Unknown(value.reason) if isinstance(value, Unknown) else value
    place = Place(document, last_word(name), start, end, entry, (name,))
    return Statement(fact, said, value, Explicit(place, "call", 0))


def of_call(document: Document, fact: str, value: object, call: Call) -> Statement:
    """What one of its calls shows."""
    return stated(document, fact, value, last_word(call.name), call.name_start, call.name_end)


def shown(document: Document, what: str, value: object, call: Call) -> Statement:
    """What one of its calls shows, as the fact `launch.shows.<what>`."""
    return of_call(document, f"launch.shows.{what}", value, call)


def is_call(node: Node | None, call: Node | None) -> bool:
    """Whether a receiver or an argument is what this call makes; of two that come through a function, whether it was called once."""
    if not isinstance(node, Call) or not isinstance(call, Call) or node.start != call.start:
        return False
    return node.instance == call.instance or -1 in (node.instance, call.instance)


def calls(module: Module, word: str) -> list[Call]:
    """Those whose name ends in the word, in their order."""
    by_word: dict[str, list[Call]] | None = module.notes.get(calls)
    if by_word is None:
        by_word = module.notes[calls] = {}
        for call in module.calls:
            by_word.setdefault(last_word(call.name), []).append(call)
    return by_word.get(word, [])


def any_of(module: Module, words: Iterable[str]) -> list[Call]:
    """Those whose name ends in one of the words, in the order in which they stand."""
    found = [call for word in words for call in calls(module, word)]
    return sorted(found, key=lambda call: (call.start, call.instance))


def methods(module: Module, of: Call) -> list[Call]:
    """The calls of methods of what this call makes, in their order."""
    by_start: dict[int, list[Call]] | None = module.notes.get(methods)
    if by_start is None:
        by_start = module.notes[methods] = {}
        for call in module.calls:
            if isinstance(call.receiver, Call):
                by_start.setdefault(call.receiver.start, []).append(call)
    return [call for call in by_start.get(of.start, ()) if is_call(call.receiver, of)]


class Found:
    """Where a pattern was found: in a notebook's code as it runs, placed in the file that holds it."""

    __slots__ = ("_match", "_view")

    def __init__(self, match: re.Match[str], view: View | None) -> None:
        self._match, self._view = match, view

    def __getitem__(self, group: int | str) -> str:
        return str(self._match[group])

    def start(self, group: int | str = 0) -> int:
        at = self._match.start(group)
        return at if self._view is None else start_in_file(self._view, at)

    def end(self, group: int | str = 0) -> int:
        at = self._match.end(group)
        return at if self._view is None else end_in_file(self._view, at)

    def span(self, group: int | str = 0) -> tuple[int, int]:
        return self.start(group), self.end(group)


def seen_in(expression: str | re.Pattern[str], document: Document, flags: int = 0) -> Found | None:
    """Where a pattern is first found in what a program runs: comments, and names that it imports and never uses, are not looked at."""
    module = document.root
    assert isinstance(module, Module)
    key = seen_in, expression, flags
    if key not in module.notes:
        source = document.text.text if document.view is None else document.view.source
        match = next((one for one in re.finditer(expression, source, flags) if not _is_idle(module, source, one)), None)
        module.notes[key] = None if match is None else Found(match, document.view)
    found: Found | None = module.notes[key]
    return found


# What does nothing by standing there: the names behind `from … import` (one that is used stands elsewhere again, or has another name), a line of comment.
_IDLE = re.compile(
    r"^[ \t]{0,80}from[ \t]{1,8}[\w.]{1,200}[ \t]{1,8}import[ \t]{0,8}(\([^()]{0,4000}\)|(?:[^\n\\#;()]|\\\n){0,2000})|^[ \t]{0,200}(#[^\n]*)",
    re.MULTILINE,
)
_RENAMED = re.compile(r"\w{0,100}[ \t]{1,8}as\b")


def _is_idle(module: Module, source: str, match: re.Match[str]) -> bool:
    spans: tuple[list[int], list[int]] | None = module.notes.get(_is_idle)
    if spans is None:
        found = [one.span(one.lastindex or 0) for one in _IDLE.finditer(source)]
        spans = module.notes[_is_idle] = [start for start, _ in found], [end for _, end in found]
    at = bisect_right(spans[0], match.start()) - 1
    return at >= 0 and match.end() <= spans[1][at] and not _RENAMED.match(source, match.end())


_TESTS = re.compile(r"(?:if|elif|else|match|case)\b")
_ABOVE = 200  # lines in which the branches of a place are looked for


def tests_above(text: str, at: int) -> Iterator[str]:
    """The lines with which the branches begin that a place stands in, from the inside out, by their indentation: `if …`, `elif …`, `else`, `case …`."""
    end = text.rfind("\n", 0, at)
    depth = _indent(text[end + 1 : at] + "|")
    for _ in range(_ABOVE):
        if end < 0 or not depth:
            return
        begin = text.rfind("\n", 0, end) + 1
        line = text[begin:end]
        end = begin - 1
        words = line.strip()
        if words and words[0] != "#" and (indent := _indent(line)) < depth:
            depth = indent
            if _TESTS.match(words):
                yield words


def _indent(line: str) -> int:
    """Columns, as Python counts tabs."""
    wide = line.expandtabs()
    return len(wide) - len(wide.lstrip())
