"""Write knowledge/values.json: what may stand behind a framework's own keys, as its newest release annotates them.

python tools/read_values.py FOLDER      FOLDER holds unpacked wheels: axolotl-0.19.0/axolotl/…

Only what every place agrees on is written: a name that one class declares as a truth value and another as a word is left out. It is what an editor
offers; no finding rests on it.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).resolve().parent.parent / "knowledge" / "values.json"
# The framework, its package, and where in it the classes and parsers of its configuration lie.
SHELF = {
    "accelerate": ("accelerate", ("commands/launch.py", "commands/config/config_args.py")),
    "axolotl": ("axolotl", ("utils/schemas/**/*.py",)),
    "litgpt": ("litgpt", ("args.py", "finetune/*.py", "pretrain.py")),
    "llamafactory": ("llamafactory", ("hparams/*.py",)),
    "ms-swift": ("swift", ("arguments/**/*.py", "megatron/arguments/**/*.py")),
    "openrlhf": ("openrlhf", ("cli/*.py",)),
    "torchtune": (
        "torchtune",
        ("models/**/*.py", "datasets/**/*.py", "modules/**/*.py", "rlhf/**/*.py", "training/**/*.py", "../recipes/configs/**/*.yaml"),
    ),
    "verl": ("verl", ("trainer/config/**/*.py", "trainer/config/**/*.yaml", "workers/config/*.py")),
}  # fmt: skip
FLAG = "flag"
_OTHER = "other"
_TEXT = "text"  # a word, which elsewhere may be said to be one of a few
_NUMBERS = ("int", "float")
_KINDS = {"bool": FLAG, "str": _TEXT, "int": "int", "float": "float"}
_IN_WORDS = re.compile(r"[-+]?[0-9.]+[eE][-+]?[0-9]+\Z")  # `1e-6`, which YAML 1.1 reads as a word


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args(arguments)
    found: dict[str, Any] = {}
    for framework, (package, patterns) in SHELF.items():
        places = sorted(given.folder.glob(f"{framework.replace('-', '_')}-[0-9]*/{package}"))
        if not places:
            print(f"read_values: {framework} is not there", file=sys.stderr)
            return 1
        release = places[-1].parent.name.rpartition("-")[2]
        names = _keys(framework)
        read = values(places[-1], patterns)
        read = {name: value for name, value in read.items() if name in names or value not in (*_NUMBERS, _TEXT)}
        left_out = {name: value for name, value in usual(places[-1], patterns).items() if name in names}
        found[framework] = {"release": release, **sorted_values(read), "usual": left_out}
    TABLE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def _keys(framework: str) -> set[str]:
    """The last words of all keys that some release has taken."""
    known = json.loads((TABLE.parent / "keys" / f"{framework}.json").read_text(encoding="utf-8"))
    return {
        name.rpartition(".")[2]
        for one in known["classes"].values()
        if one.get("kind") != "names"
        for name in one["fields"]
    }


def sorted_values(read: dict[str, Any]) -> dict[str, Any]:
    return {
        "flags": sorted(name for name, value in read.items() if value == FLAG),
        "words": {name: value for name, value in sorted(read.items()) if isinstance(value, list)},
        "numbers": {name: value for name, value in sorted(read.items()) if value in _NUMBERS},
        "texts": sorted(name for name, value in read.items() if value == _TEXT),
    }


def values(package: Path, patterns: tuple[str, ...]) -> dict[str, Any]:
    """Name → `flag`, `text`, the kind of its number, or its words, where all declarations agree."""
    files, trees = _read(package, patterns)
    enums = {name: words for tree in trees for name, words in _enums(tree)}
    said: dict[str, list[Any]] = {}
    for tree in trees:
        for name, value in _declared(tree, enums):
            said.setdefault(name, []).append(value)
    for path in files:
        if path.suffix == ".yaml":
            for name, value in _defaults(yaml.safe_load(path.read_text(encoding="utf-8"))):
                said.setdefault(name, []).append(value)
    agreed = {}
    chosen = {name for tree in trees for name, value in _options(tree) if isinstance(value, list)}
    for name, declared in said.items():
        # What a parser takes only some words for is one of them, though the class that keeps it calls it a text.
        several = [one for one in declared if one != _TEXT] if name in chosen else declared
        if all(one == FLAG for one in several):
            agreed[name] = FLAG
        elif all(one in _NUMBERS for one in several):
            agreed[name] = "int" if set(several) == {"int"} else "float"
        elif all(one == _TEXT for one in several):
            agreed[name] = _TEXT
        elif all(isinstance(one, list) for one in several):
            agreed[name] = list(dict.fromkeys(word for one in several for word in one))
    return agreed


def _read(package: Path, patterns: tuple[str, ...]) -> tuple[list[Path], list[ast.Module]]:
    files = sorted({path for pattern in patterns for path in package.glob(pattern)})
    return files, [ast.parse(path.read_text(encoding="utf-8")) for path in files if path.suffix == ".py"]


def usual(package: Path, patterns: tuple[str, ...]) -> dict[str, Any]:
    """Name → its default, where all declarations that have one have the same. Files of settings are examples, whose values are none."""
    said: dict[str, list[Any]] = {}
    for tree in _read(package, patterns)[1]:
        for name, value in _left_out(tree):
            said.setdefault(name, []).append(value)
    return {
        name: several[0]
        for name, several in sorted(said.items())
        if several[0] is not None and all(type(one) is type(several[0]) and one == several[0] for one in several)
    }


def _left_out(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """What each name is where nobody says it; None, and what no literal says, is told as well: it keeps another default from being everybody's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for one in node.body:
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                    yield one.target.id, _plain(_of_field(one.value))
        elif isinstance(node, ast.FunctionDef):
            named = node.args.args
            first = len(named) - len(node.args.defaults)
            yield from ((one.arg, _plain(value)) for one, value in zip(named[first:], node.args.defaults, strict=True))
            yield from (
                (one.arg, _plain(value))
                for one, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                if value is not None
            )
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("add_argument"):
            default = next((one.value for one in node.keywords if one.arg == "default"), None)
            for name, _ in _option(node):
                yield name, _plain(default)


