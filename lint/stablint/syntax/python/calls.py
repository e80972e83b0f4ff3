"""Python calls → nodes: those of classes with their arguments, those of a few functions with what they give."""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from bisect import bisect_left
from typing import TYPE_CHECKING

from stablint.syntax import limits
from stablint.syntax.python.arithmetic import CONVERSIONS, converted
from stablint.syntax.python.constants import Constants, defaulted
from stablint.syntax.python.library import LIBRARIES, question
from stablint.syntax.python.names import ANY, Names
from stablint.syntax.python.places import Places
from stablint.syntax.python.scope import Binding, Branch, FoundCall, Scope, called_name, dotted, position_of, stands_for
from stablint.syntax.python.switch import alternative, in_a_branch, switch
from stablint.syntax.tree import NOBODYS, ONLY_SHOWN, Call, Entry, Mapping, Node, Scalar, Sequence, Unknown

if TYPE_CHECKING:
    from stablint.syntax.python.caller import Caller

_PASSES_ON = frozenset(["copy.deepcopy", "copy.copy", "deepcopy"])
# What a program makes, or switches on, or not: adapters, quantised weights, checkpointing.
_SWITCHED = (
    "Config",
    "get_peft_model",
    "gradient_checkpointing_enable",
    "prepare_model_for_kbit_training",
    "prepare_model_for_int8_training",
)
_REPLACES = frozenset(["dataclasses.replace"])


