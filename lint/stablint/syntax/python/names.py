"""Which name means what in a Python module: scopes with everything that binds a name, and the calls in them. Nothing is evaluated here."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence

from stablint.syntax.python.once import Once, assigned_constants, constant_truth, once_assigned
from stablint.syntax.python.scope import (
    Binding,
    Branch,
    FoundCall,
    Item,
    Nests,
    Position,
    Scope,
    Spans,
    Store,
    children,
    dotted,
    dotted_target,
    end_of,
    position_of,
)

# Methods that change a list or dict: what its literal says is then not all.
_MUTATORS = frozenset([
    "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add", "discard",
])  # fmt: skip
_PUTS_IN = frozenset(["add_module", "register_module", "set_submodule"])  # methods of torch's modules
# What of a model is no module, or a head that every program casts.
_NO_MODULES = frozenset(
    ["config", "generation_config", "forward", "lm_head", "dtype", "device", "data", "grad", "weight", "bias", "score"]
)
_PASSED = frozenset(["JoinedStr", "TemplateStr", "Constant", "Name"])
_NOWHERE = Nests(())


class Names:
    """What a walk through a module finds. The walk keeps its own stack: depth of the source is no depth of ours."""

    def __init__(self, tree: ast.Module, cells: bool = False) -> None:
        self.module = Scope("module")
        self.calls: list[FoundCall] = []
        self.mutated: set[str] = set()
        self.handed: dict[str, list[ast.Call]] = {}  # calls whose result nobody keeps, by the names that they are given
        self.given: dict[
            str, list[FoundCall]
        ] = {}  # those of functions and classes by their plain names, by the names that they are given
        self.around: dict[int, FoundCall] = {}  # a call by its argument, which is a call as well: `prepare(Config(…))`
        self.stores: dict[str, list[Store]] = {}
        self.rewritten: set[str] = set()  # objects of which any attribute may be set: `setattr(args, name, value)`
        self.setting: set[str] = (
            set()
        )  # objects with a method that sets several at once: `args.set_training(batch_size=8)`
        # classes that get other methods: `transformers.Trainer.training_step = …`, `patch.object(Trainer, …)`; ANY where an enumeration is extended
        self.patched: set[str] = set()
        self.items: dict[str, list[Item]] = {}
        self.frozen: list[
            tuple[ast.Attribute, ast.expr | None]
        ] = []  # `….requires_grad = value`, `….requires_grad_(value)`
        self.rebuilt: list[
            ast.expr
        ] = []  # `layer.q_proj = …`, `setattr(module, name, …)`: parts of a model that are put in
        self.spread: set[str] = set()  # modules of which every name is imported
        self.branches: list[Branch] = []
        self.returns: dict[int, list[ast.Return]] = {}  # by the identity of the function's scope
        self.attempts = Spans()  # what may fail, or be left out, by the program's own will
        self._nests: dict[int, Nests] = {}
        self._reach: dict[tuple[str, int], tuple[Position, Position]] = {}
        self.recovered = Spans()  # those of them for which the program has something else in store
        self.tries: list[tuple[Position, Position]] = []  # `try` statements with all that belongs to them
        self.scopes: list[Scope] = [self.module]
        self._by_name: dict[str, list[FoundCall]] = {}
        self.tree = tree
        self._assigned = assigned_constants(tree)
        self._constants: Once | None = None  # those of them that are bound once, looked for when a test asks for one
        self._waiting: list[tuple[ast.AST, Scope, bool, str | None]] = []
        # A cell that ends with `raise` or `exit()` keeps nobody from running the next one.
        self._later(tree.body if cells else self._until_it_ends(tree.body), self.module, False)
        while self._waiting:
            node, scope, conditional, target = self._waiting.pop()
            kind = type(node).__name__
            visit = _VISITORS.get(kind)
            if visit is not None:
                visit(self, node, scope, conditional, target)
            elif kind not in _PASSED:
                self._later(children(node), scope, conditional)

    def _later(
        self, nodes: Iterable[ast.AST | None], scope: Scope, conditional: bool, target: str | None = None
    ) -> None:
        self._waiting += [(node, scope, conditional, target) for node in reversed([*nodes]) if node is not None]

    def _bind(self, name: str, scope: Scope, binding: Binding) -> None:
        if name in scope.elsewhere:
            scope, binding = scope.elsewhere[name], binding._replace(conditional=True, anytime=True)
        scope.bindings.setdefault(name, []).append(binding)

    def _target(
        self, target: ast.expr, value: ast.expr | None, kind: str, end: Position, scope: Scope, conditional: bool
    ) -> None:
        """Bind what stands on the left of an assignment; tuples are taken apart where both sides are written out."""
        waiting: list[tuple[ast.expr, ast.expr | None, str]] = [(target, value, kind)]
        indexes: dict[int, int] = {}
        while waiting:
            node, value, kind = waiting.pop()
            if isinstance(node, ast.Name):
                self._bind(node.id, scope, Binding(kind, node, end, conditional, value, at=indexes.get(id(node), -1)))
            elif isinstance(node, (ast.Tuple, ast.List)):
                values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
                starred = any(isinstance(item, ast.Starred) for item in (*node.elts, *values))
                if values and len(values) == len(node.elts) and not starred:
                    waiting += zip(node.elts, values, [kind] * len(values), strict=True)
                else:
                    waiting += ((item, value, "element" if kind != "other" else kind) for item in node.elts)
                    indexes |= {id(item): index for index, item in enumerate(node.elts)}
            elif isinstance(node, ast.Starred):
                waiting.append((node.value, None, "other"))
            elif isinstance(node, ast.Attribute) and node.attr == "requires_grad":
                self.frozen.append((node, value if kind == "value" else None))
            elif isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Name):
                if is_rebuilt(node, value):
                    self.rebuilt.append(node)
                inner = node.value
                if isinstance(inner, ast.Attribute) and inner.attr[:1].isupper():
                    self.patched.add(inner.attr)  # `transformers.Trainer.training_step = …`
                if isinstance(inner, ast.Attribute) and inner.attr == "args" and isinstance(inner.value, ast.Name):
                    of_args = Store(node, None, scope, conditional)  # `trainer.args.max_steps = …`
                    self.stores.setdefault(f"{inner.value.id}.args", []).append(of_args)
                else:
                    self._changed_within(inner, scope, conditional)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if self._is_of_a_loop(node.value, scope) and is_made(value):
                    self.rebuilt.append(node)
                elif node.attr == "model" and is_made(value) and node.value.id != "self":
                    self.rebuilt.append(node)  # `trainer.model = …`
                elif node.attr[:1].isupper() and self._is_imported(node.value, scope):
                    self.rebuilt.append(node)  # `modeling_llama.LlamaAttention = …`
                    self.patched.add(node.attr)  # `trl.SFTConfig = Better`
                value = value if kind == "value" else None
                self.stores.setdefault(node.value.id, []).append(Store(node, value, scope, conditional))
            elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                self._item(
                    node.value.id,
                    Item(node, node.slice, value if kind == "value" else None, scope, conditional, position_of(node)),
                )
            elif (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Attribute)
                and node.value.attr == "_modules"
            ):
                self.rebuilt.append(node)
            elif isinstance(node, ast.Subscript) and dotted(node.value) == ["os", "environ"]:
                self._item(
                    "os.environ",
                    Item(node, node.slice, value if kind == "value" else None, scope, conditional, position_of(node)),
                )
            elif isinstance(node, ast.Subscript):
                self._changed_within(node.value, scope, conditional)

    def _changed_within(self, part: ast.expr, scope: Scope, conditional: bool) -> None:
        """`args.lr_scheduler_kwargs["min_lr"] = …`, `args.report_to.append(…)`, `settings["zero_optimization"]["stage"] = …`: what the attribute
        or the dict is then is not known."""
        root = part
        while isinstance(root, ast.Subscript):
            root = root.value
        if (holder := _attributes_of(root)) is not None:
            self.rewritten.add(holder)
        elif root is not part and isinstance(root, ast.Name):
            self.mutated.add(root.id)
        elif isinstance(root, ast.Attribute) and isinstance(root.value, ast.Name):
            self.stores.setdefault(root.value.id, []).append(Store(root, None, scope, conditional))
        elif (first := _first_attribute(root)) is not None and first.attr not in _PARTS:
            # `args.accelerator_config.gradient_accumulation_kwargs.pop("num_steps")`
            self.stores.setdefault(ast.unparse(first.value), []).append(Store(first, None, scope, conditional))

    def _is_of_a_loop(self, node: ast.Name, scope: Scope) -> bool:
        """Whether the name goes through something: the layers of a model, its named modules."""
        found = scope.find(node.id)
        return found is not None and all(binding.kind == "other" for binding in found[1])

    def _is_imported(self, node: ast.Name, scope: Scope) -> bool:
        found = scope.find(node.id)
        return found is not None and all(binding.kind == "import" for binding in found[1])

    def _item(self, name: str, item: Item) -> None:
        self.items.setdefault(name, []).append(item)

    def assign(self, node: ast.Assign, scope: Scope, conditional: bool, _: str | None) -> None:
        """`args = with_defaults(args)`: what was made is taken for what a function makes of it."""
        given = node.value.args if isinstance(node.value, ast.Call) else []
        for target in node.targets:
            if isinstance(target, ast.Name) and any(isinstance(one, ast.Name) and one.id == target.id for one in given):
                self.rewritten.add(target.id)
            self._target(target, node.value, "value", end_of(node), scope, conditional)
        self._later((*node.targets, node.value), scope, conditional, dotted_target(node.targets[0]))

    def annotated(self, node: ast.AnnAssign, scope: Scope, conditional: bool, _: str | None) -> None:
        if node.value is not None:
            self._target(node.target, node.value, "value", end_of(node), scope, conditional)
            self._later((node.value,), scope, conditional, dotted_target(node.target))

    def augmented(self, node: ast.AugAssign, scope: Scope, conditional: bool, _: str | None) -> None:
        combined: ast.expr | None = None
        if isinstance(node.target, ast.Name):  # `x *= y` is `x = x * y`
            before = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            combined = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
        self._target(node.target, combined, "value" if combined else "other", end_of(node), scope, conditional)
        if isinstance(node.target, ast.Name):
            self.mutated.add(node.target.id)
        self._later((node.target, node.value), scope, conditional)

    def return_(self, node: ast.Return, scope: Scope, conditional: bool, _: str | None) -> None:
        self.returns.setdefault(id(scope), []).append(node)
        self._later((node.value,), scope, conditional)

    def walrus(self, node: ast.NamedExpr, scope: Scope, conditional: bool, _: str | None) -> None:
        self._target(node.target, node.value, "value", end_of(node), scope, True)
        self._later((node.value,), scope, conditional, node.target.id)

    def import_(self, node: ast.Import, scope: Scope, conditional: bool, _: str | None) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            path = alias.name if alias.asname else name
            self._bind(name, scope, Binding("import", node, end_of(node), conditional, path=path))

    def import_from(self, node: ast.ImportFrom, scope: Scope, conditional: bool, _: str | None) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.spread.add("." * node.level + (node.module or ""))
            else:
                # `.args.Name`: of the program's own package, no library's
                path = "." * node.level + (f"{node.module}.{alias.name}" if node.module else alias.name)
                self._bind(
                    alias.asname or alias.name, scope, Binding("import", node, end_of(node), conditional, path=path)
                )

    def function(self, node: ast.FunctionDef, scope: Scope, conditional: bool, _: str | None) -> None:
        inner = self._parameters(node.args, scope)
        inner.node = node
        self.scopes.append(inner)
        self._bind(node.name, scope, Binding("function", node, end_of(node), conditional, scope=inner))
        if any(_word_of(one) in _FAILS for one in node.decorator_list):
            self.attempts.append(position_of(node), end_of(node))
        self._later((*node.decorator_list, *node.args.defaults, *node.args.kw_defaults), scope, conditional)
        self._later(self._until_it_ends(node.body), inner, False)

    def lambda_(self, node: ast.Lambda, scope: Scope, conditional: bool, _: str | None) -> None:
        inner = self._parameters(node.args, scope)
        inner.deferred = True
        self._later((*node.args.defaults, *node.args.kw_defaults), scope, conditional)
        self._later((node.body,), inner, False)

    def _parameters(self, arguments: ast.arguments, scope: Scope) -> Scope:
        inner = Scope("function", scope)
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        for parameter in every:
            if parameter is not None:
                self._bind(parameter.arg, inner, Binding("parameter", parameter, end_of(parameter), False))
        return inner

    def class_(self, node: ast.ClassDef, scope: Scope, conditional: bool, _: str | None) -> None:
        inner = Scope("class", scope)
        inner.node = node
        self.scopes.append(inner)
        self._bind(node.name, scope, Binding("class", node, end_of(node), conditional, scope=inner))
        self._later((*node.decorator_list, *node.bases, *node.keywords), scope, conditional)
        self._later(node.body, inner, False)

    def comprehension(self, node: ast.expr, scope: Scope, conditional: bool, _: str | None) -> None:
        inner = Scope("function", scope)
        for generator in getattr(node, "generators", ()):
            self._target(generator.target, None, "other", end_of(node), inner, True)
        self._later(children(node), inner, True)

    def choice(self, node: ast.IfExp, scope: Scope, conditional: bool, target: str | None) -> None:
        self._branches(node.test, [node.body], [node.orelse], scope)
        self._later((node.test,), scope, conditional)
        self._later((node.body, node.orelse), scope, True, target)

    def branch(self, node: ast.If, scope: Scope, conditional: bool, _: str | None) -> None:
        self._later((node.test,), scope, conditional)
        truth = self._constant_truth(node.test)
        if truth is not None:
            self._later(self._until_it_ends(node.body if truth else node.orelse), scope, conditional)
        else:
            self._branches(node.test, node.body, node.orelse, scope)
            if self._asks_release(node.test, scope):
                self.attempts.append(position_of(node), self._until_left(node, scope))
            self._later((*self._until_it_ends(node.body), *self._until_it_ends(node.orelse)), scope, True)

    def _asks_release(self, test: ast.expr, scope: Scope) -> bool:
        """Also by a name that holds the answer: `NEW = Version(transformers.__version__) >= Version("5")`."""
        if asks_release(test):
            return True
        held = (scope.find(node.id) for node in ast.walk(test) if isinstance(node, ast.Name))
        return any(
            binding.value is not None and asks_release(binding.value) for found in held if found for binding in found[1]
        )

    def _until_left(self, node: ast.If, scope: Scope) -> Position:
        """Where the statement ends, and what is passed over where a branch of it leaves the function or the loop."""
        last = [body[-1] for body in (node.body, node.orelse) if body]
        at, end = position_of(node), end_of(node)
        if any(isinstance(one, ast.Return) for one in last) and scope.node is not None:
            return end_of(scope.node)
        if any(isinstance(one, (ast.Continue, ast.Break)) for one in last):
            return min((after for before, after in scope.loops if before <= at < after), default=end)
        return end

    def _constant_truth(self, test: ast.expr) -> bool | None:
        """`if False:` is never run, nor is `if SHARDED == True:` behind the only `SHARDED = False`, and `if __name__ == "__main__"` is where the
        file is run; None for what is not known."""
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__":
            return True
        return constant_truth(test, self._constant_before)

    def _until_it_ends(self, body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
        """The statements of a block that may be run: nothing behind a `return`, a `raise` or an exit is, nor behind `if not QUANTISED: return`
        where that is certainly so."""
        for place, statement in enumerate(body):
            if isinstance(statement, (ast.Return, ast.Continue, ast.Break)) or _ends(statement):
                return body[: place + 1]
            if isinstance(statement, ast.If):
                truth = constant_truth(statement.test, self._constant_before)
                taken = [] if truth is None else statement.body if truth else statement.orelse
                if taken and isinstance(taken[-1], ast.Return):
                    return body[: place + 1]
        return body

    def _constant_before(self, name: ast.Name) -> ast.Constant | None:
        """What a name of the module is, which is bound once, to a constant, in a line that always runs before this one."""
        if name.id not in self._assigned:
            return None
        if self._constants is None:
            self._constants = once_assigned(self.tree)
        found = self._constants.assigned.get(name.id) if name.lineno < self._constants.until else None
        before = found is not None and position_of(found) < position_of(name)
        return found.value if before and found is not None and isinstance(found.value, ast.Constant) else None

    def attempt(self, node: ast.Try, scope: Scope, conditional: bool, _: str | None) -> None:
        self.tries.append((position_of(node), end_of(node)))
        if any(map(goes_on, node.handlers)):
            self.attempts.append(position_of(node), end_of(node.body[-1]))
            if any(map(tries_again, node.handlers)):
                self.recovered.append(position_of(node), end_of(node.body[-1]))
        for handler in node.handlers:  # its own calls are made where the first failed
            self.attempts.append(position_of(handler), end_of(handler))
            self.recovered.append(position_of(handler), end_of(handler))
        self.block(node, scope, conditional, None)

    def called(self, word: str) -> list[FoundCall]:
        """The calls whose name ends in the word."""
        if not self._by_name:
            for one in self.calls:
                self._by_name.setdefault((dotted(one.node.func) or [""])[-1], []).append(one)
        return self._by_name.get(word, [])

    def reach(self, found: FoundCall) -> tuple[Position, Position]:
        """Where the first and the last call of this name in this scope begin."""
        key = ((dotted(found.node.func) or [""])[-1], id(found.scope))
        if not self._reach:
            for one in self.calls:
                here, at = ((dotted(one.node.func) or [""])[-1], id(one.scope)), position_of(one.node)
                first, last = self._reach.get(here, (at, at))
                self._reach[here] = min(first, at), max(last, at)
        return self._reach[key]

    def nests(self, scope: Scope) -> Nests:
        """The branches of a scope."""
        if not self._nests:
            by_scope: dict[int, list[Branch]] = {}
            for one in self.branches:
                by_scope.setdefault(id(one.scope), []).append(one)
            self._nests = {key: Nests(several) for key, several in by_scope.items()}
        return self._nests.get(id(scope)) or _NOWHERE

    def is_attempt(self, node: ast.AST) -> bool:
        """Whether a refusal of what is called there is caught, or another release takes another branch."""
        return self.attempts.hold(position_of(node))

    def is_recovered(self, node: ast.AST) -> bool:
        """Whether the program does something else in the place of what is called there when that is refused, or calls it in that case only."""
        return self.recovered.hold(position_of(node))

    def _branches(self, test: ast.expr, body: Sequence[ast.AST], other: Sequence[ast.AST], scope: Scope) -> None:
        for nodes, positive in ((body, True), (other, False)):
            if nodes:
                last = nodes[-1]
                leaves = isinstance(last, ast.Return)
                gives = isinstance(last, ast.Return) and last.value is not None
                place = position_of(nodes[0]), end_of(last)
                self.branches.append(Branch(test, scope, *place, positive, leaves, gives))

    def block(self, node: ast.AST, scope: Scope, conditional: bool, _: str | None) -> None:
        """Loops, `try`, `match`: what is bound in them may not be bound."""
        target = getattr(node, "target", None)
        if target is not None:
            self._target(target, None, "other", end_of(target), scope, True)
        if isinstance(node, ast.Match):
            for case in node.cases:
                self._branches(_asks_for(node.subject, case.pattern), case.body, (), scope)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            scope.loops.append((position_of(node), end_of(node)))
        self._later(children(node), scope, True)

    def with_(self, node: ast.With, scope: Scope, conditional: bool, _: str | None) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self._target(item.optional_vars, None, "other", end_of(item.context_expr), scope, conditional)
            if isinstance(item.context_expr, ast.Call) and _EXPECTS.match(_word_of(item.context_expr)):
                self.attempts.append(position_of(node), end_of(node))
                conditional = True
        self._later((*(item.context_expr for item in node.items), *node.body), scope, conditional)

    def named(self, node: ast.AST, scope: Scope, conditional: bool, _: str | None) -> None:
        """`except … as name`, `case name`, `case {**name}`."""
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            self._bind(name, scope, Binding("other", node, end_of(node), True))
        self._later(children(node), scope, conditional)

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
            self._target(target, None, "other", end_of(node), scope, conditional)

    def _set_by_name(self, holder: ast.expr, name: ast.expr, value: ast.expr, scope: Scope, conditional: bool) -> None:
        """`setattr(args, "bf16", True)` is `args.bf16 = True`."""
        if isinstance(holder, ast.Name) and isinstance(name, ast.Constant) and isinstance(name.value, str):
            target = ast.copy_location(ast.Attribute(holder, name.value, ast.Store()), name)
            target.end_col_offset = (name.end_col_offset or 1) - 1  # without the quotation mark
            self.stores.setdefault(holder.id, []).append(Store(target, value, scope, conditional))
        elif isinstance(holder, ast.Name):
            self.rewritten.add(holder.id)

    def statement(self, node: ast.Expr, scope: Scope, conditional: bool, _: str | None) -> None:
        """`fill_in(settings)`: whoever is given a dict and whose result nobody keeps may change it."""
        call = node.value
        if isinstance(call, ast.Call) and not _only_reads(call.func):
            for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                if isinstance(argument, ast.Name):
                    self.handed.setdefault(argument.id, []).append(call)
        self._later((node.value,), scope, conditional)

    def call(self, node: ast.Call, scope: Scope, conditional: bool, target: str | None) -> None:
        found = FoundCall(node, scope, target, conditional)
        self.calls.append(found)
        for keyword in node.keywords:  # `Trainer(args=prepare(args))`: what the trainer gets may be another object
            if keyword.arg == "args" and isinstance(keyword.value, ast.Call) and not _only_reads(keyword.value.func):
                for argument in keyword.value.args:
                    if isinstance(argument, ast.Name):
                        self.handed.setdefault(argument.id, []).append(keyword.value)
        function = node.func
        if isinstance(function, ast.Name):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                if isinstance(argument, ast.Name):
                    self.given.setdefault(argument.id, []).append(found)
                elif isinstance(argument, ast.Call) and not function.id[:1].isupper():
                    self.around[id(argument)] = found
        self.patched.update(_patches(node))
        if isinstance(function, ast.Attribute) and function.attr == "requires_grad_":
            self.frozen.append((function, node.args[0] if node.args else ast.Constant(True)))
        if isinstance(function, ast.Name) and function.id == "setattr" and len(node.args) == 3:
            self._set_by_name(node.args[0], node.args[1], node.args[2], scope, conditional)
            if is_module(node.args[0]) and (
                is_made(node.args[2])
                or (not isinstance(node.args[1], ast.Constant) and isinstance(node.args[2], ast.Name))
            ):
                self.rebuilt.append(node)
        if isinstance(function, ast.Attribute) and function.attr in _PUTS_IN:
            self.rebuilt.append(node)
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            if function.attr == "update" and len(node.args) == 1 and not node.keywords:
                self._item(function.value.id, Item(node, None, node.args[0], scope, conditional, position_of(node)))
            elif function.attr in _MUTATORS:
                self.mutated.add(function.value.id)
            elif function.attr.startswith("set_"):
                self.setting.add(function.value.id)
        elif isinstance(function, ast.Attribute) and function.attr in _MUTATORS:
            self._changed_within(function.value, scope, conditional)
        self._later(children(node), scope, conditional)


_VISITORS: dict[str, Callable[..., None]] = {
    "Return": Names.return_, "Assign": Names.assign, "AnnAssign": Names.annotated, "AugAssign": Names.augmented, "NamedExpr": Names.walrus,
    "Import": Names.import_, "ImportFrom": Names.import_from, "FunctionDef": Names.function, "AsyncFunctionDef": Names.function,
    "Lambda": Names.lambda_, "ClassDef": Names.class_, "ListComp": Names.comprehension, "SetComp": Names.comprehension,
    "DictComp": Names.comprehension, "GeneratorExp": Names.comprehension, "If": Names.branch, "IfExp": Names.choice, "For": Names.block,
    "AsyncFor": Names.block,
    "While": Names.block, "Try": Names.attempt, "TryStar": Names.attempt, "Match": Names.block, "With": Names.with_, "AsyncWith": Names.with_,
    "ExceptHandler": Names.named, "MatchAs": Names.named, "MatchStar": Names.named, "MatchMapping": Names.named,
    "Expr": Names.statement, "Global": Names.global_, "Nonlocal": Names.nonlocal_, "Delete": Names.delete, "Call": Names.call,
}  # fmt: skip


def _asks_for(subject: ast.expr, pattern: ast.pattern) -> ast.expr:
    """What a `case` asks: `mode == "train"`, or no more than that the subject is of some form."""
    if not isinstance(pattern, ast.MatchValue):
        return subject
    return ast.copy_location(ast.Compare(subject, [ast.Eq()], [pattern.value]), subject)


# Of these the attributes are looked at elsewhere: `trainer.args.max_steps = …`, `trainer.model.config.use_cache = …`.
_PARTS = frozenset(["args", "model", "config"])


ANY = "*"
_PATCHERS = frozenset(["patch", "object", "multiple", "setattr"])  # of unittest.mock, pytest and Python


def _patches(call: ast.Call) -> Iterable[str]:
    """The classes that a call gives other attributes."""
    word = _word_of(call.func)
    first = call.args[0] if call.args else None
    if word == "extend_enum":
        return (ANY,)
    if word not in _PATCHERS or (word == "object" and _word_of(getattr(call.func, "value", call.func)) != "patch"):
        return ()
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return (name for name in first.value.split(".") if name[:1].isupper())
    return (name,) if first is not None and (name := _word_of(first))[:1].isupper() else ()


def _first_attribute(node: ast.expr) -> ast.Attribute | None:
    """`args.a` of `args.a.b["c"].d`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node
        node = node.value
    return None


