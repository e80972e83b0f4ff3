"""The grammar of one condition: `FACT OPERATOR [OPERAND]`, and groups of them (`any`, `all`, `not`)."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Annotated, Union

from pydantic import AfterValidator, Field, model_validator

from stablint.schema.base import Strict

NAMESPACES = (
    "training", "trainer", "deepspeed", "accelerate", "fsdp", "lora", "quantization",
    "model", "tokenizer", "data", "launch", "target", "versions", "derived", "keys", "item", "file",
)  # fmt: skip

# Operators by what stands at their right: nothing, anything, or a nested comparison without a fact.
_ALONE = ("is-set", "is-absent", "is-default", "is-integer", "exists-file", "unknown-key", "one-of-enum")
_WITH_OPERAND = (
    "is", "is-not", "in", "not-in", ">", ">=", "<", "<=", "between", "contains", "contains-any", "contains-all",
    "matches", "type", "length", "multiple-of", "not-multiple-of", "one-of-enum",
)  # fmt: skip
_OF_ITEMS = ("any-item", "all-items")

FACT_PATTERN = rf"(item|file|({'|'.join(NAMESPACES)})(\.[\w*-]+)+)"


def _any_of(words: tuple[str, ...]) -> str:
    return "|".join(re.escape(word) for word in words)


_COMPARISON = rf"(({_any_of(_WITH_OPERAND)}) \S.*|({_any_of(_ALONE)}))"
CONDITION_PATTERN = rf"^{FACT_PATTERN} ({_COMPARISON}|({_any_of(_OF_ITEMS)}) {_COMPARISON})$"
_FACT = re.compile(FACT_PATTERN)
_CONDITION = re.compile(CONDITION_PATTERN)
_BETWEEN = re.compile(r"\[[^,]+,.+\]$")

FactName = Annotated[str, Field(pattern=rf"^{FACT_PATTERN}$")]


def _check(condition: str) -> str:
    """In words that help the author; the pattern says the same to an editor."""
    fact, operator, *operand = [*condition.split(" ", 2), "", ""][:3]
    if not _FACT.fullmatch(fact):
        raise ValueError(f"{fact!r} is no fact: {_fact_meant(fact)}")
    if operator not in (*_WITH_OPERAND, *_ALONE, *_OF_ITEMS):
        every = (*_WITH_OPERAND, *_ALONE, *_OF_ITEMS)
        near = _familiar(operator, operand) or get_close_matches(operator.replace("_", "-").lower(), every, 1, 0.6)
        raise ValueError(
            f"{operator!r} is no operator: {f'did you mean `{near[0]}`?' if near else ', '.join(dict.fromkeys(every))}"
        )
    if not _CONDITION.match(condition):
        raise ValueError(f"`{operator}` with {' '.join(operand)!r} at its right is not complete, or too much")
    if " between " in condition and not _BETWEEN.match(condition.rpartition(" between ")[2]):
        raise ValueError("`between` takes [low, high], of which high is left out")
    return condition


# What other languages write for these operators.
_FAMILIAR = {
    "==": "is", "=": "is", "eq": "is", "equals": "is", "equal": "is", "!=": "is-not", "<>": "is-not", "ne": "is-not", "isnt": "is-not", "not": "is-not",
    "gt": ">", "ge": ">=", "gte": ">=", "lt": "<", "le": "<=", "lte": "<=", "=>": ">=", "=<": "<=", "above": ">", "below": "<", "more": ">", "less": "<",
    "exists": "is-set", "set": "is-set", "present": "is-set", "given": "is-set", "missing": "is-absent", "absent": "is-absent", "unset": "is-absent",
    "null": "is-absent", "none": "is-absent", "one-of": "in", "oneof": "in", "notin": "not-in", "like": "matches", "match": "matches", "regex": "matches",
    "~": "matches", "=~": "matches", "has": "contains", "includes": "contains", "include": "contains", "divides": "multiple-of", "divisible-by": "multiple-of",
    "any": "any-item", "every": "all-items", "all": "all-items", "len": "length", "size": "length", "isinstance": "type", "default": "is-default",
}  # fmt: skip


def _familiar(operator: str, operand: list[str]) -> list[str]:
    if operator == "not" and operand[0].startswith("in"):
        return ["not-in"]
    found = _FAMILIAR.get(operator.lower())
    return [found] if found is not None else []


def _fact_meant(fact: str) -> str:
    head, _, rest = fact.partition(".")
    near = get_close_matches(head, NAMESPACES, 1, 0.7) if rest else []
    if near and near[0] != head:
        return f"did you mean `{near[0]}.{rest}`?"
    return f"it begins with one of {', '.join(NAMESPACES)}, or is `item` or `file`"


ConditionLine = Annotated[str, AfterValidator(_check), Field(json_schema_extra={"pattern": CONDITION_PATTERN})]


class Group(Strict):
    """Exactly one of the three."""

    any: tuple["Condition", ...] | None = Field(None, min_length=1)
    all: tuple["Condition", ...] | None = Field(None, min_length=1)
    not_: Union["Condition", tuple["Condition", ...], None] = Field(None, alias="not")

    @model_validator(mode="after")
    def _one(self) -> Group:
        if len(self.model_fields_set) != 1:
            raise ValueError("a group is one of any, all, not")
        return self


Condition = Union[ConditionLine, Group]
Group.model_rebuild()


def facts_read(conditions: tuple[Condition, ...]) -> set[str]:
    """The facts at the left of the conditions, those in groups included."""
    names: set[str] = set()
    for condition in conditions:
        if isinstance(condition, str):
            names.add(condition.split(" ", 1)[0])
        else:
            inner = condition.any or condition.all or condition.not_ or ()
            names |= facts_read(inner if isinstance(inner, tuple) else (inner,))
    return names
