"""The calls of a Python program, each lowered by the table of its class."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stablint.frameworks import deepspeed, huggingface, peft
from stablint.frameworks import own as own_keys
from stablint.frameworks import words as framework_words
from stablint.frameworks.fragment import PURPOSE, Block, Fragment, Link, Row, last_word, lower_mapping, statement
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs import late as python_late
from stablint.frameworks.programs import lightning, loop, padding, sentences
from stablint.frameworks.programs.seen import UNFREEZES
from stablint.frameworks.programs.unseen import KNOWN
from stablint.run.fact import HIDDEN, MAYBE_HIDDEN, Explicit, Place, Statement
from stablint.run.releases.allowed import known_keys
from stablint.run.releases.fields import field
from stablint.run.releases.reader_keys import reader
from stablint.secrets.keys import SURE, holds_secret, may_be_none, names_secret
from stablint.syntax.tree import NOBODYS, Call, Entry, Mapping, Module, Node, Scalar, Unknown

_QUANTISER_ROWS = {
    "bnb_4bit_compute_dtype": Row("bnb_4bit_compute_dtype", "quantization.bnb_4bit_compute_dtype", "dtype"),
    "bnb_4bit_quant_storage": Row("bnb_4bit_quant_storage", "quantization.bnb_4bit_quant_storage", "dtype"),
}
_LOADER_ROWS: dict[str, Row | tuple[Row, ...]] = {
    **{key: row for key, row in huggingface.ROWS.items() if key.startswith(("quantization_config.",))},
    "pretrained_model_name_or_path": Row("pretrained_model_name_or_path", "model.name_or_path", "text"),
    "model_name": Row("model_name", "model.name_or_path", "text"),
    "torch_dtype": Row("torch_dtype", "model.dtype", "dtype"),
    "dtype": Row("dtype", "model.dtype", "dtype"),
    "load_in_4bit": Row("load_in_4bit", "quantization.load_in_4bit", "flag"),
    "load_in_8bit": Row("load_in_8bit", "quantization.load_in_8bit", "flag"),
    "max_seq_length": Row("max_seq_length", "model.max_seq_length"),
}
_TRAINER_LINKS = frozenset({"args", "model", "peft_config", "config", "ref_model"})
CODEC_OF = {row.fact: row.codec for row in (*huggingface.ROWS.values(), *_QUANTISER_ROWS.values())}


def _arguments(block: Block, call: Call) -> Fragment:
    own = python_kinds.ARGUMENTS[last_word(call.name)]
    itself = python_kinds.steps_itself(call)
    classes = (own,) if own == huggingface.BASE or itself else (own, huggingface.BASE)
    goal = python_kinds.encoder(call.name)
    block, late = python_late.without(_the_librarys(block, call, classes, known_alone=bool(goal)), call)
    statements = tuple(_declared(one, call) for one in lower_mapping(block, ARGUMENT_ROWS, "call", argument_row))
    statements = (*statements, *late, *_objects(statements, huggingface.BASE))
    if goal:
        statements = (*statements, _named(block, call, "model.head", goal))
    if itself:
        statements = (*statements, _named(block, call, "launch.loop", loop.STEP))
    return Fragment(
        "python", block, "call", statements, {}, {"training": classes}, huggingface.links(statements), entry=True
    )


def _the_librarys(block: Block, call: Call, classes: tuple[str, ...], *, known_alone: bool = False) -> Block:
    """Without what a subclass of the program's own takes or adds, or an assignment afterwards: the library's constructor does not see it.
    `known_alone`: of another library's subclass, whose own fields are not known, what the classes have is all that is read."""
    if not (call.own or known_alone):
        return block
    written = call.own if not known_alone and "**" not in call.own else {entry.key for entry in block.mapping.entries}
    foreign = frozenset(key for key in written if not any(field(one, key) for one in classes))
    if not foreign:
        return block
    kept = tuple(entry for entry in block.mapping.entries if entry.key not in foreign)
    return block._replace(mapping=block.mapping._replace(entries=kept))


def _declared(one: Statement, call: Call) -> Statement:
    """Whether a release has the name is no question where the program's own subclass declares it, or sets it afterwards."""
    origin = one.origin
    if not isinstance(origin, Explicit) or not origin.place.path or origin.place.path[0] not in call.own:
        return one
    return one._replace(origin=origin._replace(reader=f":{last_word(call.name)}"))


ARGUMENT_ROWS = {key: row for key, row in huggingface.ROWS.items() if row.fact.startswith("training.") or "." in key}


def argument_row(key: str) -> Row | None:
    """A keyword that no release of the class knows is still that class's: it is what an unknown argument looks like."""
    return huggingface.training_row(key) or Row(key, "training." + key)


# What nobody leaves to PEFT's defaults where settings are spread into the call.
_SPREAD = ("lora.r", "lora.lora_alpha", "lora.target_modules")
_ADAPTER_ROWS = {name: Row(name, "lora." + name, "member") for name in ("peft_type", "task_type")}


