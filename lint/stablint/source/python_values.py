"""Python expressions → nodes: constants, what names stand for, calls with their arguments. All else is unknown, with the reason."""

from __future__ import annotations

import ast
from collections.abc import Callable

from stablint.source.python_arithmetic import CONVERSIONS, agree, converted
from stablint.source.python_constants import Constants
from stablint.source.python_names import Binding, FoundCall, Names, Position, Scope, called_name, dotted, latest
from stablint.source.python_places import Places
from stablint.source.tree import Call, Entry, Mapping, Node, Scalar, Sequence, Unknown

_DEEPEST = 40  # expressions within expressions, names followed included
_MOST_WORK = 100_000  # nodes that following names may come to
# Their attributes are constants and types (`torch.bfloat16`, `TaskType.CAUSAL_LM`); those of other modules are anybody's variables.
_LIBRARIES = frozenset(
    [
        "torch",
        "transformers",
        "trl",
        "peft",
        "accelerate",
        "bitsandbytes",
        "datasets",
        "deepspeed",
        "unsloth",
        "xtuner",
        "mmengine",
        "numpy",
        "np",
    ]
)


class Values(Constants):
    """Reads expressions of one module. Every expression is read once."""

    def __init__(self, source: str, places: Places, names: Names) -> None:
        super().__init__(source, places)
        self.names = names
        self.targets = {id(found.node): found for found in names.calls}
        self._read: dict[int, Node] = {}
        self._weight: dict[int, int] = {}  # nodes in a node
        self._reading: set[int] = set()
        self._depth = 0
        self._work = 0

    def call(self, found: FoundCall) -> Call | None:
        node = self.value(found.node, found.scope)
        return node if isinstance(node, Call) else None

    def value(self, node: ast.expr, scope: Scope) -> Node:
        key = id(node)
        if key in self._read:
            return self._read[key]
        if key in self._reading or self._depth >= _DEEPEST:
            return self.unknown(node, "defined by itself" if key in self._reading else "nested too deeply")
        self._reading.add(key)
        self._depth += 1
        reader = _READERS.get(type(node))
        result = reader(self, node, scope) if reader else self.unknown(node, "computed when the program runs")
        self._depth -= 1
        self._reading.discard(key)
        self._read[key] = result
        return result

    def weigh(self, node: Node, parts: list[Node]) -> Node:
        self._weight[id(node)] = 1 + sum(self._weight.get(id(part), 1) for part in parts)
        return node

    # Names

    def name(self, node: ast.Name, scope: Scope) -> Node:
        found = scope.find(node.id)
        if found is None:
            return self.unknown(node, f"`{node.id}` is not defined in this file")
        owner, bindings = found
        position = (node.lineno, node.col_offset)
        binding = _holds(bindings, position if owner is scope else None)
        if binding is None:
            return self._agreed(node, owner, bindings)
        return self._bound(node, binding, owner)

    def _bound(self, node: ast.expr, binding: Binding, owner: Scope) -> Node:
        spelled = self.spelled(node)
        if binding.kind == "import":
            return self._library(node, binding.path.split("."), spelled)
        if binding.kind == "parameter":
            return self.unknown(node, f"`{spelled}` is a parameter")
        if binding.kind not in ("value", "element") or binding.value is None:
            return self.unknown(node, f"`{spelled}` is set when the program runs")
        value = self.value(binding.value, owner)
        if binding.kind == "element" and not isinstance(value, Call):
            return self.unknown(node, f"`{spelled}` is set when the program runs")
        if isinstance(value, Scalar):
            if isinstance(value.value, Unknown):
                return self.unknown(node, value.value.reason)
            return value._replace(form="name")
        changed = isinstance(binding.node, ast.Name) and binding.node.id in self.names.mutated
        if changed and not isinstance(value, Call):
            return self.unknown(node, f"`{spelled}` is changed after its definition")
        self._work += self._weight.get(id(value), 1)
        return value if self._work <= _MOST_WORK else self.unknown(node, "too much to follow")

    def _agreed(self, node: ast.expr, owner: Scope, bindings: list[Binding]) -> Node:
        """A name that several branches set: known if all say the same."""
        values = [self._bound(node, binding, owner) for binding in bindings]
        first = values[0]
        if isinstance(first, Scalar) and not isinstance(first.value, Unknown):
            if all(isinstance(value, Scalar) and agree(value.value, first.value) for value in values):
                return first._replace(editable=False)
        return self.unknown(node, f"`{self.spelled(node)}` is assigned {len(bindings)} times")

    def attribute(self, node: ast.Attribute, scope: Scope) -> Node:
        parts = dotted(node)
        if parts is None:
            return self.unknown(node, "computed when the program runs")
        spelled = ".".join(parts)
        found = scope.find(parts[0])
        if found is None:
            if parts[0] in _LIBRARIES or (parts[0][:1].isupper() and parts[-1].isupper()):
                return self.scalar(node, spelled, "attribute", True)
            return self.unknown(node, f"`{spelled}` is not defined in this file")
        owner, bindings = found
        binding = _holds(bindings, (node.lineno, node.col_offset) if owner is scope else None)
        if binding is None:
            return self.unknown(node, f"`{spelled}` is set when the program runs")
        if binding.kind == "import":
            return self._library(node, [*binding.path.split("."), *parts[1:]], spelled)
        stored = any(store.node.attr == parts[1] for store in self.names.stores.get(parts[0], ()))
        if len(parts) == 2 and not stored:
            if binding.scope is not None:
                return self._of_class(node, binding.scope, parts[1])
            value = self._bound(node, binding, owner) if binding.kind == "value" else None
            inner = value.arguments.get(parts[1]) if isinstance(value, Call) and _is_class(value.name) else None
            if isinstance(inner, Scalar) and not isinstance(inner.value, Unknown):
                return inner._replace(form="name")
        return self.unknown(node, f"`{spelled}` is set when the program runs")

    def _of_class(self, node: ast.Attribute, scope: Scope, name: str) -> Node:
        bindings = scope.bindings.get(name, [])
        if len(bindings) == 1:
            return self._bound(node, bindings[0], scope)
        return self.unknown(node, f"`{self.spelled(node)}` is set when the program runs")

    def _library(self, node: ast.expr, path: list[str], spelled: str) -> Node:
        if path[0] in _LIBRARIES:
            return self.scalar(node, ".".join(path), "attribute", True)
        return self.unknown(node, f"`{spelled}` comes from another module")

    def item(self, node: ast.Subscript, scope: Scope) -> Node:
        """`settings["lr"]` of a dict or list that is written out."""
        holder, index = self.value(node.value, scope), self.value(node.slice, scope)
        found: Node | None = None
        if (
            isinstance(index, Scalar)
            and isinstance(holder, Mapping)
            and not holder.open
            and isinstance(index.value, str)
        ):
            found = holder.get(index.value)
        elif isinstance(index, Scalar) and isinstance(holder, Sequence) and type(index.value) is int:
            found = holder.items[index.value] if -len(holder.items) <= index.value < len(holder.items) else None
        if found is None or (isinstance(found, Scalar) and isinstance(found.value, Unknown)):
            return self.unknown(node, f"`{self.spelled(node)}` is set when the program runs")
        return found._replace(form="name") if isinstance(found, Scalar) else found

    # Collections and calls

    def sequence(self, node: ast.List, scope: Scope) -> Node:
        if any(isinstance(item, ast.Starred) for item in node.elts):
            return self.unknown(node, "computed when the program runs")
        items = [self.value(item, scope) for item in node.elts]
        return self.weigh(Sequence(tuple(items), self.places.start(node), self.places.end(node)), items)

    def mapping(self, node: ast.Dict, scope: Scope) -> Node:
        entries: list[Entry] = []
        is_open = False
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                more, opened = self._spread(value, scope)
                entries += more
                is_open = is_open or opened
            elif isinstance(key, ast.Constant) and isinstance(key.value, (str, bool, int, float)):
                try:
                    text = str(key.value)
                except ValueError:  # a number of more digits than Python writes
                    is_open = True
                    continue
                entries.append(Entry(text, self.places.start(key), self.places.end(key), self.value(value, scope)))
            else:
                is_open = True
        result = Mapping(tuple(entries), self.places.start(node), self.places.end(node), is_open)
        return self.weigh(result, [entry.value for entry in entries])

    def _spread(self, node: ast.expr, scope: Scope) -> tuple[tuple[Entry, ...], bool]:
        """The entries that `**node` brings, and whether there may be others."""
        value = self.value(node, scope)
        return (value.entries, value.open) if isinstance(value, Mapping) else ((), True)

    def called(self, node: ast.Call, scope: Scope) -> Node:
        name = called_name(node.func, scope)
        folded = self._folded(node, scope)
        if folded is not None:
            return folded
        entries: list[Entry] = []
        is_open = any(isinstance(argument, ast.Starred) for argument in node.args)
        for keyword in node.keywords:
            if keyword.arg is None:
                more, opened = self._spread(keyword.value, scope)
                entries += more
                is_open = is_open or opened
            else:
                start = self.places.start(keyword)
                entries.append(Entry(keyword.arg, start, start + len(keyword.arg), self.value(keyword.value, scope)))
        start, end, function = self.places.start(node), self.places.end(node), self.places.end(node.func)
        if name == "dict" and not node.args and scope.find("dict") is None:
            return self.weigh(Mapping(tuple(entries), start, end, is_open), [entry.value for entry in entries])
        positional = tuple(self.value(argument, scope) for argument in node.args)
        target = self.targets[id(node)].target if id(node) in self.targets else None
        if target is not None and _is_class(name):
            entries += self._stored(node, target, scope)
        arguments = Mapping(tuple(entries), function, end, is_open)
        begins = (
            function - len(node.func.attr)
            if isinstance(node.func, ast.Attribute) and dotted(node.func) is None
            else start
        )
        result = Call(name, arguments, positional, start, end, begins, function, target)
        return self.weigh(result, [*positional, *(entry.value for entry in entries)])

    def _stored(self, node: ast.Call, target: str, scope: Scope) -> list[Entry]:
        """`args.learning_rate = …` behind `args = TrainingArguments(…)` sets the argument anew."""
        entries = []
        bindings = scope.bindings.get(target, [])
        for store in self.names.stores.get(target, ()) if len(bindings) == 1 else ():
            end = self.places.end(store.node)
            value: Node = self.unknown(store.node, f"`{self.spelled(store.node)}` is set when the program runs")
            if (
                store.scope is scope
                and not store.conditional
                and store.value is not None
                and end > self.places.end(node)
            ):
                value = self.value(store.value, scope)
            entries.append(Entry(store.node.attr, end - len(store.node.attr), end, value))
        return entries

    def _folded(self, node: ast.Call, scope: Scope) -> Scalar | None:
        """`float("1e-4")`, `getattr(torch, "bfloat16")`."""
        if not isinstance(node.func, ast.Name) or node.keywords or scope.find(node.func.id) is not None:
            return None
        values = [self.value(argument, scope) for argument in node.args[:2]]
        known = [value.value for value in values if isinstance(value, Scalar) and not isinstance(value.value, Unknown)]
        if node.func.id in CONVERSIONS and len(node.args) == len(known) == 1:
            value = converted(node.func.id, known[0])
            return None if value is None else self.scalar(node, value, "plain", False)
        if node.func.id == "getattr" and len(node.args) == 2 and len(known) == 2 and isinstance(known[1], str):
            holder = values[0]
            if isinstance(holder, Scalar) and holder.form == "attribute" and known[1].isidentifier():
                return self.scalar(node, f"{known[0]}.{known[1]}", "attribute", False)
        return None


def _holds(bindings: list[Binding], position: Position | None) -> Binding | None:
    """The one binding that a name stands for: its only one, or (in the same scope) the last one before."""
    if len(bindings) == 1 or all(binding.kind == "import" for binding in bindings):
        return bindings[0]
    return latest(bindings, position) if position is not None else None


def _is_class(name: str) -> bool:
    """By convention: what is called is a class, so that its keywords are attributes of the result."""
    return name.rpartition(".")[2][:1].isupper() and name.endswith(("Config", "Arguments", "Args"))


_READERS: dict[type[ast.AST], Callable[..., Node]] = {
    ast.Constant: Values.constant, ast.UnaryOp: Values.unary, ast.BinOp: Values.binary, ast.JoinedStr: Values.format,
    ast.IfExp: Values.choice, ast.Name: Values.name, ast.Attribute: Values.attribute, ast.Subscript: Values.item,
    ast.List: Values.sequence, ast.Tuple: Values.sequence, ast.Set: Values.sequence, ast.Dict: Values.mapping, ast.Call: Values.called,
}  # fmt: skip
