"""Which name means what in a Python module: scopes with everything that binds a name, and the calls in them. Nothing is evaluated here."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

Position = tuple[int, int]  # line and column as `ast` counts them

# Methods that change a list or dict: what its literal says is then not all.
_MUTATORS = frozenset(
    [
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "clear",
        "sort",
        "reverse",
        "update",
        "setdefault",
        "popitem",
        "add",
        "discard",
    ]
)
_PASSED = ("JoinedStr", "TemplateStr", "Constant", "Load", "Store", "Del")


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
    scope: "Scope | None" = None  # of a class


class Scope:
    def __init__(self, kind: str, parent: "Scope | None" = None) -> None:
        self.kind = kind  # module, function or class
        self.parent = parent
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


class Store(NamedTuple):
    """`name.attribute = value`."""

    node: ast.Attribute
    value: ast.expr | None
    scope: Scope
    conditional: bool


class Names:
    """What a walk through a module finds. The walk keeps its own stack: depth of the source is no depth of ours."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope("module")
        self.calls: list[FoundCall] = []
        self.mutated: set[str] = set()
        self.stores: dict[str, list[Store]] = {}
        self._waiting: list[tuple[ast.AST, Scope, bool, str | None]] = []
        self._later(tree.body, self.module, False)
        while self._waiting:
            node, scope, conditional, target = self._waiting.pop()
            kind = type(node).__name__
            visit = _VISITORS.get(kind)
            if visit is not None:
                visit(self, node, scope, conditional, target)
            elif kind not in _PASSED:
                self._later(ast.iter_child_nodes(node), scope, conditional)

    def _later(
        self, nodes: Iterable[ast.AST | None], scope: Scope, conditional: bool, target: str | None = None
    ) -> None:
        self._waiting.extend((node, scope, conditional, target) for node in reversed(list(nodes)) if node is not None)

    def _bind(self, name: str, scope: Scope, binding: Binding) -> None:
        if name in scope.elsewhere:
            scope, binding = scope.elsewhere[name], binding._replace(conditional=True)
        scope.bindings.setdefault(name, []).append(binding)

    def _target(
        self, target: ast.expr, value: ast.expr | None, kind: str, end: Position, scope: Scope, conditional: bool
    ) -> None:
        """Bind what stands on the left of an assignment; tuples are taken apart where both sides are written out."""
        waiting: list[tuple[ast.expr, ast.expr | None, str]] = [(target, value, kind)]
        while waiting:
            node, value, kind = waiting.pop()
            if isinstance(node, ast.Name):
                self._bind(node.id, scope, Binding(kind, node, end, conditional, value))
            elif isinstance(node, (ast.Tuple, ast.List)):
                values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
                starred = any(isinstance(item, ast.Starred) for item in (*node.elts, *values))
                if values and len(values) == len(node.elts) and not starred:
                    waiting += zip(node.elts, values, [kind] * len(values), strict=True)
                else:
                    waiting += ((item, value, "element" if kind != "other" else kind) for item in node.elts)
            elif isinstance(node, ast.Starred):
                waiting.append((node.value, None, "other"))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                value = value if kind == "value" else None
                self.stores.setdefault(node.value.id, []).append(Store(node, value, scope, conditional))
            elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                self.mutated.add(node.value.id)

    def assign(self, node: ast.Assign, scope: Scope, conditional: bool, _: str | None) -> None:
        for target in node.targets:
            self._target(target, node.value, "value", _end(node), scope, conditional)
        self._later((*node.targets, node.value), scope, conditional, _dotted_target(node.targets[0]))

    def annotated(self, node: ast.AnnAssign, scope: Scope, conditional: bool, _: str | None) -> None:
        if node.value is not None:
            self._target(node.target, node.value, "value", _end(node), scope, conditional)
            self._later((node.value,), scope, conditional, _dotted_target(node.target))

    def augmented(self, node: ast.AugAssign, scope: Scope, conditional: bool, _: str | None) -> None:
        combined: ast.expr | None = None
        if isinstance(node.target, ast.Name):  # `x *= y` is `x = x * y`
            before = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            combined = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
        self._target(node.target, combined, "value" if combined else "other", _end(node), scope, conditional)
        if isinstance(node.target, ast.Name):
            self.mutated.add(node.target.id)
        self._later((node.target, node.value), scope, conditional)

    def walrus(self, node: ast.NamedExpr, scope: Scope, conditional: bool, _: str | None) -> None:
        self._target(node.target, node.value, "value", _end(node), scope, True)
        self._later((node.value,), scope, conditional, node.target.id)

    def import_(self, node: ast.Import, scope: Scope, conditional: bool, _: str | None) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            path = alias.name if alias.asname else name
            self._bind(name, scope, Binding("import", node, _end(node), conditional, path=path))

    def import_from(self, node: ast.ImportFrom, scope: Scope, conditional: bool, _: str | None) -> None:
        for alias in node.names:
            if alias.name != "*":
                path = alias.name if node.level or not node.module else f"{node.module}.{alias.name}"
                self._bind(
                    alias.asname or alias.name, scope, Binding("import", node, _end(node), conditional, path=path)
                )

    def function(self, node: ast.FunctionDef, scope: Scope, conditional: bool, _: str | None) -> None:
        self._bind(node.name, scope, Binding("function", node, _end(node), conditional))
        inner = self._parameters(node.args, scope)
        self._later((*node.decorator_list, *node.args.defaults, *node.args.kw_defaults), scope, conditional)
        self._later(node.body, inner, False)

    def lambda_(self, node: ast.Lambda, scope: Scope, conditional: bool, _: str | None) -> None:
        inner = self._parameters(node.args, scope)
        self._later((*node.args.defaults, *node.args.kw_defaults), scope, conditional)
        self._later((node.body,), inner, False)

    def _parameters(self, arguments: ast.arguments, scope: Scope) -> Scope:
        inner = Scope("function", scope)
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        for parameter in every:
            if parameter is not None:
                self._bind(parameter.arg, inner, Binding("parameter", parameter, _end(parameter), False))
        return inner

    def class_(self, node: ast.ClassDef, scope: Scope, conditional: bool, _: str | None) -> None:
        inner = Scope("class", scope)
        self._bind(node.name, scope, Binding("class", node, _end(node), conditional, scope=inner))
        self._later((*node.decorator_list, *node.bases, *node.keywords), scope, conditional)
        self._later(node.body, inner, False)

    def comprehension(self, node: ast.expr, scope: Scope, conditional: bool, _: str | None) -> None:
        inner = Scope("function", scope)
        for generator in getattr(node, "generators", ()):
            self._target(generator.target, None, "other", _end(node), inner, True)
        self._later(ast.iter_child_nodes(node), inner, True)

    def branch(self, node: ast.If, scope: Scope, conditional: bool, _: str | None) -> None:
        self._later((node.test,), scope, conditional)
        self._later((*node.body, *node.orelse), scope, conditional or not _is_main(node.test))

    def block(self, node: ast.AST, scope: Scope, conditional: bool, _: str | None) -> None:
        """Loops, `try`, `match`: what is bound in them may not be bound."""
        target = getattr(node, "target", None)
        if target is not None:
            self._target(target, None, "other", _end(target), scope, True)
        self._later(ast.iter_child_nodes(node), scope, True)

    def with_(self, node: ast.With, scope: Scope, conditional: bool, _: str | None) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self._target(item.optional_vars, None, "other", _end(item.context_expr), scope, conditional)
        self._later((*(item.context_expr for item in node.items), *node.body), scope, conditional)

    def named(self, node: ast.AST, scope: Scope, conditional: bool, _: str | None) -> None:
        """`except … as name`, `case name`, `case {**name}`."""
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            self._bind(name, scope, Binding("other", node, _end(node), True))
        self._later(ast.iter_child_nodes(node), scope, conditional)

    def global_(self, node: ast.Global, scope: Scope, conditional: bool, _: str | None) -> None:
        scope.elsewhere.update(dict.fromkeys(node.names, self.module))

    def nonlocal_(self, node: ast.Nonlocal, scope: Scope, conditional: bool, _: str | None) -> None:
        outer = scope.parent
        while outer is not None and outer.kind != "function":
            outer = outer.parent
        if outer is not None:
            scope.elsewhere.update(dict.fromkeys(node.names, outer))

    def delete(self, node: ast.Delete, scope: Scope, conditional: bool, _: str | None) -> None:
        for target in node.targets:
            self._target(target, None, "other", _end(node), scope, conditional)

    def call(self, node: ast.Call, scope: Scope, conditional: bool, target: str | None) -> None:
        self.calls.append(FoundCall(node, scope, target))
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.attr in _MUTATORS:
            self.mutated.add(function.value.id)
        self._later(ast.iter_child_nodes(node), scope, conditional)


