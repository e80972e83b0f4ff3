"""Which options of FSDP transformers takes from the file or mapping in `fsdp_config`: what its sources look up there, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .package import Package

_OPTIONS = "fsdp_config"
_PREFIX = "fsdp_"
_LOOK_UP = frozenset({"get", "pop", "setdefault"})


def options(package: Package) -> dict[str, dict[str, Any]]:
    """One reader, `fsdp_config`. Where the sources cut the prefix off, an option may be written with it and without."""
    found: set[str] = set()
    cut = False
    for path in package.paths():
        text = "" if path.startswith("models/") else "".join(package.texts(path))
        if _OPTIONS in text:
            tree = ast.parse(text)
            found |= set(_asked(tree, {}))
            cut |= f'startswith("{_PREFIX}")' in text
    if cut:
        found |= {f"{_PREFIX}{name}" for name in found if not name.startswith(_PREFIX)}
    return {_OPTIONS: {"bases": [], "fields": {name: {} for name in sorted(found)}}} if found else {}


def _asked(tree: ast.AST, names: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """The words that are looked up; `names` are the variables of the loops around, which go through lists of words."""
    if isinstance(tree, ast.For) and isinstance(tree.target, ast.Name) and isinstance(tree.iter, (ast.List, ast.Tuple)):
        names = {**names, tree.target.id: tuple(word for one in tree.iter.elts for word in _words(one, {}))}
    elif isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and tree.args:
        if tree.func.attr in _LOOK_UP and _is_options(tree.func.value):
            yield from _words(tree.args[0], names)
    elif isinstance(tree, ast.Subscript) and isinstance(tree.ctx, ast.Load) and _is_options(tree.value):
        yield from _words(tree.slice, names)
    elif isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.In):
        if _is_options(tree.comparators[0]):
            yield from _words(tree.left, names)
    for child in ast.iter_child_nodes(tree):
        yield from _asked(child, names)


def _is_options(node: ast.expr) -> bool:
    return getattr(node, "attr", getattr(node, "id", "")) == _OPTIONS


def _words(node: ast.expr, names: dict[str, tuple[str, ...]]) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Name):
        yield from names.get(node.id, ())
