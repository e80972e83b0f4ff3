"""What of a program's own meets a library: methods that it overrides, functions and models that it hands over, and how it loads and wraps them.

Facts `launch.overrides.<method>`, `launch.functions.<what>`, `launch.shows.<what>`; each only where the calls show it. What its rows are, how its
own loop steps, what only some processes call and in which order it imports is told by the modules beside this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs import alone, evaluated, order, rows, signs, stepping, wrapped
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs.seen import calls, methods, of_call, seen_in, shown, stated
from stablint.frameworks.programs.unseen import KNOWN, unless, unseen
from stablint.run.fact import Statement
from stablint.syntax.tree import Call, Document, Mapping, Module, Node, Scalar, Unknown

_TRAINERS = ("trainer", "own-trainer")
_MAKE_STATE = (*_TRAINERS, "accelerator", "arguments")
# `AutoModelForCausalLM.register(Config, Model)`: a type that the library has not.
_REGISTERS = re.compile(r"\bAuto\w{1,60}\.register\b")
_IMPORTS = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([\w., \t]+))", re.MULTILINE)
_MOVES = frozenset({"to", "cuda", "half", "float"})
_GIVES_INPUT_GRADIENTS = re.compile(
    r"enable_input_require_grads|prepare_model_for_(?:kbit|int8)_training|require_grads?_hook|make_inputs_require_grad"
    r"|use_reentrant(?![\"']?[ \t]{0,4}[:=][ \t]{0,4}True)|modules_to_save|requires_grad_\("
)
_SWITCHES_CHECKPOINTING = re.compile(r"gradient_checkpointing_(?:enable|disable)")
# Whatever may end a text: the tokenizer's own end, one that is spelled out, a chat template, a data set or a tokenizer that is told to add it.
_ENDS_TEXT = re.compile(
    r"(?i)eos|eod|</s>|<\|?end|<\|im_end|<\|eot|endoftext|end_of|chat_template|stop_token|special_tokens|\[/?sep\]"
)
_TWO_TOWERS = re.compile(r"(?:Encoder|Vision|Speech)\w{0,40}DecoderModel\.from_\w{0,40}pretrained")


def told(document: Document, module: Module, call: Call, kind: str) -> Iterator[Statement]:
    """Of one of the program's calls. `kind`: which (python_kinds.kind)."""
    yield from signs.told(document, module, call, kind)
    if kind in _TRAINERS:
        for observe in _OBSERVED:
            yield from observe(document, module, call)
    if kind in (*_TRAINERS, "accelerator", "deepspeed"):
        yield from alone.told(document, module)
    if kind in ("accelerator", "deepspeed"):
        yield from stepping.of_engine(document, module, call)
    if kind == "accelerator":
        yield from evaluated.of_engine(document, module, call)
    if kind in (*_TRAINERS, "optimizer"):
        yield from _shifted(document)
    if kind == "optimizer":
        yield from stepping.of_optimizer(document, module, call)
        yield from evaluated.of_optimizer(document, module, call)
    if kind == "loader":
        yield from _of_loader(document, module, call)
        yield from evaluated.of_loop(document, module, call)
    if kind == "arguments" and "use_configured_state" in document.text.text:
        yield shown(document, "state_made", _state_made(document, module, call), call)


_SHIFTS = re.compile(
    r"\[[^\]\n]{0,12}(?::[ \t]*-[ \t]*1|1[ \t]*:)[^\]\n]{0,8}\]|shift|roll\(|labels=|narrow\(|seq2seq|Seq2Seq|mlm=True|MaskedLM"
)
_JUDGED = re.compile(
    r"(?:cross_entropy|criterion|loss_f\w{1,6}|CrossEntropyLoss\([^()\n]{0,80}\))\(\s{0,40}[^\n]{0,60}logits[^\n]{0,60}\.(?:view|reshape|flatten)\([^\n]{0,80}\b(input_ids|labels)\b"
)
_ROWS_OF_LIBRARY = re.compile(
    r"DataCollatorFor(?:LanguageModeling|CompletionOnly)|labels[\"']\][ \t]*=[^\n]{0,60}input_ids"
    r"|[\"']labels[\"'][ \t]*:[^\n]{0,60}input_ids"
)
_SHIFTED_ROWS = re.compile(
    r"[\"']labels[\"'](?:\][ \t]*=|[ \t]*:)[ \t]*\w{1,40}(?:\[[\"']input_ids[\"']\])?\[(?::[ \t]*,[ \t]*)?1[ \t]*:[ \t]*\]"
)
_OWN_LOSS = re.compile(r"cross_entropy|CrossEntropy|compute_loss|shift_labels|loss_f|\.loss_function")


