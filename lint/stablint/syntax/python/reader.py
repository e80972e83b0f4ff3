"""Python modules → their calls with arguments, and their constants. The source is parsed, never executed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stablint.base.light import Pattern
from stablint.syntax.python import functions, guard, parse, settable, suites
from stablint.syntax.python import names as python_names
from stablint.syntax.python import places as python_places
from stablint.syntax.python import values as python_values
from stablint.syntax.python import written as written_python
from stablint.syntax.tree import (
    Call,
    Document,
    Entry,
    Mapping,
    Module,
    Node,
    Notes,
    Piece,
    Problem,
    Scalar,
    Sequence,
    Text,
    Unknown,
    View,
)

if TYPE_CHECKING:
    from stablint.syntax.python.places import Places
    from stablint.syntax.python.scope import FoundCall

LARGEST = 1_000_000
"""Characters of the longest module that is read: `ast` takes some hundred times as much memory."""


def documents(text: Text, cells: bool = False) -> tuple[Document, ...]:
    """The module, and the configurations that it writes as files. `cells`: it is put together of cells, each of which is run by hand."""
    found: list[tuple[str, Mapping]] = []
    first = document(text, found, cells)
    whole = (Piece(0, len(text.text), 0, len(text.text)),)
    views = [
        Document(text, "python", at, root, (), View(text.text, whole, "python", name))
        for at, (name, root) in enumerate(found, 1)
    ]
    return (first, *views)


def document(text: Text, written: list[tuple[str, Mapping]] | None = None, cells: bool = False) -> Document:
    """A Python module. What this Python cannot parse, because it is none or of a newer Python, is `unparsed-python`, without a tree."""
    source = text.text
    if len(source) > LARGEST:
        problem = Problem("too-large", f"longer than {LARGEST // 1_000_000} million characters", 0, 0)
        return Document(text, "python", 0, None, (problem,))
    problems: list[Problem] = []
    found = module(source, written, problems, cells)
    if isinstance(found, Problem):
        return Document(text, "python", 0, None, () if parse.is_template(source) else (found,))
    return Document(text, "python", 0, found, tuple(sorted(problems, key=lambda problem: problem.start)))


def is_plain(source: str) -> bool:
    """Whether it is Python that `document` reads without any problem of its own, and that writes no file that would be read as well. Asked
    before a tree is made of it: the compiler knows what the parser refuses, and arguments that are repeated."""
    return len(source) <= LARGEST and "dump" not in source and guard.too_deep(source) < 0 and parse.compiles(source)


def module(
    source: str,
    written: list[tuple[str, Mapping]] | None = None,
    problems: list[Problem] | None = None,
    cells: bool = False,
) -> Module | Problem:
    """The calls and constants of a source, or why there are none. What it writes into files is added to `written`, what is left out to `problems`."""
    at = guard.too_deep(source)
    if at >= 0:
        return Problem("unparsed-python", f"nested deeper than {guard.DEEPEST} levels", at, at + 1)
    # `ast` and what needs it are loaded for Python files only.
    tree = parse.parse(source)
    if isinstance(tree, Problem):
        return tree
    names = python_names.Names(tree, cells)
    places = python_places.Places(source)
    for found in names.calls:
        again = parse.repeated(found.node)
        if again is not None:
            start = places.start(again)
            return Problem("syntax-error", f"keyword argument repeated: {again.arg}"[:200], start, start + 1)
    values = python_values.Values(source, places, names)
    calls = [
        call
        for found in names.calls
        if (_may_tell(found) or _counts_epochs(found, places, source)) and (call := values.call(found)) is not None
    ]
    calls += values.filled()
    calls += settable.settable(values.caller)
    environment = values.environment()
    told = (environment, values.tokenizer(), values.imports(), values.frozen(), values.rebuilt())
    calls += [call for call in told if call is not None]
    calls.sort(key=lambda call: (call.name_start, call.end))
    entries = []
    for name, bindings in names.module.bindings.items():
        binding = bindings[0]
        if len(bindings) == 1 and binding.kind == "value" and binding.value is not None and not binding.conditional:
            node = values.value(binding.value, names.module)
            if _is_constant(node) and not (
                isinstance(node, (Sequence, Mapping)) and (name in names.mutated or name in names.items)
            ):
                entries.append(Entry(name, values.places.start(binding.node), values.places.end(binding.node), node))
    if written is not None and "dump" in source:
        written += written_python.written(tree, names, values)
    if problems is not None:
        problems += (*values.spent.problems.values(), *_commas(calls, source))
    return Module(
        tuple(calls), Mapping(tuple(entries), 0, len(source)), Notes(), suites.holds_tests(tree),
        functions.functions(names, values.places, source), functions.alone(names, values.places, source), settable.classes(values),
    )  # fmt: skip


_LISTS = ("target_modules", "modules_to_save", "exclude_modules", "feedforward_modules", "lora_target_modules")


def _commas(calls: list[Call], source: str) -> list[Problem]:
    """Lists of a model's modules in which two names stand without a comma between them."""
    found: dict[int, Problem] = {}
    for call in calls:
        for key in _LISTS:
            listed = call.arguments.get(key)
            for item in listed.items if isinstance(listed, Sequence) else ():
                value = item.value if isinstance(item, Scalar) else None
                if isinstance(value, Unknown) and value.reason == python_values.RUNS_TOGETHER:
                    words = f"a comma is missing: `{' '.join(source[item.start : item.end].split())}` is one text to Python, the name of no module"
                    found[item.start] = Problem("python-missing-comma", words[:200], item.start, item.end)
    return list(found.values())