class Calls(Constants):
    caller: "Caller"

    def __init__(self, source: str, places: Places, names: Names) -> None:
        super().__init__(source, places)
        self.names = names
        self.switching: set[int] = set()
        self.guards: dict[int, list[tuple[Branch, Branch | None]]] = {}  # of the scopes' branches
        self.targets = {id(found.node): found for found in names.calls}
        # What one call asks many others ask as well: the text is read once, and each name's bindings are.
        self._positions: dict[str, list[int]] | None = None
        self._bindings: dict[tuple[int, str], tuple[list[int], bool]] = {}
        self._handed_on: dict[tuple[int, str], bool] = {}
        self._program: bool | None = None
        self._trains: bool | None = None

    def weigh(self, node: Node, parts: list[Node]) -> Node:
        raise NotImplementedError

    def called(self, node: ast.Call, scope: Scope) -> Node:
        name = self._by_star(called_name(node.func, scope), scope)
        known = self._given(node, name, scope)
        if known is not None:
            return known
        entries, is_open = self._keywords(node, scope)
        start, end, function = self.places.start(node), self.places.end(node), self.places.end(node.func)
        if name == "dict" and not node.args and scope.find("dict") is None:
            return self.weigh(Mapping(tuple(entries), start, end, is_open), [entry.value for entry in entries])
        positional = tuple(self.value(argument, scope) for argument in node.args)
        own: dict[str, Entry] = {}
        added: set[str] = set()
        late: frozenset[str] = frozenset()
        methods: frozenset[str] = frozenset()
        if self._is_local_class(node.func, scope):
            methods = frozenset(self.caller.methods(node.func, scope))
            own, name = self.caller.fields(node.func, scope)
            added |= self.caller.taken(node.func, scope)
            said = {entry.key for entry in entries}
            if not is_open:  # what is spread in it may say any of them otherwise
                entries = [*(entry for key, entry in own.items() if key not in said), *entries]
        found = self.targets.get(id(node))
        target = found.target if found else None
        if target is not None and is_class(name):
            stored = self.stored(target, end, scope)
            added |= {entry.key for entry in stored} - {entry.key for entry in entries}  # any attribute can be set
            entries += stored
            late = frozenset(entry.key for entry in stored)
            changed = self._is_changed(target, found, scope) or target in self.names.setting
            late |= frozenset("*") if changed else frozenset()
            late |= self._unused(found)
        elif target is not None and is_made(name):
            late = frozenset("*") if self._is_changed(target, found, scope) else frozenset()
            late |= self._unused(found)
        elif target is None and is_class(name) and self._is_handed_through(node, scope):
            late = frozenset("*")
        if target is not None and name.endswith("Trainer"):
            late |= frozenset(store.node.attr for store in self.names.stores.get(target, ()))
            late |= frozenset(f"args.{store.node.attr}" for store in self.names.stores.get(f"{target}.args", ()))
        several = is_made(name) and self._is_one_of_several(node.func, scope)
        if several:
            added |= {entry.key for entry in entries}  # the other class may take what this one does not
        arguments = Mapping(tuple(entries), function, end, is_open)
        method = node.func if isinstance(node.func, ast.Attribute) else None
        begins = function - len(method.attr) if method is not None and dotted(method) is None else start
        holder = (
            self.value(method.value, scope)
            if method and isinstance(method.value, (ast.Name, ast.Call, ast.Subscript))
            else None
        )
        receiver = holder if isinstance(holder, Call) else None
        conditional = found is not None and found.conditional
        result = Call(
            name, arguments, positional, start, end, begins, function, target, receiver,
            conditional=conditional, own=frozenset((*own, *added)), local=self._is_local(node.func, scope),
            switch=self._switch(found) if found is not None and name.endswith(_SWITCHED) else None, late=late,
            attempt=several or (is_made(name) and self._comes_by_star(node.func, scope)) or (
                found is not None and is_made(name) and (
                    self._may_be_spared(found) or self._is_another(node, name, scope)
                    or (is_class(name) and (found.scope.deferred or self._is_only_tried(found, name)))
                )
            ),
            doubtful=found is not None and "." in name and self._is_doubtful(node, name, scope, found),
            methods=methods,
        )  # fmt: skip
        return self.weigh(result, [*positional, *(entry.value for entry in entries)])

    def _by_star(self, name: str, scope: Scope) -> str:
        """A class that the file neither makes nor imports by its name is the one of a module of the project of which all names are imported,
        and no library's."""
        if not is_class(name) or "." in name:
            return name
        modules = self._from_stars(name, scope)
        return f"{modules[0]}.{name}" if modules else name

    def _from_stars(self, name: str, scope: Scope) -> list[str]:
        """The modules of the project of which all names are imported, where this one may be theirs: nothing else binds it."""
        if not self.names.spread or scope.find(name) is not None:
            return []
        return sorted(one for one in self.names.spread if one.strip(".") and not _is_elsewhere(one))

    def _comes_by_star(self, function: ast.expr, scope: Scope) -> bool:
        """Whether what is called, or whose method it is, may be a name of such a module: it may be the library's, and need not be."""
        while isinstance(function, (ast.Attribute, ast.Call)):
            function = function.value if isinstance(function, ast.Attribute) else function.func
        return isinstance(function, ast.Name) and bool(self._from_stars(function.id, scope))

    def _switch(self, found: FoundCall) -> Scalar | None:
        """A test may ask for the very object that it makes."""
        if id(found.node) in self.switching:
            return None
        self.switching.add(id(found.node))
        try:
            return switch(self, found)
        finally:
            self.switching.discard(id(found.node))

    def _may_be_spared(self, found: FoundCall) -> bool:
        """Whether the program may run although this call is refused: it catches that, here or where it calls the function that makes it, or
        it may take a branch with another call of this kind."""
        if self.names.is_attempt(found.node) or alternative(self, found) or self._is_never_called(found):
            return True
        if in_a_branch(self, found):
            return True
        function = found.scope.node
        if not self.names.recovered or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        sites = self.caller.sites(function.name)
        return bool(sites) and all(self.names.is_recovered(site.node) for site in sites)

    def _is_only_tried(self, found: FoundCall, name: str) -> bool:
        """Whether an adapter's configuration is given away only where a refusal is caught: what it says is often refused by the layer, not by it."""
        target = found.target or ""
        if not name.startswith("peft.") or not target.isidentifier() or not self.names.attempts:
            return False
        words = self._words(target)
        behind = words[bisect_left(words, self.places.end(found.node)) :]
        return bool(behind) and all(self.names.attempts.hold(self.places.position(at)) for at in behind)

    def _is_changed(self, target: str, found: FoundCall | None, scope: Scope) -> bool:
        """Whether anything of the object may be another thing when it is used, or it is not used at all."""
        key = (id(scope), target)
        if key not in self._handed_on:
            self._handed_on[key] = (
                target in self.names.rewritten
                or any(
                    _changes(one) or self._is_of_another_file(one, scope) for one in self.names.handed.get(target, ())
                )
                or any(self._sets(one, target) for one in self.names.given.get(target, ()))
            )
        return self._handed_on[key] or (found is not None and self._is_left(found))

    def _is_handed_through(self, node: ast.Call, scope: Scope) -> bool:
        """Whether a function is given the object where it is made, and may give back another: `args = prepare(Config(…))`."""
        around = self.names.around.get(id(node))
        if around is None:
            return False
        return _changes(around.node) or self._is_of_another_file(around.node, scope) or self._sets(around, node)

    def _sets(self, found: FoundCall, given: str | ast.Call) -> bool:
        """Whether a function or a class of this file sets attributes of what it is given: `def prepare(a): a.bf16 = True`."""
        function = found.node.func
        known = found.scope.find(function.id) if isinstance(function, ast.Name) else None
        for one in known[1] if known is not None else ():
            taker = _made_by(one.node)
            if taker is not None:
                names = [arg.arg for arg in (*taker.args.posonlyargs, *taker.args.args)]
                names = names[1:] if taker is not one.node else names
                taken = {name for name, value in zip(names, found.node.args, strict=False) if _is_it(value, given)}
                taken |= {
                    keyword.arg for keyword in found.node.keywords if keyword.arg and _is_it(keyword.value, given)
                }
                if any(
                    name in self.names.rewritten
                    or any(store.scope.node is taker for store in self.names.stores.get(name, ()))
                    for name in taken
                ):
                    return True
        return False

    def _unused(self, found: FoundCall | None) -> frozenset[str]:
        """`NOBODYS` and `ONLY_SHOWN`, as far as they hold of the object."""
        if found is None:
            return frozenset()
        name = found.target or ""
        words = self._words(name)
        shown = name.isidentifier() and len(words) > 1 and words[0] < self.places.end(found.node) <= words[1]
        marks = [NOBODYS] if self._is_left(found) else []
        marks += [ONLY_SHOWN] if shown and all(self._is_shown(at, name) for at in words[1:]) else []
        return frozenset(marks)

    def _is_shown(self, at: int, name: str) -> bool:
        """Whether a name stands there only to be printed or written down: `print(config)`, `config.save_pretrained("out")`."""
        line = self.source[self.source.rfind("\n", 0, at) + 1 : at]
        return _SHOWS.search(line) is not None or _WRITES.match(self.source, at + len(name)) is not None

    def _is_never_called(self, found: FoundCall) -> bool:
        """Whether it stands in a function or a method that nothing names, of a program that has its main part; a module without one may be
        anybody's."""
        scope: Scope | None = found.scope
        while scope is not None and scope.parent is not None and scope.parent.kind != "module":
            method = (
                scope.node if scope.parent.kind == "class" and not getattr(scope.parent.node, "bases", True) else None
            )
            if method is not None and not method.name.startswith("__") and self._is_unnamed(method):
                return True
            scope = scope.parent
        return scope is not None and self._is_unnamed(scope.node)

    def _is_unnamed(self, function: ast.FunctionDef | ast.ClassDef | None) -> bool:
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or function.decorator_list:
            return False
        return (self._is_program() or self._trains_by_itself()) and len(self._words(function.name)) < 2

    def _is_doubtful(self, node: ast.Call, name: str, scope: Scope, found: FoundCall) -> bool:
        """Whether nobody can say that the program comes there and fails there: it may go on, or the place is one that this file does not use."""
        if not is_made(name) and (self._may_be_spared(found) or self._is_another(node, name, scope)):
            return True
        inner: Scope | None = found.scope
        while inner is not None and inner.kind != "module":
            if inner.deferred or (inner.node is not None and not self._is_used(inner.node, inner.parent)):
                return True
            inner = inner.parent
        return False

    def _is_used(self, defined: ast.FunctionDef | ast.ClassDef, scope: Scope | None) -> bool:
        """Whether the file names it a second time, or a decorator or a class that it derives from may call it."""
        owner = scope.node if scope is not None and scope.kind == "class" else None
        overrides = isinstance(owner, ast.ClassDef) and (bool(owner.bases) or defined.name.startswith("__"))
        return overrides or bool(defined.decorator_list) or len(self._words(defined.name)) > 1

    def _is_program(self) -> bool:
        if self._program is None:
            self._program = _MAIN.search(self.source) is not None
        return self._program

    def _trains_by_itself(self) -> bool:
        """Whether running the file trains, so that nothing of it is there for another."""
        if self._trains is None:
            self._trains = any(
                one.scope.kind == "module"
                and isinstance(one.node.func, ast.Attribute)
                and one.node.func.attr in ("train", "backward")
                for one in self.names.calls
            )
        return self._trains

    def _words(self, name: str) -> list[int]:
        """Where a name stands in the text, in whatever meaning. The text is read once for all names."""
        if self._positions is None:
            self._positions = {}
            for one in re.finditer(r"\w+", self.source):
                self._positions.setdefault(one[0], []).append(one.start())
        return self._positions.get(name, [])

    def _is_left(self, found: FoundCall) -> bool:
        """Whether the object is given away to nobody: its name gets another one before it is used, or stands nowhere else in a whole program."""
        name = found.target or ""
        if not name.isidentifier():
            return False
        end, words = self.places.end(found.node), self._words(name)
        first = bisect_left(words, end)
        if first == len(words):
            return len(words) == 1 and (
                found.scope.kind == "function" or self._is_program() or self._trains_by_itself()
            )
        again, goes_on = self._rebound(found.scope, name)
        following = bisect_left(again, end)
        at = position_of(found.node)
        repeated = any(begins <= at < ends for begins, ends in found.scope.loops)
        return following < len(again) and again[following] == words[first] and not repeated and not goes_on

    def _rebound(self, scope: Scope, name: str) -> tuple[list[int], bool]:
        """Where a name is certainly bound, and whether one of its values is made of it."""
        key = (id(scope), name)
        if key not in self._bindings:
            bindings = scope.bindings.get(name, [])
            starts = sorted(self.places.start(one.node) for one in bindings if not one.conditional)
            self._bindings[key] = starts, _names_itself(bindings, name)
        return self._bindings[key]

    def _is_another(self, node: ast.Call, name: str, scope: Scope) -> bool:
        """Whether the class is another one than the library's: the program binds its name anew, or gives it other methods."""
        if not self.names.patched.isdisjoint((name.rpartition(".")[2], ANY)):
            return True
        function = node.func
        plain = isinstance(function, ast.Name) or name.endswith(".from_pretrained")
        while isinstance(function, ast.Attribute):
            function = function.value
        if not plain or not isinstance(function, ast.Name) or not function.id[:1].isupper():
            return False
        if function.id in self.names.stores:
            return True
        found = scope.find(function.id)
        resolved = "." in name.removesuffix(".from_pretrained")  # `Config = SFTConfig`
        if found is None or resolved:
            return False
        imported = any(binding.kind == "import" for binding in found[1])
        return any(map(_binds_anew, found[1])) or (imported and any(binding.kind == "class" for binding in found[1]))

    def _is_one_of_several(self, function: ast.expr, scope: Scope) -> bool:
        """Whether its name stands for one class or another, as a branch decides, or for what the program has put in its place. Where one import
        is tried before another of the same class, the first is the one that is wanted."""
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            # `peft.LoraConfig = Own`
            if any(store.node.attr == function.attr for store in self.names.stores.get(function.value.id, ())):
                return True
        several = stands_for(function, scope)
        paths = {one if isinstance(one, str) else one.path for one in several}
        if len(paths) < 2:
            return False
        if len({path.rpartition(".")[2] for path in paths}) > 1:
            return True
        return not any(
            first <= position_of(one.node) < last
            for one in several
            if isinstance(one, Binding)
            for first, last in self.names.tries
        )

    def _is_of_another_file(self, call: ast.Call, scope: Scope) -> bool:
        """Whether whoever is handed it is a function of a module that nobody knows."""
        path = called_name(call.func, scope)
        head = path.partition(".")[0]
        root = call.func
        while isinstance(root, ast.Attribute):
            root = root.value
        found = scope.find(root.id) if isinstance(root, ast.Name) else None
        imported = found is not None and all(binding.kind == "import" for binding in found[1])
        return imported and head not in _KNOWN_MODULES

    def _is_local(self, function: ast.expr, scope: Scope) -> bool:
        """Whether this file defines what is called by its plain name."""
        found = scope.find(function.id) if isinstance(function, ast.Name) else None
        return found is not None and any(binding.kind in ("class", "function") for binding in found[1])

    def _is_local_class(self, function: ast.expr, scope: Scope) -> bool:
        found = scope.find(function.id) if isinstance(function, ast.Name) else None
        return found is not None and len(found[1]) == 1 and found[1][0].kind == "class"

    def _keywords(self, node: ast.Call, scope: Scope) -> tuple[list[Entry], bool]:
        entries: list[Entry] = []
        is_open = any(isinstance(argument, ast.Starred) for argument in node.args)
        for keyword in node.keywords:
            if keyword.arg is None:
                more, opened = self.spread(keyword.value, scope)
                entries += more
                is_open = is_open or opened
            else:
                start = self.places.start(keyword)
                entries.append(Entry(keyword.arg, start, start + len(keyword.arg), self.value(keyword.value, scope)))
        return entries, is_open

    def spread(self, node: ast.expr, scope: Scope) -> tuple[tuple[Entry, ...], bool]:
        """The entries that `**node` brings, and whether there may be others."""
        value = self.value(node, scope)
        return (value.entries, value.open) if isinstance(value, Mapping) else ((), True)

    def stored(self, target: str, made: int, scope: Scope) -> list[Entry]:
        """`args.learning_rate = …` behind `args = TrainingArguments(…)`, which ends at `made`, sets the argument anew."""
        entries = []
        bindings = scope.bindings.get(target, [])
        for store in self.names.stores.get(target, ()) if len(bindings) == 1 else ():
            end = self.places.end(store.node)
            value: Node = self.unknown(store.node, f"`{self.spelled(store.node)}` is set when the program runs")
            if store.scope is scope and not store.conditional and store.value is not None and end > made:
                value = self.value(store.value, scope)
            entries.append(Entry(store.node.attr, end - len(store.node.attr), end, value))
        return entries

    def _given(self, node: ast.Call, name: str, scope: Scope) -> Node | None:
        """What a call comes to, where that is known: `float("1e-4")`, a copy, a path that is joined, a function of the file."""
        if name in _PASSES_ON and len(node.args) == 1:
            return _another(self.value(node.args[0], scope), self.places.start(node), 0, len(self.source))
        if name in _REPLACES and len(node.args) == 1:
            return self._replaced(node, scope)
        if name == "os.path.join" and node.args and not node.keywords:
            return self._joined(node, scope)
        hardware = None if self._function(node, scope) else question(name)
        if hardware is not None:
            emulated = any(k.arg == "including_emulation" for k in node.keywords)
            return self.unknown(node, hardware.reason) if emulated else self.scalar(node, hardware, "unknown", False)
        return self._folded(node, scope) or self._returned(node, scope)

    def _replaced(self, node: ast.Call, scope: Scope) -> Node | None:
        """`dataclasses.replace(args, fp16=True)`: another object of the same class."""
        base = self.value(node.args[0], scope)
        if not isinstance(base, Call):
            return None
        entries, is_open = self._keywords(node, scope)
        start, end = self.places.start(node), self.places.end(node)
        inherited = base.arguments
        arguments = Mapping((*inherited.entries, *entries), self.places.end(node.func), end, inherited.open or is_open)
        target = self.targets[id(node)].target if id(node) in self.targets else None
        return base._replace(
            receiver=base,
            arguments=arguments,
            start=start,
            end=end,
            name_start=start,
            name_end=self.places.end(node.func),
            target=target,
            late=frozenset("*") if is_open else frozenset(),  # it is made anew, with all of it
        )

    def _joined(self, node: ast.Call, scope: Scope) -> Node:
        parts = [self.value(argument, scope) for argument in node.args]
        texts = [part.value for part in parts if isinstance(part, Scalar) and isinstance(part.value, str)]
        if len(texts) < len(parts):
            return self.unknown(node, "a path that is put together when the program runs")
        if sum(map(len, texts)) > limits.VALUE.most:
            return self.cut(node, limits.VALUE)
        return self.scalar(node, posixpath.join(*texts), self.form(*parts, form="quoted"), False)

    def _function(self, node: ast.Call, scope: Scope) -> Scope | None:
        """The function of this file that is called, if there is one and nothing decorates it."""
        found = scope.find(node.func.id) if isinstance(node.func, ast.Name) else None
        if found is None or len(found[1]) != 1 or found[1][0].kind != "function":
            return None
        inner = found[1][0].scope
        return inner if inner is not None and isinstance(inner.node, ast.FunctionDef) else None

    def _returned(self, node: ast.Call, scope: Scope) -> Node | None:
        """What the only `return` of such a function gives; None where it is not known."""
        inner = self._function(node, scope)
        if inner is None or not isinstance(inner.node, ast.FunctionDef) or inner.node.decorator_list:
            return None
        returns = self.names.returns.get(id(inner), [])
        if len(returns) != 1 or returns[0].value is None:
            return None
        value = self.value(returns[0].value, inner)
        if isinstance(value, Scalar):
            return None if isinstance(value.value, Unknown) else value
        return _another(value, self.places.start(node), self.places.start(inner.node), self.places.end(inner.node))

    def _folded(self, node: ast.Call, scope: Scope) -> Scalar | None:
        """`float("1e-4")`, `getattr(torch, "bfloat16")`."""
        if not isinstance(node.func, ast.Name) or node.keywords or scope.find(node.func.id) is not None:
            return None
        values = [self.value(argument, scope) for argument in node.args[:2]]
        known = [value.value for value in values if isinstance(value, Scalar) and not isinstance(value.value, Unknown)]
        if node.func.id in CONVERSIONS and len(node.args) == len(known) == 1:
            value = converted(node.func.id, known[0])
            return None if value is None else self.scalar(node, value, self.form(*values), False)
        if node.func.id == "getattr" and len(node.args) == 2 and len(known) == 2 and isinstance(known[1], str):
            holder = values[0]
            if isinstance(holder, Scalar) and holder.form == "attribute" and known[1].isidentifier():
                form = "attribute" if not defaulted(values[1]) else self.form(values[1])
                return self.scalar(node, f"{known[0]}.{known[1]}", form, False)
        return None


