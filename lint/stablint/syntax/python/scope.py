"""What binds a name in a Python module, and which of several bindings a use of it means. Nothing is evaluated here."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

Position = tuple[int, int]  # line and column as `ast` counts them


class Binding(NamedTuple):
    """One place where a name gets its meaning.

    `kind`: value (`value` is its expression), element (`value` is unpacked), import (`path` says of what), class, function, parameter, or
    other (a loop, an exception …). `conditional`: it stands in a branch, a loop or another function.
    """

    kind: str
    node: ast.AST
    end: Position
    conditional: bool
    value: ast.expr | None = None
    path: str = ""
    scope: "Scope | None" = None  # of a class or function
    at: int = -1  # which element
    anytime: bool = False  # by another function, through `global` or `nonlocal`


class Scope:
    def __init__(self, kind: str, parent: "Scope | None" = None) -> None:
        self.kind = kind  # module, function or class
        self.parent = parent
        self.node: ast.FunctionDef | ast.ClassDef | None = None  # where it has a name
        self.deferred = False  # a lambda's: whoever is given it calls it, or nobody
        self.loops: list[tuple[Position, Position]] = []  # what is bound in one may hold at any place of it
        self.bindings: dict[str, list[Binding]] = {}
        self.elsewhere: dict[str, Scope] = {}  # names declared `global` or `nonlocal`

    def find(self, name: str) -> "tuple[Scope, list[Binding]] | None":
        """The scope that binds a name as seen from here, with its bindings in order."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.bindings.get(name)
            if found and (scope.kind != "class" or scope is self):
                return scope, found
            scope = scope.parent
        return None


class FoundCall(NamedTuple):
    node: ast.Call
    scope: Scope
    target: str | None
    conditional: bool = False


class Branch(NamedTuple):
    """What is run where a test holds (`positive`), or where it does not."""

    test: ast.expr
    scope: Scope
    start: Position
    end: Position
    positive: bool
    leaves: bool = False  # it ends the function
    gives: bool = False  # with a value of its own


class Nests:
    """The branches of one scope, each within others or beside them, so that those around a place are found by the places where they begin."""

    def __init__(self, branches: Iterable[Branch]) -> None:
        self._branches = sorted(sorted(branches, key=lambda one: one.end, reverse=True), key=lambda one: one.start)
        self._starts = [one.start for one in self._branches]
        self._parents: list[int] = []
        above: list[int] = []
        for number, one in enumerate(self._branches):
            while above and self._branches[above[-1]].end < one.end:
                above.pop()
            self._parents.append(above[-1] if above else -1)
            above.append(number)

    def around(self, place: Position) -> list[Branch]:
        """Those that a place stands in, from the outside in."""
        found, at = list[Branch](), bisect_right(self._starts, place) - 1
        while at >= 0:
            if place < self._branches[at].end:
                found.append(self._branches[at])
            at = self._parents[at]
        return found[::-1]

    def giving(self) -> Iterator[Branch]:
        return (one for one in self._branches if one.gives)

    def with_parents(self) -> Iterator[tuple[Branch, Branch | None]]:
        for one, parent in zip(self._branches, self._parents, strict=True):
            yield one, self._branches[parent] if parent >= 0 else None


class Spans:
    """Places of a file, any of which may hold another."""

    def __init__(self) -> None:
        self._found: list[tuple[Position, Position]] = []
        self._merged: list[tuple[Position, Position]] | None = None

    def __bool__(self) -> bool:
        return bool(self._found)

    def append(self, start: Position, end: Position) -> None:
        self._found.append((start, end))
        self._merged = None

    def hold(self, place: Position) -> bool:
        """Whether one of them holds the place."""
        if self._merged is None:
            self._merged = []
            for start, end in sorted(self._found):
                if self._merged and start <= self._merged[-1][1]:
                    self._merged[-1] = (self._merged[-1][0], max(end, self._merged[-1][1]))
                else:
                    self._merged.append((start, end))
        at = bisect_right(self._merged, place, key=lambda one: one[0]) - 1
        return at >= 0 and place < self._merged[at][1]


class Store(NamedTuple):
    """`name.attribute = value`."""

    node: ast.Attribute
    value: ast.expr | None
    scope: Scope
    conditional: bool


class Item(NamedTuple):
    """`name[key] = value`, or `name.update(value)`, where `key` is None."""

    node: ast.expr
    key: ast.expr | None
    value: ast.expr | None
    scope: Scope
    conditional: bool
    at: Position


