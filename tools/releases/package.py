"""One release's sources as names that can be looked up: classes, constants and functions, through the imports between its modules."""

from __future__ import annotations

import ast
import fnmatch
import re
from typing import Any, NamedTuple

_CLASS = re.compile(r"^class (\w+)", re.M)


class Module:
    """Top-level definitions of one file, those under `if`, `try` and `with` included. A name keeps every value given to it, in order."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        self.path = path
        self.classes: dict[str, ast.ClassDef] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        self.values: dict[str, list[ast.expr]] = {}
        self.imports: dict[str, ast.ImportFrom] = {}
        self.renamed: dict[str, str] = {}  # import … as: local name → name in the other module
        self.stars: list[ast.ImportFrom] = []
        self._read(tree.body)

    def _read(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                self.classes[statement.name] = statement
            elif isinstance(statement, ast.FunctionDef):
                self.functions[statement.name] = statement
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        self.values.setdefault(target.id, []).append(statement.value)
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
                self.values.setdefault(statement.target.id, []).append(statement.value)
            elif isinstance(statement, ast.ImportFrom):
                for alias in statement.names:
                    if alias.name == "*":
                        self.stars.append(statement)
                    else:
                        self.imports[alias.asname or alias.name] = statement
                        self.renamed[alias.asname or alias.name] = alias.name
            elif isinstance(statement, ast.If):
                self._read(statement.body)
                self._read(statement.orelse)
            elif isinstance(statement, ast.With):
                self._read(statement.body)
            elif isinstance(statement, ast.Try):
                self._read(statement.body)
                for handler in statement.handlers:
                    self._read(handler.body)
                self._read(statement.orelse)


class Found(NamedTuple):
    """What a name stands for, and the module it is defined in."""

    module: Module
    thing: ast.ClassDef | ast.FunctionDef | list[ast.expr]


class Package:
    def __init__(self, name: str, files: dict[str, str]) -> None:
        self.name = name
        self._files = files
        self._modules: dict[str, Module] = {}
        self.enums: dict[str, list[Any]] = {}  # those that some field turned out to use
        self._where: dict[str, list[str]] | None = None

    def module(self, path: str) -> Module | None:
        """The file's definitions; None if the release has no such file, or one that this Python cannot parse."""
        if path not in self._modules:
            text = self._files.get(path)
            if text is None:
                return None
            try:
                tree = ast.parse(text)
            except SyntaxError:  # a template, or a test of bad syntax
                tree = ast.Module([], [])
            self._modules[path] = Module(path, tree)
        return self._modules[path]

    def paths(self) -> list[str]:
        return sorted(self._files)

    def texts(self, pattern: str) -> list[str]:
        """The texts of the files whose path matches."""
        return [self._files[path] for path in sorted(self._files) if fnmatch.fnmatch(path, pattern)]

    def class_paths(self) -> dict[str, list[str]]:
        """Class name → files that define it at top level, found without parsing."""
        if self._where is None:
            self._where = {}
            for path in sorted(self._files):
                for name in _CLASS.findall(self._files[path]):
                    self._where.setdefault(name, []).append(path)
        return self._where

    def _target(self, module: Module, statement: ast.ImportFrom) -> str | None:
        """The dotted path inside the package that `from X import …` names; None if it leaves the package."""
        dotted = statement.module or ""
        if statement.level == 0:
            if dotted != self.name and not dotted.startswith(self.name + "."):
                return None
            return dotted[len(self.name) + 1 :]
        folder = module.path.split("/")[:-1]
        base = folder[: len(folder) - (statement.level - 1)]
        return ".".join([*base, *([dotted] if dotted else [])])

    def _open(self, dotted: str) -> Module | None:
        path = dotted.replace(".", "/")
        return self.module(f"{path}.py" if path else "__init__.py") or self.module(f"{path}/__init__.py".lstrip("/"))

    def opened(self, module: Module, statement: ast.ImportFrom) -> str | None:
        """The path of the module of this package that `from X import …` reads."""
        dotted = self._target(module, statement)
        other = self._open(dotted) if dotted is not None else None
        return other.path if other is not None else None

    def find(self, module: Module, name: str, depth: int = 0) -> Found | None:
        """What `name` means in `module`, followed through imports inside the package."""
        if depth > 12:
            return None
        for table in (module.classes, module.functions, module.values):
            if name in table:
                return Found(module, table[name])
        statement = module.imports.get(name)
        if statement is not None:
            dotted = self._target(module, statement)
            if dotted is None:
                return None
            other = self._open(dotted)
            original = module.renamed[name]
            found = self.find(other, original, depth + 1) if other is not None else None
            return found or self._only_class(original)
        for star in module.stars:
            dotted = self._target(module, star)
            other = self._open(dotted) if dotted is not None else None
            found = self.find(other, name, depth + 1) if other is not None else None
            if found is not None:
                return found
        return None

    def _only_class(self, name: str) -> Found | None:
        """A class that is re-exported by a lazy `__init__`, if only one file defines a class of that name."""
        paths = self.class_paths().get(name, [])
        module = self.module(paths[0]) if len(paths) == 1 else None
        return Found(module, module.classes[name]) if module is not None and name in module.classes else None

    def bases(self, found: Found) -> list[tuple[str, Found | None]]:
        """The direct bases as written, each with its definition if that lies in the package."""
        assert isinstance(found.thing, ast.ClassDef)
        result: list[tuple[str, Found | None]] = []
        for base in found.thing.bases:
            if isinstance(base, ast.Name):
                target = self.find(found.module, base.id)
                result.append((base.id, target if target and isinstance(target.thing, ast.ClassDef) else None))
            elif isinstance(base, ast.Attribute):
                result.append((ast.unparse(base), None))
        return result

    def lineage(self, found: Found) -> tuple[list[Found], list[str]]:
        """The class after all its bases inside the package (so that later ones override), and the names of the bases outside it."""
        chain: list[Found] = []
        outside: list[str] = []
        for name, base in self.bases(found):
            if base is None:
                if name not in _PLAIN_BASES and name not in outside:
                    outside.append(name)
                continue
            above, beyond = self.lineage(base)
            chain.extend(c for c in above if c not in chain)
            outside.extend(b for b in beyond if b not in outside)
        chain.append(found)
        return chain, outside


_PLAIN_BASES = {"object", "str", "int", "ABC", "dict", "Enum", "Generic", "Protocol", "BaseModel", "IntEnum", "StrEnum"}
