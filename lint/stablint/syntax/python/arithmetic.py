"""Arithmetic of constants, as far as it is small: what would take long or become huge is not calculated."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from stablint.syntax.tree import Unknown

_ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
CONVERSIONS: dict[str, Callable[[Any], object]] = {"int": int, "float": float, "str": str}


def calculated(kind: type[ast.AST], left: Any, right: Any) -> object:
    """The result of an operator (of `ast`) on numbers; None for what is not calculated."""
    if kind not in _ARITHMETIC or not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
        return None
    if kind in (ast.Pow, ast.LShift) and (abs(right) > 64 or abs(left) > 2**16):
        return None
    try:
        value = _ARITHMETIC[kind](left, right)
    except (ArithmeticError, TypeError, ValueError):
        return None
    return value if isinstance(value, (int, float)) else None


_COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip


def compared(kind: type[ast.AST], left: object, right: object) -> bool | None:
    """A comparison of constants; None for what is not compared."""
    if isinstance(left, Unknown) or isinstance(right, Unknown) or kind not in _COMPARISONS:
        return None
    if kind in (ast.Is, ast.IsNot) and not any(value is None or isinstance(value, bool) for value in (left, right)):
        return None
    try:
        return bool(_COMPARISONS[kind](left, right))
    except TypeError:
        return None


def converted(function: str, value: object) -> object:
    """`int("3")`, `float("1e-4")`; None where Python would refuse."""
    if not isinstance(value, (str, int, float)) or (isinstance(value, str) and len(value) > 100):
        return None
    try:
        return CONVERSIONS[function](value)
    except (ValueError, OverflowError):
        return None


def agree(one: object, other: object) -> bool:
    """Whether two values are the same, `1` and `True` being two."""
    return type(one) is type(other) and isinstance(one, (bool, int, float, str, type(None))) and one == other
