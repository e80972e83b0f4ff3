"""Where things stand in a program and the modules that it is made of: calls, classes, functions and options, and what names, attributes and keys are given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stablint.base.light import NamedTuple
from stablint.syntax.python.parse import tree_of
from stablint.syntax.python.scope import dotted

_MOST = 400_000  # characters of a program and its modules
# What merges one dictionary into another, by its name.
MERGING = re.compile(r"merge|update|overrid", re.IGNORECASE)


class Where(NamedTuple):
    tree: ast.Module
    function: ast.FunctionDef | None
    owner: ast.ClassDef | None
    outer: Where | None = None  # of a function within a function


Branches = tuple[tuple[ast.stmt, bool], ...]  # of an `if`, or of a loop


class Bound(NamedTuple):
    """What a name is given, and the branches that this stands in."""

    value: ast.expr | None
    branches: Branches
    where: Where


class Stored(NamedTuple):
    """What is put into a dictionary after it was made: `settings["lr"] = 1e-5`, or with `value` another one whole, by `update`."""

    of: ast.expr
    value: ast.expr
    branches: Branches
    where: Where
    deep: bool = False  # section by section


class Made(NamedTuple):
    """An object of a class of the program's own, by the call that makes it."""

    of: ast.ClassDef
    call: ast.Call
    where: Where


class Called(NamedTuple):
    node: ast.Call
    where: Where
    target: str  # what it is assigned to


class Index:
    """What a question about a program begins with; nothing is evaluated here."""

    def __init__(self, texts: list[str]) -> None:
        texts = texts if sum(map(len, texts)) <= _MOST else texts[:1]
        self.trees = [tree for one in texts if (tree := tree_of(one)) is not None]
        self.calls: list[Called] = []
        self._called: dict[str, list[Called]] = {}  # by the last word of what is called
        self.tests: list[tuple[ast.If | ast.IfExp, Where]] = []
        self._classes: dict[str, ast.ClassDef] = {}
        self._functions: dict[str, Where] = {}
        self._flags: dict[str, bool] = {}  # options without a value, as they are where nobody gives them
        self._defaults: dict[str, tuple[ast.expr, Where]] = {}  # of options, where the program works them out
        self._assigned: dict[tuple[str, str], list[tuple[ast.expr | None, Where]]] = {}  # `self.x = …`, by the class
        self._bound: dict[int, dict[str, list[Bound]]] = {}  # names, by the function or the module
        self._touched: dict[
            str, list[tuple[str, Bound]]
        ] = {}  # attributes that are set from elsewhere, each with what has it
        self._stored: dict[object, list[Stored]] = {}  # by the key
        self._updated: list[Stored] = []
        self._imported: dict[
            int, dict[str, str]
        ] = {}  # what a module imports by name, with what it is called there; `*` for all
        for tree in self.trees:
            self._look(tree)

    def _look(self, tree: ast.Module) -> None:
        pending: list[tuple[ast.AST, Where, str, Branches]] = [(tree, Where(tree, None, None), "", ())]
        merging: set[ast.AST] = set()
        while pending:
            node, where, target, branches = pending.pop()
            if isinstance(node, ast.ClassDef):
                self._classes.setdefault(node.name, node)
                where = where._replace(owner=node, function=None)
            elif isinstance(node, ast.FunctionDef):
                where, branches = within(where, node), ()
                self._functions.setdefault(node.name, where)
            elif isinstance(node, ast.Call):
                self.calls.append(Called(node, where, target))
                self._called.setdefault(last(node.func), []).append(self.calls[-1])
                if isinstance(node.func, ast.Attribute) and node.func.attr == "update" and node.args:
                    self._updated.append(Stored(node.func.value, node.args[0], branches, where))
                self._flags.update(_flag(node))
                self._defaults.update((name, (value, where)) for name, value in _usual(node))
            elif isinstance(node, (ast.If, ast.IfExp)) and tree is self.trees[0]:
                self.tests.append((node, where))
            elif isinstance(node, ast.ImportFrom):
                self._imported.setdefault(id(tree), {}).update({one.asname or one.name: one.name for one in node.names})
            elif isinstance(node, ast.For) and (merged := _merging(node)) is not None:
                deep = any(isinstance(one, ast.Call) and MERGING.search(last(one.func)) for one in ast.walk(node))
                self._updated.append(Stored(*merged, branches, where, deep))
                merging.update(ast.walk(node))
            for name, value in _bindings(node) if node not in merging else ():
                if isinstance(name, ast.Subscript):
                    stored = Stored(name.value, value or name, branches, where)
                    self._stored.setdefault(name.slice.value, []).append(stored)  # type: ignore[attr-defined]
                elif isinstance(name, ast.Name):
                    bound = self._bound.setdefault(id(where.function or tree), {})
                    bound.setdefault(name.id, []).append(Bound(value, branches, where))
                elif where.owner is not None and isinstance(name.value, ast.Name) and name.value.id == "self":
                    self._assigned.setdefault((where.owner.name, name.attr), []).append((value, where))
                else:
                    self._touched.setdefault(name.attr, []).append((last(name.value), Bound(value, branches, where)))
            if isinstance(node, ast.Assign):
                target = ast.unparse(node.targets[0]) if len(node.targets) == 1 else ""
            if isinstance(node, ast.If):
                pending.append((node.test, where, target, branches))
                pending += [(one, where, target, (*branches, (node, True))) for one in node.body]
                pending += [(one, where, target, (*branches, (node, False))) for one in node.orelse]
                continue
            if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                branches = (*branches, (node, True))
            pending += [(one, where, target, branches) for one in ast.iter_child_nodes(node)]

    def _above(self, owner: ast.ClassDef) -> Iterator[ast.ClassDef]:
        """A class and those of the program's own that it extends."""
        seen: list[ast.ClassDef] = []
        pending = [owner]
        while pending:
            one = pending.pop(0)
            if one in seen:
                continue
            seen.append(one)
            yield one
            pending += [
                above for base in one.bases if (above := self._classes.get((dotted(base) or [""])[-1])) is not None
            ]

    def _tree(self, owner: ast.ClassDef) -> ast.Module:
        return next((one for one in self.trees if owner in one.body), self.trees[0])

    def _class(self, name: str, where: Where) -> ast.ClassDef | None:
        return self._classes.get(self._imported.get(id(where.tree), {}).get(name, name))


