"""What the caller of a program or a function decides: parameters, `argparse`, dataclasses that a parser of command lines fills.

The value is then the program's own default, marked as such: whoever starts the program may say otherwise.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from stablint.syntax.python.arithmetic import CONVERSIONS, agree, converted
from stablint.syntax.python.constants import FROM_FLAGS, defaulted
from stablint.syntax.python.scope import Binding, FoundCall, Scope, called_name, default_of, dotted, parameters_of
from stablint.syntax.tree import Call, Entry, Mapping, Node, Scalar, Sequence, Unknown

if TYPE_CHECKING:
    from stablint.syntax.python.values import Values

# Functions that fill the class that they are given, whose fields the command line sets.
_FILLING = frozenset([
    "datargs.parse", "datargs.make.parse", "tyro.cli", "simple_parsing.parse", "draccus.parse", "pyrallis.parse", "chz.entrypoint", "tap.tapify",
])  # fmt: skip
_FILLED = ("cls", "f", "config_class", "target")
_PARSERS = ("HfArgumentParser", "TrlParser", "H4ArgumentParser", "ArgumentParserPlus")
_FILLS = frozenset([
    "parse_args_into_dataclasses", "parse_args_and_config", "parse", "parse_args", "parse_json_file", "parse_yaml_file", "parse_dict",
])  # fmt: skip
_STARTS = frozenset(["Fire", "run", "run_exp", "CLI"])  # fire.Fire(train), typer.run(train)
_MOST_SITES = 20
_DEEPEST = 20  # classes that inherit


_ANY = "?"  # a function that is no type of Python's own makes the value: `type=yaml.safe_load`


class Option(NamedTuple):
    default: ast.expr | None
    scope: Scope
    store: str  # the action
    type: str
    place: int


class Caller:
    def __init__(self, values: Values) -> None:
        self.values = values
        self._options: dict[str, list[Option]] | None = None
        self._made: list[ast.expr] = []  # so that no other expression gets the identity of one that was made here
        self._sites: dict[str, list[FoundCall]] | None = None
        self._parsed: dict[int, Node] = {}

    # Parameters

    def parameter(self, node: ast.expr, binding: Binding, owner: Scope) -> Node:
        """What a function is called with, where the file calls it; else its default, which a caller may override."""
        values, function = self.values, owner.node
        name = binding.node.arg if isinstance(binding.node, ast.arg) else ""
        unknown = values.unknown(node, f"`{values.spelled(node)}` is a parameter")
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or owner.parent is None:
            return unknown
        if owner.parent.kind == "class" or name not in parameters_of(function):
            return unknown
        default = default_of(function, name)
        sites = self.sites(function.name)
        if not sites or len(sites) > _MOST_SITES:
            return unknown if default is None or sites else self._presumed(default, owner.parent, name, unknown)
        found = [self._argument(site, function, name, default, owner.parent) for site in sites]
        first = found[0]
        if first is None:
            return unknown
        if len(found) == 1:
            return first
        same = isinstance(first, Scalar) and all(isinstance(o, Scalar) and agree(o.value, first.value) for o in found)
        return first._replace(editable=False) if same and isinstance(first, Scalar) else unknown

    def sites(self, name: str) -> list[FoundCall]:
        """The calls of a function of this name."""
        if self._sites is None:
            self._sites = {}
            for found in self.values.names.calls:
                if isinstance(found.node.func, ast.Name):
                    self._sites.setdefault(found.node.func.id, []).append(found)
        return self._sites.get(name, [])

    def _argument(
        self, site: FoundCall, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, default: ast.expr | None, outer: Scope
    ) -> Node | None:  # fmt: skip
        call = site.node
        if any(isinstance(argument, ast.Starred) for argument in call.args) or any(
            k.arg is None for k in call.keywords
        ):
            return None
        given = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
        order = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
        if given is None and name in order and order.index(name) < len(call.args):
            given = call.args[order.index(name)]
        if given is not None:
            return self.values.value(given, site.scope)
        return None if default is None else self.values.value(default, outer)

    def _presumed(self, default: ast.expr, scope: Scope, name: str, unknown: Scalar) -> Node:
        return _filled_in(self.values.value(default, scope), name) or unknown

    # argparse

    def option(self, node: ast.Attribute, name: str) -> Node | None:
        """`args.lr` by `parser.add_argument("--lr", default=…)`; None where no such argument is added in this file."""
        options = self.listed().get(name)
        if not options:
            return None
        found = [self._of_option(option, node, name) for option in options]
        first = found[0]
        if isinstance(first, Scalar) and not isinstance(first.value, Unknown):
            if all(isinstance(one, Scalar) and agree(one.value, first.value) for one in found):
                return first
        elif len(found) == 1:
            return first
        return self.values.unknown(node, f"`{self.values.spelled(node)}` {FROM_FLAGS}")

    def _of_option(self, option: Option, node: ast.Attribute, name: str) -> Node:
        values = self.values
        unknown = values.unknown(node, f"`{values.spelled(node)}` {FROM_FLAGS}")
        if option.default is None:
            flag = {"store_true": False, "store_false": True}.get(option.store)
            return unknown if flag is None else values.scalar(node, flag, f"default:{name}", False)
        value = values.value(option.default, option.scope)
        if option.type == _ANY and isinstance(value, Scalar) and isinstance(value.value, str):
            return unknown  # argparse hands a default that is text to the function as well
        if isinstance(value, Scalar) and isinstance(value.value, str) and option.type in CONVERSIONS:
            meant = converted(option.type, value.value)
            value = value if meant is None else value._replace(value=meant)
        return _filled_in(value, name) or unknown

    def listed(self) -> dict[str, list[Option]]:
        if self._options is None:
            self._options = {}
            for found in self.values.names.calls:
                function = found.node.func
                if isinstance(function, ast.Attribute) and function.attr == "add_argument":
                    self._add(found, self._options)
        return self._options

    def _add(self, found: FoundCall, options: dict[str, list[Option]]) -> None:
        words = [a.value for a in found.node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        keywords = {keyword.arg: keyword.value for keyword in found.node.keywords if keyword.arg is not None}
        named = keywords.get("dest")
        long = [word for word in words if word.startswith("--")]
        name = named.value if isinstance(named, ast.Constant) else long[0].lstrip("-") if long else ""
        if not isinstance(name, str) or not name:
            return
        action, kind = keywords.get("action"), keywords.get("type")
        options.setdefault(name.replace("-", "_"), []).append(
            Option(
                keywords.get("default"), found.scope,
                str(action.value) if isinstance(action, ast.Constant) else "",
                kind.id if isinstance(kind, ast.Name) and kind.id in (*CONVERSIONS, "str") else _ANY if kind is not None else "",
                self.values.places.start(found.node),
            )
        )  # fmt: skip

    # Dataclasses that a parser fills

    def filled(self, value: ast.expr | None, index: int, scope: Scope) -> Node | None:
        """The object that `parser.parse_args_into_dataclasses()` gives at an index; None where no such parser is known."""
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            if index >= 0 or not isinstance(value.slice.value, int):
                return None
            index, value = value.slice.value, value.value
        if isinstance(value, ast.Call) and called_name(value.func, scope) in _FILLING:
            given = next(iter(value.args), None) or next((k.value for k in value.keywords if k.arg in _FILLED), None)
            return self.of_class(given, scope) if given is not None and index <= 0 else None
        if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _FILLS):
            return None
        maker, where = self._maker(value.func.value, scope)
        if maker is None:
            return None
        listed = next(iter(maker.args), None) or next(
            (k.value for k in maker.keywords if k.arg == "dataclass_types"), None
        )
        classes = listed.elts if isinstance(listed, (ast.Tuple, ast.List)) else [listed] if listed is not None else []
        index = index if index >= 0 or len(classes) != 1 else 0
        return self.of_class(classes[index], where) if 0 <= index < len(classes) else None

    def _maker(self, node: ast.expr, scope: Scope) -> tuple[ast.Call | None, Scope]:
        """The call that makes the parser."""
        if isinstance(node, ast.Name) and (found := scope.find(node.id)) is not None:
            calls = [b.value for b in found[1] if isinstance(b.value, ast.Call) and _makes_parser(b.value, found[0])]
            return (calls[0] if len(calls) == 1 else None), found[0]
        return (node if isinstance(node, ast.Call) and _makes_parser(node, scope) else None), scope

    def of_class(self, node: ast.expr, scope: Scope) -> Node | None:
        """An object of a dataclass with its defaults, under the name of the library's class that it derives from."""
        parts = dotted(node)
        if parts is None:
            return None
        if id(node) not in self._parsed:
            fields, name = self.fields(node, scope)
            values = self.values
            start, end = values.places.start(node), values.places.end(node)
            entries = tuple(as_default(entry) for entry in fields.values())
            self._parsed[id(node)] = Call(
                name,
                Mapping(entries, end, end),
                (),
                start,
                end,
                start,
                end,
                parts[-1],
                None,
                True,
                own=frozenset(fields),
                local=self._extends_nothing(node, scope),
            )
        return self._parsed[id(node)]

    def _extends_nothing(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Whether it is a class of this file, whatever it is called, that extends no other file's."""
        found = scope.find(node.id) if isinstance(node, ast.Name) else None
        inner = found[1][0].scope if found is not None and len(found[1]) == 1 else None
        if inner is None or found is None or not isinstance(inner.node, ast.ClassDef) or depth >= _DEEPEST:
            return False
        bases = [base.id if isinstance(base, ast.Name) else "" for base in inner.node.bases]
        if "" in bases:
            return False
        return all(
            name == "object" or self._extends_nothing(base, found[0], depth + 1)
            for name, base in zip(bases, inner.node.bases, strict=True)
        )

    def fields(self, node: ast.expr, scope: Scope, depth: int = 0) -> tuple[dict[str, Entry], str]:
        """The fields that classes of this file give a class, with their defaults, and the library's class that they extend."""
        name = called_name(node, scope)
        found = scope.find(node.id) if isinstance(node, ast.Name) else None
        inner = found[1][0].scope if found is not None and len(found[1]) == 1 else None
        if inner is None or found is None or not isinstance(inner.node, ast.ClassDef) or depth >= _DEEPEST:
            return {}, name
        entries: dict[str, Entry] = {}
        for base in inner.node.bases:
            more, above = self.fields(base, found[0], depth + 1)
            entries |= more
            name = above if "." in above else name
        values = self.values
        declared = _declared(inner.node) if "." in name and is_dataclass(inner.node) else None
        for field, bindings in inner.bindings.items():
            binding = bindings[0]
            if declared is not None and field not in declared:
                continue  # without an annotation it is no field: the constructor gives the object the library's default
            if len(bindings) == 1 and binding.kind == "value" and binding.value is not None:
                start, end = values.places.start(binding.node), values.places.end(binding.node)
                entries[field] = Entry(field, start, end, self._default_of(binding.value, inner))
        return entries, name

    def taken(self, node: ast.expr, scope: Scope, depth: int = 0) -> set[str]:
        """What the constructors of this file's classes take beside the fields: names of parameters, `**` for keywords that they look into, or hand to one
        of several imported bases."""
        found = scope.find(node.id) if isinstance(node, ast.Name) else None
        inner = found[1][0].scope if found is not None and len(found[1]) == 1 else None
        if inner is None or found is None or not isinstance(inner.node, ast.ClassDef) or depth >= _DEEPEST:
            return set()
        names: set[str] = set()
        several = sum("." in called_name(base, found[0]) for base in inner.node.bases) > 1
        for made in inner.node.body:
            if isinstance(made, ast.FunctionDef) and made.name in ("__init__", "__new__"):
                names |= parameters_of(made)
                names |= {"**"} if _looks_into_keywords(made) or (several and made.args.kwarg) else set()
        return names.union(*(self.taken(base, found[0], depth + 1) for base in inner.node.bases))

    def methods(self, node: ast.expr, scope: Scope, depth: int = 0) -> set[str]:
        """The methods that this file's classes give a class, and what else it is of, as it is imported (`mine.Mixin`)."""
        found = scope.find(node.id) if isinstance(node, ast.Name) else None
        if depth and found is not None and found[1][0].kind == "import":
            return {found[1][0].path}
        inner = found[1][0].scope if found is not None and len(found[1]) == 1 else None
        if inner is None or found is None or not isinstance(inner.node, ast.ClassDef) or depth >= _DEEPEST:
            return set()
        names = {name for name, bindings in inner.bindings.items() if any(one.kind == "function" for one in bindings)}
        return names.union(*(self.methods(base, found[0], depth + 1) for base in inner.node.bases))

    def _default_of(self, value: ast.expr, scope: Scope) -> Node:
        if isinstance(value, ast.Call) and called_name(value.func, scope).rpartition(".")[2] in ("field", "Field"):
            keywords = {keyword.arg: keyword.value for keyword in value.keywords}
            given = keywords.get("default")
            factory = keywords.get("default_factory")
            if given is None and isinstance(factory, ast.Lambda):
                given = factory.body
            elif given is None and isinstance(factory, ast.Name):
                found = scope.find(factory.id)
                if found is not None and any(one.kind == "class" for one in found[1]):
                    given = ast.copy_location(ast.Call(factory, [], []), factory)
                    self._made.append(given)
            return self.values.unknown(value, "it must be given") if given is None else self.values.value(given, scope)
        return self.values.value(value, scope)


def is_dataclass(node: ast.ClassDef) -> bool:
    """Whether its decorator makes fields of what it annotates."""
    return any("dataclass" in ast.dump(one) for one in node.decorator_list)


def _declared(node: ast.ClassDef) -> frozenset[str]:
    return frozenset(
        one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    )


# Every launch names another one: the default is an example.
_NAMES_OF_MODELS = frozenset(["model_name_or_path", "model_name", "model_id", "model_path", "base_model", "model"])


def as_default(entry: Entry) -> Entry:
    """A field of an object that a parser fills."""
    found = None if entry.key in _NAMES_OF_MODELS else _filled_in(entry.value, entry.key)
    node = entry.value
    unknown = Scalar(Unknown(f"`{entry.key}` {FROM_FLAGS}"), node.start, node.end, "unknown", False)
    return entry._replace(value=found or unknown)


def _filled_in(value: Node, name: str) -> Node | None:
    """A default; None and the empty text wait for the caller to fill them in."""
    empty = isinstance(value, Scalar) and (value.value is None or value.value == "")
    return None if empty else presumed(value, name)


def presumed(value: Node, name: str) -> Node | None:
    """A value as the default of something that the caller may set; None for what is not known."""
    if isinstance(value, Scalar):
        if isinstance(value.value, Unknown):
            return None
        return value._replace(form="default:" + ",".join(filter(None, (name, defaulted(value)))))
    if isinstance(value, Sequence):
        return value._replace(items=tuple(presumed(item, name) or item for item in value.items))
    if isinstance(value, Mapping):
        entries = tuple(entry._replace(value=presumed(entry.value, name) or entry.value) for entry in value.entries)
        return value._replace(entries=entries)
    return None


def _looks_into_keywords(function: ast.FunctionDef) -> bool:
    """Whether a constructor does more with its `**kwargs` than to hand them on."""
    name = function.args.kwarg.arg if function.args.kwarg is not None else None
    handed = {
        id(k.value) for call in ast.walk(function) if isinstance(call, ast.Call) for k in call.keywords if not k.arg
    }
    return name is not None and any(
        isinstance(node, ast.Name) and node.id == name and id(node) not in handed for node in ast.walk(function)
    )


def _makes_parser(call: ast.Call, scope: Scope) -> bool:
    return called_name(call.func, scope).rpartition(".")[2] in _PARSERS
