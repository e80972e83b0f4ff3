"""Defaults of options that something else may replace: a variable of the environment, `default=os.environ.get("LR", 1e-5)`, or by a helper of the
program's own, or what a file says, `default=settings.get("lr", 1e-5)`.

Asked only where a file is shown.
"""

from __future__ import annotations

import ast
import re

from stablint.syntax.python.parse import tree_of
from stablint.syntax.python.scope import dotted
from stablint.syntax.tree import Entry, Scalar, Unknown

_ASKS = re.compile(r"env", re.IGNORECASE)
_HINT = re.compile(r"environ|getenv|\bdefault=\w{1,60}\.get\(")


def by_environment(text: str) -> dict[str, object]:
    """The literal that each such option of a parser has where the variable is not set."""
    tree = tree_of(text) if _HINT.search(text) and "add_argument" in text else None
    found: dict[str, object] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if not (isinstance(node, ast.Call) and (dotted(node.func) or [""])[-1] == "add_argument"):
            continue
        names = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        said = {one.arg: one.value for one in node.keywords}
        long = next((one for one in names if one.startswith("--")), "")
        value = _otherwise(said.get("default"))
        if long and value is not None:
            made = _NUMBERS.get((dotted(said["type"]) or [""])[-1] if "type" in said else "")
            found[long[2:].replace("-", "_")] = _made(value, made)
    return found


_NUMBERS = {"int": int, "float": float}


def _made(value: object, made: type | None) -> object:
    try:
        return made(value) if made is not None else value
    except (TypeError, ValueError):
        return value


def _otherwise(node: ast.expr | None) -> object:
    """`int(os.environ.get("STEPS", "100"))`, `env("LR", 1e-5)`"""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    words = dotted(node.func) or [""]
    if words[-1] in _NUMBERS and len(node.args) == 1:
        value = _otherwise(node.args[0])
        return _made(value, _NUMBERS[words[-1]]) if value is not None else None
    last = node.args[-1]
    asks = len(node.args) == 2 and (words[-1] == "get" or any(map(_ASKS.search, words)))
    return last.value if asks and isinstance(last, ast.Constant) and last.value not in ("", None) else None


def with_default(entry: Entry, otherwise: dict[str, object]) -> Entry:
    """An option with such a default, where it has none that is known."""
    value = otherwise.get(entry.key)
    node = entry.value
    if value is None or not (isinstance(node, Scalar) and isinstance(node.value, Unknown)):
        return entry
    return entry._replace(value=Scalar(value, node.start, node.end, f"default:{entry.key}", False))
