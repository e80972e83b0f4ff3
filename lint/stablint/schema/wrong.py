"""What is wrong with a hazard file: each fault once, with its line, in words for whoever wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from stablint.schema.base import FORMS

_SAID = 9  # faults of one file; a text that is no hazard at all lacks every field


def said(error: ValidationError, text: str, name: str, model: type[BaseModel]) -> str:
    """`rules/seed.yaml:7: …; rules/seed.yaml:12: …`. Shows nothing of the file but keys and facts that nobody knows."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    told: dict[tuple[Any, ...], str] = {}
    for fault in error.errors(include_url=False, include_input=False):
        node, where = _follow(root, fault["loc"])
        if fault["type"] == "model_type" and where in told:  # of a union, what the text is not
            continue
        line = node.start_mark.line + 1 if node is not None else 1
        told.setdefault(where, f"{name}:{line}: {_words(dict(fault), where, model)}")
    rows = list(told.values())
    return "; ".join([*rows[:_SAID], *([f"and {len(rows) - _SAID} more"] if len(rows) > _SAID else [])])


def _follow(root: Any, loc: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The node that a location leads to, or the last one on the way, and the parts that are keys and places of the text."""
    node, where = root, []
    for part in loc:
        found = None
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == str(part)), None)
            found = pair[1] if pair is not None else None
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            found = node.value[part]
        if found is not None:
            node = found
        if found is not None or (isinstance(part, str) and "(" not in part):
            where.append(part)
    return node, tuple(where)


def _words(fault: dict[str, Any], where: tuple[Any, ...], model: type[BaseModel]) -> str:
    dotted = ".".join(map(str, where))
    if fault["type"] == "missing":
        return f"`{dotted}` is missing"
    if fault["type"] == "extra_forbidden":
        near = get_close_matches(str(where[-1]), model.model_fields, 1, 0.7)
        return f"nothing is called `{dotted}`" + (f": did you mean `{near[0]}`?" if near else "")
    if fault["type"] == "string_pattern_mismatch" and (form := FORMS.get(fault["ctx"]["pattern"])):
        return f"`{dotted}`: {form}"
    return f"`{dotted}`: {str(fault['msg']).removeprefix('Value error, ')}"