_MAIN = re.compile(r"^if[ \t]+\(?__name__[ \t]*==", re.MULTILINE)
# What is handed to a function of theirs stays as it is.
_KNOWN_MODULES = LIBRARIES | frozenset(
    ["os", "sys", "json", "yaml", "logging", "pprint", "pathlib", "wandb", "mlflow", "random", "time", "dataclasses", "copy", "rich", "torchvision",
     "evaluate", "huggingface_hub", "sentence_transformers", "optimum", "pickle", "shutil", "warnings", "atexit", "loguru", "absl", "ray"]
)  # fmt: skip


# Packages of which notebooks import every name; none has a class of ours.
_WHOLE = frozenset(["fastai", "fastcore", "matplotlib", "pylab", "tensorflow", "keras", "sympy", "pyspark", "manim"])
_SHOWS = re.compile(r"(?:\b(?:print|pprint|display|repr)|\b(?:logger|logging|log|console)\.\w+)\([^()\n]*\Z")
_WRITES = re.compile(r"\.(?:save_pretrained|to_dict|to_json_string|to_json_file|to_diff_dict)\(")


def _is_elsewhere(module: str) -> bool:
    """Whether a module is no part of the project."""
    head = module.partition(".")[0]
    return head in _KNOWN_MODULES or head in _WHOLE or head in sys.stdlib_module_names


