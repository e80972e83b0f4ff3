"""One class of one release → its fields: type, default, choices, aliases and bounds.

A class is read through its `__init__` where it (or a base in the package) writes one, else through its annotated attributes, as
`dataclasses` and pydantic do. A field is a dictionary with any of
`type default required choices enum items alias ge gt le lt deprecated new_param from_kwargs init`.
"""

from __future__ import annotations

import ast
from typing import Any

from .annotation import allowed_values, item_enum, type_text
from .literal import Scope, evaluate
from .package import Found, Module, Package

Fields = dict[str, dict[str, Any]]
_BOUNDS = ("ge", "gt", "le", "lt")


def class_found(package: Package, path: str, name: str) -> Found | None:
    module = package.module(path)
    return Found(module, module.classes[name]) if module is not None and name in module.classes else None


def own_init(found: Found) -> ast.FunctionDef | None:
    assert isinstance(found.thing, ast.ClassDef)
    for statement in found.thing.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            return statement
    return None


def read_class(package: Package, found: Found) -> Fields:
    """The fields that the constructor takes, those of bases inside the package included."""
    chain, _ = package.lineage(found)
    fields: Fields = {}
    for one in chain:
        init = None if is_pydantic(package, found) else own_init(one)
        if init is None:
            fields.update(_attributes(package, one))
        else:
            fields = {**(fields if _passes_on(init) else {}), **signature(package, one.module, init)}
    return fields


def is_pydantic(package: Package, found: Found) -> bool:
    """Whether the class is a pydantic model: these take their fields whatever `__init__` a base writes."""
    root = package.lineage(found)[0][0]
    return root != found and any(name == "BaseModel" for name, _ in package.bases(root))


def read_init(package: Package, found: Found) -> Fields:
    """The parameters of the constructor alone: for trainers, whose class attributes are no settings."""
    chain, _ = package.lineage(found)
    fields: Fields = {}
    for one in chain:
        init = own_init(one)
        if init is not None:
            fields = {**(fields if _passes_on(init) else {}), **signature(package, one.module, init)}
    return fields


def _passes_on(init: ast.FunctionDef) -> bool:
    """Whether `**kwargs` of this constructor go to the base's constructor."""
    if init.args.kwarg is None:
        return False
    for node in ast.walk(init):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__init__":
            if any(
                k.arg is None and isinstance(k.value, ast.Name) and k.value.id == init.args.kwarg.arg
                for k in node.keywords
            ):
                return True
    return False


def _typed(package: Package, module: Module, annotation: ast.expr | None) -> dict[str, Any]:
    if annotation is None:
        return {}
    field: dict[str, Any] = {"type": type_text(annotation)}
    enum, choices = allowed_values(package, module, annotation)
    if enum is not None:
        field["enum"] = enum
    elif choices is not None:
        field["choices"] = choices
    items = item_enum(package, module, annotation)
    if items is not None:
        field["items"] = items
    return field


def signature(package: Package, module: Module, function: ast.FunctionDef) -> Fields:
    """Named parameters, names taken out of `**kwargs` by `pop` or `get`, and old names that a `deprecate_kwarg` decorator still takes."""
    fields: Fields = {}
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args][1:]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    for argument, default in [
        *zip(positional, defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]:
        field = _typed(package, module, argument.annotation)
        if default is None:
            field["required"] = True
        else:
            field["default"] = evaluate(package, module, default)
        fields[argument.arg] = field
    if arguments.kwarg is not None:
        _add_taken(package, module, function, arguments.kwarg.arg, fields)
    for decorator in function.decorator_list:
        _add_deprecated(decorator, fields)
    return fields


def _add_taken(package: Package, module: Module, function: ast.FunctionDef, kwargs: str, fields: Fields) -> None:
    for node in ast.walk(function):
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("pop", "get")
            and node.args
        ):
            continue
        owner, key = node.func.value, node.args[0]
        if (
            isinstance(owner, ast.Name)
            and owner.id == kwargs
            and isinstance(key, ast.Constant)
            and isinstance(key.value, str)
        ):
            field: dict[str, Any] = {"from_kwargs": True}
            if len(node.args) > 1:
                field["default"] = evaluate(package, module, node.args[1])
            if not key.value.startswith("_"):
                fields.setdefault(key.value, field)


def _add_deprecated(decorator: ast.expr, fields: Fields) -> None:
    if not isinstance(decorator, ast.Call):
        return
    given = {k.arg: k.value for k in decorator.keywords}
    name = ast.unparse(decorator.func).rsplit(".", 1)[-1]
    if name == "deprecate_kwarg" and decorator.args and isinstance(decorator.args[0], ast.Constant):
        new = given.get("new_name")
        field: dict[str, Any] = {"deprecated": True}
        if isinstance(new, ast.Constant) and isinstance(new.value, str):
            field["new_param"] = new.value
        fields.setdefault(str(decorator.args[0].value), field)
    if name == "_deprecate_arguments" and isinstance(given.get("deprecated_args"), ast.List):
        for item in given["deprecated_args"].elts:  # type: ignore[attr-defined]
            if isinstance(item, ast.Constant) and item.value in fields:
                fields[str(item.value)]["deprecated"] = True