def _shifted(document: Document) -> Iterator[Statement]:
    """Labels of a language model that a loss of the program's own holds against the place that they stand at, or that are shifted before the model does it."""
    judged = None if seen_in(_SHIFTS, document) else seen_in(_JUDGED, document)
    if judged is not None and (judged[1] == "input_ids" or seen_in(_ROWS_OF_LIBRARY, document)):
        yield stated(document, "launch.shows.loss_unshifted", judged[1], "logits", *judged.span())
    rows_shifted = None if seen_in(_OWN_LOSS, document) else seen_in(_SHIFTED_ROWS, document)
    if rows_shifted is not None:
        yield stated(document, "launch.shows.labels_shifted", True, "labels", *rows_shifted.span())


# What begins in the first column: the last one before a place is what that stands in.
_BEGINS = re.compile(r"^(?:(?:async )?(def|class) (\w+)|[^\s#)\]}])", re.MULTILINE)


def _state_made(document: Document, module: Module, arguments: Call) -> bool | Unknown:
    """Whether accelerate's state is there before these arguments: an accelerator makes it, and other arguments do."""
    if any(one.start < arguments.start and kind in _MAKE_STATE for one, kind in python_kinds.kinds(module)):
        return True
    if (function := _BEGINS.findall(document.text.text[: arguments.start])[-1:]) and document.view is None:
        word, name = function[0]
        if word == "class" or (word and len(re.findall(rf"\b{name}\(", document.text.text)) < 2):
            return Unknown(f"who calls `{name}` may make it")
    other = next((name for name in _imported(document) if name not in KNOWN or name == "unsloth"), None)
    return False if other is None else Unknown(f"`{other}` may make it")


