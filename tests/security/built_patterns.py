"""Patterns that no module keeps under a name: built in a function, from a name of the file at hand or of what is looked for, or kept in a table.

They are read in the source. What fills a hole of one is taken from the module where it is known there, from the function's own assignments, and is the
word `name` otherwise: `re.escape` makes it a word that stands for itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

METHODS = {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
MAKERS = {"pattern", "Pattern", "seen_in"}  # of this package; what they take is a pattern
OURS = {"audit", "schema", "compiling"}  # read our own files only
DEEPEST = 8
FLAGS = {
    name: flag
    for name, flag in vars(re).items()
    if name in ("MULTILINE", "VERBOSE", "DOTALL", "IGNORECASE", "M", "X", "S", "I")
}
Made = tuple[str, re.Pattern[Any], bool]


def built(name: str, tree: ast.Module, module: Mapping[str, Any]) -> Iterator[Made]:
    """Those of one module, each with the place where it is built, and whether a text is searched for it."""
    kept = {id(node.value) for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))}
    tried = {
        id(node.value): node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }  # re.compile(…).match(…)
    for call, function in _calls(tree, None):
        method = _method(call)
        method = tried.get(id(call), method) if method == "compile" else method
        if method is None or id(call) in kept or _is_handed_over(call.args[0], function):
            continue
        filler = _Filler(module, function)
        compiled = re.compile(filler.text(call.args[0]), filler.flags(call))
        yield f"{name}:{call.lineno}", compiled, method not in ("match", "fullmatch")


def _calls(node: ast.AST, function: ast.AST | None) -> Iterator[tuple[ast.Call, ast.AST | None]]:
    for child in ast.iter_child_nodes(node):
        inner = child if isinstance(child, ast.FunctionDef) else function
        if isinstance(child, ast.Call) and child.args:
            yield child, inner
        yield from _calls(child, inner)


def _method(call: ast.Call) -> str | None:
    """The method of `re` that is called with a pattern."""
    made = call.func
    if isinstance(made, ast.Attribute) and isinstance(made.value, ast.Name) and made.value.id == "re":
        return made.attr if made.attr in METHODS else None
    return "compile" if isinstance(made, ast.Name) and made.id in MAKERS else None


def _is_handed_over(node: ast.expr, function: ast.AST | None) -> bool:
    """Whether it is an argument of the function: its callers are asked instead."""
    if isinstance(node, ast.Starred):
        return True
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return True
    arguments = function.args if isinstance(function, ast.FunctionDef) else None
    return arguments is not None and isinstance(node, ast.Name) and node.id in {one.arg for one in arguments.args}


def _as_text(pattern: str | bytes) -> str:
    """One of bytes costs what the same costs of text."""
    return pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern


class _Filler:
    def __init__(self, module: Mapping[str, Any], function: ast.AST | None) -> None:
        self.module = module
        self.own: dict[str, ast.expr] = {}
        for node in ast.walk(function) if function is not None else ():
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.own.setdefault(node.targets[0].id, node.value)

    def flags(self, call: ast.Call) -> int:
        """Those that are named anywhere behind the pattern."""
        named = {
            node.attr
            for one in [*call.args[1:], *call.keywords]
            for node in ast.walk(one)
            if isinstance(node, ast.Attribute)
        }
        return sum({int(FLAGS[one]) for one in named & set(FLAGS)})

    def text(self, node: ast.expr, depth: int = 0) -> Any:
        if depth > DEEPEST:
            return "name"
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            return _as_text(node.value)
        if isinstance(node, ast.JoinedStr):
            parts = (one.value if isinstance(one, ast.FormattedValue) else one for one in node.values)
            return "".join(str(self.text(part, depth + 1)) for part in parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.text(node.left, depth + 1) + self.text(node.right, depth + 1)
        if isinstance(node, ast.IfExp):
            return f"(?:{self.text(node.body, depth + 1)}|{self.text(node.orelse, depth + 1)})"
        if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
            return self.text(node.elt, depth + 1)
        if isinstance(node, ast.Starred):
            return self.text(node.value, depth + 1)
        if isinstance(node, ast.Name) and node.id in self.own:
            return self.text(self.own[node.id], depth + 1)
        known = self._known(node)
        if known is not None:
            return known
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "join"
            and node.args
        ):
            return self._joined(str(self.text(node.func.value, depth + 1)), node.args[0], depth)
        return "name"

    def _joined(self, between: str, items: ast.expr, depth: int) -> str:
        if isinstance(items, (ast.List, ast.Tuple)):
            return between.join(str(self.text(one, depth + 1)) for one in items.elts)
        one = str(self.text(items, depth + 1))
        return between.join([one, one.replace("name", "other")])

    def _known(self, node: ast.expr) -> str | None:
        """What the module itself says that it is."""
        if any(isinstance(one, ast.Name) and one.id not in self.module for one in ast.walk(node)):
            return None
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
            return None
        value = eval(compile(ast.Expression(node), "<pattern>", "eval"), dict(self.module))  # noqa: S307 our own source
        if isinstance(value, re.Pattern):
            return _as_text(value.pattern)
        return _as_text(value) if isinstance(value, (str, bytes)) else None
