"""What a program makes of the weights when they are loaded already: `.half()`, `model.to(torch.bfloat16)`."""

from __future__ import annotations

from collections.abc import Iterator

from stablint.frameworks.codec import read_dtype
from stablint.frameworks.fragment import last_word
from stablint.run.fact import Explicit, Place, Statement
from stablint.syntax.tree import Call, Document, Entry, Module, Node, Scalar, Unknown

_CASTS = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}
_WORDS = frozenset({*_CASTS, "to"})
_MOST = 20  # calls between a model and what it is made of; a longer chain casts nothing that is known
# What gives the model that it is given, or the same weights with more around them.
_PASSES_ON = ("get_peft_model", "prepare_model_for_kbit_training", "prepare_model_for_int8_training")


def of(module: Module) -> dict[int, list[Call]]:
    """The calls of a program that may cast a model, by where every call begins through which what they cast may have gone."""
    found: dict[int, list[Call]] = {}
    for call in module.calls:
        if isinstance(call.receiver, Call) and last_word(call.name) in _WORDS:
            for start in _through(call):
                found.setdefault(start, []).append(call)
    return found


def afterwards(document: Document, casts: dict[int, list[Call]], loader: Call, until: int) -> Statement | None:
    """`model.dtype` by the last of the casts of this loader's model that stands before `until`; None for none. What is cast in some cases
    only, or to a dtype that is not known, is not known."""
    found: Statement | None = None
    for call in casts.get(loader.start, ()):
        word = last_word(call.name)
        if call.start >= until:
            continue
        value = _CASTS[word] if word != "to" else _asked(document, call)
        if value is None:
            continue
        known: object = Unknown(f"`{word}` is called in some cases only") if call.conditional else value
        node = Scalar(known, call.name_start, call.name_end, "name", False)
        entry = Entry(word, call.name_start, call.name_end, node)
        place = Place(document, word, call.name_start, call.name_end, entry, (word,))
        found = Statement("model.dtype", known, known, Explicit(place, "call", 0))
    return found


def _through(call: Call) -> dict[int, None]:
    """Where the calls begin that made what it is a method of."""
    starts: dict[int, None] = {}
    node: Node | None = call.receiver
    for _ in range(_MOST):
        if not isinstance(node, Call):
            break
        starts[node.start] = None
        node = next(iter(node.positional), None) if last_word(node.name) in _PASSES_ON else node.receiver
    return starts


def _asked(document: Document, call: Call) -> str | Unknown | None:
    """The dtype that `.to(…)` is given; None where it is given a device alone."""
    for node in _given(call):
        if not isinstance(node, Scalar):
            continue
        if isinstance(node.value, Unknown):
            if "dtype" in document.text.text[node.start : node.end]:
                return node.value
            continue
        dtype: str = read_dtype(node.value)
        if dtype in _CASTS.values():
            return dtype
    return None


def _given(call: Call) -> Iterator[Node]:
    yield from call.positional
    yield from (entry.value for entry in call.arguments.entries if entry.key == "dtype")
