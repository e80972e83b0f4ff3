"""Which statements a hazard needs: `core`, a line a hazard, and `waking`, by which one run by itself loads the lines of few of them.

A condition that is false of every value that its fact may have while nobody states it (absence, and each default of each class in each
release) makes a clause: one of these facts must be stated, or the hazard says nothing. What cannot be told so makes none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stablint.compiling.hazards import HOT
from stablint.hazard.condition import OPERATORS, TESTS
from stablint.run.fact import ABSENT, Fact
from stablint.run.world import ASKED

COMBINES = ("hazards", "releases", "frameworks")

_SPEAKS_OF_VALUES = frozenset([*TESTS, "type", "is-integer", "any-item", "all-items"])
_NO_WORLD: Any = None  # a comparison of a value with a literal asks no world


def combine_waking(contents: Mapping[str, Any]) -> dict[str, object]:
    """`core.lines` (a JSON line a hazard) and `waking`: where each line begins, whose hazards are about files themselves, and for every set of
    clauses the hazards that have it. From `_core`, `fields/…`, `frameworks/…` and `spellings`, as compiled."""
    core: list[list[Any]] = contents["_core"]
    unstated = _Unstated(contents)
    lines = [json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() for row in core]
    starts, files = [0], []
    clauses: dict[str, tuple[list[list[Any]], list[int]]] = {}
    for number, (row, line) in enumerate(zip(core, lines, strict=True)):
        starts.append(starts[-1] + len(line) + 1)
        hazard = dict(zip(HOT, row, strict=True))
        if hazard["at"].startswith("file."):
            files.append(number)
            continue
        found = _clauses(hazard, unstated)
        key = json.dumps(found)
        clauses.setdefault(key, (found, []))[1].append(number)
    return {
        "core.lines": b"".join(line + b"\n" for line in lines),
        "waking": {
            "starts": starts,
            "files": files,
            "clauses": [[*found, numbers] for found, numbers in clauses.values()],
        },
    }


def _clauses(hazard: Mapping[str, Any], unstated: _Unstated) -> list[list[Any]]:
    """[frameworks, patterns of settings, lists of facts]: the run's framework must be one of the first, a stated fact one of the second's, and of
    each list one fact must be stated. An empty one asks for nothing."""
    frameworks: list[str] = []
    facts: list[list[str]] = []
    for condition in hazard["when"]:
        if condition[0] in ("is", "in") and condition[1] == "derived.framework" and condition[2] == 1:
            frameworks = frameworks or (condition[3] if condition[0] == "in" else [condition[3]])
        elif (names := _needs(condition, unstated)) and sorted(names) not in facts:
            facts.append(sorted(names))
    return [frameworks, hazard["each"], sorted(facts)]


def _needs(condition: list[Any], unstated: _Unstated) -> set[str] | None:
    """Facts of which one must be stated for the condition to hold; None where it may hold without."""
    operator = condition[0]
    if operator == "not":
        return None
    if operator == "all":
        found = [names for inner in condition[1] if (names := _needs(inner, unstated))]
        return min(found, key=len) if found else None
    if operator == "any":
        branches = [_needs(inner, unstated) for inner in condition[1]]
        return set().union(*(names for names in branches if names)) if branches and all(branches) else None
    name = condition[1]
    if not _is_plain(name) or condition[2] == 2 or (condition[2] == 3 and condition[3][2] == 2):
        return None
    if operator == "is-set":
        return {name}
    if operator not in _SPEAKS_OF_VALUES:
        return None
    values = unstated.values(name)
    if values is None:
        return None
    held = [OPERATORS[operator](Fact(name, value, None), condition, _NO_WORLD) for value in values]
    return {name} if all(verdict is False for verdict in held) else None


_WORKED_OUT = frozenset({"derived", "item", "target", "versions", "file"})


def _is_plain(name: str) -> bool:
    """Is it a fact that only files state, whose absence no option can mend?"""
    head = name.partition(".")[0]
    return head not in _WORKED_OUT and (head != "model" or name in ASKED)


class _Unstated:
    """The values that facts may have while nobody states them."""

    def __init__(self, contents: Mapping[str, Any]) -> None:
        self._classes = {name: contents[name] for name in contents if name.startswith("fields/")}
        self._frameworks = [contents[name] for name in contents if name.startswith("frameworks/")]
        self._spelled: dict[tuple[str, str], set[str]] = {}
        for namespace, words in contents["spellings"].items():
            for spelling, word in words.items():
                self._spelled.setdefault((namespace, word), set()).add(spelling)
        self._known: dict[str, list[Any] | None] = {}

    def values(self, name: str) -> list[Any] | None:
        """None where one of them follows from another fact or from the machine."""
        if name not in self._known:
            self._known[name] = self._values(name)
        return self._known[name]

    def _values(self, name: str) -> list[Any] | None:
        head, _, key = name.partition(".")
        found: list[Any] = [ABSENT]
        for table in self._frameworks:
            for row in table.get(name, ()):
                if "is" in row:
                    found.append(row["is"])
                elif "unknown" not in row:
                    return None
        for spelled in {key} | self._spelled.get((head, key), set()):
            for table in self._classes.values():
                if any(spelled in becomes for _, _, becomes in table.get("settled", ())):
                    return None
                for span in table["fields"].get(spelled, ()):
                    if len(span) > 2 and not _is_computed(span[2]):
                        found.append(span[2])
        return found


def _is_computed(default: Any) -> bool:
    """Whether the table gives an expression instead of a value; such a default is never known (run/releases/fields.py)."""
    return type(default) is dict and len(default) == 1 and ("expr" in default or "one_of" in default)