def _adapter(block: Block, call: Call) -> Fragment:
    word = last_word(call.name)
    block = _the_librarys(block, call, (f"peft.{word}",))
    statements = [
        *lower_mapping(block, _ADAPTER_ROWS, "call", peft.row),
    ]
    statements += _objects(statements, f"peft.{word}")
    statements.append(_named(block, call, "lora.peft_type", peft.TYPES.get(word, word)))
    if call.arguments.open and word == "LoraConfig":
        told = {one.fact for one in statements}
        elsewhere = Unknown("it may be among settings that come from elsewhere")
        statements += [_named(block, call, fact, elsewhere) for fact in _SPREAD if fact not in told]
    return Fragment("peft", block, "call", tuple(statements), {}, {"lora": (f"peft.{word}",)})


_OF_A_CLASS = re.compile(r"the result of `(?:peft|transformers|trl)\.(?:\w+\.)*(\w+(?:Config|Arguments))\(…\)`")


def _objects(statements: Iterable[Statement], of: str) -> list[Statement]:
    """A whole config of a library where the class has a number: `get_peft_model(model, LoraConfig(…))`, whose second argument is the rank."""
    return [
        stated._replace(fact="launch.shows.object_for_number", value=found[1], raw=found[1])
        for stated in statements
        if isinstance(stated.value, Unknown)
        and (found := _OF_A_CLASS.fullmatch(stated.value.reason))
        and (spans := field(of, stated.fact.partition(".")[2]))
        and _is_number(spans.type_at(known_keys(spans.library)[-1]))
    ]


def _is_number(annotation: str | None) -> bool:
    return annotation is not None and {one.strip() for one in annotation.split("|")} <= {"int", "float", "None"}


def _quantiser(block: Block, call: Call) -> Fragment:
    word = last_word(call.name)
    statements = [*lower_mapping(block, _QUANTISER_ROWS, "call", lambda key: Row(key, "quantization." + key))]
    statements = [_asked_for(stated) for stated in statements]
    statements.append(_named(block, call, "quantization.quant_method", python_kinds.QUANTISERS[word]))
    return Fragment("python", block, "call", tuple(statements), {}, {"quantization": (f"transformers.{word}",)})


def _asked_for(stated: Statement) -> Statement:
    """A config is made where the caller wants to quantise: that its switch is off by default says nothing of the object."""
    entry = stated.origin.place.entry if isinstance(stated.origin, Explicit) else None
    node = entry.value if entry is not None else None
    presumed = isinstance(node, Scalar) and node.form.startswith("default:")
    off = stated.fact in ("quantization.load_in_4bit", "quantization.load_in_8bit") and stated.value is False
    return stated._replace(value=Unknown("the caller switches it on")) if presumed and off else stated


def _loader(block: Block, call: Call) -> Fragment:
    goal = python_kinds.encoder(call.name) if python_kinds.is_encoder(call) else ""
    if goal:
        loaded = _named(block, call, "model.loaded_by_program", True)
        return sentences.encoder(block, (loaded, _named(block, call, "model.head", goal)))
    entry_point = last_word(call.name.rpartition(".")[0]) in python_kinds.UNSLOTH
    given = block.mapping.get("quantization_config")
    beside: list[Statement] = []
    if given is not None and not (isinstance(given, Scalar) and given.value is None):
        # from_pretrained builds no second config of them: it drops or refuses them (transformers 4.30.2, 4.57.6 modeling_utils.py)
        kept = tuple(entry for entry in block.mapping.entries if entry.key not in ("load_in_4bit", "load_in_8bit"))
        made = (
            isinstance(given, Call)
            and not given.conditional
            and given.switch is None
            and last_word(given.name)[:1].isupper()  # what a function gives may be none
        )
        if not entry_point and (made or isinstance(given, Mapping)):
            beside = [
                statement(block, entry, (entry.key,), Row(entry.key, "quantization.beside_config", "flag"), "call")
                for entry in block.mapping.entries
                if entry not in kept and isinstance(entry.value, Scalar) and entry.value.value is True
            ][:1]
        block = block._replace(mapping=block.mapping._replace(entries=kept))
    statements = beside + list(lower_mapping(block, _LOADER_ROWS, "call", lambda key: Row(key, "model." + key)))
    if not entry_point and call.positional:
        node = call.positional[0]
        entry = Entry("model_name", node.start, node.start, node)
        statements.append(
            statement(block, entry, ("from_pretrained",), Row("from_pretrained", "model.name_or_path", "text"), "call")
        )
    if not entry_point:
        statements.append(_named(block, call, "model.loaded_by_program", True))
    head = next((word for ends, word in _HEADS if call.name.rpartition(".")[0].endswith(ends)), None)
    if head is not None:
        statements.append(_named(block, call, "model.head", head))
    classes = {"model": ("unsloth.from_pretrained",)} if entry_point else {}
    return Fragment(
        "unsloth" if entry_point else "python",
        block,
        "call",
        tuple(statements),
        {},
        classes,
        huggingface.links(tuple(statements)),
        entry=True,
    )


