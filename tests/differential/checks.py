"""Which settings a config class's checks read together, and which constants they are compared with: read from its source, with `ast`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any


def groups(owner: Any, fields: set[str]) -> list[dict[str, Any]]:
    """One group an `if` or `assert` of the methods that run when an object is made, own class and bases alike."""
    found = []
    for base in owner.__mro__:
        for name in ("__post_init__", "post_init", "_validate_args", "_process_fsdp_args", "__init__"):
            method = base.__dict__.get(name)
            if method is None or (name == "__init__" and "post_init" not in base.__dict__):
                continue
            try:
                source = textwrap.dedent(inspect.getsource(method))
            except (OSError, TypeError):
                continue  # made by `dataclass` itself
            found += list(_read(ast.parse(source), fields))
    return found


def _read(tree: ast.AST, fields: set[str], above: frozenset[str] = frozenset()) -> Iterator[dict[str, Any]]:
    for node in ast.iter_child_nodes(tree):
        inside = above
        if isinstance(node, (ast.If, ast.Assert)):
            names = frozenset(_names(node.test)) & fields
            constants = [c.value for c in ast.walk(node.test) if isinstance(c, ast.Constant)]
            inside = above | names
            if inside:
                yield {
                    "fields": sorted(inside),
                    "constants": [c for c in constants if isinstance(c, (int, float, str))],
                }
        yield from _read(node, fields, inside)


def _names(test: ast.AST) -> Iterator[str]:
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node.attr.removeprefix("_")
        elif isinstance(node, ast.Name):
            yield node.id
