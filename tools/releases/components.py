"""What torchtune's components and litgpt's commands take: the parameters of the functions and classes that their files name or fill."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .classes import read_class
from .package import Found, Module, Package

Keys = dict[str, dict[str, Any]]
Readers = dict[str, dict[str, Any]]


def torchtune(package: Package) -> Readers:
    """Every public function and class by the path that `_component_` gives, with its parameters; and what the recipes ask their config for."""
    fields: Keys = {}
    for path in package.paths():
        folder = path.removesuffix(".py").removesuffix("/__init__").split("/")
        if path.startswith(_RECIPES) or any(part.startswith("_") and part != "__init__" for part in folder):
            continue
        module = package.module(path)
        for name in sorted(_public(module)) if module is not None else ():
            dotted = ".".join([*(part for part in folder if part != "__init__"), name])
            for parameter in _parameters(package, module, name) if module is not None else ():
                fields[f"{dotted}.{parameter}"] = {}
    asked = {key for text in package.texts(_RECIPES + "*") for key in _ASKED.findall(text)}
    return {
        "components": {"bases": [], "fields": dict(sorted(fields.items()))},
        "recipe": {"bases": [], "fields": {key: {} for key in sorted(asked - _METHODS)}},
    }


_RECIPES = "+recipes/"
_ASKED = re.compile(r"""\bcfg\.(?:get\(\s*["'])?([a-z]\w*)""")
_METHODS = {"get", "pop", "keys", "items", "update", "copy"}


def _public(module: Module) -> Iterator[str]:
    for table in (module.functions, module.classes, module.values, module.imports):
        yield from (name for name in table if not name.startswith("_"))


def _parameters(package: Package, module: Module, name: str) -> tuple[str, ...]:
    """None where it takes any keyword, or is no function or class of the package."""
    found = package.find(module, name)
    if found is None:
        return ()
    if isinstance(found.thing, list):
        inner = _partial(found.thing[-1])
        return _parameters(package, found.module, inner) if inner and inner != name else ()
    if isinstance(found.thing, ast.FunctionDef):
        return () if found.thing.args.kwarg else _of_function(found.thing)
    chain, _ = package.lineage(found)
    inits = [s for one in chain for s in _inits(one)]
    if not inits:
        return tuple(read_class(package, found)) if _is_dataclass(found) else ()
    return () if inits[-1].args.kwarg else _of_function(inits[-1])[1:]


def _of_function(function: ast.FunctionDef) -> tuple[str, ...]:
    arguments = function.args
    return tuple(one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def _inits(found: Found) -> Iterator[ast.FunctionDef]:
    assert isinstance(found.thing, ast.ClassDef)
    yield from (s for s in found.thing.body if isinstance(s, ast.FunctionDef) and s.name == "__init__")


def _is_dataclass(found: Found) -> bool:
    return isinstance(found.thing, ast.ClassDef) and any(
        "dataclass" in ast.unparse(d) for d in found.thing.decorator_list
    )


def _partial(value: ast.expr) -> str:
    """`qlora = partial(lora, quantize_base=True)` takes what `lora` takes."""
    if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("partial") and value.args:
        first = value.args[0]
        return first.id if isinstance(first, ast.Name) else ""
    return ""


_COMMANDS = {
    "finetune_lora": "finetune/lora.py", "finetune_full": "finetune/full.py", "finetune_adapter": "finetune/adapter.py",
    "finetune_adapter_v2": "finetune/adapter_v2.py", "pretrain": "pretrain.py",
}  # fmt: skip


def litgpt(package: Package) -> Readers:
    """The parameters of each command's `setup`, which jsonargparse fills; below those of a dataclass its fields."""
    readers: Readers = {}
    for command, path in _COMMANDS.items():
        module = package.module(path)
        setup = module.functions.get("setup") if module is not None else None
        if module is None or setup is None:
            continue
        fields: Keys = {name: {} for name in _of_function(setup)}
        for argument in (*setup.args.args, *setup.args.kwonlyargs):
            inner = package.find(module, argument.annotation.id) if isinstance(argument.annotation, ast.Name) else None
            if inner is not None and _is_dataclass(inner):
                fields |= {f"{argument.arg}.{key}": {} for key in read_class(package, inner)}
        readers[command] = {"bases": [], "fields": dict(sorted(fields.items()))}
    return readers
