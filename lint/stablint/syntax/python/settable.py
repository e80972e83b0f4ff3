"""What a program lets its caller set, with its own defaults: the options of its parser, the fields of its dataclasses, the parameters of a
function that a command line fills."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from stablint.syntax.python.argparse import option_strings
from stablint.syntax.python.caller import Caller, as_default, is_dataclass
from stablint.syntax.python.constants import FROM_FLAGS
from stablint.syntax.python.names import Names
from stablint.syntax.python.scope import FoundCall, Scope, called_name, default_of, parameters_of
from stablint.syntax.python.values import Values
from stablint.syntax.tree import Call, Entry, Mapping, Node, Scalar, Unknown

# Classes whose fields are settings as those of dataclasses are.
_MODELS = ("BaseModel", "BaseSettings")
# What makes a command line of a function: as its decorator, or called with it.
_COMMANDS = frozenset(
    {"call_parse", "command", "Fire", "fire", "run", "cli", "main", "CLI", "entrypoint", "local_entrypoint"}
)
# Only where one of them is declared are defaults worth working out.
_WORTH = frozenset(
    {"lr", "learning_rate", "epochs", "num_epochs", "num_train_epochs", "batch_size", "r", "rank", "lora_r", "lora_rank", "model_name", "llm_path",
     "max_steps", "gradient_accumulation_steps"}
)  # fmt: skip


_SWITCHES = {"store_true": False, "store_false": True}  # what an option without a value is where nobody gives it


def settable(caller: Caller) -> Iterator[Call]:
    """One call a parser, class or function. `target` is the class's or function's name, `own` the names of the bases of a class, or the
    option strings of a parser that takes no others."""
    yield from _options(caller)
    started = frozenset(_started(caller.values.names.calls))
    for scope in caller.values.names.scopes:
        node, outer = scope.node, scope.parent or scope
        if isinstance(node, ast.ClassDef) and _is_model(node, outer):
            yield _of_class(caller, node, scope, outer)
        elif (
            isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and outer.kind == "module"
            and _is_command(node, started)
        ):
            yield from _of_function(caller, node, outer)


def classes(values: Values) -> tuple[Entry, ...]:
    """The classes at the top of a module that give their objects values: fields and attributes with what stands behind them, and what a
    constructor without parameters sets. What a method sets otherwise is left out."""
    found = []
    for scope in values.names.scopes:
        node = scope.node
        if not isinstance(node, ast.ClassDef) or scope.parent is not values.names.module:
            continue
        given, _ = values.caller.fields(ast.copy_location(ast.Name(node.name, ast.Load()), node), values.names.module)
        made = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        plain = made if made is not None and len(parameters_of(made)) == 1 else None
        own = _set_once(plain, values) if plain is not None else {}
        changed = {name for name in _set_by_methods(node) if name not in own}
        entries = tuple(one for name, one in {**given, **own}.items() if name not in changed)
        if entries and (made is None or plain is not None) and len(values.names.module.bindings[node.name]) == 1:
            at, end = values.places.start(node), values.places.end(node)
            found.append(Entry(node.name, at, at, Mapping(entries, at, end)))
    return (*found, *_objects(found, values.names))


def _objects(found: list[Entry], names: Names) -> Iterator[Entry]:
    """What the module makes of these classes at its top without telling them anything, and leaves as it is: `settings = Settings()`."""
    made = {entry.key: entry for entry in found}
    for name, bindings in names.module.bindings.items() if made else ():
        value = bindings[0].value
        if (
            len(bindings) != 1
            or bindings[0].conditional
            or not isinstance(value, ast.Call)
            or value.args
            or value.keywords
        ):
            continue
        own = made.get(value.func.id) if isinstance(value.func, ast.Name) else None
        if own is not None and name not in names.stores and name not in names.rewritten and name not in names.handed:
            yield own._replace(key=name)


def _set_by_methods(node: ast.ClassDef) -> list[str]:
    """The attributes that its methods set, one name for each time."""
    return [
        one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute)
        and isinstance(one.ctx, ast.Store)
        and isinstance(one.value, ast.Name)
        and one.value.id == "self"
    ]


def _set_once(made: ast.FunctionDef, values: Values) -> dict[str, Entry]:
    """What a constructor sets in its own lines, in no branch, and nothing else in its class sets."""
    scope = next((one for one in values.names.scopes if one.node is made), None)
    found: dict[str, Entry] = {}
    owner = scope.parent.node if scope is not None and scope.parent is not None else None
    if scope is None or not isinstance(owner, ast.ClassDef):
        return found
    times = Counter(_set_by_methods(owner))
    for one in made.body:
        target = (
            one.targets[0] if isinstance(one, ast.Assign) else one.target if isinstance(one, ast.AnnAssign) else None
        )
        value = one.value if isinstance(one, (ast.Assign, ast.AnnAssign)) else None
        if isinstance(target, ast.Attribute) and value is not None and times[target.attr] == 1:
            at, end = values.places.start(target), values.places.end(target)
            found[target.attr] = Entry(target.attr, at, end, values.value(value, scope))
    return found


def _is_model(node: ast.ClassDef, outer: Scope) -> bool:
    return is_dataclass(node) or any(called_name(base, outer).rpartition(".")[2] in _MODELS for base in node.bases)


def _options(caller: Caller) -> Iterator[Call]:
    options = caller.listed()
    if not options:
        return
    worth = not _WORTH.isdisjoint(options)
    entries = []
    for name, several in options.items():
        first = several[0]
        node: Node = _unknown(name, first.place)
        if worth and first.default is not None:
            node = as_default(
                Entry(name, first.place, first.place, caller.values.value(first.default, first.scope))
            ).value
        elif worth and first.store in _SWITCHES:
            node = Scalar(_SWITCHES[first.store], first.place, first.place, f"default:{name}", False)
        entries.append(Entry(name, first.place, first.place, node))
    made = _call("argparse.options", entries, entries[0].key_start, None)
    yield made._replace(own=option_strings(caller))


def _of_class(caller: Caller, node: ast.ClassDef, scope: Scope, outer: Scope) -> Call:
    at = caller.values.places.start(node)
    names = [name for name, bindings in scope.bindings.items() if bindings[0].kind == "value"]
    fields = [
        item.target.id for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
    known: dict[str, Entry] = {}
    names = list(dict.fromkeys([*names, *fields]))
    if not _WORTH.isdisjoint(names):
        found, _ = caller.fields(ast.copy_location(ast.Name(node.name, ast.Load()), node), outer)
        known = {name: as_default(entry) for name, entry in found.items()}
    entries = [known.get(name) or Entry(name, at, at, _unknown(name, at)) for name in names]
    bases = frozenset(called_name(base, outer) for base in node.bases)
    return _call("dataclass.options", entries, at, node.name)._replace(own=bases)


def _started(calls: Iterable[FoundCall]) -> Iterator[str]:
    """Functions that are given to what fills them from a command line: `fire.Fire(train)`."""
    for found in calls:
        if called_name(found.node.func, found.scope).rpartition(".")[2] in _COMMANDS:
            yield from (argument.id for argument in found.node.args if isinstance(argument, ast.Name))


def _is_command(node: ast.FunctionDef | ast.AsyncFunctionDef, started: frozenset[str]) -> bool:
    if node.name in started:
        return True
    for item in node.decorator_list:
        made = item.func if isinstance(item, ast.Call) else item
        word = made.attr if isinstance(made, ast.Attribute) else made.id if isinstance(made, ast.Name) else ""
        if word in _COMMANDS:
            return True
    return False


def _of_function(caller: Caller, node: ast.FunctionDef | ast.AsyncFunctionDef, outer: Scope) -> Iterator[Call]:
    worth = not _WORTH.isdisjoint(parameters_of(node))
    places = caller.values.places
    entries = []
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        at, default = places.start(argument), default_of(node, argument.arg)
        if default is None or not worth:
            entries.append(Entry(argument.arg, at, at, _unknown(argument.arg, at)))
        else:
            entries.append(
                as_default(Entry(argument.arg, at, at + len(argument.arg), caller.values.value(default, outer)))
            )
    if entries:
        yield _call("function.options", entries, places.start(node), node.name)


def _unknown(name: str, at: int) -> Scalar:
    return Scalar(Unknown(f"`{name}` {FROM_FLAGS}"), at, at, "unknown", False)


def _call(name: str, entries: list[Entry], at: int, target: str | None) -> Call:
    return Call(name, Mapping(tuple(entries), at, at), (), at, at, at, at, target, None, True)
