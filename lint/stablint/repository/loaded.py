"""The model that a program's modules load, where they load but one: named in a literal, by an option, a setting or a parameter.

Asked only where a file is shown.
"""

from __future__ import annotations

import ast
import re

from stablint.repository.indexed import Called, argument
from stablint.repository.worth import UNKNOWN, Program
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


def model(program: Program) -> str:
    """The name of the only model that is loaded to be trained; empty where that is not known."""
    found: set[object] = set()
    loading = [one for one in program.calls if _loads(one) and program.is_run(one.where)]
    # what other modules load beside the program's own serves it: a metric's, a judge's
    for one in [one for one in loading if program.trees and one.where.tree is program.trees[0]] or loading:
        node = one.node
        asked = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg in _FIRST), None)
        name = program.only(asked, one.where) if asked is not None else UNKNOWN
        if isinstance(asked, ast.Name) and not isinstance(name, str):
            name = _of_the_trained(program, one, asked.id)
        found.add(name)
    name = found.pop() if len(found) == 1 else ""
    return name if isinstance(name, str) else ""


def _of_the_trained(program: Program, load: Called, name: str) -> object:
    """What the function that loads is given where it is last called for what a trainer gets: `model = load(A)`, `model = load(B)`, `Trainer(model)`."""
    within, main = load.where.function, program.trees[0]
    trainers = [
        one
        for one in program.calls
        if one.where.tree is main and (dotted(one.node.func) or [""])[-1].endswith("Trainer")
    ]
    if within is None or len(trainers) != 1:
        return UNKNOWN
    (trainer,) = trainers
    given = next((k.value for k in trainer.node.keywords if k.arg == "model"), next(iter(trainer.node.args), None))
    calls = [
        one
        for one in program.calls
        if one.where.tree is main
        and (dotted(one.node.func) or [""])[-1] == within.name
        and one.node.lineno < trainer.node.lineno
        and isinstance(given, ast.Name)
        and given.id in re.findall(r"\w+", one.target)
    ]
    last = max(calls, key=lambda one: one.node.lineno, default=None)
    handed = argument(last.node, within, name, False) if last is not None else None
    return program.only(handed, trainer.where) if handed is not None else UNKNOWN


def _loads(one: Called) -> bool:
    """Whether a call loads a model that is trained, by its class, by what it is assigned to and by where it stands."""
    words = dotted(one.node.func) or [""]
    of = words[-2] if len(words) > 1 and words[-1] == "from_pretrained" else ""
    around = (one.where.function, one.where.owner)
    return (
        _MODEL.fullmatch(of) is not None
        and _NO_MODEL.search(of) is None
        and _OTHER.search(one.target) is None
        and not any(node is not None and _OTHER.search(node.name) for node in around)
    )
