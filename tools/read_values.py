"""Write knowledge/values.json: what may stand behind a framework's own keys, as its newest release annotates them.

python tools/read_values.py FOLDER      FOLDER holds unpacked wheels: axolotl-0.19.0/axolotl/…

Only what every place agrees on is written: a name that one class declares as a truth value and another as a word is left out. It is what an editor
offers; no finding rests on it.
"""

from __future__ import annotations

import argparse
import ast
import json
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
    "torchtune": ("torchtune", ("models/**/*.py", "datasets/**/*.py", "modules/**/*.py", "rlhf/**/*.py", "training/**/*.py")),
    "verl": ("verl", ("trainer/config/**/*.py", "trainer/config/**/*.yaml", "workers/config/*.py")),
}  # fmt: skip
FLAG = "flag"
_OTHER = "other"
_TEXT = "text"  # a word, which elsewhere may be said to be one of a few


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
        found[framework] = {"release": release, **sorted_values(values(places[-1], patterns))}
    TABLE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def sorted_values(read: dict[str, Any]) -> dict[str, Any]:
    return {
        "flags": sorted(name for name, value in read.items() if value == FLAG),
        "words": {name: value for name, value in sorted(read.items()) if isinstance(value, list)},
    }


def values(package: Path, patterns: tuple[str, ...]) -> dict[str, Any]:
    """Name → `flag` or its words, where all declarations agree."""
    files = sorted({path for pattern in patterns for path in package.glob(pattern)})
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files if path.suffix == ".py"]
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
        elif all(isinstance(one, list) for one in several):
            agreed[name] = list(dict.fromkeys(word for one in several for word in one))
    return agreed


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
    return FLAG if name == "bool" else _TEXT if name == "str" else enums.get(name, _OTHER)


def _of_several(kinds: list[Any]) -> Any:
    return kinds[0] if kinds and all(one == kinds[0] for one in kinds) else _OTHER


def _defaults(node: Any) -> Iterator[tuple[str, Any]]:
    """A file of defaults says of a truth value that it is one, and of nothing what it may be besides."""
    if isinstance(node, dict):
        for key, value in node.items():
            if isinstance(value, bool):
                yield str(key), FLAG
            elif isinstance(value, dict):
                yield from _defaults(value)
            elif value is not None:
                yield str(key), _OTHER


if __name__ == "__main__":
    raise SystemExit(main())