_VISITORS: dict[str, Callable[..., None]] = {
    "Assign": Names.assign, "AnnAssign": Names.annotated, "AugAssign": Names.augmented, "NamedExpr": Names.walrus,
    "Import": Names.import_, "ImportFrom": Names.import_from, "FunctionDef": Names.function, "AsyncFunctionDef": Names.function,
    "Lambda": Names.lambda_, "ClassDef": Names.class_, "ListComp": Names.comprehension, "SetComp": Names.comprehension,
    "DictComp": Names.comprehension, "GeneratorExp": Names.comprehension, "If": Names.branch, "For": Names.block, "AsyncFor": Names.block,
    "While": Names.block, "Try": Names.block, "TryStar": Names.block, "Match": Names.block, "With": Names.with_, "AsyncWith": Names.with_,
    "ExceptHandler": Names.named, "MatchAs": Names.named, "MatchStar": Names.named, "MatchMapping": Names.named,
    "Global": Names.global_, "Nonlocal": Names.nonlocal_, "Delete": Names.delete, "Call": Names.call,
}  # fmt: skip


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
    found = scope.find(function.id)
    imported = found is not None and all(binding.kind == "import" for binding in found[1])
    root = found[1][0].path if found and imported else function.id
    return ".".join([root, *reversed(attributes)]).replace(".()", "()")


def _dotted_target(target: ast.expr) -> str | None:
    """The name that a call is assigned to; of several the first."""
    if isinstance(target, (ast.Tuple, ast.List)) and target.elts:
        target = target.elts[0]
    parts = dotted(target)
    return ".".join(parts) if parts else None


def _end(node: ast.AST) -> Position:
    return (getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0)


def _is_main(test: ast.expr) -> bool:
    """`if __name__ == "__main__"` holds where the file is run."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def latest(bindings: list[Binding], position: Position) -> Binding | None:
    """The binding that holds at a place of its own scope, if all of them are reached one after the other."""
    if any(binding.conditional for binding in bindings):
        return None
    before: Iterator[Binding] = (binding for binding in reversed(bindings) if binding.end <= position)
    return next(before, None)