def _overridden(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Methods of the trainer's own class, with the names that they take."""
    made = document.text.text[trainer.name_start : trainer.name_end]
    for one in module.functions if trainer.local or not trainer.name.rpartition(".")[0] else ():
        if one.owner == made and not one.open:
            yield stated(document, f"launch.overrides.{one.name}", list(one.parameters), one.name, one.start, one.end)


def _rewards(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """A function that rewards completions and has no place for the other columns and lists that the trainer hands it."""
    given = trainer.arguments.get("reward_funcs")
    if given is None and last_word(trainer.name) in ("GRPOTrainer", "RLOOTrainer") and len(trainer.positional) > 1:
        given = trainer.positional[1]
    for one in rows.functions(document, module, given):
        if not one.open and "completion_ids" not in one.parameters:
            yield stated(document, "launch.functions.reward_closed", one.name, one.name, one.start, one.end)
            return


def _formatted(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    for one in rows.functions(document, module, trainer.arguments.get("formatting_func")):
        if one.gives:
            yield stated(document, "launch.functions.formatting_gives", one.gives, one.name, one.start, one.end)
            walked = rows.walks(document, one)
            if walked:
                yield stated(document, "launch.functions.formatting_walks", walked, one.name, one.start, one.end)
        if one.gives and seen_in(_ENDS_TEXT, document) is None:  # safe: one word of an end anywhere is enough
            makers = (trainer.arguments.get(name) for name in ("tokenizer", "processing_class", "data_collator"))
            hidden = unseen(document, module, makers, trainer, called="tokenizer|collator")
            yield stated(
                document, "launch.functions.formatting_unended", unless(hidden, True), one.name, one.start, one.end
            )


def _model(trainer: Call) -> Node | None:
    return trainer.arguments.get("model") or next(iter(trainer.positional), None)


def _adapted(trainer: Call) -> Call | None:
    """The call that puts an adapter into the trainer's model."""
    model = _model(trainer)
    return model if isinstance(model, Call) and last_word(model.name) == "get_peft_model" else None


def _made_by(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`model_made_by`: the last word of the call that the trainer's model comes from."""
    model = _model(trainer)
    if isinstance(model, Call):
        yield shown(document, "model_made_by", last_word(model.name), model)


def _reference(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`reference_is_model`: one object is trained and held against; a copy is another one."""
    model, reference = _model(trainer), trainer.arguments.get("ref_model")
    if not isinstance(model, Call) or not isinstance(reference, Call):
        return
    if (model.start, model.instance) == (reference.start, reference.instance):
        yield shown(document, "reference_is_model", True, reference)


def _switched(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`adapter_switched_between_trainings`: another adapter is active in the second training, whose optimizer has the first one's weights."""
    steps = [one.start for one in methods(module, trainer) if last_word(one.name) == "train"]
    between = (one for one in calls(module, "set_adapter") if steps and min(steps) < one.start < max(steps))
    switched = next(between, None)
    # safe: whatever is called so may make a new optimizer
    if switched is not None and not seen_in(r"\.optimizer\s*=|create_optimizer|optimizer\s*=\s*None", document):
        renewed = unseen(document, module, (), trainer, called="trainer")
        yield shown(document, "adapter_switched_between_trainings", unless(renewed, True), switched)


def _input_gradients(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`adapter_without_input_gradients`: nothing lets the inputs of the adapted model have gradients."""
    model = _adapted(trainer)
    if model is None or model.local:
        return
    given = seen_in(_GIVES_INPUT_GRADIENTS, document) is not None  # safe: every spelling of a call or an argument
    switched = seen_in(
        _SWITCHES_CHECKPOINTING, document
    )  # PEFT sees to it where that is on before the adapter is put in
    given = given or (switched is not None and switched.start() < model.start)
    hidden = None if given else unseen(document, module, (model, trainer.arguments.get("callbacks")), trainer)
    yield shown(document, "adapter_without_input_gradients", unless(hidden, not given), model)


def _towers(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`decoder_knows_its_start`: an encoder and a decoder are joined, and the token that the decoder begins with is said."""
    text = document.text.text
    tower = (
        next((one for one in module.calls if _TWO_TOWERS.search(one.name)), None) if "DecoderModel" in text else None
    )
    if tower is not None and not tower.conditional:
        # safe: the word stands wherever the token is said
        known = "from_encoder_decoder_pretrained" not in tower.name or "decoder_start_token_id" in text
        known = known or "decoder_input_ids" in text
        hidden = None if known else unseen(document, module, (tower, _model(trainer)), trainer)
        hidden = rows.rows_elsewhere(document, module, trainer) if hidden is None else hidden
        hidden = rows.collated_elsewhere(trainer) if hidden is None else hidden
        yield shown(document, "decoder_knows_its_start", unless(hidden, known), tower)


# Arguments that are models.
_MODELS = ("model", "ref_model", "reward_model", "value_model", "policy", "ref_policy")


def _classes(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`launch.handed.<argument>`: the class that made a model which the trainer is handed, below what is put around it; `launch.handed.to`: the trainer."""
    yield of_call(document, "launch.handed.to", last_word(trainer.name), trainer)
    places = _PLACES.get(last_word(trainer.name), ("model",))
    given = {
        **dict(zip(places, trainer.positional, strict=False)),
        **{one.key: one.value for one in trainer.arguments.entries},
    }
    for name in _MODELS:
        made = wrapped.class_of(given.get(name))
        if made:
            yield of_call(document, f"launch.handed.{name}", made, trainer)


_PLACES = {"PPOTrainer": ("config", "model", "ref_model"), "DPOTrainer": ("model", "ref_model")}
# `model.state_dict = (lambda self, *_, **__: get_peft_model_state_dict(self, old_state_dict())).__get__(…)`, of the first LoRA scripts.
_PICKED = re.compile(
    r"^[ \t]*\w{1,40}\.state_dict[ \t]{0,8}=[ \t]{0,8}\(?\s{0,80}lambda\b[^=:\n]{0,80}:\s{0,80}get_peft_model_state_dict\(",
    re.MULTILINE,
)


def _picked(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """The model's state is replaced by the adapter's part of it, which PEFT picks once more when it saves."""
    found = seen_in(_PICKED, document)
    if found is not None:
        yield stated(document, "launch.shows.adapter_state_picked", True, "state_dict", found.start(), found.end() - 1)


def _evaluates_apart(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """It evaluates by a call of its own: what the trainer does between its steps is another thing in places."""
    there = methods(module, trainer)
    for word in ("evaluate", "predict"):
        for one in there:
            if last_word(one.name) == word:
                yield of_call(document, "launch.shows.evaluates_apart", word, one)
                return


# A bare name, or what is written out, as the argument itself stands there; `rows["train"]` is neither.
_BARE = re.compile(r"[ \t]*=[ \t]*(?:(\w{1,80})[ \t]*[,)\n]|([{\w]))")
_STEPS_OF_ALL = (
    r"\.(?:map|filter|shuffle|remove_columns|rename_columns?|cast_column|select_columns|with_format|sort|flatten)\("
)


_NO_DATA_SETS = {
    "torch.utils.data.TensorDataset": "tensors",
    **dict.fromkeys([f"pandas.{word}" for word in ("DataFrame", "read_csv", "read_json", "read_parquet")], "table"),
}


def _rows(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`launch.handed.rows`: what is handed over as rows and is no data set: all splits of one, a dictionary, a table of pandas, a TensorDataset, whose rows
    are tuples."""
    entry = next((one for one in trainer.arguments.entries if one.key == "train_dataset"), None)
    text = document.text.text
    bare = _BARE.match(text, entry.key_end) if entry is not None else None
    if entry is None or bare is None or document.view is not None:
        return
    value, name = entry.value, bare[1]
    said = _assigned(text, name) if name else None
    if isinstance(value, Mapping) and not value.open and (bare[2] == "{" or (said is not None and said[0] == "{")):
        yield of_call(document, "launch.handed.rows", "dictionary", trainer)
    elif isinstance(value, Call) and value.name in _NO_DATA_SETS and not value.conditional:
        if bare[2] or (said is not None and re.match(rf"(?:\w{{1,40}}\.)*{last_word(value.name)}\(", said)):
            yield of_call(document, "launch.handed.rows", _NO_DATA_SETS[value.name], trainer)
    elif name and isinstance(value, Call) and _of_all_splits(text, name, value, 5):
        yield of_call(document, "launch.handed.rows", "splits", trainer)


def _assigned(text: str, name: str) -> str | None:
    """What stands behind the one assignment of a name; None where there are several, or it is bound otherwise."""
    found = re.findall(
        rf"^([ \t]*)((?:[\w.]{{1,80}}[ \t]*,[ \t]*){{0,4}}){name}\b[ \t]*(,|=(?!=)|:=|in\b)[ \t]*(.*)$",
        text,
        re.MULTILINE,
    )
    found += re.findall(rf"^([ \t]*)(for)[^\n]{{0,80}}\b{name}\b([^\n]{{0,40}}) in (.*)$", text, re.MULTILINE)
    return str(found[0][3]) if len(found) == 1 and found[0][1:3] == ("", "=") else None


def _of_all_splits(text: str, name: str, call: Call, depth: int) -> bool:
    """Whether a name stands for all splits: as load_dataset gives them where no split is asked for, or as train_test_split does."""
    said = _assigned(text, name)
    if said is None or call.conditional or call.switch is not None or not depth:
        return False
    word = last_word(call.name)
    if text[call.end : call.end + 1] != "\n" or (
        call.start != text.find(said[:40], text.rfind("\n", 0, call.start) + 1) and word == "load_dataset"
    ):
        return False
    if word == "load_dataset":
        unsplit = call.arguments.get("split") is None and not call.arguments.open and len(call.positional) < 5
        return unsplit and call.name == "datasets.load_dataset" and not call.local
    of = re.match(rf"(\w{{1,80}})(?:\[[\"']\w{{1,40}}[\"']\])?\.train_test_split\(|(\w{{1,80}}){_STEPS_OF_ALL}", said)
    if of is None:
        return False
    return of[1] is not None or (
        isinstance(call.receiver, Call) and _of_all_splits(text, of[2], call.receiver, depth - 1)
    )


# An expression that makes a tensor, as the second thing that compute_loss returns.
_TENSOR = re.compile(
    r"(?:torch|F|nn\.functional)\.\w+\(|[\w.]{1,60}(?:\.(?:logits|last_hidden_state|scores|pooler_output)|\[[\"'](?:logits|last_hidden_state)[\"']\]"
    r"|\.get\([\"']logits[\"']\))(?:\.(?:view|squeeze|float|reshape|detach)\([^()\n]{0,60}\)){0,3}\Z"
)


def _loss_outputs(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`launch.overrides.loss_outputs`: the trainer's own compute_loss returns a bare tensor beside the loss, of which the Trainer takes `[1:]`."""
    text = document.text.text
    own = [one for one in module.functions if one.owner == text[trainer.name_start : trainer.name_end]]
    measures = trainer.arguments.get("compute_metrics")
    used = measures is not None and not (isinstance(measures, Scalar) and measures.value is None)
    used = used or any(last_word(call.name) == "predict" for call in methods(module, trainer))
    for one in own if used and all(one.name != "prediction_step" for one in own) else ():
        if one.name != "compute_loss" or text[one.start - 4 : one.start] != "def ":
            continue
        lines = rows.body(text, one.start)
        for line in lines.split("\n"):
            given = line.strip().removeprefix("return").partition(" if ")[0].strip()
            given = given[1:-1] if given[:1] == "(" and given[-1:] == ")" else given
            loss, _, given = (part.strip() for part in given.partition(","))
            if not line.strip().startswith("return") or not loss.isidentifier() or not given:
                continue
            assigned = re.findall(rf"^[ \t]*{re.escape(given)}[ \t]*=(?!=)[ \t]*(.+)$", lines, re.MULTILINE)
            if _TENSOR.match(given) or (assigned and all(map(_TENSOR.match, assigned))):
                yield stated(document, "launch.overrides.loss_outputs", given, one.name, one.start, one.end)
                return


# Of each trainer, in this order.
_OBSERVED = (
    _rows,
    _loss_outputs,
    _evaluates_apart,
    _overridden,
    _rewards,
    _formatted,
    _made_by,
    _reference,
    _switched,
    _input_gradients,
    order.unsloth,
    order.visible,
    _towers,
    _classes,
    _picked,
    rows.told,
    evaluated.of_trainer,
)


def _of_loader(document: Document, module: Module, loader: Call) -> Iterator[Statement]:
    made = loader.name.rpartition(".")[0]
    yield shown(document, "model_class", last_word(made), loader)
    if loader.arguments.get("config") is None and not loader.arguments.open and not seen_in(_REGISTERS, document):
        # the checkpoint's own type chooses the class, unless a module that is imported has put one in its place
        other = next((name for name in _imported(document) if name not in KNOWN), None)
        by_name = True if other is None else Unknown(f"`{other}` may register classes of its own")
        yield shown(document, "class_by_name", by_name, loader)
    if _is_wrapper(made):
        return
    for call in methods(module, loader):
        if last_word(call.name) in _MOVES and not call.conditional:
            if last_word(call.name) == "to" and not _is_device(document, call):
                continue
            yield shown(document, f"moved.{last_word(call.name)}", True, call)


def _imported(document: Document) -> Iterator[str]:
    """The packages of a program's imports; empty for those of its own package."""
    for found in _IMPORTS.finditer(document.text.text):
        names = found[1] or found[2]
        yield from (one.strip().partition(" ")[0].partition(".")[0] for one in names.split(","))


def _is_wrapper(name: str) -> bool:
    """Whether it is another library's module around a model of transformers': its `.cuda()` is torch's, which goes to the tensors below and
    never through what transformers' own class refuses (trl 0.11.4 models/modeling_base.py:61)."""
    return (
        name.startswith(_WRAPPERS)
        or last_word(name).endswith("WithValueHead")
        or last_word(name).startswith("AutoPeft")
    )


_WRAPPERS = ("trl.", "peft.", "sentence_transformers.", "diffusers.", "setfit.", "optimum.", "open_clip.")


def _is_device(document: Document, call: Call) -> bool:
    given = next(iter(call.positional), None)
    if given is None or call.arguments.entries:
        return False
    text = document.text.text[given.start : given.end]
    return "dtype" not in text and not text.startswith("torch.float") and not text.startswith("torch.bfloat")