def _another(value: Node, instance: int, first: int, last: int) -> Node:
    """The objects that calls between these places make, or that come through one there, as those of this instance."""
    if isinstance(value, Call) and first <= (value.start if value.instance < 0 else value.instance) < last:
        return value._replace(instance=instance)
    if isinstance(value, Sequence):
        return value._replace(items=tuple(_another(item, instance, first, last) for item in value.items))
    return value


def _binds_anew(binding: Binding) -> bool:
    """Whether this gives the name of a class another meaning than its import; `X = None` says that there is none of it."""
    if binding.kind in ("import", "class", "function"):
        return False  # a class of the file's own is known as such
    if isinstance(binding.value, ast.Attribute):  # `TrainingArguments = transformers.TrainingArguments`
        return binding.value.attr != getattr(binding.node, "id", None)
    return not (isinstance(binding.value, ast.Constant) and binding.value.value is None)


def _names_itself(bindings: list[Binding], name: str) -> bool:
    """`args = replace(args, …)`: the object goes on in another one."""
    return any(
        isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)
        for binding in bindings
        if binding.value is not None
        for one in ast.walk(binding.value)
    )


_CHANGES = (
    "adapt", "adjust", "align", "apply", "complete", "fill", "finali", "fix", "modif", "normali", "overrid", "overwrite", "patch", "resolve",
    "sanitize", "sync", "tweak", "update",
)  # fmt: skip


def _changes(call: ast.Call) -> bool:
    """Whether what is called says by its name that it changes what it is given: `fix_arguments(args)`."""
    function = call.func
    word = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    return word.lstrip("_").startswith(_CHANGES)


def _is_it(value: ast.expr, given: str | ast.Call) -> bool:
    return value is given or (isinstance(value, ast.Name) and value.id == given)


def is_class(name: str) -> bool:
    """By convention: what is called is a class, so that its keywords are attributes of the result."""
    return name.rpartition(".")[2][:1].isupper() and name.endswith(("Config", "Arguments", "Args"))


_MAKERS = frozenset(["from_pretrained", "get_peft_model", "initialize", "prepare_model_for_kbit_training"])


def is_made(name: str) -> bool:
    """By convention: what is called makes an object that a library may refuse to make."""
    word = name.rpartition(".")[2]
    return word[:1].isupper() or word in _MAKERS


def _made_by(defined: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function that a call of it runs: of a class its `__init__`."""
    for one in defined.body if isinstance(defined, ast.ClassDef) else [defined]:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and (one is defined or one.name == "__init__"):
            return one
    return None
