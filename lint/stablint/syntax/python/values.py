"""Python expressions → nodes: constants, what names stand for, calls with their arguments. All else is unknown, with the reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from stablint.syntax import limits
from stablint.syntax.python.arithmetic import agree
from stablint.syntax.python.caller import Caller
from stablint.syntax.python.calls import Calls, is_class
from stablint.syntax.python.constants import FROM_FLAGS, defaulted
from stablint.syntax.python.library import LIBRARIES
from stablint.syntax.python.names import Names
from stablint.syntax.python.places import Places
from stablint.syntax.python.scope import Binding, FoundCall, Item, Scope, Store, dotted, end_of, holding, position_of
from stablint.syntax.tree import Call, Entry, Mapping, Node, Scalar, Sequence, Unknown

_MOST_COMPARED = 50  # branches that may agree on a value
_DEEPEST = 40  # expressions within expressions, names followed included

# Expressions that have a value, whichever it is.
_NEVER_NULL = (
    ast.JoinedStr, ast.BinOp, ast.Lambda, ast.Compare, ast.List, ast.Tuple, ast.Dict, ast.Set,
    ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp,
)  # fmt: skip
# Functions that give an object or fail.
_MAKERS = frozenset({"copy", "deepcopy", "from_pretrained", "create_reference_model"})
_OTHERS_WEIGHTS = ("ref", "teacher", "reward", "critic", "input", "output", "tensor", "emb_")
# What gives a data set, or one of its splits, by Hugging Face's library.
_DATA = frozenset(
    ["load_dataset", "load_from_disk", "from_generator", "from_list", "from_dict", "from_pandas", "from_csv", "from_json", "train_test_split", "map",
     "filter", "shuffle", "select", "take", "skip", "cast_column", "rename_column", "rename_columns", "remove_columns", "with_format"]
)  # fmt: skip


def _gives_data(call: Call) -> bool:
    return call.name.rpartition(".")[2] in _DATA


RUNS_TOGETHER = "a comma is missing between two texts"
_RUN_TOGETHER = re.compile(r"""(["'])[\w.]{1,80}\1(?:\s{1,200}(["'])[\w.]{1,80}\2){1,40}""")
_SPECIAL_TOKENS = frozenset({"pad_token", "pad_token_id"})


class Values(Calls):
    """Reads expressions of one module. Every expression is read once."""

    def __init__(self, source: str, places: Places, names: Names) -> None:
        super().__init__(source, places, names)
        self.caller = Caller(self)
        self._read: dict[int, Node] = {}
        self._weight: dict[int, int] = {}  # nodes in a node, by its identity
        self._kept: list[Node] = []  # so that no other gets the identity of one that was weighed
        self._reading: set[int] = set()
        self._depth = 0
        self._work = 0
        self._compared = 0

    def call(self, found: FoundCall) -> Call | None:
        node = self.value(found.node, found.scope)
        return node if isinstance(node, Call) and node.start == self.places.start(found.node) else None

    def filled(self) -> list[Call]:
        """The objects that parsers of command lines fill, each once."""
        found: dict[int, Call] = {}
        for scope in self.names.scopes:
            for bindings in scope.bindings.values():
                either = self._filled_either_way(scope, bindings) if len(bindings) > 1 else None
                if either is not None:
                    found[either.start] = either
                    continue
                for binding in bindings:
                    if binding.kind in ("value", "element") and binding.value is not None:
                        node = self._filled(binding, scope)
                        if isinstance(node, Call):
                            found[node.start] = node
        return list(found.values())

    def environment(self) -> Call | None:
        """What the program sets for itself and what it starts: `os.environ["NAME"] = …`, as a call of that name."""
        entries = []
        for item in self.names.items.get("os.environ", ()):
            if isinstance(item.key, ast.Constant) and isinstance(item.key.value, str) and item.value is not None:
                start, end = self.places.start(item.key), self.places.end(item.key)
                value = self.value(item.value, item.scope)
                if item.conditional:
                    value = self.unknown(item.value, "set in some cases only")
                entries.append(Entry(item.key.value, start, end, value))
        if not entries:
            return None
        first, last = entries[0].key_start, entries[-1].value.end
        return Call("os.environ", Mapping(tuple(entries), first, last), (), first, last, first, first)

    def imports(self) -> Call | None:
        """The names that the module takes from others whatever happens, as a call of the name `import` whose keys they are."""
        entries = []
        aliases: dict[ast.ImportFrom, dict[str, ast.alias]] = {}
        for bindings in self.names.module.bindings.values():
            for binding in bindings:
                node = binding.node
                if (
                    binding.kind != "import"
                    or binding.conditional
                    or not isinstance(node, ast.ImportFrom)
                    or node.level
                ):
                    continue
                if node not in aliases:
                    aliases[node] = {f"{node.module}.{one.name}": one for one in reversed(node.names)}
                alias = aliases[node][binding.path]
                start, end = self.places.start(alias), self.places.end(alias)
                entries.append(Entry(binding.path, start, end, Scalar(True, start, end, "name", False)))
        if not entries:
            return None
        entries.sort(key=lambda entry: entry.key_start)
        first, last = entries[0].key_start, entries[-1].value.end
        return Call("import", Mapping(tuple(entries), first, last), (), first, last, first, first)

    def frozen(self) -> Call | None:
        """Weights that the program leaves as they are, as a call of the name `weights.frozen`: a switch that is set to true frees, and one of
        a reference, a teacher or an input says nothing of what is trained."""
        for node, value in self.names.frozen:
            if isinstance(value, ast.Constant) and value.value is True:
                continue
            spelled = ast.unparse(node.value).lower() if not isinstance(node.value, ast.Name) else node.value.id.lower()
            if any(word in spelled for word in _OTHERS_WEIGHTS):
                continue
            end = self.places.end(node)
            start = end - len(node.attr)
            entry = Entry(node.attr, start, end, Scalar(True, start, end, "name", False))
            return Call("weights.frozen", Mapping((entry,), start, end), (), start, end, start, end)
        return None

    def rebuilt(self) -> Call | None:
        """Modules that the program puts into a model, as a call of the name `modules.replaced`."""
        for node in self.names.rebuilt[:1]:
            start, end = self.places.start(node), self.places.end(node)
            entry = Entry("modules", start, end, Scalar(True, start, end, "name", False))
            return Call("modules.replaced", Mapping((entry,), start, end), (), start, end, start, end)
        return None

    def tokenizer(self) -> Call | None:
        """`tokenizer.pad_token = tokenizer.eos_token`, as a call of the name `tokenizer.set` with the other token's name as the value."""
        entries = []
        for stores in self.names.stores.values():
            for store in stores:
                if (
                    store.node.attr in _SPECIAL_TOKENS
                    and isinstance(store.value, ast.Attribute)
                    and not store.conditional
                    and not self._is_afterwards(store)
                    and self._is_trained_with(store)
                ):
                    end = self.places.end(store.node)
                    token = store.value.attr.removesuffix(
                        "_id"
                    )  # what stays is left out, so that another name can be written
                    stop = self.places.end(store.value)
                    start = stop - len(store.value.attr)
                    node = Scalar(token, start, start + len(token), "attribute", True)
                    entries.append(Entry(store.node.attr, end - len(store.node.attr), end, node))
        if not entries:
            return None
        first, last = entries[0].key_start, entries[-1].value.end
        return Call("tokenizer.set", Mapping(tuple(entries), first, last), (), first, last, first, first)

    def _is_afterwards(self, store: Store) -> bool:
        """Whether the last training of its scope is over by then: what follows is for generation."""
        last = None
        for found in self.names.calls:
            function = found.node.func
            if found.scope is store.scope and isinstance(function, ast.Attribute) and function.attr == "train":
                parts = dotted(function.value)
                if parts and "trainer" in parts[-1].lower():
                    last = end_of(found.node) if last is None else max(last, end_of(found.node))
        return last is not None and last < position_of(store.node)

    def _is_trained_with(self, store: Store) -> bool:
        """Whether a trainer or a collator of its scope takes this object, or none names the one that it takes."""
        taken = {
            word.value.id
            for found in self.names.calls
            if found.scope is store.scope
            for word in found.node.keywords
            if word.arg in ("tokenizer", "processing_class") and isinstance(word.value, ast.Name)
        }
        return not taken or not isinstance(store.node.value, ast.Name) or store.node.value.id in taken

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
        if (
            isinstance(result, Scalar)
            and isinstance(result.value, Unknown)
            and (isinstance(node, _NEVER_NULL) or _makes(node))
        ):
            result = result._replace(value=result.value._replace(there=True))
        self._depth -= 1
        self._reading.discard(key)
        self._read[key] = result
        return result

    def weigh(self, node: Node, parts: list[Node]) -> Node:
        self._kept.append(node)
        self._weight[id(node)] = 1 + sum(self._weight.get(id(part), 1) for part in parts)
        return node

    # Names

    def name(self, node: ast.Name, scope: Scope) -> Node:
        found = scope.find(node.id)
        if found is None:
            return self._unknown(
                node, Unknown(f"`{node.id}` is not defined in this file", defined=self._spread(node.id))
            )
        owner, bindings = found
        possible = self._holding(node, owner, bindings, scope)
        if possible is None:
            return self.cut(node, limits.LOOKED_UP)
        if len(possible) == 1:
            return self._bound(node, possible[0], owner, scope)
        return self._agreed(node, owner, possible, scope)

    def _holding(self, node: ast.expr, owner: Scope, bindings: list[Binding], scope: Scope) -> list[Binding] | None:
        """The bindings that a name may have at its place; None where too many were compared already."""
        self._compared += len(bindings)
        if self._compared > limits.LOOKED_UP.most:
            return None
        return holding(bindings, position_of(node) if owner is scope else None, owner)

    def _bound(self, node: ast.expr, binding: Binding, owner: Scope, scope: Scope) -> Node:
        spelled = self.spelled(node)
        if binding.kind == "import":
            return self._library(node, _path(binding.path), spelled)
        if binding.kind == "parameter":
            given = self.caller.parameter(node, binding, owner)
            names = self.names
            if (
                isinstance(node, ast.Name)
                and isinstance(given, (Sequence, Mapping))
                and (node.id in names.mutated or node.id in names.items)
            ):
                return self.unknown(node, f"`{spelled}` is changed by the function that is given it")
            return self._named(node, given)
        if binding.kind in ("function", "class"):
            return self.scalar(
                node, Unknown(f"`{spelled}` is a {binding.kind} of the program", there=True), "unknown", False
            )
        if binding.kind not in ("value", "element") or binding.value is None:
            return self.unknown(node, f"`{spelled}` is set when the program runs")
        filled = self._filled(binding, owner)
        if filled is not None:
            return filled
        value = self.value(binding.value, owner)
        if binding.kind == "element":
            if isinstance(value, Sequence) and 0 <= binding.at < len(value.items):
                value = value.items[binding.at]
            elif not isinstance(value, Call) or binding.at > 0:
                return self.unknown(node, f"`{spelled}` is set when the program runs")
        if isinstance(binding.node, ast.Name) and isinstance(value, (Sequence, Mapping)):
            if binding.node.id in self.names.mutated or self._was_handed(node, binding.node.id, owner, scope):
                return self.unknown(node, f"`{spelled}` is changed after its definition")
            if binding.node.id in self.names.items:
                value = self._changed(node, value, binding.node.id, owner, scope)
        return self._named(node, value)

    def _was_handed(self, node: ast.expr, name: str, owner: Scope, scope: Scope) -> bool:
        """Whether the dict or list was given to a function before this place, which may have changed it."""
        given = self.names.handed.get(name, ())
        return any(owner is not scope or end_of(call) < position_of(node) for call in given)

    def _filled(self, binding: Binding, owner: Scope) -> Node | None:
        """An object that a parser of command lines fills, with what is stored in it afterwards."""
        node = self.caller.filled(binding.value, binding.at, owner)
        if not isinstance(node, Call) or not isinstance(binding.node, ast.Name) or binding.value is None:
            return node
        stored = self.stored(binding.node.id, self.places.end(binding.value), owner)
        arguments = node.arguments._replace(entries=(*node.arguments.entries, *stored))
        late = frozenset(entry.key for entry in stored)
        return node._replace(arguments=arguments, own=node.own | late, late=late) if stored else node

    def _named(self, node: ast.expr, value: Node) -> Node:
        """What a name stands for, as the place of the name has it."""
        if isinstance(value, Scalar):
            if isinstance(value.value, Unknown):
                return self.scalar(node, value.value, "unknown", False)
            return value if defaulted(value) else value._replace(form="name")
        self._work += self._weight.get(id(value), 1)
        return value if self._work <= limits.FOLLOWED.most else self.cut(node, limits.FOLLOWED)

    def _changed(self, node: ast.expr, value: Node, name: str, owner: Scope, scope: Scope) -> Node:
        """A dict with what `name["key"] = …` and `name.update(…)` put into it before this place."""
        changed = self.unknown(node, f"`{self.spelled(node)}` is changed after its definition")
        if not isinstance(value, Mapping) or len(owner.bindings[name]) != 1:
            return changed
        entries, is_open = list(value.entries), value.open
        self._compared += len(self.names.items[name])
        if self._compared > limits.LOOKED_UP.most:
            return self.cut(node, limits.LOOKED_UP)
        present = {entry.key for entry in entries}
        unsure: set[str] = set()
        here = position_of(node)
        for item in self.names.items[name]:
            if owner is scope is item.scope and item.at > here:
                continue
            if item.value is None:
                return changed
            more = self.value(item.value, item.scope)
            if item.scope is not owner or item.conditional:
                keys = _in_some_cases(item, more)
                if keys is None:
                    return changed
                is_open = is_open or not keys <= present
                unsure |= keys & present
                continue
            if item.key is None:
                if not isinstance(more, Mapping):
                    return changed
                entries += more.entries
                given = {entry.key for entry in more.entries}
                present |= given
                unsure -= given
                is_open = is_open or more.open
                if len(entries) > limits.FOLLOWED.most:
                    return self.cut(node, limits.FOLLOWED)
            elif isinstance(item.key, ast.Constant) and isinstance(item.key.value, str):
                start, end = self.places.start(item.key), self.places.end(item.key)
                if item.key.value in present:  # of a block nothing is left
                    self._compared += len(entries)
                    if self._compared > limits.LOOKED_UP.most:
                        return self.cut(node, limits.LOOKED_UP)
                    entries = [one for one in entries if one.key != item.key.value]
                present.add(item.key.value)
                unsure.discard(item.key.value)
                entries.append(Entry(item.key.value, start, end, more))
            else:
                return changed
        entries = [self._unsure(entry) if entry.key in unsure else entry for entry in entries] if unsure else entries
        changed_value = value._replace(entries=tuple(entries), open=is_open)
        return self.weigh(changed_value, [entry.value for entry in entries])

    def _unsure(self, entry: Entry) -> Entry:
        """An entry that some branch, or another function, gives another value."""
        unknown = Unknown("set anew in some cases")
        return entry._replace(value=Scalar(unknown, entry.value.start, entry.value.end, "unknown", False))

    def _agreed(self, node: ast.expr, owner: Scope, bindings: list[Binding], scope: Scope) -> Node:
        """A name that several branches set: known if all say the same."""
        several = self.unknown(node, f"`{self.spelled(node)}` is assigned {len(bindings)} times")
        if len(bindings) > _MOST_COMPARED:
            return several
        values = [self._bound(node, binding, owner, scope) for binding in bindings]
        first = values[0] if values else None
        if isinstance(first, Scalar) and not isinstance(first.value, Unknown):
            if all(isinstance(value, Scalar) and agree(value.value, first.value) for value in values):
                return first._replace(editable=False)
        return self._filled_either_way(owner, bindings) or several

    def _filled_either_way(self, owner: Scope, bindings: list[Binding]) -> Call | None:
        """Objects that a parser fills from a file in one branch and from the command line in another (transformers' own examples): one object
        with the same defaults. What is stored in it afterwards is not known."""
        objects = [self._filled(binding, owner) for binding in bindings]
        first = objects[0] if objects else None
        if not isinstance(first, Call) or not first.parsed:
            return None
        if any(not isinstance(one, Call) or one.start != first.start for one in objects):
            return None
        name = bindings[0].node.id if isinstance(bindings[0].node, ast.Name) else ""
        later = []
        for store in self.names.stores.get(name, ()):
            end = self.places.end(store.node)
            unknown = self.unknown(store.node, f"`{self.spelled(store.node)}` is set when the program runs")
            later.append(Entry(store.node.attr, end - len(store.node.attr), end, unknown))
        arguments = first.arguments._replace(entries=(*first.arguments.entries, *later))
        late = frozenset(entry.key for entry in later)
        return first._replace(arguments=arguments, own=first.own | late, late=late) if later else first

    def attribute(self, node: ast.Attribute, scope: Scope) -> Node:
        parts = dotted(node)
        if parts is None:
            return self.unknown(node, "computed when the program runs")
        spelled = ".".join(parts)
        found = scope.find(parts[0])
        if found is None:
            if parts[0] in LIBRARIES or (parts[0][:1].isupper() and parts[-1].isupper()):
                return self.scalar(node, spelled, "attribute", True)
            said = self._spread(spelled) if parts[0] not in self.names.stores else ""
            return self._unknown(node, Unknown(f"`{spelled}` is not defined in this file", defined=said))
        owner, bindings = found
        possible = self._holding(node, owner, bindings, scope)
        if possible is None:
            return self.cut(node, limits.LOOKED_UP)
        reason = f"`{spelled}` is set when the program runs"
        set_later = self.scalar(node, Unknown(reason, key=parts[-1]), "unknown", False)
        stored = any(store.node.attr == parts[1] for store in self.names.stores.get(parts[0], ()))
        if len(possible) != 1:
            either = self._filled_either_way(owner, possible) if len(parts) == 2 and not stored else None
            if either is None:
                return self._option(node, parts) or set_later
            return self._of_parsed(node, either, parts[1], spelled)
        binding = possible[0]
        if binding.kind == "import":
            return self._library(node, [*_path(binding.path), *parts[1:]], spelled, parts[0] in self.names.stores)
        if stored:
            return set_later
        if binding.kind == "value" and (said := self._of_another_module(node, binding, owner, scope)):
            return self._unknown(
                node, Unknown(f"`{spelled}` is set when the program runs", defined=".".join([said, *parts[1:]]))
            )
        if len(parts) != 2:
            return set_later
        if binding.kind == "class" and binding.scope is not None:
            return self._of_class(node, binding.scope, parts[1])
        value = self._bound(node, binding, owner, scope)
        if isinstance(value, Call) and (value.parsed or is_class(value.name)):
            inner = value.arguments.get(parts[1])
            if isinstance(inner, Scalar) and not isinstance(inner.value, Unknown):
                return self._named(node, inner)
            if isinstance(inner, (Sequence, Mapping)):
                return inner
            if value.parsed:
                return self.unknown(node, f"`{spelled}` {FROM_FLAGS}")
        return self._option(node, parts) or set_later

    def _of_parsed(self, node: ast.Attribute, filled: Call, name: str, spelled: str) -> Node:
        """An attribute of what a parser of command lines fills."""
        inner = filled.arguments.get(name)
        if isinstance(inner, Scalar) and not isinstance(inner.value, Unknown):
            return self._named(node, inner)
        if isinstance(inner, (Sequence, Mapping)):
            return inner
        return self.unknown(node, f"`{spelled}` {FROM_FLAGS}")

    def _option(self, node: ast.Attribute, parts: list[str]) -> Node | None:
        found = self.caller.option(node, parts[1]) if len(parts) == 2 else None
        return None if found is None else self._named(node, found)

    def _of_class(self, node: ast.expr, scope: Scope, name: str) -> Node:
        bindings = scope.bindings.get(name, [])
        if len(bindings) == 1:
            return self._bound(node, bindings[0], scope, scope)
        return self.unknown(node, f"`{self.spelled(node)}` is set when the program runs")

    def _library(self, node: ast.expr, path: list[str], spelled: str, stored: bool = False) -> Node:
        """`stored`: the program sets something of it."""
        if path[0] in LIBRARIES:
            return self.scalar(node, ".".join(path), "attribute", True)
        return self._unknown(
            node, Unknown(f"`{spelled}` comes from another module", defined="" if stored else ".".join(path))
        )

    def _unknown(self, node: ast.expr, why: Unknown) -> Node:
        return self.scalar(node, why, "unknown", False)

    def _spread(self, name: str) -> str:
        """The name in the only module of which all names are imported."""
        modules = [one for one in self.names.spread if one.partition(".")[0] not in LIBRARIES]
        return f"{modules[0]}.{name}" if len(modules) == 1 and modules[0].strip(".") else ""

    def _of_another_module(self, node: ast.expr, binding: Binding, owner: Scope, scope: Scope) -> str:
        """The class of another module that makes the object without being told anything: `Settings()`; empty for any other."""
        made = binding.value
        if not isinstance(made, ast.Call) or made.args or made.keywords:
            return ""
        value = self._bound(node, binding, owner, scope)
        if not isinstance(value, Call) or value.parsed or value.local or "*" in value.late or "." not in value.name:
            return ""
        head = value.name.partition(".")[0]
        is_one = value.name.rpartition(".")[2][:1].isupper() and value.receiver is None
        return f"{value.name}()" if is_one and head not in LIBRARIES else ""

    def item(self, node: ast.Subscript, scope: Scope) -> Node:
        """`settings["lr"]` of a dict or list that is written out."""
        holder, index = self.value(node.value, scope), self.value(node.slice, scope)
        found: Node | None = None
        if (
            isinstance(holder, Call)
            and isinstance(index, Scalar)
            and isinstance(index.value, str)
            and _gives_data(holder)
        ):
            return holder  # a split of a data set is a set of the same kind
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
            key = index.value if isinstance(index, Scalar) and isinstance(index.value, str) else ""
            reason = f"`{self.spelled(node)}` is set when the program runs"
            return self.scalar(node, Unknown(reason, key=key), "unknown", False)
        return self._named(node, found)

    # Collections and calls

    def _runs_together(self, node: ast.expr) -> Scalar | None:
        """An item of several names in quotes with nothing between them: Python makes one text of them, and two are meant."""
        if not isinstance(node, ast.Constant) or type(node.value) is not str:
            return None
        start, end = self.places.start(node), self.places.end(node)
        if end - start < len(node.value) + 4 or not _RUN_TOGETHER.fullmatch(self.source, start, end):
            return None
        return Scalar(Unknown(RUNS_TOGETHER), start, end, "unknown", False)

    def sequence(self, node: ast.List, scope: Scope) -> Node:
        if any(isinstance(item, ast.Starred) for item in node.elts):
            return self.unknown(node, "computed when the program runs")
        items = [self._runs_together(item) or self.value(item, scope) for item in node.elts]
        return self.weigh(Sequence(tuple(items), self.places.start(node), self.places.end(node)), items)

    def mapping(self, node: ast.Dict, scope: Scope) -> Node:
        entries: list[Entry] = []
        is_open = False
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                more, opened = self.spread(value, scope)
                entries += more
                is_open = is_open or opened
                self._work += len(more)
                if self._work > limits.FOLLOWED.most:
                    return self.cut(node, limits.FOLLOWED)
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


_READERS: dict[type[ast.AST], Callable[..., Node]] = {
    ast.Constant: Values.constant, ast.UnaryOp: Values.unary, ast.BinOp: Values.binary, ast.JoinedStr: Values.format,
    ast.IfExp: Values.choice, ast.Compare: Values.compare, ast.BoolOp: Values.both, ast.Name: Values.name,
    ast.Attribute: Values.attribute, ast.Subscript: Values.item, ast.List: Values.sequence, ast.Tuple: Values.sequence,
    ast.Set: Values.sequence, ast.Dict: Values.mapping, ast.Call: Values.called,
}  # fmt: skip


def _in_some_cases(item: Item, more: Node) -> frozenset[str] | None:
    """The keys that a branch, or another function, gives another value, or puts into the dict at all; None where it may be any."""
    if item.key is None:
        return frozenset(entry.key for entry in more.entries) if isinstance(more, Mapping) and not more.open else None
    constant = isinstance(item.key, ast.Constant) and isinstance(item.key.value, str)
    return frozenset([str(item.key.value)]) if constant and isinstance(item.key, ast.Constant) else None


def _makes(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    return name in _MAKERS


def _path(imported: str) -> list[str]:
    """The parts of the path of an import; the dots of one that begins in the program's own package stay with the first."""
    bare = imported.lstrip(".")
    first, *rest = bare.split(".")
    return ["." * (len(imported) - len(bare)) + first, *rest]
