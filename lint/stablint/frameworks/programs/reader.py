"""Python files: the calls that build configs, load the model and build the trainer, each lowered by the table of its class.

A file that builds the trainer itself says everything about adapters; one that only builds arguments does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks import huggingface
from stablint.frameworks.codec import CODECS
from stablint.frameworks.fragment import Block, Fragment, Row, last_word, statement
from stablint.frameworks.programs import adapted as python_adapted
from stablint.frameworks.programs import called as python_called
from stablint.frameworks.programs import cast as python_cast
from stablint.frameworks.programs import done as python_done
from stablint.frameworks.programs import handed as python_handed
from stablint.frameworks.programs import helpers as python_helpers
from stablint.frameworks.programs import imported as python_imported
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs import late as python_late
from stablint.frameworks.programs import loop
from stablint.frameworks.programs import placed as python_placed
from stablint.frameworks.programs import signatures as python_signatures
from stablint.frameworks.programs import wrapped as python_wrapped
from stablint.frameworks.programs.parts import CODEC_OF, LOWER
from stablint.frameworks.programs.runs import defaults_of, reached
from stablint.frameworks.programs.seen import of_call, seen_in
from stablint.run.fact import CLOSED, LATE, OPEN, OWN, PRESUMED, Explicit, Place, Statement
from stablint.syntax.limits import BLOCKS, HELPERS
from stablint.syntax.tree import NOBODYS, ONLY_SHOWN, Call, Document, Entry, Mapping, Module, Node, Scalar, Unknown

_TRAINERS = ("trainer", "own-trainer", "lightning")
_OF_A_LOOP = frozenset({"optimizer", "batches", "passes", "autocast"})
_SILENT = frozenset(
    {"data", "environment", "imports", "tokenizer", "collator", "frozen", "rebuilt", "program-part", *_OF_A_LOOP}
)  # they mean nothing by themselves


def recognise(document: Document) -> int:
    module = document.root
    if not isinstance(module, Module):
        return 0
    every = {kind for _, kind in _kinds(module)}
    kinds = every - _SILENT
    if "optimizer" in every and not kinds:  # its own loop steps what it makes here, whatever the model is
        return 90
    return 0 if not kinds or (kinds <= _OF_WORKERS and _is_worker(document.text.text)) else 90


# A class of verl's workers is no run: what it loads and adapts stands in the configuration of the command that starts them.
_IMPORTS_WORKER = re.compile(r"^from verl\.single_controller\.base import (?:\w+,[ \t]*){0,9}Worker\b", re.MULTILINE)
_WORKER = re.compile(r"^class \w+\((?:[\w.]+,[ \t]*){0,9}[\w.]*Worker\b", re.MULTILINE)
_OF_WORKERS = frozenset({"", "loader", "adapter", "checkpointing"})


def _is_worker(text: str) -> bool:
    imported = _IMPORTS_WORKER.search(text)
    return imported is not None and _WORKER.search(text, imported.end()) is not None


def lower(document: Document) -> Iterator[Fragment]:
    """One fragment a telling call, and one more for what its caller may override. See python_runs.py for which make a run."""
    module = document.root
    assert isinstance(module, Module)
    kinds = _without_dead_adapters(_kinds(module))
    if not any(kind in _TRAINERS for _, kind in kinds) and _STEPS_ITSELF.search(document.text.text):
        kinds = [(call, kind) for call, kind in kinds if kind != "loader" or not _is_only_asked(call, document)]
    words = {kind for _, kind in kinds}
    adapters = not words.isdisjoint(("adapter", "unsloth-adapter")) or any(
        ("peft" in call.name and python_kinds.kind(call) != "unsloth-adapter" and NOBODYS not in call.late)
        or last_word(call.name) in python_kinds.ADAPTER_METHODS
        for call in module.calls
    )
    lora = PRESUMED
    made = not words.isdisjoint(("adapter", "unsloth-adapter"))
    if (adapters and not made) or (
        not adapters and (python_adapted.elsewhere(module) or python_adapted.brought(module))
    ):
        lora = OPEN
    elif any(kind == "trainer" and call.local for call, kind in kinds) or (not adapters and _has_own_trainer(module)):
        lora = OPEN  # a class of the program's own may make or change an adapter
    elif {"trainer", "loader"} <= words and not adapters and python_adapted.hands_on(module):
        lora = CLOSED
    if any(kind in _ADAPTERS and call.arguments.open for call, kind in kinds):
        lora = OPEN  # `LoraConfig(**settings)`
    opened = _opened(kinds)
    # a loop of the program's own trains whatever it loads, unless a word here speaks of adapters
    adapting = lora if "loader" in words and not seen_in(_ADAPTS, document, re.IGNORECASE) else OPEN
    view = document.view
    own = "notebook" if view is not None and view.host in ("notebook", "databricks") and not view.name else "python"
    framework = "unsloth" if _takes_unsloth(document) else _framework([call.name for call, _ in kinds])
    switches = [call.switch for call, kind in kinds if kind in _ADAPTERS]
    # of several adapters each may stand for another, unless every one of them is left out
    alone = len(switches) == 1 or all(one is not None and one.value is False for one in switches)
    given = python_adapted.handed_over(module) if made else None
    another = python_adapted.of_another(module)
    steps = _steps(document, module, words)
    helpers = python_helpers.links(document, module)
    casts = python_cast.of(module)
    trainer = min((call.start for call, kind in kinds if kind in _TRAINERS), default=len(document.text.text))
    told = next(
        (
            index
            for index, (_, kind) in enumerate(kinds)
            if kind in ("accelerator", "deepspeed", "lightning", "fit", "optimizer")
        ),
        -1,
    )
    if steps and told < 0 and words.isdisjoint(("arguments", "trainer")):
        told = next((index for index, (_, kind) in enumerate(kinds) if kind == "loader"), -1)
    misfits = python_signatures.misfits(document, module)
    whole = next(
        (n for n, (_, kind) in enumerate(kinds) if kind == ("arguments" if "arguments" in words else "trainer")),
        max(told, 0),
    )
    unused = "trainer" in words and _is_left(document, module)
    for index, (call, kind) in enumerate(kinds[: BLOCKS.most + 1]):  # assemble/runs.py leaves out the last, and says so
        mapping = _with_positional(call, kind)
        block = Block(document, "call", call.name, mapping, call.start, call.end, index, call)
        fragment = LOWER[kind](block, call)
        if kind == "loader" and (cast := python_cast.afterwards(document, casts, call, trainer)) is not None:
            kept = (one for one in fragment.statements if one.fact != "model.dtype")
            fragment = fragment._replace(statements=(*kept, cast))
        if kind == "loader":
            fragment = fragment._replace(statements=python_placed.told(document, call, fragment.statements))
        if call.switch is not None and (kind not in _ADAPTERS or alone):
            fragment = fragment._replace(statements=_switched(fragment.statements, kind, block, call.switch))
        fragment = fragment._replace(
            dialect=own if fragment.dialect == "python" else fragment.dialect,
            framework=framework if fragment.entry else "",
            scopes=_scopes(kind, call, adapting if kind == "optimizer" else lora, mapping.open, opened),
            statements=(
                *(_either(_member(one)) for one in fragment.statements),
                *(steps if kind == ("arguments" if "arguments" in words else "trainer") or index == told else ()),
                *(misfits if index == whole else ()),
                *((_handed_over(document, given),) if given is not None and kind in _ADAPTERS else ()),
                *(
                    (of_call(document, "launch.done.adapts_another", True, another),)
                    if another is not None and kind in _ADAPTERS
                    else ()
                ),
                *python_done.told(document, module, call, kind),
                *python_called.told(document, module, call, kind),
                *python_handed.told(document, module, call, kind),
                *python_wrapped.told(document, module, call, kind),
            ),
        )
        if helpers:
            followed = (*fragment.links, *helpers[: HELPERS.most])
            cut = (HELPERS,) if len(helpers) > HELPERS.most else ()
            fragment, helpers = fragment._replace(links=followed, cut=(*fragment.cut, *cut)), ()
        if _is_uncertain(call, kind) or (unused and kind not in _SILENT):
            fragment = fragment._replace(presumed=True)
        fragment = python_imported.linked(fragment)
        for part in _unchecked_apart(fragment, call) if kind in _MADE else (fragment,):
            yield from _defaults_apart(part)


_ADAPTS = r"lora|adapter|peft|prefix|prompt_?tun"
_OF_SETTINGS = frozenset({"training", "trainer", "fsdp", "lora", "quantization"})


def _unchecked_apart(fragment: Fragment, call: Call) -> Iterator[Fragment]:
    """What is set when the object is made is presumed: its constructor has held the values before against each other, and asks nothing again."""
    if not python_late.is_unchecked(fragment.block, call):
        yield fragment
        return
    later = [
        one._replace(origin=one.origin._replace(reader=LATE))
        for one in fragment.statements
        if one.fact.partition(".")[0] in _OF_SETTINGS
        and isinstance(one.origin, Explicit)
        and one.origin.place.start >= call.end
    ]
    if not later:
        yield fragment
        return
    facts = {one.fact for one in later}
    yield fragment._replace(statements=tuple(one for one in fragment.statements if one.fact not in facts))
    yield fragment._replace(
        statements=tuple(later), scopes={}, classes={}, links=(), entry=False, framework="", presumed=True
    )


def _steps(document: Document, module: Module, words: set[str]) -> tuple[Statement, ...]:
    """Of a program that calls no trainer: its own loop, or that it only evaluates; of one that makes a trainer, that it never trains."""
    said = Explicit(Place(document, "", 0, 0), "call", 0)
    evaluates = (
        Statement("launch.trains", False, False, said),
        Statement("launch.phase", "evaluation", "evaluation", said),
    )
    if "trainer" in words:
        return evaluates if loop.only_judges(module) else ()
    if "lightning" in words and "arguments" not in words:
        return () if loop.may_train(module) else evaluates  # it converts, merges or generates
    if "own-trainer" in words and "arguments" not in words:
        return ()
    found = loop.of(module, document.text.text)
    merges = loop.merges(module)
    if found is None and not words & _OF_TRAINING and "loader" in words and (merges or _is_a_program(document, module)):
        judged = (
            (merges or loop.judges(module))
            and not loop.may_train(module)
            and python_adapted.handed_over(module) is None
        )
        return evaluates if judged else ()
    if found is not None and found[0] == "accelerate" and "arguments" not in words and not loop.may_train(module):
        return evaluates if loop.judges(module) else ()  # accelerate spreads an evaluation as well
    if found is not None:
        name, call = found
        place = Place(document, last_word(call.name), call.name_start, call.name_end)
        return (Statement("launch.loop", name, name, Explicit(place, "call", 0)),)
    if "arguments" not in words or loop.may_train(module) or not loop.judges(module):
        return ()
    # A module that makes a class of a trainer is there for the program that trains with it.
    return () if seen_in(_TRAINER_CLASS, document, re.MULTILINE) is not None else evaluates


_TRAINER_CLASS = r"^class[ \t]+\w{1,80}\([^()\n]{0,200}Trainer\b"


def _is_left(document: Document, module: Module) -> bool:
    """Whether a whole program makes a trainer and trains nothing with it: it evaluates, or does nothing. What its constructors refuse they
    refuse all the same, but nobody has written that for a training."""
    return loop.only_judges(module) or ("__main__" in document.text.text and loop.leaves_its_trainer(module))


_OF_TRAINING = frozenset({"arguments", "adapter", "unsloth-adapter", "kbit", "checkpointing", "program", "own-trainer"})


def _is_a_program(document: Document, module: Module) -> bool:
    """Whether it is run by itself, and no module of another: a notebook, a file that says so, or one whose own lines load a model."""
    view, text = document.view, document.text.text
    if (view is not None and view.host in ("notebook", "databricks")) or "__main__" in text:
        return True
    loads = (call for call, kind in python_kinds.kinds(module) if kind == "loader")
    return any(not text[text.rfind("\n", 0, call.start) + 1 : call.start][:1].isspace() for call in loads)


_MADE = frozenset({"arguments", "adapter", "quantiser"})
_CONSTRUCTORS = frozenset(["__init__", "__new__", "__post_init__"])


# Packages that have these classes, or hand them on.
_HOMES = (
    "transformers.", "trl.", "peft.", "unsloth.", "optimum.", "sentence_transformers.", "accelerate.", "swift.", "modelscope.", "diffusers.",
    "setfit.", "llamafactory.", "llmtuner.", "axolotl.",
)  # fmt: skip


def _is_uncertain(call: Call, kind: str) -> bool:
    """Whether the library may never see the arguments, or its refusal ends nothing: the program catches it, takes another branch with another
    release, sets whatever it likes on them afterwards, or hands them to the library by a constructor of its own.
    A class counts as a library's by its import alone: one from a module of the project may be another of that name."""
    if kind in _SILENT:
        return False
    if "*" in call.late:
        return True
    if kind in _MADE and "." in call.name and not call.name.startswith(_HOMES):
        return True
    if kind == "loader" and call.name.count(".") > 1 and not call.name.startswith(_HOMES):
        return True  # a model class of another module's, whatever it is called
    return call.attempt or (kind in _MADE and not _CONSTRUCTORS.isdisjoint(call.methods))


