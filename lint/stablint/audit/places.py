"""A place in a source text that can be found again in another release: what stands there, and in which function.

Of the text only a hash is kept: enough to say whether it is still there.
"""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache
from typing import NamedTuple

_ENOUGH = 12  # letters and digits that make a line recognisable; a shorter one takes those below it along


class Spot(NamedTuple):
    scope: str  # class and function, empty for the module itself
    mark: str  # of the line, blanks apart


class Scope(NamedTuple):
    name: str
    first: int
    last: int


def spot(text: str, line: int) -> Spot | None:
    """None where the text has no such line, or nothing stands in it."""
    lines = text.splitlines()
    if not 1 <= line <= len(lines) or not lines[line - 1].strip():
        return None
    return Spot(scope_of(text, line).name, _mark(lines, line))


def find(text: str, wanted: Spot, near: int) -> int | None:
    """The line that is the spot: in its own function first, then anywhere, the nearest to `near`."""
    same = _marked(text).get(wanted.mark)
    if not same:
        return None
    own = [line for line in same if scope_of(text, line).name == wanted.scope]
    return min(own or same, key=lambda line: abs(line - near))


def has_scope(text: str, name: str) -> bool:
    return not name or any(scope.name == name for scope in _scopes(text))


def around(text: str, line: int, most: int = 120, beside: int = 20) -> str:
    """The function that holds the line, or its neighbours where that is long, or none."""
    scope, lines = scope_of(text, line), text.splitlines()
    if scope.name and scope.last - scope.first <= most:
        return "\n".join(lines[scope.first - 1 : scope.last])
    return "\n".join(lines[max(0, line - 1 - beside) : line + beside])


def scope_of(text: str, line: int) -> Scope:
    """The innermost class or function around a line."""
    inside = [scope for scope in _scopes(text) if scope.first <= line <= scope.last]
    return max(inside, key=lambda scope: scope.first, default=Scope("", 1, text.count("\n") + 1))


@lru_cache(maxsize=256)
def _scopes(text: str) -> tuple[Scope, ...]:
    try:
        module = ast.parse(text)
    except SyntaxError:  # no Python, or one that we cannot read: it is one scope
        return ()
    found: list[Scope] = []
    waiting: list[tuple[str, ast.AST]] = [("", module)]
    while waiting:
        outer, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{outer}.{child.name}" if outer else child.name
                found.append(Scope(name, child.lineno, child.end_lineno or child.lineno))
                waiting.append((name, child))
            else:
                waiting.append((outer, child))
    return tuple(found)


@lru_cache(maxsize=256)
def _marked(text: str) -> dict[str, list[int]]:
    """Every line by its mark."""
    lines = text.splitlines()
    found: dict[str, list[int]] = {}
    for line in range(1, len(lines) + 1):
        if lines[line - 1].strip():
            found.setdefault(_mark(lines, line), []).append(line)
    return found


def _mark(lines: list[str], line: int) -> str:
    held: list[str] = []
    for following in lines[line - 1 : line + 9]:
        held += following.split()
        if sum(map(str.isalnum, "".join(held))) >= _ENOUGH:
            break
    return hashlib.sha256(" ".join(held).encode()).hexdigest()[:12]
