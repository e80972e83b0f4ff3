"""The model that a program's modules load, where they load but one: named in a literal, by an option, a setting or a parameter.

Asked only where a file is shown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from collections.abc import Mapping as Table

from stablint.base.light import NamedTuple
from stablint.frameworks.fragment import plain_value
from stablint.repository.given import Given
from stablint.repository.objects import missing, taken
from stablint.syntax.python.guard import too_deep
from stablint.syntax.python.parse import parse
from stablint.syntax.python.scope import dotted

_MODEL = re.compile(
    r"AutoModel\w{0,60}|\w{1,60}?For(?:CausalLM|ConditionalGeneration|\w{0,20}Classification|Seq2SeqLM|MaskedLM|QuestionAnswering)\w{0,20}"
    r"|\w{0,60}LMHeadModel|Fast\w{0,60}Model|\w{1,60}Model"
)
_NO_MODEL = re.compile(r"Peft|SentenceTransformer|Processor|ValueHead|Reward")
_OTHER = re.compile(
    r"(?:\b|_)(?:ref|reference|teacher|old|initial|frozen|reward|rm|critic|judge|merge\w*|eval\w*|test\w*|infer\w*|predict\w*|generat\w*"
    r"|embed\w*|export\w*|draft|assistant|encoder|vision|clip)(?:\b|_)",
    re.IGNORECASE,
)
_FIRST = ("pretrained_model_name_or_path", "model_name", "model_name_or_path", "model_id", "pretrained_model_name")
_FAR = 3  # callers of callers
_MOST = 400_000  # characters


class _Where(NamedTuple):
    tree: ast.Module
    function: ast.FunctionDef | None


def model(texts: list[str], given: Table[str, Given], options: Table[str, Given], settings: Table[str, object]) -> str:
    """The name of the only model that is loaded to be trained; empty where that is not known."""
    speaking = [one for one in texts if ".from_pretrained(" in one]
    if not speaking or sum(map(len, texts)) > _MOST:
        return ""
    trees = [tree for one in texts if too_deep(one) < 0 and isinstance(tree := parse(one), ast.Module)]
    found: set[str] = set()
    for tree in trees:
        for node, where in _loads(tree):
            asked = node.args[0] if node.args else next((one.value for one in node.keywords if one.arg in _FIRST), None)
            said = set(_values(asked, where, trees, given, options, dict(settings), _FAR)) if asked else {""}
            found |= said or {""}
    return found.pop() if len(found) == 1 else ""


def _loads(tree: ast.Module) -> Iterator[tuple[ast.Call, _Where]]:
    """The calls that load a model, each with the function that it stands in."""
    for node, function, target in _all_calls(tree, _OTHER):
        words = dotted(node.func) or [""]
        of = words[-2] if len(words) > 1 and words[-1] == "from_pretrained" else ""
        if _MODEL.fullmatch(of) and not _NO_MODEL.search(of) and not _OTHER.search(target):
            yield node, _Where(tree, function)


def _all_calls(
    tree: ast.Module, but_in: re.Pattern[str] | None = None
) -> Iterator[tuple[ast.Call, ast.FunctionDef | None, str]]:
    """The calls of a module, each with the function that it stands in and what it is assigned to; but for functions and classes of such a name."""
    pending: list[tuple[ast.AST, ast.FunctionDef | None, str]] = [(tree, None, "")]
    while pending:
        node, function, target = pending.pop()
        if but_in is not None and isinstance(node, (ast.FunctionDef, ast.ClassDef)) and but_in.search(node.name):
            continue
        function = node if isinstance(node, ast.FunctionDef) else function
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = ast.unparse(node.targets[0])
        if isinstance(node, ast.Call):
            yield node, function, target
        pending += [(one, function, target) for one in ast.iter_child_nodes(node)]


def _values(
    node: ast.expr,
    where: _Where,
    trees: list[ast.Module],
    given: Table[str, Given],
    options: Table[str, Given],
    settings: dict[str, object],
    far: int,
) -> Iterator[str]:
    """What the expression comes to; empty where that is not known."""
    if isinstance(node, ast.Constant):
        yield node.value if isinstance(node.value, str) else ""
        return
    spelled = ast.unparse(node)
    if settings and not missing(said := taken(spelled, settings)):
        yield said if isinstance(said, str) else ""
        return
    if isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)):
        name = node.attr if isinstance(node, ast.Attribute) else str(node.slice.value)  # type: ignore[attr-defined]
        option = given.get(name) or options.get(name)
        value = plain_value(option.entry.value) if option is not None else None
        yield value if isinstance(value, str) else ""
        return
    if not isinstance(node, ast.Name):
        yield ""
        return
    function = where.function
    names = [one.arg for one in function.args.args] if function is not None else []
    if function is not None and node.id in names and far:
        at = names.index(node.id) - (names[0] == "self")
        calls = list(_calls(function.name, trees))
        for call, place in calls:
            handed = call.args[at] if 0 <= at < len(call.args) else None
            handed = next((one.value for one in call.keywords if one.arg == node.id), handed)
            if handed is None:
                yield ""
            else:
                yield from _values(handed, place, trees, given, options, settings, far - 1)
        if not calls:
            yield ""
        return
    within: ast.AST = function if function is not None else where.tree
    made = [one for one in ast.walk(within) if _gives(one, node.id)] or [
        one for one in where.tree.body if _gives(one, node.id)
    ]
    if len(made) == 1 and isinstance(made[0], ast.Assign) and far:
        yield from _values(made[0].value, where, trees, given, options, settings, far - 1)
    else:
        yield ""


def _gives(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets)


def _calls(name: str, trees: list[ast.Module]) -> Iterator[tuple[ast.Call, _Where]]:
    for tree in trees:
        for node, function, _ in _all_calls(tree):
            if (dotted(node.func) or [""])[-1] == name:
                yield node, _Where(tree, function)