# More than half of all calls; no library that trains has any of them. Options of parsers are read where they are used.
_SILENT = frozenset(
    [
        "print", "len", "range", "isinstance", "hasattr", "super", "sum", "min", "max", "any", "all", "zip", "enumerate", "sorted", "append", "extend",
        "join", "format", "strip", "rstrip", "lstrip", "split", "startswith", "endswith", "lower", "upper", "items", "keys", "values",
        "info", "warning", "warning_rank_0", "debug", "error", "add_argument", "field", "open", "write", "read", "index", "size", "view", "item",
        "detach", "cpu", "numpy", "tolist", "unsqueeze", "squeeze", "reshape", "mean", "exists", "makedirs", "sub", "match", "search",
    ]
)  # fmt: skip


def _may_tell(found: FoundCall) -> bool:
    function = found.node.func
    word = getattr(function, "attr", None) or getattr(function, "id", "")
    return word not in _SILENT


_EPOCH_LOOP = Pattern(r"\bfor[ \t]+\w{0,40}epoch\w{0,40}[ \t]+in[ \t]+(?:[\w.]{1,40}\()?\Z", re.IGNORECASE)


_STEP_LOOP = Pattern(
    r"\bfor[ \t]+(?:\w{1,20}_)?(?:steps?|iter|iteration|iter_num|it)[ \t]+in[ \t]+(?:[\w.]{1,40}\()?\Z"
)
_OF_STEPS = Pattern(
    r"(?<![A-Za-z])(?:max|num|total|train|n)_(?:train_|training_)?(?:steps|iters|iterations|updates)\b", re.IGNORECASE
)


def _counts_epochs(found: FoundCall, places: Places, source: str) -> bool:
    """`for epoch in range(3)`: of all ranges the one that says how often a loop goes over its rows; else `for step in range(max_steps)`."""
    if getattr(found.node.func, "id", "") != "range":
        return False
    start = places.start(found.node)
    if _EPOCH_LOOP.search(source, max(0, start - 160), start) is not None:
        return True
    steps = _STEP_LOOP.search(source, max(0, start - 160), start) is not None
    return steps and _OF_STEPS.search(source, start, places.end(found.node)) is not None and ".backward(" in source


def _is_constant(node: Node) -> bool:
    if isinstance(node, Scalar):
        return not isinstance(node.value, Unknown)
    return isinstance(node, (Sequence, Mapping))
