"""The kinds of files that frameworks read, as their records name them (`forms` in knowledge/frameworks/NAME.yaml)."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from stablint.base import knowledge


class Form(NamedTuple):
    """One kind of file. `readers` take the keys, or `classes` have them as fields; where it names none of either, the record's readers."""

    dialect: str
    title: str = ""
    readers: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    more: bool = False  # others read keys of their own from the same file
    facts: str = "training"  # the namespace that our rules have for the fields
    auto: bool = False  # `auto` may stand for a number or a truth value
    sections: tuple[str, ...] = ()  # of other forms that the same command reads
    components: str = ""  # the reader of what sections name as their `_component_`
    remarks: bool = False  # keys that begin with an underscore are nobody's
    flags: str = ""  # the reader whose flags some sections stand for


@cache
def forms() -> dict[str, Form]:
    """All of them by name."""
    rows: dict[str, dict[str, Any]] = knowledge.load("forms")
    found = {}
    for name in sorted(rows):
        given: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in rows[name].items()
        }
        found[name] = Form(**given)
    return found