def dotted(node: ast.expr) -> list[str] | None:
    """`a.b.c` as its names; None for what is more than names and dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return [node.id, *reversed(parts)]


def called_name(function: ast.expr, scope: Scope) -> str:
    """The full name of what is called, through imports; `f().method` for a method of a result; empty where there is no name."""
    attributes: list[str] = []
    while isinstance(function, ast.Attribute) or (isinstance(function, ast.Call) and attributes):
        attributes.append(function.attr if isinstance(function, ast.Attribute) else "()")
        function = function.value if isinstance(function, ast.Attribute) else function.func
    if not isinstance(function, ast.Name):
        return ".".join(reversed(attributes)).replace(".()", "()").lstrip("().")
    return ".".join([_root(function, scope), *reversed(attributes)]).replace(".()", "()")


def _root(name: ast.Name, scope: Scope, depth: int = 0) -> str:
    """The full name of a name: of what it is imported as, or stands for (`trainer_cls = Trainer`)."""
    found = scope.find(name.id)
    if found is None:
        return name.id
    owner, bindings = found
    if all(binding.kind == "import" for binding in bindings):
        return _imported(name, bindings, owner is scope)
    value = bindings[0].value
    if len(bindings) > 1 or bindings[0].kind != "value" or bindings[0].conditional or depth > _ALIASES:
        return name.id
    # One of two classes, `A if large else B`, is known by its package where both are of one.
    stands_for = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    named = [_root(one, owner, depth + 1) for one in stands_for if isinstance(one, ast.Name)]
    if len(named) < len(stands_for) or len({one.partition(".")[0] for one in named if "." in one}) > 1:
        return name.id
    return named[0] if "." in named[0] or named[0][:1].isupper() else name.id


def _imported(name: ast.Name, bindings: list[Binding], here: bool) -> str:
    """Of two imports of one name the last before its use holds; of those in branches (`try:` … `except ImportError:`) the first is the wanted one.

    A function may be called before and after what is imported below it: of two packages neither is known then.
    """
    plain = [one for one in bindings if not one.conditional]
    if not plain:
        return bindings[0].path
    before = [one for one in plain if one.end <= position_of(name)]
    if before and (here or len(before) == len(plain)):
        return before[-1].path
    return plain[-1].path if len({one.path for one in plain}) == 1 else name.id


def stands_for(function: ast.expr, scope: Scope) -> list[Binding] | list[str]:
    """What else the name of a class may stand for where it is called, if more than one: the imports of several branches, or the two names of
    `A if large else B`."""
    while isinstance(function, ast.Attribute):
        function = function.value
    found = scope.find(function.id) if isinstance(function, ast.Name) else None
    if found is None or not isinstance(function, ast.Name):
        return []
    owner, bindings = found
    if len(bindings) == 1 and isinstance(choice := bindings[0].value, ast.IfExp):
        return [called_name(one, owner) for one in (choice.body, choice.orelse)]
    held: list[Binding] = []
    for binding in bindings:
        if binding.kind == "import" and (owner is not scope or binding.end <= position_of(function)):
            held = [*held, binding] if binding.conditional else [binding]
    return held if len({binding.path for binding in held}) > 1 else []


_ALIASES = 4  # names that stand for names


def dotted_target(target: ast.expr) -> str | None:
    """The name that a call is assigned to; of several the first."""
    if isinstance(target, (ast.Tuple, ast.List)) and target.elts:
        target = target.elts[0]
    parts = dotted(target)
    return ".".join(parts) if parts else None


def holding(bindings: list[Binding], position: Position | None, scope: Scope) -> list[Binding]:
    """The bindings of a name that may hold at a place of the scope that has them; all of them where it is used in another scope.

    The last unconditional one before the place hides those before it; in a loop what comes later may hold as well.
    """
    if len(bindings) == 1 or all(binding.kind == "import" for binding in bindings):
        return bindings[:1]
    if position is None:
        return bindings
    end = max((last for first, last in scope.loops if first <= position < last), default=position)
    found: list[Binding] = []
    for binding in bindings:
        if binding.end <= position and not binding.conditional:
            found = [binding]
        elif binding.end <= end and not binding.anytime:
            found.append(binding)
    return [*found, *(binding for binding in bindings if binding.anytime)]


def position_of(node: ast.AST) -> Position:
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


def end_of(node: ast.AST) -> Position:
    return (getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0)


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Those that have a name of their own: no `*args`, no `**kwargs`."""
    arguments = function.args
    return {parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def default_of(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.expr | None:
    arguments = function.args
    ordered = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]
    pairs: list[tuple[str, ast.expr | None]] = list(zip(ordered[::-1], arguments.defaults[::-1], strict=False))
    pairs += [
        (parameter.arg, value) for parameter, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return dict(pairs).get(name)


def children(node: ast.AST) -> list[ast.AST]:
    """Its nodes in their order, as `ast.iter_child_nodes` has them, but for those that hold nothing: operators, and how a name is meant."""
    found: list[ast.AST] = []
    for name in node._fields:
        held = getattr(node, name, None)
        if isinstance(held, list):
            found += [one for one in held if isinstance(one, ast.AST) and one._fields]
        elif isinstance(held, ast.AST) and held._fields:
            found.append(held)
    return found


def within(tree: ast.AST) -> list[ast.AST]:
    """The node and all below it, in the order of `ast.walk`."""
    found = [tree]
    for node in found:
        found += children(node)
    return found