def at(tree: ast.Module, line: int) -> Where:
    """Where a line stands."""
    where = Where(tree, None, None)
    pending: list[ast.AST] = [tree]
    while pending:
        for node in ast.iter_child_nodes(pending.pop()):
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
                if isinstance(node, ast.FunctionDef):
                    where = within(where, node)
                elif isinstance(node, ast.ClassDef):
                    where = Where(tree, None, node)
                pending.append(node)
    return where


def within(where: Where, function: ast.FunctionDef) -> Where:
    return where._replace(function=function, outer=where if where.function is not None else None)


def last(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def returned(function: ast.FunctionDef | None) -> Iterator[ast.expr]:
    """What a function returns, each place of it."""
    pending: list[ast.AST] = list(function.body) if function is not None else []
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Return):
            yield node.value or ast.Constant(None)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending += ast.iter_child_nodes(node)


def argument(call: ast.Call, function: ast.FunctionDef, name: str, of_class: bool) -> ast.expr | None:
    given = next((one.value for one in call.keywords if one.arg == name), None)
    order = [one.arg for one in (*function.args.posonlyargs, *function.args.args)][1 if of_class else 0 :]
    place = order.index(name) if name in order else len(call.args)
    return given if given is not None or is_spread(call) or place >= len(call.args) else call.args[place]


def is_spread(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in call.args)


