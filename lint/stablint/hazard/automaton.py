"""Whether a pattern occurs in a text, found by going through the text once: no pattern and no text make it explode.

`re` goes back to try every way to match, which `^(a+)+$` makes exponential. This keeps all ways at once (Thompson's construction), so it takes
at most as many steps as the text has characters times the pattern has parts. It knows what can be found that way: no back references, no
look-ahead. For the patterns of house hazards, which come with a repository.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

if sys.version_info >= (3, 11):
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_parse as parser

MOST_STATES = 2_000
_FOR_EVER = parser.MAXREPEAT
_Test = Callable[[str], bool]
_CATEGORIES: dict[str, tuple[_Test, _Test]] = {  # of Unicode, of ASCII
    "DIGIT": (str.isdecimal, lambda c: c in "0123456789"),
    "SPACE": (str.isspace, lambda c: c in " \t\n\r\f\v"),
    "WORD": (lambda c: c.isalnum() or c == "_", lambda c: c.isascii() and (c.isalnum() or c == "_")),
}


class Automaton:
    """A compiled pattern. Raises ValueError for one that is none, is too long, or needs what cannot be found in one pass."""

    def __init__(self, pattern: str) -> None:
        try:
            tree: Any = parser.parse(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"no regular expression: {error}") from error
        self._tests: list[_Test | None] = []  # of each state; None for one that takes no character
        self._next: list[list[int]] = []
        self._places: list[str] = []  # what must hold at the place, of a state that takes none: ^ $ and others
        self.steps = 0
        self._end = self._state(None)
        flags = tree.state.flags
        self._multiline, self._ascii = bool(flags & re.MULTILINE), bool(flags & re.ASCII)
        self._start = self._sequence(list(tree), self._end, flags)

    def found_in(self, text: str) -> bool:
        """`steps` counts what this and all searches before it took."""
        states: set[int] = set()
        for at in range(len(text) + 1):
            states = self._reached({*states, self._start}, text, at)
            self.steps += len(states)
            if self._end in states:
                return True
            if at < len(text):
                states = {
                    after
                    for state in states
                    if (test := self._tests[state]) is not None and test(text[at])
                    for after in self._next[state]
                }
        return False

    def _reached(self, states: set[int], text: str, at: int) -> set[int]:
        """Those states, and all that are reached from them without a character."""
        pending, seen = list(states), set(states)
        while pending:
            state = pending.pop()
            if self._tests[state] is None and self._holds(self._places[state], text, at):
                for after in self._next[state]:
                    if after not in seen:
                        seen.add(after)
                        pending.append(after)
        return seen

    def _holds(self, place: str, text: str, at: int) -> bool:
        if not place:
            return True
        if place in ("BEGINNING", "BEGINNING_STRING"):
            return at == 0 or (place == "BEGINNING" and self._multiline and text[at - 1] == "\n")
        if place in ("END", "END_STRING"):
            last = at == len(text) or (place == "END" and at == len(text) - 1 and text[at] == "\n")
            return last or (place == "END" and self._multiline and text[at] == "\n")
        word = _CATEGORIES["WORD"][self._ascii]
        inside = at > 0 and word(text[at - 1]), at < len(text) and word(text[at])
        return (inside[0] != inside[1]) == (place == "BOUNDARY")

    # From the parsed pattern to states, from its end to its start.

    def _state(self, test: _Test | None, *after: int, place: str = "") -> int:
        if len(self._tests) >= MOST_STATES:
            raise ValueError(f"a pattern of more than {MOST_STATES:,} parts")
        self._tests.append(test)
        self._next.append(list(after))
        self._places.append(place)
        return len(self._tests) - 1

    def _sequence(self, items: list[Any], after: int, flags: int) -> int:
        for operator, argument in reversed(items):
            after = self._item(str(operator), argument, after, flags)
        return after

    def _item(self, operator: str, argument: Any, after: int, flags: int) -> int:
        if operator == "AT":
            return self._state(None, after, place=str(argument).removeprefix("AT_"))
        if operator == "SUBPATTERN":
            _, added, removed, inner = argument
            return self._sequence(list(inner), after, (flags | added) & ~removed)
        if operator == "BRANCH":
            return self._state(None, *(self._sequence(list(one), after, flags) for one in argument[1]))
        if operator in (
            "MAX_REPEAT",
            "MIN_REPEAT",
        ):  # which of the two is tried first does not matter to whether there is one
            least, most, inner = argument
            return self._repeated(least, most, list(inner), after, flags)
        return self._state(_character(operator, argument, flags), after)

    def _repeated(self, least: int, most: Any, items: list[Any], after: int, flags: int) -> int:
        if most is _FOR_EVER:
            again = self._state(None, after)
            self._next[again].insert(0, self._sequence(items, again, flags))
            start = again
        else:
            start = after
            for _ in range(most - least):
                start = self._state(None, self._sequence(items, start, flags), after)
        for _ in range(least):
            start = self._sequence(items, start, flags)
        return start


def _character(operator: str, argument: Any, flags: int) -> _Test:
    """Whether a character is the one, or one of those, that the pattern takes."""
    if operator == "ANY":
        return (lambda c: True) if flags & re.DOTALL else (lambda c: c != "\n")
    if operator == "LITERAL":
        return _cased(lambda c: ord(c) == argument, flags)
    if operator == "NOT_LITERAL":
        same = _cased(lambda c: ord(c) == argument, flags)
        return lambda c: not same(c)
    if operator == "IN":
        negated = str(argument[0][0]) == "NEGATE"
        tests = [_member(str(kind), value, flags) for kind, value in argument[negated:]]
        inside = _cased(lambda c: any(test(c) for test in tests), flags)
        return (lambda c: not inside(c)) if negated else inside
    words = {"GROUPREF": "a back reference", "ASSERT": "a look-ahead", "ASSERT_NOT": "a look-ahead"}
    raise ValueError(f"{words.get(operator, operator.lower().replace('_', ' '))} cannot be searched for in one pass")


def _member(kind: str, value: Any, flags: int) -> _Test:
    if kind == "LITERAL":
        return lambda c: ord(c) == value
    if kind == "RANGE":
        return lambda c: value[0] <= ord(c) <= value[1]
    name = str(value).removeprefix("CATEGORY_")
    test = _CATEGORIES[name.removeprefix("NOT_")][bool(flags & re.ASCII)]
    return (lambda c: not test(c)) if name.startswith("NOT_") else test


def _cased(test: _Test, flags: int) -> _Test:
    if not flags & re.IGNORECASE:
        return test
    return lambda c: test(c) or any(len(other) == 1 and test(other) for other in (c.lower(), c.upper()))
