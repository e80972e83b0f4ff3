"""Functions of the program's own modules that make the model, its adapter or how it is quantised: `from utils import get_model`.

What such a function makes is read where it stands. Its parameters stay unknown, and all of it is presumed: which of its branches is taken,
and what is done with the result, is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stablint.frameworks.fragment import Fragment, Link, last_word
from stablint.frameworks.programs import kinds as python_kinds
from stablint.run.fact import Place
from stablint.syntax.tree import Call, Document, Module

_MAKES = re.compile(
    r"bnb|bits_?and_?bytes|quant|lora|peft|adapter|(?:load|get|build|create|init|make|setup|prepare)\w{0,60}_models?(?!_?(?:name|path|id|dir))",
    re.IGNORECASE,
)
_KINDS = ("loader", "quantiser", "adapter", "unsloth-adapter", "kbit")
_LIBRARIES = frozenset(
    ["transformers", "trl", "peft", "accelerate", "torch", "datasets", "unsloth", "bitsandbytes", "deepspeed", "optimum", "sentence_transformers",
     "auto_gptq", "timm", "diffusers", "openai", "litellm", "huggingface_hub", "xtuner", "swift", "llamafactory"]
)  # fmt: skip


def links(document: Document, module: Module) -> tuple[Link, ...]:
    """One a function; none where the file makes its model, adapter and quantisation itself."""
    kinds = python_kinds.kinds(module)
    here = {kind for _, kind in kinds}
    if {"quantiser", "adapter"} <= here or not here & {
        "arguments",
        "trainer",
        "loader",
        "adapter",
        "optimizer",
        "program",
    }:
        return ()
    found: dict[str, Link] = {}
    for call, kind in kinds:
        module_name, _, function = call.name.rpartition(".")
        if not module_name or call.local or call.receiver is not None or kind or not _MAKES.search(function):
            continue
        path = module_name.lstrip(".")
        if path and path.partition(".")[0] not in _LIBRARIES and re.fullmatch(r"[\w.]+", path):
            place = Place(document, function, call.name_start, call.name_end)
            found.setdefault(call.name, Link("helper", path.replace(".", "/") + ".py", place))
    return tuple(found.values())


def made(link: Link, fragments: Iterable[Fragment], stated: Iterable[Fragment]) -> Iterator[Fragment]:
    """What the function makes that the program does not make itself; nothing where it makes several of a kind."""
    own = {_kind(fragment) for fragment in stated}
    start, end = 0, -1
    inside: dict[str, list[Fragment]] = {}
    for fragment in fragments:
        kind = _kind(fragment)
        if end < 0:
            start, end = _span(fragment.block.document.text.text, link.place.setting)
        if kind in _KINDS and kind not in own and fragment.layer == "call" and start < fragment.block.start < end:
            inside.setdefault(kind, []).append(fragment)
    for several in inside.values():
        if len({fragment.block.start for fragment in several}) == 1:
            for fragment in several:
                kept = tuple(one for one in fragment.statements if not one.fact.startswith("launch."))
                yield fragment._replace(statements=kept, presumed=True, entry=False, scopes={}, framework="")


def _kind(fragment: Fragment) -> str:
    return python_kinds.kind(fragment.block.origin) if isinstance(fragment.block.origin, Call) else ""


_NEXT = re.compile(r"\n(?=[^\s#)\]}])")


def _span(text: str, function: str) -> tuple[int, int]:
    """Where the function of this name stands, at the top of its file; nowhere if there is none."""
    begun = re.search(rf"^(?:async +)?def +{re.escape(last_word(function))}\b", text, re.MULTILINE)
    if begun is None:
        return 0, 0
    ends = _NEXT.search(text, max(begun.end(), text.find(":", begun.end())))
    return begun.start(), ends.start() if ends else len(text)