_TEXT_TO_TEXT = (
    "T5", "MT5", "UMT5", "Bart", "MBart", "Pegasus", "PegasusX", "LongT5", "BlenderbotSmall", "Blenderbot", "SwitchTransformers", "M2M100",
)  # fmt: skip
# Ends of the names of model classes, and what a model with such a head is trained for.
_HEADS = (
    (("ForSequenceClassification", "ForTextEncoding"), "classification"),
    (("WithValueHead",), "value"),
    (("ForTokenClassification",), "token classification"),
    (("ForQuestionAnswering",), "question answering"),
    (("ForMultipleChoice",), "multiple choice"),
    (("ForCTC",), "CTC"),
    (("ForMaskedLM",), "masked language modelling"),
    (("ForSpeechSeq2Seq", "WhisperForConditionalGeneration", "Speech2TextForConditionalGeneration"), "speech recognition"),
    (("ForAudioClassification", "ForAudioFrameClassification", "ForXVector", "ForImageClassification", "ForVideoClassification",
      "ForObjectDetection", "ForSemanticSegmentation", "ForImageSegmentation", "ForUniversalSegmentation", "ForDepthEstimation",
      "ForNextSentencePrediction"), "classification"),
    (("ForSeq2SeqLM", *(f"{name}ForConditionalGeneration" for name in _TEXT_TO_TEXT)), "seq2seq"),
)  # fmt: skip


def _unsloth_adapter(block: Block, call: Call) -> Fragment:
    rows = {"use_gradient_checkpointing": Row("use_gradient_checkpointing", "training.gradient_checkpointing")}
    statements = lower_mapping(block, rows, "call", lambda key: None if key == "model" else Row(key, "lora." + key))
    statements += _objects(statements, "peft.LoraConfig")
    statements.append(_named(block, call, "lora.peft_type", "LORA"))
    return Fragment("unsloth", block, "call", tuple(statements), {}, {"lora": ("peft.LoraConfig",)})


def _trainer(block: Block, call: Call) -> Fragment:
    """Its keywords are facts of their own, but for those that only join it with the other calls."""
    word = last_word(call.name)
    trainer = python_kinds.trainer_class(call)
    block = _the_librarys(block, call, (trainer,))
    model = block.mapping.get("model")
    named = isinstance(model, Scalar) and isinstance(model.value, str)  # TRL loads it by its name
    rows = {"model": Row("model", "model.name_or_path", "text")} if named else {}
    statements = tuple(
        lower_mapping(
            block,
            rows,
            "call",
            lambda key: None if key.partition(".")[0] in _TRAINER_LINKS else Row(key, "trainer." + key),
        )
    )
    statements = tuple(_declared(one, call) for one in statements)
    statements += _handed_over(block)
    statements += tuple(_set_on_trainer(block, call))
    if call.local:
        statements += _of_own_class(block, call, _methods(call))
    if trainer.startswith(python_kinds.SENTENCES):
        statements += sentences.of_trainer(block)
    statements += _told_by_names(block, call)
    if loop.is_stepped(call):
        statements += (_named(block, call, "launch.loop", loop.STEP),)
    stated = {entry.key for entry in block.mapping.entries}
    classes: dict[str, tuple[str, ...]] = {"trainer": (trainer,)}
    if "args" not in stated and not call.arguments.open and word[:-7] + "Config" in python_kinds.ARGUMENTS:
        classes["training"] = (python_kinds.ARGUMENTS[word[:-7] + "Config"], huggingface.BASE)
    return Fragment("python", block, "call", statements, {}, classes, entry=True)


def _told_by_names(block: Block, call: Call) -> tuple[Statement, ...]:
    """What classes of the program's own are called after: `class RewardTrainer(Trainer)`, `RewardModel(…)` for the model."""
    names = [block.document.text.text[call.name_start : call.name_end]] if call.local else []
    node = block.mapping.get("model")
    while isinstance(node, Call):  # get_peft_model(RewardModel.from_pretrained(…), …)
        if not node.name.startswith("transformers."):
            names.append(node.name.removesuffix(".from_pretrained").rpartition(".")[2])
        node = node.arguments.get("model") or next(iter(node.positional), None)
    module = block.document.root
    if not isinstance(block.mapping.get("model"), Call) and isinstance(module, Module):
        names += _loaded_by_name(module)
    for name in names:
        found = PURPOSE.search(re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower())
        if found is not None:
            return (_named(block, call, "launch.purpose", found[1]),)
    return ()


def _loaded_by_name(module: Module) -> list[str]:
    """The classes that a program without a loader of a library's asks for a checkpoint."""
    found: list[str] | None = module.notes.get(_loaded_by_name)
    if found is None:
        kinds = python_kinds.kinds(module)
        loads = any(kind == "loader" for _, kind in kinds)
        made = [one.name.removesuffix(".from_pretrained") for one, _ in kinds if one.name.endswith(".from_pretrained")]
        found = module.notes[_loaded_by_name] = [] if loads else [name.rpartition(".")[2] for name in made]
    return found


