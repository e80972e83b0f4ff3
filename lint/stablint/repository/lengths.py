"""How long a program's rows are, by the call of its tokenizer, by the names of its options, or by what its trainer is handed.

Asked only where a file is shown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from collections.abc import Mapping as Table

from stablint.base.light import NamedTuple
from stablint.frameworks.fragment import plain_value
from stablint.syntax.python.guard import too_deep
from stablint.syntax.python.parse import parse
from stablint.syntax.python.places import Places
from stablint.syntax.python.scope import dotted
from stablint.syntax.tree import Document, Entry

# Blocks of joined rows: `[t[i : i + args.window_size] for i in range(0, total, args.window_size)]`.
_DIVIDES = re.compile(r"range\(\s*0\s*,\s*\w+\s*,\s*(?:\w{1,40}\.){0,6}(\w{1,60})\s*\)")
_SURE = (
    "max_source_length",
    "max_len",
    "max_input_length",
    "max_seq_len",
    "max_seq_length",
    "cutoff_len",
    "model_max_length",
    "block_size",
)
_CUTS = re.compile(r"tokeni[sz]er|tokeni[sz]e\Z|\btok\b|processor|encode_plus\Z", re.IGNORECASE)
_OF_A_TEST = re.compile(r"eval|valid|test|infer|generat|predict|sampl", re.IGNORECASE)


class Given(NamedTuple):
    """What a command or a file says under a name, or a program declares."""

    document: Document
    entry: Entry


def length(
    text: str, document: Document, given: Table[str, Given], options: Table[str, Given]
) -> tuple[Document, Entry | None, int, int] | None:
    """The only length to which the program's tokenizer cuts: where it is said, and what it is."""
    tree = parse(text) if text and too_deep(text) < 0 else None
    if not isinstance(tree, ast.Module):
        return None
    constants = _constants(tree)
    values: dict[int, tuple[Document, Entry | None, int]] = {}
    for value in _cut_at(tree):
        number: object = value.value if isinstance(value, ast.Constant) else None
        place: tuple[Document, Entry | None] = (document, None)
        name: str = (
            value.id if isinstance(value, ast.Name) else value.attr if isinstance(value, ast.Attribute) else _key(value)
        )
        if number is None and isinstance(value, ast.Name):
            number = constants.get(name)
        if number is None and name in given:
            place = given[name]
        elif number is None and name in options:
            place = options[name]
        if number is None and place[1] is not None:
            number = plain_value(place[1].value)
        if not isinstance(number, int) or isinstance(number, bool) or number <= 1:
            return None
        values.setdefault(number, (*place, 0 if place[1] or document.view else Places(text).start(value)))
    if not values:
        return _named(text, given, options)
    if len(values) != 1:
        return None
    ((number, (where, entry, at)),) = values.items()
    return where, entry, number, at


def _named(
    text: str, given: Table[str, Given], options: Table[str, Given]
) -> tuple[Document, Entry | None, int, int] | None:
    """The length by the name of the option: one by which joined rows are divided, or one that can be nothing else."""
    divides = _DIVIDES.search(text)
    for name in (*([divides[1]] if divides is not None else []), *_SURE, "max_length"):
        found = given[name] if name in given else options.get(name) if name != "max_length" else None
        number = plain_value(found[1].value) if found is not None else None
        if found is not None and isinstance(number, int) and number > 1:
            return *found, number, 0
    return None


def of_trainer(text: str) -> int | None:
    """The length that a trainer is handed itself, and that its arguments do not have: Unsloth's patch takes it."""
    tree = parse(text) if "PatchDPOTrainer" in text and too_deep(text) < 0 else None
    found = {
        one.value.value
        for node in (ast.walk(tree) if isinstance(tree, ast.Module) else ())
        if isinstance(node, ast.Call) and (dotted(node.func) or [""])[-1].endswith("Trainer")
        for one in node.keywords
        if one.arg == "max_length" and isinstance(one.value, ast.Constant) and isinstance(one.value.value, int)
    }
    return found.pop() if len(found) == 1 else None


def _cut_at(tree: ast.Module) -> Iterator[ast.expr]:
    """What stands behind `max_length` where a tokenizer is called that cuts, but for what generates or measures."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _OF_A_TEST.search(node.name):
            continue
        pending += ast.iter_child_nodes(node)
        if isinstance(node, ast.Call) and _CUTS.search(".".join(dotted(node.func) or [])):
            said = {one.arg: one.value for one in node.keywords}
            cuts = said.get("truncation")
            if "max_length" in said and cuts is not None and not (isinstance(cuts, ast.Constant) and not cuts.value):
                yield said["max_length"]


def _key(value: ast.expr) -> str:
    """`config["max_length"]`, `config["data"]["max_length"]`, `config.get("max_length", 512)`"""
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        return str(value.slice.value)
    if (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "get"
        and value.args
    ):
        return str(value.args[0].value) if isinstance(value.args[0], ast.Constant) else ""
    return ""


def _constants(tree: ast.Module) -> dict[str, object]:
    """Names that are given one number and nothing else."""
    found: dict[str, list[object]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(
                        node.value.value if isinstance(node.value, ast.Constant) else None
                    )
        elif isinstance(node, ast.arg):
            found.setdefault(node.arg, []).append(None)
    return {name: values[0] for name, values in found.items() if len(values) == 1 and values[0] is not None}