def _flag(call: ast.Call) -> Iterator[tuple[str, bool]]:
    """`addargument("--test", action="store_true")`."""
    said = {one.arg: one.value.value for one in call.keywords if isinstance(one.value, ast.Constant)}
    name = call.args[-1] if call.args and last(call.func) == "add_argument" else None
    if (
        said.get("action") in ("store_true", "store_false")
        and isinstance(name, ast.Constant)
        and isinstance(name.value, str)
    ):
        default = said.get("default", said["action"] == "store_false")
        yield str(said.get("dest", name.value.lstrip("-").replace("-", "_"))), bool(default)


def _usual(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """`add_argument("--config", default=str(FOLDER / "sft.yaml"))`; None where nobody has to give it."""
    name = call.args[-1] if call.args and last(call.func) == "add_argument" else None
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        said = {one.arg: one.value for one in call.keywords}
        value = said.get("default", ast.Constant(None))
        nobody_s = name.value.startswith("-") and said.keys().isdisjoint(("action", "required", "nargs", None))
        if not isinstance(value, ast.Constant) or value.value is not None or nobody_s:
            yield name.value.lstrip("-").replace("-", "_"), value


def _bindings(node: ast.AST) -> Iterator[tuple[ast.Name | ast.Attribute | ast.Subscript, ast.expr | None]]:
    """The names and attributes that are set, each with what they are set to; None where that is worked out in another way."""
    targets: list[tuple[ast.AST, ast.expr | None]] = []
    if isinstance(node, ast.Assign):
        targets = [pair for one in node.targets for pair in _pairs(one, node.value)]
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        targets = [(node.target, node.value)] if node.value is not None else []
    elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension)):
        targets = [(node.target, None)]
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        targets = [(node.optional_vars, node.context_expr if isinstance(node.context_expr, ast.Call) else None)]
    for target, value in targets:
        keyed = isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and value is not None
        if isinstance(target, (ast.Name, ast.Attribute)) or (keyed and isinstance(target, ast.Subscript)):
            yield target, value
        elif isinstance(target, ast.Subscript):  # of what stands before the bracket
            yield from [(target.value, None)] if isinstance(target.value, (ast.Name, ast.Attribute)) else []
        else:
            yield from ((one, None) for one in ast.walk(target) if isinstance(one, (ast.Name, ast.Attribute)))


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.AST, ast.expr | None]]:
    """`a, b = 1, 2`, each with its own."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [*zip(target.elts, value.elts, strict=True)]
    if isinstance(target, ast.Tuple) and isinstance(value, (ast.Call, ast.Name)):  # what a function returns
        return [(one, ast.Subscript(value, ast.Constant(at), ast.Load())) for at, one in enumerate(target.elts)]
    return [(target, value)]


def _given(node: ast.AST, name: str) -> ast.expr | None:
    """What a statement of a class gives a name."""
    return next((value for one, value in _bindings(node) if isinstance(one, ast.Name) and one.id == name), None)


def field_of(owner: ast.ClassDef, name: str) -> ast.expr | None:
    """What the class itself gives the attribute: `lr: float = field(default=1e-5)`."""
    value = next((found for one in owner.body if (found := _given(one, name)) is not None), None)
    if isinstance(value, ast.Call) and (dotted(value.func) or [""])[-1] in ("field", "Field"):
        said = {one.arg: one.value for one in value.keywords}
        if "default_factory" in said:
            made = said["default_factory"]
            return made.body if isinstance(made, ast.Lambda) else ast.Call(made, [], [])
        return said.get("default", value.args[0] if value.args else None)
    return value


def _merging(loop: ast.For) -> tuple[ast.expr, ast.expr] | None:
    """`for key, value in other.items(): …; settings[key] = value`: the two dictionaries."""
    key = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else None
    over = (
        loop.iter.func.value if isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Attribute) else None
    )
    if (
        not isinstance(key, ast.Name)
        or over is None
        or not isinstance(loop.iter, ast.Call)
        or last(loop.iter.func) != "items"
    ):
        return None
    for node in ast.walk(loop):
        to = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(to, ast.Subscript) and isinstance(to.slice, ast.Name) and to.slice.id == key.id:
            return to.value, over
    return None