# TRL's, which gives none where its ModelConfig does not say `use_peft` (trl 1.16.0 trainer/utils.py, get_peft_config), and the alignment handbook's,
# which asks its ModelArguments the same (alignment/model_utils.py).
_BY_MODEL_CONFIG = (
    "trl.get_peft_config", "trl.trainer.get_peft_config", "trl.trainer.utils.get_peft_config", "alignment.get_peft_config",
    "alignment.model_utils.get_peft_config",
)  # fmt: skip
# What it makes of its own settings.
_OF_MODEL_CONFIG = {
    key: Row(key, fact)
    for key, fact in (
        ("use_peft", "lora.use_peft"), ("lora_r", "lora.r"), ("lora_alpha", "lora.lora_alpha"), ("lora_dropout", "lora.lora_dropout"),
        ("lora_target_modules", "lora.target_modules"), ("use_dora", "lora.use_dora"), ("use_rslora", "lora.use_rslora"),
    )
}  # fmt: skip


def _handed_over(block: Block) -> tuple[Statement, ...]:
    """What only joins the trainer with other calls: that it is there at all. An object is named by the call that makes it."""
    found = []
    for entry in block.mapping.entries:
        if entry.key not in ("ref_model", "peft_config", "args", "model"):
            continue
        if entry.key == "model" and isinstance(entry.value, Scalar) and isinstance(entry.value.value, str):
            continue
        said = statement(block, entry, (entry.key,), Row(entry.key, "trainer." + entry.key), "call")
        if isinstance(entry.value, Call) and entry.key == "args" and (entry.value.own or "*" in entry.value.late):
            found.append(said._replace(value=Unknown("the program gives the object further attributes")))
            continue
        made = last_word(entry.value.name) if isinstance(entry.value, Call) else None
        if (
            isinstance(entry.value, Call) and entry.value.local and entry.key == "args"
        ):  # a class of its own has what it declares besides
            made = block.document.text.text[entry.value.name_start : entry.value.name_end]
        if isinstance(entry.value, Call) and not entry.value.local and entry.value.name in _BY_MODEL_CONFIG:
            found.append(_named(block, entry.value, "trainer.peft_by_model_config", True))
            made_of = next(iter(entry.value.positional), None)
            if (
                isinstance(made_of, Call)
                and made_of.name in ("trl.ModelConfig", "alignment.ModelArguments")
                and not made_of.parsed
            ):
                found += lower_mapping(
                    block._replace(mapping=made_of.arguments), _OF_MODEL_CONFIG, "call", lambda key: None
                )
                if made_of.arguments.get("use_peft") is None and not made_of.arguments.open:
                    found.append(_named(block, made_of, "lora.use_peft", False))  # its default in every release
        if entry.key == "peft_config" and _is_made_by_switch(block, entry.value):
            found.append(said._replace(fact="trainer.peft_by_switch", value=True, raw=True))
        if made is not None and entry.key == "peft_config" and not made[:1].isupper():
            found.append(
                said._replace(value=Unknown(f"`{made}` may give none"))
            )  # TRL's get_peft_config does without use_peft
        else:
            found.append(said if made is None else said._replace(value=made))
    return tuple(found)


def _is_made_by_switch(block: Block, given: Node) -> bool:
    """Whether a name is None unless one branch makes an adapter's configuration for it: `if args.use_peft: config = LoraConfig(…)`."""
    module, text = block.document.root, block.document.text.text
    name = text[given.start : given.end]
    if not isinstance(given, Scalar) or not name.isidentifier() or not isinstance(module, Module):
        return False
    made = [call for call, kind in python_kinds.kinds(module) if kind == "adapter" and call.target == name]
    bound = re.findall(rf"^[ \t]*{name}[ \t]*(?::[^=\n]*)?=(?!=)[ \t]*(\w*)", text, re.MULTILINE)
    return len(made) == 1 and made[0].switch is not None and len(bound) == 2 and bound.count("None") == 1


def _checkpointing(block: Block, call: Call) -> Fragment:
    statements = [*lower_mapping(block, {}, "call", lambda key: Row(key, "training." + key))]
    statements.append(_named(block, call, "training.gradient_checkpointing", True))
    return Fragment("python", block, "call", tuple(statements), {}, {})


def _accelerator(block: Block, call: Call) -> Fragment:
    """A program's own loop: what it asks of accelerate makes a run that a file of accelerate's may contradict."""
    rows = {"mixed_precision": Row("mixed_precision", "accelerate.mixed_precision", "dtype")}
    statements = [*lower_mapping(block, rows, "call", lambda key: Row(key, "accelerate." + key))]
    asks = any(one.fact == "accelerate.gradient_accumulation_steps" for one in statements)
    statements.append(_named(block, call, "accelerate.accelerator", True))
    return Fragment("python", block, "call", tuple(statements), {}, {}, entry=asks)


def _own_trainer(block: Block, call: Call) -> Fragment:
    """Of what it takes besides the arguments nothing is known."""
    methods = _methods(call) if call.local else Unknown("the class of the trainer stands in another file")
    return Fragment("python", block, "call", _of_own_class(block, call, methods), {}, {}, entry=True)


