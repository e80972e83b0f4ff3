"""How long a program's rows are, by the call of its tokenizer, by the names of its options, or by what its trainer is handed.

Asked only where a file is shown.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from collections.abc import Mapping as Table

from stablint.frameworks.fragment import plain_value
from stablint.repository.given import Given
from stablint.repository.indexed import at
from stablint.repository.worth import Program
from stablint.syntax.python.parse import tree_of
from stablint.syntax.python.places import Places
from stablint.syntax.python.scope import dotted
from stablint.syntax.tree import Document, Entry

# Blocks of joined rows: `[t[i : i + args.window_size] for i in range(0, total, args.window_size)]`.
_DIVIDES = re.compile(r"range\(\s*0\s*,\s*\w+\s*,\s*(?:\w{1,40}\.){0,6}(\w{1,60})\s*\)")
_SURE = (
    "max_source_length", "max_len", "max_input_length", "max_seq_len", "max_seq_length", "cutoff_len", "model_max_length", "block_size",
    "ctx_len", "context_length", "sequence_length", "seq_length",
)  # fmt: skip
_CUTS = re.compile(r"tokeni[sz]er|tokeni[sz]e\Z|\btok\b|processor|encode_plus\Z", re.IGNORECASE)
_OF_A_TEST = re.compile(r"eval|valid|test|infer|generat|predict|sampl", re.IGNORECASE)


def length(
    program: Program, document: Document, text: str, given: Table[str, Given], options: Table[str, Given]
) -> tuple[Document, Entry | None, int, int] | None:
    """The only length to which the program's tokenizer cuts, or the program its rows: where it is said, and what it is."""
    if not program.trees:
        return None
    first, *others = program.trees
    found = list(_cut_at(first)) or list(_sliced_at(first)) or list(_handed_at(first))
    within = first
    if not found and (named := _named(text, given, options)) is not None:
        return named
    for other in others if not found else ():  # what makes the rows may stand in a module of its own
        said = list(_cut_at(other)) or list(_sliced_at(other))
        if found := [one for one in said if program.is_run(at(other, one.lineno))]:
            within = other
            break
    values: dict[int, tuple[Document, Entry | None, int]] = {}
    for value in found:
        if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
            value = value.left if isinstance(value.right, ast.Constant) else value  # room for the ends
        name = (
            value.id if isinstance(value, ast.Name) else value.attr if isinstance(value, ast.Attribute) else _key(value)
        )
        place = given.get(name) or options.get(name)
        number = program.only(value, at(within, value.lineno))
        if not isinstance(number, int) and place is not None:
            number = plain_value(place.entry.value)
            number = number if isinstance(number, int) else _declared_as(name, text)
        if not isinstance(number, int) or isinstance(number, bool) or number <= 1:
            return None
        where: tuple[Document, Entry | None] = place if place is not None else (document, None)
        here = within is first and not place and not document.view
        values.setdefault(number, (*where, Places(text).start(value) if here else 0))
    if len(values) != 1:
        return None
    ((number, (at_last, entry, start)),) = values.items()
    return at_last, entry, number, start


def _declared_as(name: str, text: str) -> int | None:
    """The default that a class of settings declares for the option."""
    said = re.search(
        rf"^[ \t]+{re.escape(name)}[ \t]*:[^=\n]{{1,40}}=\s*(?:field\(\s*default\s*=\s*)?(\d{{1,9}}(?:[ ]?\*[ ]?\d{{1,9}})?)(?=[ \t]*(?:[,)#\n]|\Z))",
        text,
        re.MULTILINE,
    )
    return math.prod(map(int, said[1].split("*"))) if said is not None else None


