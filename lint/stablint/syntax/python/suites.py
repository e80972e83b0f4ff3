"""Is a Python module the tests of a program? What they set is there to be tried out, wrong values among them."""

from __future__ import annotations

import ast

_LIBRARIES = frozenset({"pytest", "unittest", "absl.testing"})


def holds_tests(tree: ast.Module) -> bool:
    """Whether it imports a library for tests, and its functions or its classes' methods are such."""
    imported = [
        name
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
    ]
    if not any(name in _LIBRARIES or name.partition(".")[0] in _LIBRARIES for name in imported):
        return False
    inside = [item for node in tree.body for item in (node.body if isinstance(node, ast.ClassDef) else [node])]
    return any(
        isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and item.name.startswith("test_") for item in inside
    )
