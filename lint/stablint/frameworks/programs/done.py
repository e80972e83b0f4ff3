"""What a program does with its model and trainer besides configuring them: an adapter that it loads frozen, a run that it does not resume,
a model that is loaded before sharding is known, a value that a method of a list gives back, which is none.

Each is a fact `launch.done.<name>`, only where the calls themselves show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs.seen import UNFREEZES, calls, methods, seen_in, stated, tests_above
from stablint.frameworks.programs.unseen import unless, unseen
from stablint.run.fact import Statement
from stablint.syntax.tree import NOBODYS, Call, Document, Module, Node, Scalar, Unknown

_LOADS_ADAPTER = re.compile(r"peft\.(?:\w+\.)*(?:Auto)?PeftModel\w*\.from_pretrained")
# A loop over all weights of what a name means, which freezes each of them.
_FREEZES_EACH = re.compile(
    r"^([ \t]*)for (\w{1,80}) in (\w{1,80})\.parameters\(\):[ \t]*(?:\n\1[ \t]{1,8})?\2\.requires_grad(?: ?= ?False\b|_\(False\))",
    re.MULTILINE,
)
# Whatever else may be trained, or made trainable: an adapter, a layer of the program's own, weights that come later.
_TRAINS_ELSE = re.compile(
    r"(?i)peft|lora|adapter|prompt_tuning|prefix_tuning|freeze_|unfreez|setattr|add_module|nn\.[A-Z]\w|nn\.Parameter|resize_token_embeddings"
)
# `Model.from_pretrained(args.resume_from_checkpoint)`: what it names is loaded all the same.
_READS_CHECKPOINT = re.compile(r"\(\s{0,9}(?:[\w.]{1,80}=\s{0,9})?[\w.]{1,80}\.resume_from_checkpoint\s{0,9}[,)]")
_GRADIENT = re.compile(r"requires?_grad")
# Methods of lists, dictionaries and sets that change them and return None.
_RETURN_NOTHING = frozenset({"append", "extend", "insert", "remove", "sort", "reverse", "update"})
_SETTINGS = frozenset({"arguments", "adapter", "quantiser"})
# `config.pad_token_id = …`, `from_pretrained(…, pad_token_id=…)`: anything that tells the model which token it is.
_TELLS_PAD = re.compile(r"config\.pad_token_id|pad_token_id\s*=|[\"']pad_token_id[\"']|update_pad|setup_chat_format")

# What the program does to a model that is there: `launch.done.<name>` of its loader.
_TO_MODEL = {
    "attention_set": re.compile(
        r"\._attn_implementation\w* ?=[^=]|\bset_attn_implementation\(|\bAttentionInterface\.register\(|\bALL_ATTENTION_FUNCTIONS\b"
        r"|\._supports_(?:sdpa|flash|flex)\w* ?=[^=]"
    ),
    "adapter_claimed": re.compile(r"\._hf_peft_config_loaded ?=[^=]|\.is_quantized ?=[^=]"),
    # a size that is asked of a weight, and a refusal to go on by it
    "embedding_size_checked": re.compile(
        r"\b(\w{1,40})[ \t]{0,4}=[ \t]{0,4}[\w.]{1,80}\.get_(?:in|out)put_embeddings\(\)\.weight\.(?:size\(0\)|shape\[0\])"
        r"(?:[^\n]{0,200}\n){1,4}?[ \t]{0,40}(?:assert\b[^\n]{0,200}\b\1\b|if\b[^\n]{0,300}\b\1\b[^\n]{0,300}:[ \t]{0,4}\n[ \t]{0,40}raise\b)"
    ),
    "weights_gathered": re.compile(r"\bGatheredParameters\("),
    "model_before_arguments": re.compile(r"\bunset_hf_deepspeed_config\("),
}


def told(document: Document, module: Module, call: Call, kind: str) -> Iterator[Statement]:
    """Of one of the program's calls. `kind`: which (python_kinds.kind)."""
    if kind == "trainer":
        yield from _of_trainer(document, module, call)
    if kind in _SETTINGS:
        for entry in call.arguments.entries:
            value = entry.value
            if isinstance(value, Call) and "." in value.name and last_word(value.name) in _RETURN_NOTHING:
                yield _said(document, f"nothing.{entry.key}", last_word(value.name), value)
    if kind in ("quantiser", "loader"):
        for entry in call.arguments.entries:
            word = entry.value.value if isinstance(entry.value, Scalar) else None
            if isinstance(word, str) and word.startswith("torch.") and _is_text(document, entry.value):
                yield _said(document, f"text.{entry.key}", word, entry.value)
    if kind == "loader":
        for name, spelled in _TO_MODEL.items():
            if seen_in(spelled, document):
                yield _done(document, name, True, call)
        yield from _before_arguments(document, module, call)
        for one in methods(module, call):
            if last_word(one.name) == "add_adapter":
                yield _done(document, "adapter_added", True, one)
                break