def _named(
    text: str, given: Table[str, Given], options: Table[str, Given]
) -> tuple[Document, Entry | None, int, int] | None:
    """The length by the name of the option: one by which joined rows are divided, or one that can be nothing else."""
    divides = _DIVIDES.search(text)
    for name in (*([divides[1]] if divides is not None else []), *_SURE, "max_length"):
        found = given[name] if name in given else options.get(name) if name != "max_length" else None
        number = plain_value(found[1].value) if found is not None else None
        number = number if isinstance(number, int) or found is None else _declared_as(name, text)
        if found is not None and isinstance(number, int) and number > 1:
            return *found, number, 0
    return None


def of_trainer(text: str) -> int | None:
    """The length that a trainer is handed itself, and that its arguments do not have: Unsloth's patch takes it."""
    tree = tree_of(text) if "PatchDPOTrainer" in text else None
    found = {
        one.value.value
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.Call) and (dotted(node.func) or [""])[-1].endswith("Trainer")
        for one in node.keywords
        if one.arg == "max_length" and isinstance(one.value, ast.Constant) and isinstance(one.value.value, int)
    }
    return found.pop() if len(found) == 1 else None


def _outside_of_tests(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes but those of functions that generate or measure."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _OF_A_TEST.search(node.name):
            continue
        pending += ast.iter_child_nodes(node)
        yield node


def _cut_at(tree: ast.Module) -> Iterator[ast.expr]:
    """What stands behind `max_length` where a tokenizer is called that cuts, but for what generates or measures."""
    for node in _outside_of_tests(tree):
        if isinstance(node, ast.Call) and _CUTS.search(".".join(dotted(node.func) or [])):
            said = {one.arg: one.value for one in node.keywords}
            cuts = said.get("truncation")
            if "max_length" in said and cuts is not None and not (isinstance(cuts, ast.Constant) and not cuts.value):
                yield said["max_length"]


_ROWS = re.compile(r"(?:\A|_)(?:input_ids|ids|labels|tokens|tok|text)\Z", re.IGNORECASE)
_A_LENGTH = re.compile(r"len|max|block|ctx|cut", re.IGNORECASE)


def _sliced_at(tree: ast.Module) -> Iterator[ast.expr]:
    """Where the program cuts its rows itself: `input_ids[:MAX_LENGTH]`, `(prompt_ids + answer_ids)[:max_len]`, `ids[-max_len:]`."""
    for node in _outside_of_tests(tree):
        if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
            continue
        lower, upper = node.slice.lower, node.slice.upper
        if upper is None and isinstance(lower, ast.UnaryOp) and isinstance(lower.op, ast.USub):
            upper, lower = lower.operand, None
        first = upper.left if isinstance(upper, ast.BinOp) else upper
        words = dotted(first) if isinstance(first, (ast.Name, ast.Attribute)) else None
        if lower is None and upper is not None and words and _A_LENGTH.search(words[-1]) and _are_rows(node.value):
            yield upper


_MAKES_ROWS = re.compile(
    r"dataset|collat|tokeni[sz]|preprocess|prepare|encode|data_?module|data_?loader|build_rows|make_rows", re.IGNORECASE
)
_OF_ROWS = re.compile(r"(?:\w+_)?(?:max_(?:seq(?:uence)?_)?len(?:gth)?|cutoff_len|block_size|seq_len(?:gth)?)")
_OF_A_PART = re.compile(
    r"prompt|query|question|target|output|answer|summary|gen|new|completion|source|label", re.IGNORECASE
)


def _handed_at(tree: ast.Module) -> Iterator[ast.expr]:
    """The length that a class or function gets which makes the rows: `Rows(tokenizer, max_length=args.max_length)`."""
    for node in _outside_of_tests(tree):
        if isinstance(node, ast.Call) and _MAKES_ROWS.search((dotted(node.func) or [""])[-1]):
            for one in node.keywords:
                if one.arg and _OF_ROWS.fullmatch(one.arg) and not _OF_A_PART.search(one.arg):
                    yield one.value


def _are_rows(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _are_rows(node.left) or _are_rows(node.right)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return isinstance(node.slice.value, str) and _ROWS.search(node.slice.value) is not None
    return _ROWS.search((dotted(node) or [""])[-1]) is not None


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