def _handed_over(document: Document, call: Call) -> Statement:
    """That code out of sight gets hold of the model, which may have other modules then."""
    place = Place(document, last_word(call.name), call.name_start, call.name_end)
    return Statement("model.handed_over", True, True, Explicit(place, "call", 0))


def _is_true(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.value is True


_STEPS_ITSELF = re.compile(r"\.backward\(")
# What a model is asked for, or told, that nobody trains: `judge.eval()`, `judge(**batch)`.
_ASKS = r"(?!\s*(?:\(|\.(?:eval|generate|config|device|to|cpu|cuda|half|dtype|requires_grad_\(False\))\b|\s=[^=]))"


def _is_only_asked(loader: Call, document: Document) -> bool:
    """Whether a loop of the program's own never trains what is loaded: it is put to evaluate, asked, and given to nobody."""
    name, text = loader.target or "", document.text.text
    if not name.isidentifier() or re.search(rf"\b{name}\.eval\(\)", text) is None:
        return False
    return re.search(rf"(?<![\w.]){name}\b{_ASKS}", text[loader.end :]) is None


_UNUSED = frozenset([NOBODYS, ONLY_SHOWN])


def _without_dead_adapters(kinds: list[tuple[Call, str]]) -> list[tuple[Call, str]]:
    """Without adapters' configurations that are given to nobody; of several adapters without those of branches that are never taken."""
    kinds = [(call, kind) for call, kind in kinds if kind != "adapter" or _UNUSED.isdisjoint(call.late)]
    dead = {id(call) for call, kind in kinds if kind in _ADAPTERS and _is_never(call.switch)}
    if not dead or all(id(call) in dead for call, kind in kinds if kind in _ADAPTERS):
        return kinds
    return [(call, kind) for call, kind in kinds if id(call) not in dead]


def _is_never(switch: Scalar | None) -> bool:
    return switch is not None and switch.value is False and not defaults_of(switch)


def _kinds(module: Module) -> list[tuple[Call, str]]:
    """The telling calls. A class of the program's own that is given arguments of ours is a trainer as well."""
    kinds = list(python_kinds.kinds(module))
    if any(kind == "loader" and _is_true(call.arguments.get("full_finetuning")) for call, kind in kinds):
        # Unsloth gives the model back without an adapter then (2026.10.9 models/llama.py, get_peft_model).
        kinds = [(call, "" if kind == "unsloth-adapter" else kind) for call, kind in kinds]
    if module.tests:  # settings to be tried out; a token is one all the same
        return [(call, kind) for call, kind in kinds if kind in ("login", "environment")]
    if not any(
        kind == "fit" or (python_kinds.encoder(call.name) and kind in ("trainer", "arguments")) for call, kind in kinds
    ):
        # a model of sentence-transformers that nothing here trains makes the rows, or measures
        kinds = [(call, "" if python_kinds.is_encoder(call) else kind) for call, kind in kinds]
    words = {kind for _, kind in kinds}
    if words & _OF_A_LOOP and (
        words & {"arguments", "trainer", "fit", "lightning"}
        or (found := loop.of(module)) is None
        or found[0] not in _OWN_LOOPS
    ):
        kinds = [(call, "" if kind in _OF_A_LOOP else kind) for call, kind in kinds]
    arguments = {call.start for call, kind in kinds if kind == "arguments"}
    return [
        (call, kind or "own-trainer")
        for call, kind in kinds
        if kind
        or (
            arguments
            and _is_own_trainer(call)
            and not arguments.isdisjoint(reached([call.arguments, *call.positional]))
        )
    ]


def _has_own_trainer(module: Module) -> bool:
    """A trainer of another file, under whatever name: `PPOTrainerForChatGLM`."""
    return any(
        loop.is_like_a_trainer(call) and "." in call.name and not python_kinds.kind(call) and call.receiver is None
        and not call.name.startswith(_LIBRARIES) and last_word(call.name)[:1].isupper()
        for call in module.calls
    )  # fmt: skip


_OWN_LOOPS = ("torch", "accelerate", "deepspeed")  # which step the optimizer that the file makes
_LIBRARIES = (
    "transformers.",
    "trl.",
    "torch.",
    "accelerate.",
    "datasets.",
    "tokenizers.",
    "sentence_transformers.",
    *python_kinds.LIGHTNING,
)


def _is_own_trainer(call: Call) -> bool:
    return last_word(call.name).endswith("Trainer") and call.start != call.end


# Of their positional arguments every one is a setting.
_SETTINGS = frozenset({"arguments", "adapter", "quantiser", "unsloth-adapter", "trainer"})


def _with_positional(call: Call, kind: str) -> Mapping:
    """The arguments with the names of those that are given by their place; what has no name that we know may be any other."""
    if not call.positional:
        return call.arguments
    names = python_kinds.positional(kind, call.name)
    named = [Entry(name, node.start, node.start, node) for name, node in zip(names, call.positional, strict=False)]
    more = len(call.positional) > len(names) and kind in _SETTINGS
    arguments = call.arguments
    return arguments._replace(entries=(*named, *arguments.entries), open=arguments.open or more)


# Enumerations of PEFT whose values are the members' names (peft 0.21.2 utils/peft_types.py, tuners/*/config.py); elsewhere they are in lower case.
_CAPITALS = frozenset(
    ["TaskType", "PeftType", "PromptTuningInit", "MultitaskPromptTuningInit", "PromptEncoderReparameterizationType"]
)
# Members whose value is another word than their name (transformers 5.23.0 training_args.py:113, trainer_utils.py:561).
_VALUES = {
    ("OptimizerNames", "ADAMW_BNB"): "adamw_bnb_8bit", ("OptimizerNames", "LION"): "lion_32bit", ("OptimizerNames", "PAGED_LION"): "paged_lion_32bit",
    ("OptimizerNames", "PAGED_ADAMW"): "paged_adamw_32bit", ("OptimizerNames", "PAGED_ADEMAMIX"): "paged_ademamix_32bit",
    ("OptimizerNames", "RMSPROP_8BIT"): "rmsprop_bnb_8bit", ("OptimizerNames", "RMSPROP_32BIT"): "rmsprop_bnb_32bit",
    ("SchedulerType", "REDUCE_ON_PLATEAU"): "reduce_lr_on_plateau",
}  # fmt: skip
# The class is written in mixed case, its member in capitals.
_MEMBER = re.compile(r"(?:\w+\.)*([A-Z][^\Wa-z]*[a-z]\w*)\.([A-Z][A-Z0-9_]*)(?:\.value)?\Z")


def _member(one: Statement) -> Statement:
    """A member of an enumeration as the word that it stands for: `TaskType.CAUSAL_LM`, `IntervalStrategy.STEPS`."""
    raw, origin = one.raw, one.origin
    if not isinstance(raw, str) or "." not in raw or not isinstance(origin, Explicit) or origin.place.entry is None:
        return one
    node = origin.place.entry.value
    spelled = isinstance(node, Scalar) and (node.form in ("attribute", "name") or bool(defaults_of(node)))
    found = _MEMBER.match(raw) if spelled else None
    if found is None:
        return one
    word = found[2] if found[1] in _CAPITALS else _VALUES.get((found[1], found[2]), found[2].lower())
    return one._replace(value=word, raw=word)


def _either(one: Statement) -> Statement:
    """What depends on the GPU, in the words of the fact: `torch.bfloat16` is bfloat16."""
    raw = one.raw
    if not isinstance(raw, Unknown) or raw.depends is None:
        return one
    fact, yes, no = raw.depends
    read = CODECS[CODEC_OF.get(one.fact, "plain")]
    return one._replace(value=Unknown(raw.reason, (fact, read(yes), read(no))))


_ADAPTERS = ("adapter", "unsloth-adapter")
_BITS = ("quantization.load_in_4bit", "quantization.load_in_8bit")


# `config.get("load_in_4bit", False)`, `getattr(args, "load_in_4bit", False)`
_OFF_BY_DEFAULT = re.compile(r"""\bget(?:attr)?\([^()]*["']\w+["']\s*,\s*(?:False|None|0)\s*\)\s*\Z""")


def _switched(statements: tuple[Statement, ...], kind: str, block: Block, switch: Scalar) -> tuple[Statement, ...]:
    """What a branch makes or switches on is there if its test holds, which a command may decide."""
    if kind not in (*_ADAPTERS, "quantiser", "checkpointing", "kbit"):
        return statements
    text = block.document.text.text[switch.start : switch.end]
    if (
        kind == "kbit"
    ):  # what it does is done where it is switched on: of a switch that is off unless a file says otherwise nobody knows
        off = switch.value is False or _OFF_BY_DEFAULT.search(text) is not None
        why = Unknown(f"it counts where `{text}` is switched on")
        return tuple(one._replace(value=why) for one in statements) if off else statements
    entry = Entry(text, switch.start, switch.end, switch)

    def said(fact: str) -> Statement:
        one = statement(block, entry, (text,), Row(text, fact), "script-default")
        return one._replace(origin=one.origin._replace(reader=OWN)) if isinstance(one.origin, Explicit) else one

    if kind in _ADAPTERS:
        return (*statements, said("lora.use_peft"))
    if kind == "checkpointing":
        fact = "training.gradient_checkpointing"
        return (*(one for one in statements if one.fact != fact), said(fact))
    bits = tuple(one for one in statements if one.fact in _BITS and one.value is True)
    rest = tuple(one for one in statements if one not in bits)
    if switch.value is False:  # whoever switches it on gets them; without the bits they are of no run
        why = Unknown(f"it counts where `{text}` is switched on")
        rest = tuple(one._replace(value=why) if one.fact.startswith("quantization.") else one for one in rest)
    return (*rest, *(said(one.fact) for one in bits))


def _defaults_apart(fragment: Fragment) -> Iterator[Fragment]:
    """What the program takes only where its caller says nothing else is presumed, and yields to flags."""
    fixed: list[Statement] = []
    presumed: list[Statement] = []
    for one in fragment.statements:
        origin = one.origin
        entry = origin.place.entry if isinstance(origin, Explicit) else None
        if entry is not None and isinstance(origin, Explicit) and defaults_of(entry.value):
            presumed.append(one._replace(origin=origin._replace(layer="script-default")))
        else:
            fixed.append(one)
    yield fragment._replace(statements=tuple(fixed))
    if presumed:
        yield fragment._replace(
            layer="script-default", statements=tuple(presumed), scopes={}, classes={}, links=huggingface.links(tuple(presumed)),
            entry=False, framework="", presumed=True,
        )  # fmt: skip


def _takes_unsloth(document: Document) -> bool:
    """Its import alone replaces the trainers of TRL (unsloth 2026.10.9 trainer.py, `_backwards_compatible_trainer`)."""
    text = document.text.text
    return "unsloth" in text and re.search(r"^[ \t]*(?:import|from)[ \t]+unsloth\b", text, re.MULTILINE) is not None


def _framework(names: list[str]) -> str:
    if any(name.startswith("unsloth.") or last_word(name.rpartition(".")[0]) in python_kinds.UNSLOTH for name in names):
        return "unsloth"
    if any(name.startswith(python_kinds.LIGHTNING) for name in names):
        return "lightning"
    return "trl" if any(name.startswith("trl.") for name in names) else "transformers"


def _opened(kinds: list[tuple[Call, str]]) -> frozenset[str]:
    """The namespaces of which a call gets settings that nobody knows: `from_pretrained(name, **settings)`."""
    spread = {kind for call, kind in kinds if call.arguments.open}
    return frozenset(name for name, kind in (("model", "loader"), ("quantization", "quantiser")) if kind in spread)


def _scopes(kind: str, call: Call, lora: str, is_open: bool, opened: frozenset[str]) -> dict[str, str]:
    state = OPEN if is_open or call.parsed else CLOSED
    if kind == "arguments":
        return {
            "training": state,
            "lora": OPEN if call.parsed and lora != CLOSED else lora,
            "quantization": OPEN if call.parsed or opened else PRESUMED,
            "model": OPEN if call.parsed or "model" in opened else PRESUMED,
            "fsdp": state,
            "tokenizer": OPEN,
        }
    if kind == "optimizer":
        return {"lora": lora}
    if kind == "fit":
        return {"lora": lora, "quantization": PRESUMED}
    if kind == "adapter" or kind == "unsloth-adapter":
        return {"lora": state}
    if kind == "quantiser":
        return {"quantization": state}
    if kind == "loader":
        return {
            "model": state,
            "quantization": state if not any(e.key == "quantization_config" for e in call.arguments.entries) else OPEN,
        }
    if kind == "trainer":
        return {"trainer": state}
    return {}
