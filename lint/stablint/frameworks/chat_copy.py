"""What a copy of DeepSpeed-Chat gives DeepSpeed: the dict that its `get_train_ds_config` returns, as far as it is written out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stablint.run.fact import Explicit, Place, Statement
from stablint.syntax.python.parse import parse
from stablint.syntax.python.places import Places
from stablint.syntax.tree import Document, Entry, Problem, Scalar

_BUILDS = "get_train_ds_config"
_IMPORT = re.compile(rf"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t][^\n]*\b{_BUILDS}\b", re.MULTILINE)
_FORMATS = ("fp16", "bf16")


def module_of(text: str) -> str:
    """The module that the program takes the function from, as a path from a folder above it; empty where it takes it from none."""
    found = _IMPORT.search(text)
    return found[1].lstrip(".").replace(".", "/") + ".py" if found else ""


def stated(document: Document) -> tuple[Statement, ...]:
    """One statement a constant. Of two formats the one that the dict leaves out is off."""
    source = document.text.text
    tree = parse(source)
    if isinstance(tree, Problem):
        return ()
    function = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == _BUILDS), None)
    returned = next((n.value for n in reversed(function.body) if isinstance(n, ast.Return)), None) if function else None
    if function is None or not isinstance(returned, ast.Dict):
        return ()
    named: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            named.setdefault(node.targets[0].id, []).append(node.value)
    dicts = {name: found[0] for name, found in named.items() if len(found) == 1}
    places = Places(source)
    constants = list(_constants(returned, (), dicts))
    statements = [_statement(document, places, path, key, value, value.value) for path, key, value in constants]
    top = {key.value: key for key in returned.keys if isinstance(key, ast.Constant)}
    written = [name for name in _FORMATS if name in top]
    if len(written) == 1 and len(top) == len(returned.keys):
        other = _FORMATS[1 - _FORMATS.index(written[0])]
        key = top[written[0]]
        statements.append(_statement(document, places, (other, "enabled"), key, key, False))
    return tuple(statements)


def by_default(engine: Document, program: Document) -> tuple[Statement, ...]:
    """The format that the dict has where no `--dtype` is given: the function names its key by that word, and the program's parser has a default."""
    tree, own = parse(engine.text.text), parse(program.text.text)
    if isinstance(tree, Problem) or isinstance(own, Problem):
        return ()
    function = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == _BUILDS), None)
    default = next(filter(None, map(_default_format, ast.walk(own))), None)
    if function is None or default is None or _OPTION not in {one.arg for one in function.args.args}:
        return ()
    for node in ast.walk(function):
        if not isinstance(node, ast.If) or not _asks_for(node.test, default.value):
            continue
        named = [
            one.value.value for one in node.body if isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant)
        ]
        written = [_SPELLED[name] for name in named if name in _SPELLED]
        if len(written) == 1:
            places = Places(program.text.text)
            return tuple(
                _statement(program, places, (name, "enabled"), default, default, name == written[0])
                for name in _FORMATS
            )
    return ()


_OPTION = "dtype"
_SPELLED = {"fp16": "fp16", "bf16": "bf16", "bfloat16": "bf16"}  # a section of DeepSpeed's, by each of its names


def _default_format(node: ast.AST) -> ast.Constant | None:
    """`add_argument("--dtype", default="fp16")`: the default."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "add_argument":
        return None
    first = node.args[0] if node.args else None
    if not isinstance(first, ast.Constant) or first.value != f"--{_OPTION}":
        return None
    value = next((one.value for one in node.keywords if one.arg == "default"), None)
    return value if isinstance(value, ast.Constant) and value.value in _SPELLED else None


def _asks_for(test: ast.expr, value: object) -> bool:
    """`dtype == "fp16"`"""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == _OPTION
        and isinstance(test.ops[0], ast.Eq)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value == value
    )


def _constants(
    node: ast.Dict, above: tuple[str, ...], dicts: dict[str, ast.expr]
) -> Iterator[tuple[tuple[str, ...], ast.Constant, ast.Constant]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str) or len(above) > 3:
            continue
        inner = dicts.get(value.id) if isinstance(value, ast.Name) else value
        if isinstance(inner, ast.Dict):
            yield from _constants(inner, (*above, key.value), dicts)
        elif isinstance(value, ast.Constant) and isinstance(value.value, (bool, int, float, str)):
            yield (*above, key.value), key, value


def _statement(
    document: Document, places: Places, path: tuple[str, ...], key: ast.Constant, node: ast.Constant, value: object
) -> Statement:
    start, end = places.start(node), places.end(node)
    entry = Entry(path[-1], places.start(key), places.end(key), Scalar(value, start, end, "plain", False))
    place = Place(document, ".".join(path), start, end, entry, path)
    return Statement("deepspeed." + ".".join(path), value, value, Explicit(place, "call", 0))
