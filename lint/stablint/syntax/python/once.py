"""Names of a module that are bound once, to a constant, and what tests of them come to. Nothing is evaluated but comparisons of constants."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import NamedTuple

from stablint.syntax.python.scope import within

_DEEPEST = 20  # levels of `not`
_REBINDS = frozenset(["exec", "globals"])  # what changes names without binding them


class Once(NamedTuple):
    """Names of a module and what they are, up to the line where something may change any name."""

    assigned: dict[str, ast.Assign]
    until: float  # line; infinite where nothing does


def assigned_constants(tree: ast.Module) -> dict[str, ast.Assign]:
    """The names of `SHARDED = False` in the module itself, each with the last such line."""
    return {
        node.targets[0].id: node
        for node in tree.body
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }


def once_assigned(tree: ast.Module) -> Once:
    """Those of them that nothing else in the file binds: no parameter, no loop, no import, no `global`."""
    until, found = math.inf, assigned_constants(tree)
    times = dict.fromkeys(found, 0)
    for node in within(tree) if found else ():
        anything = isinstance(node, ast.Name) and node.id in _REBINDS
        if anything or (isinstance(node, ast.ImportFrom) and node.names[0].name == "*"):
            until = min(until, getattr(node, "lineno", 0))
        for name in _bound(node):
            if name in times:
                times[name] += 1
    return Once({name: node for name, node in found.items() if times[name] == 1}, until)


def _bound(node: ast.AST) -> list[str]:
    """The names that a node binds or deletes by itself."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.alias):
        return [node.asname or node.name.partition(".")[0]]
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return node.names
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    name = getattr(node, "name", None) or getattr(
        node, "rest", None
    )  # `except … as name`, `case … as name`, `case {**name}`
    return [name] if isinstance(name, str) else []


def constant_truth(test: ast.expr, constant: Callable[[ast.Name], ast.Constant | None]) -> bool | None:
    """What a test is where `constant` knows the names in it: plain truth, `not`, `==`, `!=`, `is`, `is not`; None for what is not known."""
    turned = False
    for _ in range(_DEEPEST):
        if not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
            break
        test, turned = test.operand, not turned
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = _value(test.left, constant), _value(test.comparators[0], constant)
        if left is None or right is None:
            return None
        same = _same(left, right, test.ops[0])
        return None if same is None else same is not turned
    value = _value(test, constant)
    return None if value is None else bool(value.value) is not turned


def _same(left: ast.Constant, right: ast.Constant, operator: ast.cmpop) -> bool | None:
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        return (left.value == right.value) is isinstance(operator, ast.Eq)
    single = (True, False, None)
    if isinstance(operator, (ast.Is, ast.IsNot)) and any(right.value is one for one in single):
        return (left.value is right.value) is isinstance(operator, ast.Is)
    return None


def _value(node: ast.expr, constant: Callable[[ast.Name], ast.Constant | None]) -> ast.Constant | None:
    if isinstance(node, ast.Constant):
        return node
    return constant(node) if isinstance(node, ast.Name) else None