def _set_on_trainer(block: Block, call: Call) -> Iterator[Statement]:
    """`trainer.optimizer = …`, `trainer.args.lr_scheduler_kwargs = …`: before it trains, so that they count."""
    if call.late & _MAKES_OPTIMIZER:
        yield _named(block, call, "launch.optimizer_set", True)
    for name in sorted(call.late):
        if name.startswith("args."):
            why = f"the program sets it on the trainer's {name}"
            yield _named(block, call, f"training.{name.removeprefix('args.')}", Unknown(why))
        elif name in _KEPT:
            yield _named(block, call, f"training.{name}", Unknown("the program sets it on the trainer"))
    if methods := sorted(call.late & _METHODS):
        yield from _of_own_class(block, call, methods)


# The optimizer and its schedule themselves, and the methods that make them, which a program may put others in the place of.
_MAKES_OPTIMIZER = frozenset(
    ["optimizer", "lr_scheduler", "create_optimizer", "create_scheduler", "create_optimizer_and_scheduler"]
)
# What TRL's trainers take from their arguments once, and read from themselves at every step (trl 1.16.0 trainer/dpo_trainer.py, grpo_trainer.py).
_KEPT = frozenset(
    ["beta", "loss_type", "label_smoothing", "rpo_alpha", "loss_weights", "cpo_alpha", "simpo_gamma", "temperature"]
)
# The methods that make the loss or the batches, which a program may put others in the place of.
_METHODS = frozenset(
    ["compute_loss", "dpo_loss", "get_batch_loss_metrics", "training_step", "_compute_loss", "get_train_dataloader", "get_eval_dataloader"]
)  # fmt: skip


def _methods(call: Call) -> object:
    """The methods of a trainer's class, where all that it is of is seen or a library's."""
    foreign = next((one for one in call.methods if "." in one and one.split(".")[0] not in KNOWN), None)
    if foreign is not None:
        return Unknown(f"the class of the trainer is of `{foreign}` as well")
    return sorted(one for one in call.methods if "." not in one)


def _of_own_class(block: Block, call: Call, methods: object) -> tuple[Statement, ...]:
    """That the trainer is a class of the program's own, and the methods that it has instead of the library's."""
    return _named(block, call, "launch.own_trainer", True), _named(block, call, "launch.trainer_methods", methods)


_MAKES_ADAPTERS = re.compile(r"(^|\.)(get_peft_model|PeftModel\w*\.from_pretrained)$")


def _kbit(block: Block, call: Call) -> Fragment:
    rows = {"use_gradient_checkpointing": Row("use_gradient_checkpointing", "training.gradient_checkpointing")}
    statements = lower_mapping(
        block,
        rows,
        "call",
        lambda key: Row(key, "training." + key) if key.startswith("gradient_checkpointing_kwargs") else None,
    )
    of_now = last_word(call.name) == "prepare_model_for_kbit_training"  # the other cast no weights yet in PEFT 0.2
    prepared: object = True if of_now else "int8"
    if call.switch is not None and isinstance(call.switch.value, Unknown):
        prepared = Unknown("a switch decides whether it is prepared")
    statements = [*statements, _named(block, call, "model.prepared_for_kbit", prepared)]
    model = block.mapping.get("model")
    # It freezes the adapter with all the rest.
    if of_now and isinstance(model, Call) and _MAKES_ADAPTERS.search(model.name) and not _is_freed(block, call, model):
        statements = [*statements, _named(block, call, "model.prepared_with_adapter", True)]
    return Fragment("python", block, "call", tuple(statements), {}, {})


def _is_freed(block: Block, call: Call, model: Call) -> bool:
    """Whether an adapter is put on behind the call, or something else in the program may free the one that it froze."""
    module, text = block.document.root, block.document.text.text
    assert isinstance(module, Module)
    if any(one.start > call.end and _MAKES_ADAPTERS.search(one.name) for one in module.calls):
        return True
    words = (found.start() for found in UNFREEZES.finditer(text))
    return any(not any(one.start <= at < one.end for one in (call, model)) for at in words)


def _environment(block: Block, call: Call) -> Fragment:
    """What the program sets for the libraries that it loads, and for what it starts."""
    rows = {entry.key: Row(entry.key, "launch.env." + entry.key, "text") for entry in block.mapping.entries}
    return Fragment(
        "python", block, "environment", tuple(lower_mapping(block, rows, "environment", lambda key: None)), {}, {}
    )


_OFFER = ("transformers", "trl", "peft")  # libraries whose names were read release by release


# A class that none of them offers, by a name that cannot be a module's; names that transformers makes up when they are asked for are left out.
_CLASS = re.compile(
    r"(?!TF[A-Z]|Flax[A-Z])[A-Z]\w*[a-z]\w*(?<!FeatureExtractor)(?<!Tokenizer)(?<!TokenizerFast)(?<!ImageProcessorFast)"
)


def _imports(block: Block, call: Call) -> Fragment:
    """Names that some release of their library does not offer, or no longer, and classes that none does, as keys of the library itself."""
    statements: list[Statement] = []
    for entry in block.mapping.entries:
        library, _, name = entry.key.partition(".")
        kind = "modules" if "." in name else "names"
        names = reader(f"{library}.{kind}") if library in _OFFER else None
        told = names is not None and (names.ever(name) or (_CLASS.fullmatch(name) and not names.was_offered(name)))
        if told and not _is_put_there(library, name, block.document.text.text):
            row = Row(entry.key, f"keys.{library}-names.{name}")
            statements.append(statement(block, entry, (entry.key,), row, "import"))
    classes = {f"keys.{library}-names": (f"{library}.names", f"{library}.modules") for library in _OFFER}
    return Fragment("python", block, "import", tuple(statements), {}, classes if statements else {})