def _of_field(node: ast.expr | None) -> ast.expr | None:
    """`Field(default=1)`, `field(default=1)`, `Field(1, …)`."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("Field", "field"):
        named = next((one.value for one in node.keywords if one.arg == "default"), None)
        return named if named is not None else node.args[0] if node.args else None
    return node


def _plain(node: ast.expr | None) -> Any:
    try:
        value = ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None
    return value if isinstance(value, (bool, int, float, str)) else None


def _enums(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(base) for base in node.bases):
            words = [
                one.value.value
                for one in node.body
                if isinstance(one, ast.Assign)
                and isinstance(one.value, ast.Constant)
                and isinstance(one.value.value, str)
            ]
            if words:
                yield node.name, words


def _declared(tree: ast.Module, enums: dict[str, list[str]]) -> Iterator[tuple[str, Any]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for one in node.body:
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                    yield one.target.id, _meant(one.annotation, enums)
        elif isinstance(node, ast.FunctionDef):
            for one in (*node.args.args, *node.args.kwonlyargs):
                if one.annotation is not None:
                    yield one.arg, _meant(one.annotation, enums)
    yield from _options(tree)


def _options(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("add_argument"):
            yield from _option(node)


def _option(call: ast.Call) -> Iterator[tuple[str, Any]]:
    more = {one.arg: one.value for one in call.keywords}
    value: Any = _OTHER
    if "choices" in more:
        try:
            value = [word for word in ast.literal_eval(more["choices"]) if isinstance(word, str)] or _OTHER
        except ValueError:
            value = _OTHER
    elif ("action" in more and "store_" in ast.unparse(more["action"])) or (
        "type" in more and ast.unparse(more["type"]) == "str_to_bool"
    ):
        value = FLAG
    elif "type" in more and ast.unparse(more["type"]) in _KINDS:
        value = _KINDS[ast.unparse(more["type"])]
    for one in call.args:
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.startswith("--"):
            yield one.value[2:].replace("-", "_").rpartition(".")[2], value


def _meant(node: ast.expr, enums: dict[str, list[str]]) -> Any:
    """`flag`, words, or `other`; that nothing may stand there as well is not asked."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return _OTHER
    if isinstance(node, ast.BinOp):
        parts = [one for one in (node.left, node.right) if ast.unparse(one) != "None"]
        return _of_several([_meant(one, enums) for one in parts])
    if isinstance(node, ast.Subscript):
        head = ast.unparse(node.value).rpartition(".")[2]
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head == "Literal":
            words = [one.value for one in inner if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            return words if words and len(words) == sum(ast.unparse(one) != "None" for one in inner) else _OTHER
        if head in ("Optional", "Annotated"):
            return _meant(inner[0], enums)
        if head == "Union":
            return _of_several([_meant(one, enums) for one in inner if ast.unparse(one) not in ("None", "type(None)")])
        return _OTHER
    name = ast.unparse(node)
    return _KINDS.get(name) or enums.get(name, _OTHER)


def _of_several(kinds: list[Any]) -> Any:
    if kinds and all(one in _NUMBERS for one in kinds):
        return "int" if set(kinds) == {"int"} else "float"
    return kinds[0] if kinds and all(one == kinds[0] for one in kinds) else _OTHER


def _defaults(node: Any) -> Iterator[tuple[str, Any]]:
    """A file of defaults says of a truth value that it is one, and of nothing what it may be besides."""
    if isinstance(node, dict):
        for key, value in node.items():
            if isinstance(value, bool):
                yield str(key), FLAG
            elif isinstance(value, dict):
                yield from _defaults(value)
            elif isinstance(value, (int, float)) or (isinstance(value, str) and _IN_WORDS.match(value)):
                yield str(key), "float"  # of what is a whole number here another may be none
            elif value is not None:
                yield str(key), _OTHER


if __name__ == "__main__":
    raise SystemExit(main())
