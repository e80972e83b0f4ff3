"""The keys that DeepSpeed takes out of its JSON, as dotted paths with their defaults.

DeepSpeed has no one schema: `DeepSpeedConfig` hands the dictionary from function to function, which look up constants in it, and some parts
of it are given to pydantic models. Reading follows the dictionary the same way: an expression stands for a set of paths (`param_dict[FP16]`
for `fp16`), lookups record a path, calls inside the package are followed with the paths bound to the parameters, and `Model(**part)` puts
that model's fields below the part. Control flow is ignored, so a key counts as known if some branch looks at it.
"""

from __future__ import annotations

import ast
from typing import Any

from .classes import Fields, class_found, is_pydantic, read_class
from .literal import evaluate
from .package import Found, Module, Package

Path = tuple[str, ...]
_GETTERS = {"get_scalar_param", "get_list_param", "get_dict_param"}
_COPIES = {"copy", "deepcopy", "dict", "list"}


def read(package: Package) -> Fields:
    found = class_found(package, "runtime/config.py", "DeepSpeedConfig")
    if found is None:
        raise LookupError("deepspeed: runtime/config.py has no DeepSpeedConfig")
    reader = _Reader(package)
    assert isinstance(found.thing, ast.ClassDef)
    for statement in found.thing.body:
        if isinstance(statement, ast.FunctionDef):
            root: dict[str, set[Path]] = {a.arg: {()} for a in statement.args.args if a.arg in ("config", "param_dict")}
            _Frame(reader, found.module, found.thing, statement, root, {}, 0).run()
    refused = package.find(found.module, "_REMOVED_TOP_LEVEL_CONFIG_KEYS")
    if refused is not None and isinstance(refused.thing, list) and isinstance(refused.thing[0], ast.Dict):
        for key in refused.thing[0].keys:
            if isinstance(key, ast.Constant):
                reader.fields = {n: f for n, f in reader.fields.items() if n.split(".")[0] != key.value}
                reader.fields[str(key.value)] = {"refused": True}
    return reader.fields


class _Reader:
    def __init__(self, package: Package) -> None:
        self.package = package
        self.fields: Fields = {}
        self.seen: set[Any] = set()

    def record(self, path: Path, default: Any = None, known: bool = False) -> None:
        """A lookup of `path`. A `{}` given as the default of a block that is looked into says nothing."""
        field = self.fields.setdefault(".".join(path), {})
        if known and "block" not in field and ("default" not in field or field["default"] in ({}, None)):
            field["default"] = default

    def block(self, path: Path, found: Found) -> None:
        """A pydantic model whose fields stand below `path`; it refuses names that it does not know."""
        assert isinstance(found.thing, ast.ClassDef)
        if path:
            self.fields[".".join(path)] = {"block": found.thing.name}
        for name, field in read_class(self.package, found).items():
            alias = field.get("alias")
            key = alias if isinstance(alias, str) else name
            inner = self._model(found.module, str(field.get("type", "")))
            if inner is not None:
                self.block((*path, key), inner)
            else:
                own = {k: v for k, v in field.items() if k != "alias"}
                self.fields[".".join((*path, key))] = {**own, "short": name} if key != name else own

    def _model(self, module: Module, text: str) -> Found | None:
        for part in text.split(" | "):
            found = self.package.find(module, part) if part.isidentifier() else None
            if found is not None and is_model(self.package, found):
                return found
        return None


def is_model(package: Package, found: Found) -> bool:
    return isinstance(found.thing, ast.ClassDef) and is_pydantic(package, found)


