"""A hazard → what is left to ask of it when no single fact has ruled it out."""

from __future__ import annotations

from functools import cached_property

from stablint.base.light import NamedTuple
from stablint.hazard.condition import GROUPS, Condition, facts_read, reads_files
from stablint.hazard.model import Hazard, asks_about_change
from stablint.hazard.steady import Steady, compiled

# Derived facts that take a look at the hardware or the model: only hazards that are left may ask for them.
DEAR = ("derived.peak", "derived.weights", "derived.rows", "derived.row_", "derived.training_state", "derived.fitting")


class Question(NamedTuple):
    condition: Condition
    test: Steady
    reads: tuple[str, ...]


class Plan:
    """A hazard with what is left to ask of it when no single fact has ruled it out; compiled when it is first asked."""

    def __init__(self, number: int, hazard: Hazard) -> None:
        self.number = number
        self.hazard = hazard
        self.asks_about_change = asks_about_change(hazard)
        rest = [
            condition
            for condition in hazard.when
            if (name := only_fact(condition)) is None or name.startswith(DEAR) or name.startswith("item.")
        ]
        self.rest = [_question(condition) for condition in sorted(rest, key=_cost)]
        self.reads = tuple(dict.fromkeys(facts_read(hazard.when)))
        self.libraries = [name.removeprefix("versions.") for name in self.reads if name.startswith("versions.")]
        self.is_dear = len(hazard.when) == 1 or any(name.startswith(DEAR) for name in self.reads)
        self.asks_class = _asks_class(hazard.when)

    @cached_property
    def questions(self) -> list[Question]:
        """All conditions."""
        known = {id(question.condition): question for question in self.rest}
        return [known.get(id(condition)) or _question(condition) for condition in self.hazard.when]


def _question(condition: Condition) -> Question:
    return Question(condition, compiled(condition), tuple(dict.fromkeys(facts_read([condition]))))


def _asks_class(conditions: list[Condition]) -> bool:
    """Does it ask the class of a setting, of which releases differ?"""
    return any(
        _asks_class(condition[1]) if condition[0] in GROUPS else condition[0] in ("unknown-key", "one-of-enum")
        for condition in conditions
    )


def only_fact(condition: Condition) -> str | None:
    """The fact that the condition compares with literals, if it reads no other and no file."""
    operator = condition[0]
    if operator in GROUPS:
        names = set(facts_read([condition]))
        if len(names) != 1:
            return None
        name = next(iter(names))
        if name.startswith("item") or _compares_facts(condition) or reads_files([condition]):
            return None
    elif condition[2] == 2 or (operator in _UNEASY and (_compares_facts(condition) or reads_files([condition]))):
        return None
    else:
        name = condition[1]
    if name.startswith("versions.") or (name == "item" and operator in ("unknown-key", "one-of-enum")):
        return None
    return str(name)


# Operators that may look at files, or have a condition of their own within.
_UNEASY = frozenset({"exists-file", "any-item", "all-items"})


def _cost(condition: Condition) -> int:
    """Patterns are compiled at first use, and what looks at models and cards takes longest."""
    if any(name.startswith(DEAR) for name in facts_read([condition])):
        return 2
    return int(str(condition[0]).startswith("matches"))


def _compares_facts(condition: Condition) -> bool:
    if condition[0] in GROUPS:
        return any(_compares_facts(inner) for inner in condition[1])
    return bool(condition[2] == 2 or (condition[0] in ("any-item", "all-items") and condition[3][2] == 2))