def _attributes(package: Package, found: Found) -> Fields:
    assert isinstance(found.thing, ast.ClassDef)
    scope: Scope = {}
    for statement in ast.walk(found.thing):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            scope.setdefault(statement.targets[0].id, []).append(statement.value)
    fields: Fields = {}
    for statement in found.thing.body:
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        name = statement.target.id
        if "ClassVar" in ast.unparse(statement.annotation) or name in ("model_config", "_argument_group_name"):
            continue
        field = _typed(package, found.module, statement.annotation)
        _default(package, found.module, statement.value, scope, field)
        fields[name] = field
    return fields


def _default(package: Package, module: Module, value: ast.expr | None, scope: Scope, field: dict[str, Any]) -> None:
    if value is None:
        field["required"] = True
        return
    maker = ast.unparse(value.func).rsplit(".", 1)[-1] if isinstance(value, ast.Call) else ""
    if not isinstance(value, ast.Call) or maker not in ("field", "Field", "PrivateAttr"):
        field["default"] = evaluate(package, module, value, scope)
        return
    given = {k.arg: k.value for k in value.keywords if k.arg}
    first = value.args[0] if value.args else given.get("default")
    factory = given.get("default_factory")
    if first is not None and not (isinstance(first, ast.Constant) and first.value is Ellipsis):
        field["default"] = evaluate(package, module, first, scope)
    elif factory is not None:
        made = factory.body if isinstance(factory, ast.Lambda) else ast.Call(factory, [], [])
        field["default"] = evaluate(package, module, ast.fix_missing_locations(made), scope)
    else:
        field["required"] = True
    for key in (*_BOUNDS, "alias", "new_param", "init"):
        if key in given:
            field[key] = evaluate(package, module, given[key], scope)
    extra = given.get("json_schema_extra")
    if isinstance(extra, ast.Dict):
        given = {
            **{str(k.value): v for k, v in zip(extra.keys, extra.values, strict=True) if isinstance(k, ast.Constant)},
            **given,
        }
        if "new_param" in given:
            field["new_param"] = evaluate(package, module, given["new_param"], scope)
    deprecated = given.get("deprecated")
    if isinstance(deprecated, ast.Constant) and deprecated.value:
        field["deprecated"] = True
    if isinstance(given.get("metadata"), ast.Dict):
        for key, item in zip(given["metadata"].keys, given["metadata"].values, strict=True):  # type: ignore[attr-defined]
            if isinstance(key, ast.Constant) and key.value == "choices":
                choices = evaluate(package, module, item, scope)
                if isinstance(choices, list) and "enum" not in field:
                    field["choices"] = choices
    if field.get("init") is True:
        del field["init"]


def settled(package: Package, found: Found) -> dict[str, Any]:
    """What `__post_init__` puts where nothing was given: field → `{"value": …}`, `{"field": other}`, `{"not": other}` or `{"expr": …}`.

    Read are the unconditional statements `if self.x is None: self.x = …` and `self.x = … if self.x is None else self.x`.
    """
    result: dict[str, Any] = {}
    chain, _ = package.lineage(found)
    for one in chain:
        assert isinstance(one.thing, ast.ClassDef)
        for function in one.thing.body:
            if isinstance(function, ast.FunctionDef) and function.name == "__post_init__":
                for statement in function.body:
                    _add_settled(package, one.module, statement, result)
    return result


def _null_test(test: ast.expr) -> str | None:
    """x of `self.x is None`."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is) and len(test.ops) == 1:
        right = test.comparators[0]
        if isinstance(right, ast.Constant) and right.value is None:
            return _of_self(test.left)
    return None


def _of_self(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return node.attr
    return None


def _add_settled(package: Package, module: Module, statement: ast.stmt, result: dict[str, Any]) -> None:
    if isinstance(statement, ast.If) and not statement.orelse:
        name = _null_test(statement.test)
        for inner in statement.body:
            if isinstance(inner, ast.Assign) and name is not None and _of_self(inner.targets[0]) == name:
                result[name] = _becomes(package, module, inner.value)
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.IfExp):
        name, choice = _of_self(statement.targets[0]), statement.value
        if name is not None and _null_test(choice.test) == name and _of_self(choice.orelse) == name:
            result[name] = _becomes(package, module, choice.body)


def _becomes(package: Package, module: Module, value: ast.expr) -> dict[str, Any]:
    other = _of_self(value)
    if other is not None:
        return {"field": other}
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        other = _of_self(value.operand)
        if other is not None:
            return {"not": other}
    worth = evaluate(package, module, value)
    return worth if isinstance(worth, dict) and "expr" in worth else {"value": worth}
