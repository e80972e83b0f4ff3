"""Is a Python module the tests of a program? What they set is there to be tried out, wrong values among them."""

from __future__ import annotations

import ast

_LIBRARIES = frozenset({"pytest", "unittest", "absl.testing"})


def holds_tests(tree: ast.Module) -> bool:
    """Whether a class of it is one of tests, or it imports a library for tests and has functions or methods that are such."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if any(_is_suite(node) and any(map(_is_test, node.body)) for node in classes):
        return True
    imported = [
        name
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
    ]
    if not any(name in _LIBRARIES or name.partition(".")[0] in _LIBRARIES for name in imported):
        return False
    return any(map(_is_test, tree.body)) or any(_is_test(item) for node in classes for item in node.body)


def _is_suite(node: ast.ClassDef) -> bool:
    """By its own name, as pytest collects it, or by its base's (`TestCase` of unittest and what others derive from it)."""
    bases = (str(getattr(base, "attr", getattr(base, "id", ""))) for base in node.bases)
    return node.name.startswith("Test") or any(base.endswith("TestCase") for base in bases)


def _is_test(item: ast.stmt) -> bool:
    return isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and item.name.startswith("test_")