def _is_put_there(library: str, name: str, text: str) -> bool:
    """Whether the program itself gives the library the name, or another module in its place: `trl.OwnTrainer = OwnTrainer`."""
    last = name.rpartition(".")[2]
    return (
        re.search(rf"(?<![\w.]){library}(?:\.\w+)*\.{last}[ \t]*=(?!=)", text) is not None
        or re.search(rf"\bsetattr\([ \t]*{library}\b[^\n]{{0,80}}[\"']{last}[\"']", text) is not None
        or re.search(rf"\bsys\.modules\[[ \t]*[\"']{library}\b", text) is not None
    )


def _program(block: Block, call: Call) -> Fragment:
    """What a program lets its caller set, by its own names and with its own defaults."""
    found = tuple(own_keys.settable(block, call.target or ""))
    if call.name == "argparse.options":
        found = tuple(one for one in found if not _is_left_alone(one, block))
    trains = any(one.fact == "training.learning_rate" for one in found)
    scopes = own_keys.scopes() if found else {}
    return Fragment("python", block, "script-default", found, scopes, {}, weak=not trains, presumed=bool(found))


def _is_left_alone(one: Statement, block: Block) -> bool:
    """Whether it is an option of an adapter that the program declares and never reads, where it reads others of the same parser."""
    if not one.fact.startswith("lora.") or not isinstance(one.origin, Explicit):
        return False
    text = block.document.text.text
    if own_keys.reads(text, one.origin.place.path[-1]):
        return False
    return any(own_keys.reads(text, entry.key) for entry in block.mapping.entries)


def _engine(block: Block, call: Call) -> Fragment:
    """`deepspeed.initialize(config=…)` and accelerate's DeepSpeedPlugin: a config as a dict or a path."""
    keys = ("config", "config_params", "hf_ds_config")
    statements: list[Statement] = []
    links: list[Link] = []
    for entry in () if NOBODYS in call.late else block.mapping.entries:
        node = entry.value
        if entry.key in keys and isinstance(node, (Mapping, Scalar)) and call.name == "deepspeed.initialize":
            statements.append(statement(block, entry, (entry.key,), Row(entry.key, "launch.engine.config"), "call"))
        if entry.key in keys and isinstance(node, Mapping):
            inner = block._replace(mapping=Mapping((entry,), node.start, node.end, node.open))
            statements += lower_mapping(inner, {}, "call", _below_config)
        elif entry.key in keys and isinstance(node, Scalar) and isinstance(node.value, str):
            place = Place(block.document, entry.key, node.start, node.end, entry, (entry.key,))
            links.append(Link("deepspeed", node.value, place))
        elif entry.key in _OF_ENGINE and call.name == "deepspeed.initialize":
            statements.append(
                statement(block, entry, (entry.key,), Row(entry.key, f"launch.engine.{entry.key}"), "call")
            )
        elif entry.key == "zero_stage":
            row = Row("zero_stage", "deepspeed.zero_optimization.stage")
            statements.append(statement(block, entry, (entry.key,), row, "call"))
    if call.name == "deepspeed.initialize":
        made = Unknown("its arguments come from elsewhere", there=True) if block.mapping.open else True
        statements.append(_named(block, call, "launch.engine.made", made))
    return Fragment("python", block, "call", tuple(statements), {}, {}, tuple(links))


# What the program hands the engine beside the file: blocks of the file for the same are not built then.
_OF_ENGINE = frozenset({"optimizer", "lr_scheduler", "mpu"})


def _below_config(key: str) -> Row | None:
    _, dot, path = key.partition(".")
    return deepspeed.inline(key, path) if dot else None


_OF_OPTIMIZER = {
    "lr": Row("lr", "training.learning_rate"),
    "weight_decay": Row("weight_decay", "training.weight_decay"),
}


def _optimizer(block: Block, call: Call) -> Fragment:
    """The optimizer of a loop of the program's own; of groups with rates of their own the rate is not one."""
    statements = list(lower_mapping(block, _OF_OPTIMIZER, "call", lambda key: None))
    module = block.document.root
    if _scheduled(module):
        statements = [one for one in statements if one.fact != "training.learning_rate"]
    rates = python_kinds.rates_of_groups(call)
    stated = next((one for one in rates if one is not None), None)
    if stated is not None:
        rate = statement(block, stated, (stated.key,), _OF_OPTIMIZER["lr"], "call")
        values = {one.value.value if one is not None and isinstance(one.value, Scalar) else None for one in rates}
        rate = rate._replace(value=_SEVERAL) if len(values) > 1 else rate
        if not _scheduled(module):
            statements = [*(one for one in statements if one.fact != rate.fact), rate]
    if any(isinstance(node, Mapping) and node.open for node in python_kinds.groups_of(call)):
        statements = [
            one._replace(value=_SEVERAL) if one.fact == "training.learning_rate" else one for one in statements
        ]
    word = framework_words.name_of(call.name)
    if word:
        statements.append(_named(block, call, "training.optim", word))
    return Fragment("python", block, "call", tuple(statements), {}, {})