_READS = re.compile(
    r"print|log|warn|info|debug|error|write|dump|save|show|display|assert|check|valid|init|append|add|put|set_defaults|seed",
    re.IGNORECASE,
)


def _only_reads(function: ast.expr) -> bool:
    """Whether a call is one that prints, logs or stores what it is given, by its name."""
    word = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    return _READS.search(word) is not None


# Managers of a context in which a refusal is no failure: it is passed over, or a test asks for it.
_EXPECTS = re.compile(r"(?i)_*(?:suppress|raises|assert|expect|refus|ignor|swallow|should_?fail|catch|xfail)")
_FAILS = frozenset(["xfail", "expectedFailure", "skip"])  # `@pytest.mark.xfail(raises=ValueError)`
# What a refusal of a library's is raised as.
_REFUSALS = frozenset(
    ["Exception", "BaseException", "TypeError", "ValueError", "RuntimeError", "AttributeError", "NotImplementedError", "AssertionError", "KeyError"]
)  # fmt: skip
_ENDS = frozenset(["exit", "quit", "_exit", "abort"])


def _word_of(node: ast.expr) -> str:
    return (dotted(node.func if isinstance(node, ast.Call) else node) or [""])[-1]


def goes_on(handler: ast.ExceptHandler, refusals: frozenset[str] = _REFUSALS) -> bool:
    """Whether a handler catches a refusal, by the names of its exceptions, and the program runs on behind it: it neither raises nor leaves."""
    named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    if not any(one is None or (dotted(one) or [""])[-1] in refusals for one in named):
        return False
    return not any(map(_ends, handler.body))


