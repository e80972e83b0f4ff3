"""Source text → `ast` tree, or the place where Python refuses it."""

from __future__ import annotations

import ast
import re
import sys
import warnings

from stablint.syntax.python.guard import too_deep
from stablint.syntax.python.places import Places
from stablint.syntax.tree import Problem

# Broken, or of a newer Python than the one that stablint runs on: from here that cannot be told.
UNPARSED = "unparsed-python"
_LONGEST = 100  # characters of Python's own message
# A line that only Jinja reads.
_TEMPLATE = re.compile(r"^[ \t]*(?:#[ \t]*)?\{[%#].*[%#]\}[ \t]*$|\{\{[ \t]*cookiecutter\.", re.MULTILINE)
_LONG_NUMBER = re.compile(r"[0-9_]{4300,}")


def is_template(source: str) -> bool:
    """Of a source that Python refuses: whether it is the template of one."""
    return _TEMPLATE.search(source) is not None


def parse(source: str) -> ast.Module | Problem:
    """The tree of a source that `python_guard` lets pass. Warnings about it (invalid escapes) are nobody's business here."""
    nul = source.find("\0")
    if nul >= 0:
        return Problem("syntax-error", "a NUL character: this is no Python", nul, nul + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        number = _LONG_NUMBER.search(source)
        if number and "integer string conversion" in error.msg:
            return Problem("syntax-error", "a number too long for Python", number.start(), number.end())
        # `offset` counts from 1; it is 0 or None where the place is not known.
        line = Places(source).offset(max(error.lineno or 1, 1), 0)
        start = min(line + max((error.offset or 1) - 1, 0), len(source))
        return Problem(UNPARSED, _refused(error.msg), start, min(start + 1, len(source)))
    except ValueError as error:  # lone surrogates
        return Problem(UNPARSED, _refused(str(error)), 0, min(1, len(source)))
    except (MemoryError, RecursionError):
        return Problem(UNPARSED, "nested too deeply for Python's parser", 0, 0)


def tree_of(source: str) -> ast.Module | None:
    """The tree of any source; None where it has none."""
    tree = parse(source) if too_deep(source) < 0 else None
    return tree if isinstance(tree, ast.Module) else None


def compiles(source: str) -> bool:
    """Whether Python's compiler takes a source that `python_guard` lets pass; nothing of it is run, and no tree is built."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "", "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


def repeated(call: ast.Call) -> ast.keyword | None:
    """An argument that is named a second time. The parser lets it pass; Python refuses the file all the same."""
    if len(call.keywords) < 2:
        return None
    seen = set[str]()
    for keyword in call.keywords:
        if keyword.arg in seen:
            return keyword
        if keyword.arg is not None:
            seen.add(keyword.arg)
    return None


def _refused(message: str) -> str:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"not Python that {version} knows: {message[:_LONGEST]}"