def _batches(block: Block, call: Call) -> Fragment:
    """The loader of a loop of the program's own. Presumed: what goes between may split a batch, or drop the loader for another."""
    row = Row("batch_size", "training.per_device_train_batch_size")
    statements = lower_mapping(block, {"batch_size": row}, "call", lambda key: None)
    return Fragment("python", block, "call", tuple(statements), {}, {}, presumed=True)


_COUNTS_FROM_ONE = re.compile(r"\+[ ]?1\Z")


def _passes(block: Block, call: Call) -> Fragment:
    """`range(3)`, `range(1, 4)`: how often a loop goes over its rows; behind a first epoch that nobody knows, to which. Presumed: it may be
    left earlier."""
    bounds = call.positional[:2]
    if not bounds:
        return Fragment("python", block, "call", (), {}, {})
    stop = bounds[-1]
    whole = [one.value for one in bounds if isinstance(one, Scalar) and isinstance(one.value, int)]
    if len(whole) == 2:
        stop = Scalar(whole[1] - whole[0], stop.start, stop.end, "computed", False)
    elif len(bounds) == 2 and whole and _COUNTS_FROM_ONE.search(block.document.text.text[: stop.end]):
        stop = Scalar(whole[0] - 1, stop.start, stop.end, "computed", False)
    entry = Entry("epochs", stop.start, stop.end, stop)
    text = block.document.text.text
    counted = text[text.rfind("for", 0, call.start) : call.start]
    row = Row("epochs", "training.num_train_epochs" if "epoch" in counted.lower() else "training.max_steps")
    statements = (statement(block, entry, ("epochs",), row, "call"),)
    return Fragment("python", block, "call", statements, {}, {}, presumed=True)


def _autocast(block: Block, call: Call) -> Fragment:
    """`torch.autocast("cuda", dtype=…)`, `torch.cuda.amp.autocast()`: float16 on a card where none is named (torch 2.14.1 amp/autocast_mode.py).
    Presumed: it may be the evaluation's."""
    row = Row("dtype", "training.amp_dtype", "dtype")
    statements = lower_mapping(block, {"dtype": row}, "call", lambda key: None)
    given = call.positional[1:2]
    if not statements and given:
        entry = Entry("dtype", given[0].start, given[0].end, given[0])
        statements = [statement(block, entry, ("dtype",), row, "call")]
    enabled = call.arguments.get("enabled")
    if enabled is not None and not (isinstance(enabled, Scalar) and enabled.value is True):
        statements = [_named(block, call, "training.amp_dtype", Unknown("a switch decides whether products are cast"))]
    elif not statements and not call.arguments.open:
        statements = [_named(block, call, "training.amp_dtype", "float16")]
    return Fragment("python", block, "call", tuple(statements), {}, {}, presumed=True)