def tries_again(handler: ast.ExceptHandler) -> bool:
    """Whether a handler calls what may stand in for what was refused: no method, and nothing that only tells of it."""
    calls = (node.func for node in ast.walk(handler) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id not in _TELLS for called in calls)


_TELLS = frozenset(["print", "str", "repr", "type", "format_exc", "print_exc", "len", "input"])


def _attributes_of(node: ast.expr) -> str | None:
    """The name of the object whose attributes these are as a dict: `vars(args)`, `args.__dict__`."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        inner: ast.expr = node.value
    elif isinstance(node, ast.Call) and dotted(node.func) == ["vars"] and len(node.args) == 1:
        inner = node.args[0]
    else:
        return None
    return inner.id if isinstance(inner, ast.Name) else None


def _ends(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return True
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    called = statement.value.func if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) else None
    return called is not None and (dotted(called) or [""])[-1] in _ENDS


_ASKS = frozenset(
    ["__version__", "signature", "getfullargspec", "__dataclass_fields__", "dataclass_fields", "__fields__"]
)


def asks_release(test: ast.expr) -> bool:
    """`version.parse(transformers.__version__) >= …`, `"eval_strategy" in inspect.signature(TrainingArguments).parameters`: which branch is
    taken is up to the release, or to what the class takes."""
    for node in ast.walk(test):
        word = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if word in _ASKS or "version" in word.lower() or word == "hasattr" or _IS_AVAILABLE.match(word):
            return True
    return False


_IS_AVAILABLE = re.compile(r"is_\w+_available\Z|is_\w+?_greater_or_equal|has_\w+_arg(?:ument)?\Z|supports?_")
_SETTINGS = ("arg", "conf", "cfg", "opt", "param", "token", "namespace")


def is_module(holder: ast.expr) -> bool:
    """What may be a part of a model, by its name: settings and the object itself are none."""
    name = holder.id if isinstance(holder, ast.Name) else holder.attr if isinstance(holder, ast.Attribute) else ""
    return name != "self" and not any(word in name.lower() for word in _SETTINGS)


def is_made(value: ast.expr | None) -> bool:
    """An object that is made there: `OwnLinear(…)`."""
    return isinstance(value, ast.Call)


def is_rebuilt(node: ast.Attribute, value: ast.expr | None) -> bool:
    """`model.model.layers[i].self_attn = Own(…)`, `model.transformer.wte = Own(…)`, `transformers.models.x.Attention = Own`."""
    if node.attr in _NO_MODULES or isinstance(value, ast.Constant):
        return False
    holder: ast.expr = node.value
    while isinstance(holder, (ast.Attribute, ast.Subscript)):
        if isinstance(holder, ast.Attribute) and holder.attr in ("config", "generation_config", "args"):
            return False
        holder = holder.value
    if not isinstance(holder, ast.Name) or holder.id == "self":
        return False
    return is_made(value) or node.attr[:1].isupper()
