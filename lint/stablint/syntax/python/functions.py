"""The functions that a Python file defines, and the lines that one process of several runs alone."""

from __future__ import annotations

import ast
import re

from stablint.syntax.python.names import Names
from stablint.syntax.python.places import Places
from stablint.syntax.python.scope import Scope, called_name, parameters_of, within
from stablint.syntax.tree import Function

_NO_WRAPPERS = frozenset({"staticmethod", "classmethod", "torch.no_grad", "torch.inference_mode", "typing.override"})


def functions(names: Names, places: Places, source: str) -> tuple[Function, ...]:
    found = []
    for scope in names.scopes:
        node = scope.node
        if not isinstance(node, ast.FunctionDef) or scope.parent is None or scope.parent.kind == "function":
            continue
        owner = scope.parent.node.name if isinstance(scope.parent.node, ast.ClassDef) else ""
        wrapped = any(_wraps(one, scope.parent) for one in node.decorator_list)
        start = source.find(node.name, places.start(node) + len("def "))
        returns = [one.value for one in names.returns.get(id(scope), ())]
        gives = {_gives(value, scope) for value in returns}
        given = gives.pop() if len(gives) == 1 else ""
        found.append(
            Function(
                node.name, owner, tuple(sorted(parameters_of(node))), node.args.kwarg is not None or node.args.vararg is not None or wrapped,
                given if given and not _yields(node) else "", start, start + len(node.name),
            )
        )  # fmt: skip
    return tuple(found)


def _wraps(decorator: ast.expr, scope: Scope) -> bool:
    """Whether a decorator may take other arguments than the function."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called_name(function, scope) not in _NO_WRAPPERS


def _yields(node: ast.FunctionDef) -> bool:
    return any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in within(node))


def _gives(value: ast.expr | None, scope: Scope, names: frozenset[str] = frozenset()) -> str:
    """`names`: those that are being looked up. A name that stands for itself and more, `text += line`, is not followed again: five hundred such lines
    would be followed five hundred times each."""
    if isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str)):
        return "text"
    if isinstance(value, (ast.List, ast.ListComp)):
        return "list"
    if isinstance(value, (ast.Dict, ast.DictComp)):
        return "mapping"
    if isinstance(value, ast.BinOp):
        sides = {_gives(value.left, scope, names), _gives(value.right, scope, names)}
        return "text" if "text" in sides and isinstance(value.op, (ast.Add, ast.Mod)) else ""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return "text" if value.func.attr == "format" and _gives(value.func.value, scope, names) == "text" else ""
    if isinstance(value, ast.Name) and len(names) < _NAMES and value.id not in names:
        bindings = scope.bindings.get(value.id, ())
        given = {_gives(one.value, scope, names | {value.id}) if one.kind == "value" else "" for one in bindings}
        return given.pop() if len(given) == 1 else ""
    return ""


_NAMES = 3  # names that stand for names

# Tests that hold in one process of a run; of `local_rank` in one of each machine.
_ONE = re.compile(
    r"(?:\w{1,40}\.){0,8}(?:is_(?:local_)?main_process|is_(?:local_|world_)process_zero\(\)|is_rank_?(?:0|zero)\(\)|is_global_zero)"
    r"|(?:\w{1,40}\.){0,8}(?:get_rank\(\)|(?:local_|global_)?rank|process_index|local_process_index) *== *0"
    r"|0 *== *(?:\w{1,40}\.){0,8}(?:get_rank\(\)|(?:local_|global_)?rank)"
)
_OF_ENVIRONMENT = re.compile(
    r"int\(os\.(?:environ(?:\.get)?[\[(]|getenv\()[\"'](?:LOCAL_)?RANK[\"'][^)]*[\])]\)? *== *0"
)


def alone(names: Names, places: Places, source: str) -> tuple[tuple[int, int], ...]:
    """What only one process runs: the branches of `if accelerator.is_main_process:`."""
    if "rank" not in source and "main_process" not in source and "process_zero" not in source:
        return ()
    found = []
    for branch in names.branches:
        test = source[places.start(branch.test) : places.end(branch.test)]
        if branch.positive and (_ONE.fullmatch(test) or _OF_ENVIRONMENT.fullmatch(test)):
            found.append((places.offset(*branch.start), places.offset(*branch.end)))
    return tuple(found)