# Schedules that have the rate themselves, and take none from the optimizer.
_SETS_THE_RATE = frozenset({"OneCycleLR", "CyclicLR", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR"})


def _scheduled(module: object) -> bool:
    return isinstance(module, Module) and any(last_word(one.name) in _SETS_THE_RATE for one in module.calls)


_SEVERAL = Unknown("groups of weights have rates of their own")


def _fit(block: Block, call: Call) -> Fragment:
    return sentences.fit(block, call)


def _lightning(block: Block, call: Call) -> Fragment:
    return lightning.lower(block)


def _named(block: Block, call: Call, fact: str, value: object) -> Statement:
    """What the call's own name says; shown at the name."""
    node = Scalar(value, call.name_start, call.name_end, "name", False)
    word = last_word(call.name)
    entry = Entry(word, call.name_start, call.name_end, node)
    return Statement(
        fact,
        value,
        value,
        Explicit(Place(block.document, word, call.name_start, call.name_end, entry, (word,)), "call", block.number),
    )


def _login(block: Block, call: Call) -> Fragment:
    """A hub or a tracker is told who is there: what stands in the program as a literal is told to every reader of it."""
    stated = lower_mapping(block, {}, "call", lambda key: Row(key, "launch.login." + key))
    return Fragment(
        "python",
        block,
        "call",
        tuple(map(_hidden, stated)),
        {},
        {},
    )


def _hidden(statement: Statement) -> Statement:
    """Whatever may be a key or a token elsewhere (`key="…"`) is one where somebody logs in."""
    key = statement.fact.rpartition(".")[2]
    if not names_secret(key) or not holds_secret(SURE, statement.value):
        return statement
    file = statement.origin.place.document.text.name if isinstance(statement.origin, Explicit) else ""
    hidden = MAYBE_HIDDEN if may_be_none(statement.value, file, key) else HIDDEN
    return statement._replace(value=hidden, raw=hidden)


def _data(block: Block, call: Call) -> Fragment:
    """One data set is streamed, another is not: only where all calls agree is it known of the one that is trained on."""
    rows = {"streaming": Row("streaming", "data.is_iterable", "flag")}
    said = list(lower_mapping(block, rows, "call", lambda key: None))
    if not said and not block.mapping.open:
        said = [_named(block, call, "data.is_iterable", False)]
    if call.target is not None and _is_read(call.target, block.document.text.text):
        said = [
            one._replace(value=Unknown("the program reads the rows one by one")) for one in said if one.value is True
        ]
    return Fragment("python", block, "call", tuple(said), {}, {})


def _is_read(name: str, text: str) -> bool:
    """Whether a loop goes through the rows, which may then be put into a list: `[row for row in stream]`."""
    return name.isidentifier() and re.search(rf"\bin[ \t]+(?:\w+\([ \t]*){{0,3}}{name}\b", text) is not None


def _tokenizer(block: Block, call: Call) -> Fragment:
    """Which special token the program makes another one of."""
    rows = {key: Row(key, "tokenizer.pad_token", "text") for key in ("pad_token", "pad_token_id")}
    mapping = block.mapping._replace(entries=tuple(padding.of_trainings(block.document, block.mapping.entries)))
    said = list(lower_mapping(block._replace(mapping=mapping), rows, "call", lambda key: None))
    if said:
        text, module = block.document.text.text, block.document.root
        # a program with a main part that cannot train looks at rows, and a module may be anybody's
        looks = isinstance(module, Module) and "__main__" in text and not loop.may_train(module)
        said.append(_named(block, call, "data.own_end", looks or _OWN_END.search(text) is not None))
    return Fragment("python", block, "call", tuple(said), {}, {})


# What a program ends its rows with beside the tokenizer's own end: a mark in its prompts, the turns of a chat template, words to stop at.
_OWN_END = re.compile(
    r"\#\#\#? ?End\b|<\|im_end\|>|<\|eot(?:_id)?\|>|<\|end(?:_of_turn)?\|>(?![A-Za-z])|<end_of_turn>|<turn\|>|<\|assistant_end\|>|\[/?END\]"
    r"|<end>|<STOP>|<\|END_OF_TURN_TOKEN\|>"
    r"|\b(?:END|STOP)_(?:KEY|MARK|MARKER|TOKEN|TAG|STR|STRING|SEQ|SEQUENCE|WORD|OF_\w+)\b|\b(?:end|stop)_(?:key|mark|marker|tag|string|sequence|word|sequences|words|strings)\b"
    r"|\bapply_chat_template\b|\bchat_template\b|\bgroup_texts\b"  # blocks of joined rows have nothing to pad
    r"|\bif[ \t]+length[ \t]*==[ \t]*\w"  # nor have pieces of full length, which are cut where no end is
    # functions of other modules that make the rows, or their text: they end them as they please
    r"|^[ \t]*from[ \t]+[.\w]*(?:prompt|template|conversation|format)\w*[ \t]+import\b"
    r"|^[ \t]*from[ \t]+(?!datasets\b|torch|transformers|trl\b)[.\w]+[ \t]+import[ \t][^#\n]*(?:prompt|template|conversation|get_\w*(?:data|rows|samples))",
    re.MULTILINE,
)


def _frozen(block: Block, call: Call) -> Fragment:
    """Some of the weights stay as they are: which, the program decides."""
    return Fragment("python", block, "call", (_named(block, call, "model.partly_frozen", True),), {}, {})


def _rebuilt(block: Block, call: Call) -> Fragment:
    """Modules that the program puts into a model: their names are its own."""
    return Fragment("python", block, "call", (_named(block, call, "model.modules_replaced", True),), {}, {})


def _collator(block: Block, call: Call) -> Fragment:
    statements = [_named(block, call, "data.collator", last_word(call.name))]
    said = list(lower_mapping(block, {"mlm": Row("mlm", "data.mlm", "flag")}, "call", lambda key: None))
    # transformers' own masks tokens at random unless told otherwise, TRL's for completions never does by itself
    masks: object = last_word(call.name) == "DataCollatorForLanguageModeling"
    if call.local and "__init__" in call.methods:  # `super().__init__(tokenizer=tokenizer, mlm=False)`
        masks = Unknown("the program's own collator says it where it is made")
    statements += said or [_named(block, call, "data.mlm", masks)]
    return Fragment("python", block, "call", tuple(statements), {}, {})


LOWER = {
    "frozen": _frozen, "rebuilt": _rebuilt,
    "tokenizer": _tokenizer, "collator": _collator,
    "data": _data, "login": _login,
    "arguments": _arguments, "adapter": _adapter, "quantiser": _quantiser, "loader": _loader, "unsloth-adapter": _unsloth_adapter,
    "trainer": _trainer, "own-trainer": _own_trainer, "checkpointing": _checkpointing, "accelerator": _accelerator, "kbit": _kbit,
    "program": _program, "program-part": _program, "environment": _environment, "imports": _imports,
    "deepspeed": _engine, "plugin": _engine, "lightning": _lightning, "optimizer": _optimizer, "fit": _fit,
    "batches": _batches, "passes": _passes, "autocast": _autocast,
}  # fmt: skip
