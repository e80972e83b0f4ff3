"""What a library's source can say: the text of every raise, assert and warning, with a gap where a value goes.

`{name}` is a gap, called after the expression that fills it where that is a plain name; `{{` and `}}` are braces.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

_WARNS = re.compile(r"(?:^|\.)(?:warn|warning|warning_once|warning_rank0|warning_rank0_once|warn_once)$")
_PERCENT = re.compile(r"%(?:\((\w+)\))?[-+ #0]*\d*(?:\.\d+)?[sdrifgexc]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_PLAIN = re.compile(r"[A-Za-z_][\w.]*\Z")
_GAP = re.compile(r"(?<!\{)\{[^{}]*\}(?!\})")


class Message(NamedTuple):
    text: str
    kind: str  # raise | assert | warning
    raises: str  # the exception's name, empty for a warning
    first: int  # lines of the statement
    last: int
    scope: str  # class and function


def literals(text: str) -> list[str]:
    """The runs between the gaps, as they are printed."""
    return [run.replace("{{", "{").replace("}}", "}") for run in _GAP.split(text)]


@cache  # a file of a release is asked for by every hazard that cites it
def messages(source: str) -> list[Message]:
    """Every message in a module, in the order of its lines; none where it is no Python that we can read."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    return sorted(_inside(module, "", {}), key=lambda message: message.first)


def _inside(node: ast.AST, scope: str, known: dict[str, ast.expr]) -> Iterator[Message]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _inside(child, f"{scope}.{child.name}" if scope else child.name, dict(known))
            continue
        if isinstance(child, ast.Assign) and len(child.targets) == 1 and isinstance(child.targets[0], ast.Name):
            known[child.targets[0].id] = child.value
        told = _told(child)
        if told is not None:
            expression, kind, raises = told
            text = _spaced("".join(_parts(expression, known, 3)))
            yield Message(text, kind, raises, child.lineno, child.end_lineno or child.lineno, scope)  # type: ignore[attr-defined]
        yield from _inside(child, scope, known)


def _told(node: ast.AST) -> tuple[ast.expr, str, str] | None:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
        return node.exc.args[0], "raise", ast.unparse(node.exc.func).rpartition(".")[2]
    if isinstance(node, ast.Assert) and node.msg is not None:
        return node.msg, "assert", "AssertionError"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.value.args:
        if _WARNS.search(ast.unparse(node.value.func)):
            return node.value.args[0], "warning", ""
    return None


def _parts(node: ast.expr, known: dict[str, ast.expr], depth: int) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield _literal(node.value)
    elif isinstance(node, ast.JoinedStr):
        for value in node.values:
            yield from _parts(value, known, depth)
    elif isinstance(node, ast.FormattedValue):
        yield _gap(node.value)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _parts(node.left, known, depth)
        yield from _parts(node.right, known, depth)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _text(node.left) is not None:
        yield _PERCENT.sub(lambda found: f"{{{found[1] or ''}}}", _literal(_text(node.left) or "")).replace("%%", "%")
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "format"
        and _text(node.func.value) is not None
    ):
        yield _BRACES.sub(lambda found: f"{{{_name(found[1])}}}", _text(node.func.value) or "")
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("join", "strip"):
        yield "{}"
    elif isinstance(node, ast.Name) and node.id in known and depth:
        yield from _parts(known[node.id], known, depth - 1)
    else:
        yield _gap(node)


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return None if left is None or right is None else left + right
    return None


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _name(text: str) -> str:
    text = re.split(r"[!:]", text)[0]
    return text if _PLAIN.match(text) else ""


def _gap(node: ast.expr) -> str:
    return f"{{{_name(ast.unparse(node))}}}"


def _spaced(text: str) -> str:
    return " ".join(text.split())