def _of_trainer(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    text = document.text.text
    model = trainer.arguments.get("model") or next(iter(trainer.positional), None)
    callbacks = trainer.arguments.get("callbacks")
    for adapter, kind in python_kinds.kinds(module):
        if kind == "adapter" and NOBODYS in adapter.late:
            yield _done(document, "adapter_left", True, adapter)
            break
    if isinstance(model, Call) and _LOADS_ADAPTER.fullmatch(model.name):
        trainable = model.arguments.get("is_trainable")
        frozen = trainable is None or (isinstance(trainable, Scalar) and trainable.value is False)
        frozen = frozen and not model.conditional and model.switch is None
        others = text[: model.start] + text[model.end :]
        if frozen and not model.arguments.open and len(model.positional) < 4 and not UNFREEZES.search(others):
            # whoever else is handed the model may unfreeze it
            known = unless(unseen(document, module, (model, callbacks), trainer), True)
            yield _done(document, "adapter_frozen", known, model)
    else:
        yield from _frozen_in_a_branch(document, module, trainer, model)
    if model is not None and not seen_in(UNFREEZES, document):
        # an adapter that was made frozen stays so, and the base with it
        known = unless(unseen(document, module, (model, callbacks), trainer), True)
        yield _done(document, "leaves_frozen", known, trainer)
    if isinstance(model, Call) and not model.conditional and model.switch is None:
        frozen_by = _all_frozen(document, module, model)
        if frozen_by is not None:
            known = unless(unseen(document, module, (model, callbacks), trainer), True)
            yield stated(document, "launch.done.all_frozen", known, "requires_grad", *frozen_by)
    if isinstance(model, Scalar) and isinstance(model.value, str) and _is_text(document, model):
        yield _done(document, "model_by_name", True, trainer)
    trains = [call for call in methods(module, trainer) if last_word(call.name) == "train"]
    if trains and not any(call.arguments.entries or call.arguments.open or call.positional for call in trains):
        first = trains[0]
        elsewhere = (
            Unknown("the program reads the checkpoint's name itself") if seen_in(_READS_CHECKPOINT, document) else True
        )
        yield _done(document, "trains_from_start", elsewhere, first)
    asked_for = "do_train" in text
    for call in trains:
        if not (asked_for or call.conditional or call.switch is not None):
            yield _done(document, "trains_unasked", True, call)
            break
    for call in trains:
        whence = call.arguments.get("resume_from_checkpoint") or next(iter(call.positional), None)
        if isinstance(whence, Scalar) and (whence.value is True or _is_text(document, whence)):
            yield _done(document, "resumes", True, call)
            break
    if not trainer.local and not seen_in(_TELLS_PAD, document):
        # whoever makes the model or is handed it may tell it
        told = unless(unseen(document, module, (model, callbacks), trainer), False)
        if model is None:
            told = Unknown("the model comes from elsewhere")
        yield _done(document, "pad_token_told_model", told, trainer)


_NOT_TRAINED = re.compile(r"(?i)eval|test|predict|infer|generat|merge|chat|demo|sampl|main")


def _frozen_in_a_branch(document: Document, module: Module, trainer: Call, model: Node | None) -> Iterator[Statement]:
    """`adapter_frozen` of an adapter that one of two branches loads: the other makes a new one, under the name that the trainer is given."""
    text = document.text.text
    given = re.match(r"[ \t]*=[ \t]*(\w{1,40})[ \t]*[,)\n]", text[_end_of_key(trainer, "model") :])
    if given is None or seen_in(UNFREEZES, document) or "merge_and_unload" in text:
        return
    around = list(tests_above(text, trainer.start))
    made = [call for call, kind in python_kinds.kinds(module) if call.target == given[1] and call.end < trainer.start]
    anew = any(
        last_word(call.name) == "get_peft_model" for call in calls(module, "get_peft_model") if call.target == given[1]
    )
    for call in module.calls if anew and made else ():
        if call.target == given[1] and _LOADS_ADAPTER.fullmatch(call.name) and call.end < trainer.start:
            tests = list(tests_above(text, call.start))
            if (
                call.arguments.open
                or len(call.positional) > 3
                or tests[1:] != around
                or not tests
                or any(map(_NOT_TRAINED.search, tests))
            ):
                continue
            hidden = unseen(document, module, (trainer.arguments.get("callbacks"),), call, trainer)
            yield _done(document, "adapter_frozen", unless(hidden, True), call)
            return


def _end_of_key(call: Call, key: str) -> int:
    return next((one.key_end for one in call.arguments.entries if one.key == key), call.end)


def _all_frozen(document: Document, module: Module, model: Call) -> tuple[int, int] | None:
    """Where each weight of this model is told to need no gradient, if nothing is told otherwise."""
    text = document.text.text
    if len(_GRADIENT.findall(text)) != 1 or seen_in(_TRAINS_ELSE, document):
        return None
    name, place = "", None
    for one in methods(module, model):
        switch = next(iter(one.positional), None)
        if last_word(one.name) == "requires_grad_" and isinstance(switch, Scalar) and switch.value is False:
            if not one.conditional and one.switch is None and model.end < one.start:
                name, place = text[one.name_start : one.name_end].rpartition(".")[0], (one.start, one.end)
    loop = _FREEZES_EACH.search(text, model.end)
    if place is None and loop is not None and not loop[1]:
        if re.search(rf"(?:^|\n){loop[3]} ?= ?$", text[max(0, model.start - 100) : model.start]):
            name, place = loop[3], loop.span()
    # a layer that is put in afterwards is trained
    if (
        place is None
        or not name.isidentifier()
        or re.search(rf"\b{name}\.(?!config\b|generation_config\b)[\w.]{{1,80}} ?=(?!=)", text)
    ):
        return None
    return place


def _before_arguments(document: Document, module: Module, loader: Call) -> Iterator[Statement]:
    """transformers splits weights as it loads them only where the arguments with DeepSpeed's file are made already."""
    if _before_arguments not in module.notes:
        arguments = [call for call, kind in python_kinds.kinds(module) if kind == "arguments"]
        written = not any(call.parsed for call in arguments) and "HfDeepSpeedConfig" not in document.text.text
        module.notes[_before_arguments] = min((call.start for call in arguments), default=-1) if written else -1
    if module.notes[_before_arguments] > loader.end:
        yield _done(document, "model_before_arguments", True, loader)


def _is_text(document: Document, node: Node) -> bool:
    """Whether a literal stands there, and no expression of the same letters."""
    return document.text.text[node.start : node.start + 1] in ("'", '"')


def _done(document: Document, name: str, value: object, call: Call) -> Statement:
    return stated(document, f"launch.done.{name}", value, name, call.name_start, call.name_end)


def _said(document: Document, name: str, value: object, node: Node) -> Statement:
    return stated(document, f"launch.done.{name}", value, name, node.start, node.end)
