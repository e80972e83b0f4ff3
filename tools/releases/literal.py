"""What an expression is worth, as far as reading can tell: JSON values, or `{"expr": …}` where it is code."""

from __future__ import annotations

import ast
import operator
import sys
from typing import Any

from .package import Found, Module, Package

Scope = dict[str, list[ast.expr]]

_ARITHMETIC = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}  # fmt: skip
_EMPTY: dict[str, Any] = {"list": [], "dict": {}, "tuple": [], "set": []}


class NotConstant(Exception):
    pass


def evaluate(package: Package, module: Module, node: ast.expr, scope: Scope | None = None) -> Any:
    """The value as JSON; `{"one_of": […]}` for a name that is assigned several values; `{"expr": text}` for anything else."""
    try:
        return _value(package, module, node, scope or {}, 0)
    except NotConstant:
        return {"expr": ast.unparse(node)}


def _name(package: Package, module: Module, name: str, scope: Scope, depth: int) -> Any:
    owner, values = module, scope.get(name)
    if values is None:
        found = package.find(module, name)
        if found is None or not isinstance(found.thing, list):
            raise NotConstant
        owner, values = found.module, found.thing
    known: list[Any] = []
    for value in values:
        one = _value(package, owner, value, scope if owner is module else {}, depth + 1)
        if one not in known:
            known.append(one)
    return known[0] if len(known) == 1 else {"one_of": known}


def _call(package: Package, module: Module, node: ast.Call, scope: Scope, depth: int) -> Any:
    name = ast.unparse(node.func).rsplit(".", 1)[-1]
    if name in _EMPTY and not node.args and not node.keywords:
        return _EMPTY[name]
    if (
        name in ("list", "tuple", "dict", "set", "copy", "deepcopy", "int", "float", "str", "pp_int")
        and node.args
        and not node.keywords
    ):
        inner = _value(package, module, node.args[0], scope, depth + 1)
        if name in ("int", "float", "str") and isinstance(inner, (int, float)):
            return {"int": int, "float": float, "str": str}[name](inner)
        if name == "float" or (isinstance(inner, str) and name in ("int", "list", "tuple", "set")):
            raise NotConstant
        return inner
    raise NotConstant


def _value(package: Package, module: Module, node: ast.expr, scope: Scope, depth: int) -> Any:
    if depth > 30:
        raise NotConstant
    if isinstance(node, ast.Constant):
        if isinstance(node.value, (bytes, complex)) or node.value is Ellipsis:
            raise NotConstant
        return node.value
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [_value(package, module, item, scope, depth + 1) for item in node.elts]
    if isinstance(node, ast.Dict):
        result = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise NotConstant
            result[str(_value(package, module, key, scope, depth + 1))] = _value(
                package, module, value, scope, depth + 1
            )
        return result
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _value(package, module, node.operand, scope, depth + 1)
        if isinstance(inner, (int, float)):
            return -inner
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _value(package, module, node.operand, scope, depth + 1)
        if isinstance(inner, bool):
            return not inner
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = (_value(package, module, side, scope, depth + 1) for side in (node.left, node.right))
        numbers = all(isinstance(x, (int, float)) and abs(x) < 1e12 for x in (left, right))
        texts = isinstance(node.op, ast.Add) and type(left) is type(right) and isinstance(left, (str, list))
        if (numbers and not (isinstance(node.op, ast.Pow) and right > 64)) or texts:
            return _ARITHMETIC[type(node.op)](left, right)
    if isinstance(node, ast.Name):
        return _name(package, module, node.id, scope, depth)
    if isinstance(node, ast.Attribute):
        if ast.unparse(node) == "sys.maxsize":
            return sys.maxsize
        inner_node = node.value if node.attr == "value" and isinstance(node.value, ast.Attribute) else node
        if isinstance(inner_node.value, ast.Name):
            found = package.find(module, inner_node.value.id)
            if found is not None and isinstance(found.thing, ast.ClassDef):
                for member, value in enum_members(package, found) or _class_constants(package, found):
                    if member == inner_node.attr:
                        return value
    if isinstance(node, ast.Call):
        return _call(package, module, node, scope, depth)
    if isinstance(node, ast.ListComp) and len(node.generators) == 1:  # [x.value for x in SomeEnum]
        loop = node.generators[0]
        if (
            isinstance(loop.iter, ast.Name)
            and not loop.ifs
            and isinstance(node.elt, ast.Attribute)
            and node.elt.attr == "value"
        ):
            found = package.find(module, loop.iter.id)
            if found is not None and isinstance(found.thing, ast.ClassDef):
                return [value for _, value in enum_members(package, found)]
    raise NotConstant


def enum_members(package: Package, found: Found) -> list[tuple[str, Any]]:
    """Members of an enumeration with their values, as far as these are constants; empty for a class that is no enumeration."""
    return _class_constants(package, found) if is_enum(package, found) else []


def _class_constants(package: Package, found: Found) -> list[tuple[str, Any]]:
    assert isinstance(found.thing, ast.ClassDef)
    members: list[tuple[str, Any]] = []
    for statement in found.thing.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = evaluate(package, found.module, statement.value, dict(_members_so_far(members)))
            if not isinstance(value, dict):  # code: an old member that only warns
                members.append((statement.targets[0].id, value))
    return members


def _members_so_far(members: list[tuple[str, Any]]) -> list[tuple[str, list[ast.expr]]]:
    return [(name, [ast.Constant(value)]) for name, value in members if isinstance(value, (str, int, float))]


def is_enum(package: Package, found: Found) -> bool:
    if not isinstance(found.thing, ast.ClassDef):
        return False
    for name, base in package.bases(found):
        if name.rsplit(".", 1)[-1] in ("Enum", "StrEnum", "IntEnum") or (
            base is not None and base != found and is_enum(package, base)
        ):
            return True
    return False
