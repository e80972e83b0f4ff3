"""Annotations in one spelling, so that `Optional[List[str]]` and `list[str] | None` do not look like a change."""

from __future__ import annotations

import ast
from typing import Any

from .literal import enum_members, evaluate, is_enum
from .package import Module, Package

_LOWER = {"List": "list", "Dict": "dict", "Tuple": "tuple", "Set": "set", "Type": "type", "FrozenSet": "frozenset"}


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _items(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def _unquote(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return node
    return node


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """The members of a union, however it is written. `None` is given as the constant."""
    node = _unquote(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _alternatives(node.left) + _alternatives(node.right)
    if isinstance(node, ast.Subscript):
        head = _last(node.value)
        if head == "Optional":
            return [*_alternatives(node.slice), ast.Constant(None)]
        if head == "Union":
            return [inner for item in _items(node.slice) for inner in _alternatives(item)]
        if head in ("Annotated", "Required", "Final"):
            return _alternatives(_items(node.slice)[0])
    if isinstance(node, ast.Name) and node.id == "NoneType":
        return [ast.Constant(None)]
    return [node]


def _spell(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Subscript):
        head = _last(node.value)
        if head == "Literal":
            names = [type(i.value).__name__ for i in _items(node.slice) if isinstance(i, ast.Constant)]
            return ["None" if n == "NoneType" else n for n in names] or ["str"]
        inside = ", ".join(type_text(item) for item in _items(node.slice))
        return [f"{_LOWER.get(head, ast.unparse(node.value))}[{inside}]"]
    if isinstance(node, ast.List):
        return [f"[{', '.join(type_text(item) for item in node.elts)}]"]
    return [_LOWER.get(_last(node), ast.unparse(node))]


def type_text(node: ast.expr) -> str:
    """`Optional[Union[str, List[int]]]` → `str | list[int] | None`; a Literal becomes the types of its values."""
    texts: list[str] = []
    for alternative in _alternatives(node):
        texts.extend(t for t in _spell(alternative) if t not in texts)
    if "None" in texts:
        texts = [t for t in texts if t != "None"] + ["None"]
    return " | ".join(texts)


def allowed_values(package: Package, module: Module, node: ast.expr) -> tuple[str | None, list[Any] | None]:
    """What the annotation allows: (name of the one enumeration in it, None), (values of its Literals and enumerations, None if none)."""
    enums, values = _gather(package, module, node)
    if len(enums) == 1 and not values:
        return enums[0], None
    for name in enums:
        values.extend(v for v in package.enums[name] if v not in values)
    return None, values or None


def item_enum(package: Package, module: Module, node: ast.expr) -> str | None:
    """The enumeration of a list's items: such a field also takes its values as words of one string (`fsdp: full_shard auto_wrap`)."""
    for alternative in _alternatives(node):
        if isinstance(alternative, ast.Subscript) and _last(alternative.value) in ("List", "list"):
            enums, _ = _gather(package, module, alternative.slice)
            if len(enums) == 1:
                return enums[0]
    return None


def _gather(package: Package, module: Module, node: ast.expr) -> tuple[list[str], list[Any]]:
    enums: list[str] = []
    values: list[Any] = []
    for alternative in _alternatives(node):
        if isinstance(alternative, ast.Subscript) and _last(alternative.value) == "Literal":
            worth = (evaluate(package, module, item) for item in _items(alternative.slice))
            values.extend(v for v in worth if v is not None)
            continue
        found = package.find(module, alternative.id) if isinstance(alternative, ast.Name) else None
        if found is not None and isinstance(found.thing, ast.ClassDef) and is_enum(package, found):
            members = [value for _, value in enum_members(package, found)]
            if members:
                package.enums[found.thing.name] = list(dict.fromkeys(members)) if _hashable(members) else members
                enums.append(found.thing.name)
        elif found is not None and isinstance(found.thing, list) and len(found.thing) == 1:  # an alias: X = Literal[…]
            more = _gather(package, found.module, found.thing[0])
            enums.extend(more[0])
            values.extend(more[1])
    return enums, values


def _hashable(values: list[Any]) -> bool:
    return all(isinstance(v, (str, int, float, bool)) for v in values)