class _Frame:
    """One function, with the paths (and constants) that its names stand for."""

    def __init__(
        self, reader: _Reader, module: Module, owner: ast.ClassDef | None, function: ast.FunctionDef,
        paths: dict[str, set[Path]], constants: dict[str, list[ast.expr]], depth: int,
    ) -> None:  # fmt: skip
        self.reader, self.module, self.owner, self.function = reader, module, owner, function
        self.env, self.constants, self.depth = {k: set(v) for k, v in paths.items()}, dict(constants), depth
        self.result: set[Path] = set()

    def run(self) -> set[Path]:
        """Record every lookup; the paths that the function returns."""
        for node in ast.walk(self.function):
            if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.target, ast.Name):
                if isinstance(node.iter, (ast.List, ast.Tuple)):
                    self.constants[node.target.id] = list(node.iter.elts)
        for statement in self._statements(self.function.body):
            if isinstance(statement, ast.Assign):
                paths = self.paths(statement.value)
                for target in statement.targets:
                    if isinstance(target, ast.Name) and paths:
                        self.env.setdefault(target.id, set()).update(paths)
            elif isinstance(statement, ast.Return) and statement.value is not None:
                self.result |= self.paths(statement.value)
            for node in self._own(statement):
                if isinstance(node, (ast.Call, ast.Subscript)):
                    self.paths(node)
                elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
                    self._look(node.comparators[0], node.left)
        return self.result

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in body:
            result.append(statement)
            for name in ("body", "orelse", "finalbody"):
                result.extend(self._statements(getattr(statement, name, None) or []))
            for handler in getattr(statement, "handlers", []):
                result.extend(self._statements(handler.body))
        return result

    @staticmethod
    def _own(statement: ast.stmt) -> list[ast.AST]:
        """The nodes of a statement without those of the statements inside it."""
        nodes: list[ast.AST] = []
        todo = [
            child for child in ast.iter_child_nodes(statement) if not isinstance(child, (ast.stmt, ast.ExceptHandler))
        ]
        while todo:
            node = todo.pop()
            nodes.append(node)
            todo.extend(ast.iter_child_nodes(node))
        return nodes

    def _keys(self, node: ast.expr) -> list[str]:
        options = self.constants.get(node.id, [node]) if isinstance(node, ast.Name) else [node]
        values = [evaluate(self.reader.package, self.module, option) for option in options]
        # constants.py gives some names first a description of several lines, then the key
        either = [
            one for value in values for one in (value.get("one_of", [value]) if isinstance(value, dict) else [value])
        ]
        return [one for one in either if isinstance(one, str) and "\n" not in one]

    def _look(self, owner: ast.expr, key: ast.expr, default: ast.expr | None = None) -> set[Path]:
        found: set[Path] = set()
        for base in self.paths(owner):
            for name in self._keys(key):
                value = None
                if default is not None:
                    options = self.constants.get(default.id, [default]) if isinstance(default, ast.Name) else [default]
                    value = evaluate(self.reader.package, self.module, options[0])
                self.reader.record((*base, name), value, default is not None)
                found.add((*base, name))
        return found

    def paths(self, node: ast.expr) -> set[Path]:
        """The places in the JSON that an expression may stand for; empty for everything else."""
        if isinstance(node, ast.Name):
            return self.env.get(node.id, set())
        if isinstance(node, ast.Attribute) and node.attr == "_param_dict":
            return {()}
        if isinstance(node, ast.Subscript):
            return self._look(node.value, node.slice)
        if isinstance(node, ast.BoolOp):
            return set().union(*(self.paths(value) for value in node.values))
        if isinstance(node, ast.IfExp):
            return self.paths(node.body) | self.paths(node.orelse)
        if (
            isinstance(node, ast.DictComp)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Attribute)
        ):
            return self.paths(node.value.func.value)  # {key: part.get(key) for key in …} is a picture of `part`
        if isinstance(node, ast.Call):
            return self._call(node)
        return set()

    def _call(self, node: ast.Call) -> set[Path]:
        name = (
            node.func.attr
            if isinstance(node.func, ast.Attribute)
            else node.func.id
            if isinstance(node.func, ast.Name)
            else ""
        )
        if name in _GETTERS and len(node.args) >= 2:
            return self._look(node.args[0], node.args[1], node.args[2] if len(node.args) > 2 else None)
        if name in _COPIES and node.args:
            return self.paths(node.args[0])
        if isinstance(node.func, ast.Attribute) and not (
            isinstance(node.func.value, ast.Name) and node.func.value.id == "self"
        ):
            if name in ("get", "pop", "setdefault") and node.args:
                return self._look(node.func.value, node.args[0], node.args[1] if len(node.args) > 1 else None)
            if name in ("keys", "copy", "items"):
                return self.paths(node.func.value)
            return set()
        return self._follow(node, name)

    def _follow(self, node: ast.Call, name: str) -> set[Path]:
        spread = [self.paths(k.value) for k in node.keywords if k.arg is None]
        given = any(self.paths(a) for a in node.args) or any(self.paths(k.value) for k in node.keywords)
        if not given or self.depth > 8:
            return set()
        owner: ast.ClassDef | None = None
        module, thing = self.module, None
        if isinstance(node.func, ast.Attribute) and self.owner is not None:
            owner = self.owner
            thing = next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == name), None)
        else:
            found = self.reader.package.find(self.module, name)
            if found is not None and is_model(self.reader.package, found):
                for paths in spread:
                    for path in paths:
                        self.reader.block(path, found)
                return set()
            if found is not None and isinstance(found.thing, ast.ClassDef):
                owner, module = found.thing, found.module
                thing = next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
            elif found is not None and isinstance(found.thing, ast.FunctionDef):
                module, thing = found.module, found.thing
        return self._enter(node, module, owner, thing) if thing is not None else set()

    def _enter(
        self, node: ast.Call, module: Module, owner: ast.ClassDef | None, function: ast.FunctionDef
    ) -> set[Path]:
        names = [a.arg for a in function.args.args if a.arg != "self"]
        paths: dict[str, set[Path]] = {}
        constants: dict[str, list[ast.expr]] = dict(
            zip(reversed(names), ([d] for d in reversed(function.args.defaults)), strict=False)
        )
        for name, value in [*zip(names, node.args, strict=False), *((k.arg, k.value) for k in node.keywords if k.arg)]:
            stands = self.paths(value)
            if stands:
                paths[str(name)] = stands
            worth = evaluate(self.reader.package, self.module, value)
            if isinstance(worth, (str, int, float, bool)) or worth is None:
                constants[str(name)] = [ast.Constant(worth)]
        mark = (module.path, owner.name if owner else "", function.name, tuple(sorted((k, tuple(sorted(v))) for k, v in paths.items())),
                tuple(sorted((k, ast.dump(v[0])) for k, v in constants.items())))  # fmt: skip
        if mark in self.reader.seen:
            return set().union(*paths.values()) if _returns_argument(function) and paths else set()
        self.reader.seen.add(mark)
        return _Frame(self.reader, module, owner, function, paths, constants, self.depth + 1).run()


def _returns_argument(function: ast.FunctionDef) -> bool:
    names = {a.arg for a in function.args.args}
    returns = (n.value for n in ast.walk(function) if isinstance(n, ast.Return))
    return any(isinstance(value, ast.Name) and value.id in names for value in returns)
