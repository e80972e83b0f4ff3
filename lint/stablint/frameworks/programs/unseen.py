"""What a program's own text cannot show: code of other modules, its own among them, that makes one of its objects or is handed one.

That something is not done is a fact only of a text in which all is done: whoever is given the model may tell it its padding token.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Iterable, Iterator

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs.adapted import foreign, given
from stablint.frameworks.programs.runs import reached
from stablint.frameworks.programs.seen import seen_in
from stablint.syntax.python.library import LIBRARIES
from stablint.syntax.tree import Call, Document, Module, Node, Scalar, Sequence, Unknown

# Libraries of which it is known what they make of a model that they are handed, or that make nothing of it.
_KNOWN = sys.stdlib_module_names | {
    "peft", "unsloth", "optimum", "modelscope", "numpy", "pandas", "sklearn", "scipy", "evaluate", "matplotlib", "tensorboard", "tensorboardX",
    "huggingface_hub", "safetensors", "tokenizers", "torchvision", "PIL", "yaml", "rich", "loguru", "fire", "click", "typer", "omegaconf", "hydra",
    "mlflow", "swanlab", "comet_ml", "neptune", "nltk", "jieba", "requests", "psutil", "IPython", "google", "kaggle_secrets",
}  # fmt: skip
KNOWN = _KNOWN | LIBRARIES | {
    "accelerate", "datasets", "deepspeed", "sentence_transformers", "wandb", "tqdm", "einops", "sentencepiece", "dotenv", "pydantic", "jsonlines",
    "liger_kernel", "lightning", "pytorch_lightning", "torchmetrics", "seaborn", "absl", "ray", "colorama", "tabulate", "rouge_score", "sacrebleu",
}  # fmt: skip
"""Packages that register no class of a model with transformers."""
# What is called like an object that a training is made of: a parameter, an attribute, a name that is assigned twice.
_TRAINED = r"model(?:\.(?:config|generation_config|model|base_model))?|trainer|accelerator|engine"


def unseen(
    document: Document, module: Module, objects: Iterable[Node | None], *holders: Call, called: str = _TRAINED
) -> Unknown | None:
    """Why nobody can say what these went through; None where the text shows all of it. `holders`: calls that make what holds them.
    `called`: how a name ends that may mean one of them."""
    several = list(_each(objects))
    for one in several:
        if isinstance(one, Scalar) and isinstance(one.value, Unknown):
            return Unknown(one.value.reason)
    takers = _takers(document, module)
    made = reached(several) | {call.start for call in holders}
    first = min((takers.by_start[start] for start in made if start in takers.by_start), default=None)
    named = takers.named(called, document.text.text)
    if named is not None and (first is None or named < first):
        first = named
    if first is None:
        return None
    return Unknown(f"`{last_word(takers.calls[first].name)}` stands in another file, and may do it")


class _Takers:
    """The calls of what is not at hand, by what they make and are given: a program may have many trainers, of each of which it is asked."""

    def __init__(self, calls: tuple[Call, ...]) -> None:
        self.calls = calls
        self.by_start: dict[int, int] = {}  # where a call starts: the first of ours that it is, or that is given it
        self._unknown: list[tuple[int, Node]] = []
        self._named: dict[str, int | None] = {}
        for number, call in enumerate(calls):
            self.by_start.setdefault(call.start, number)
            for node in given(call):
                if isinstance(node, Call):
                    self.by_start.setdefault(node.start, number)
                elif isinstance(node, Scalar) and isinstance(node.value, Unknown):
                    self._unknown.append((number, node))

    def named(self, called: str, text: str) -> int | None:
        """The first that is given something whose name ends so and of which no more is known."""
        if called not in self._named:
            name = re.compile(rf"(?:\w{{1,80}}\.){{0,8}}\w{{0,80}}(?:{called})")
            found = (number for number, node in self._unknown if name.fullmatch(text, node.start, node.end))
            self._named[called] = next(found, None)
        return self._named[called]


def _takers(document: Document, module: Module) -> _Takers:
    found: _Takers | None = module.notes.get(_takers)
    if found is None:
        found = module.notes[_takers] = _Takers(elsewhere(document, module))
    return found


def elsewhere(document: Document, module: Module) -> tuple[Call, ...]:
    """The calls of what the file imports of no library that is known; of methods of such a class too."""
    found: tuple[Call, ...] | None = module.notes.get(elsewhere)
    if found is None:
        found = module.notes[elsewhere] = tuple(_elsewhere(document, module))
    return found


def _elsewhere(document: Document, module: Module) -> Iterator[Call]:
    text = document.text.text
    for call in module.calls:
        root = call
        while isinstance(root.receiver, Call):
            root = root.receiver
        if call.parsed or not foreign(root):
            continue
        head = root.name.partition(".")[0]
        if head not in _KNOWN and (root.name != text[root.name_start : root.name_end] or _is_imported(document, root)):
            yield call


def _is_imported(document: Document, call: Call) -> bool:
    """Of a name that stands as it is called: it may be a variable's (`rows.map`), or one that comes by a star."""
    head, dot, _ = call.name.partition(".")
    if dot:
        return seen_in(rf"^[ \t]*import[ \t][^\n]*\b{re.escape(head)}\b", document, re.MULTILINE) is not None
    return (
        not hasattr(builtins, head)
        and seen_in(r"^[ \t]*from[ \t][^\n]*\bimport[ \t]*\*", document, re.MULTILINE) is not None
    )


def _each(objects: Iterable[Node | None]) -> Iterator[Node]:
    for one in objects:
        if isinstance(one, Sequence):
            yield from one.items
        elif one is not None:
            yield one


def unless(hidden: Unknown | None, value: object) -> object:
    """The value, where the text shows all that it rests on."""
    return value if hidden is None else hidden
