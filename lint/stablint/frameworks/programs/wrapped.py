"""Which of a program's models get an adapter of PEFT, and which get one twice: PEFT changes the model in place, so another name for the result
leaves no plain model behind.

Facts `launch.shows.adapted_class`, `launch.shows.adapter_named`, `launch.shows.adapter_on_model` (what put the trainer's adapter there),
`launch.shows.adapted_twice` (what put the first there; its place is the second), `launch.shows.adapted_again_in_loop`,
`launch.shows.second_adapter_on_all_linear`, `launch.shows.adapter_after_optimizer` (what brings it), `launch.shows.adapter_never_active`,
`launch.shows.unsloth_foreign_model`, `launch.shows.adapter_merged` (what put the merged adapter there), `launch.shows.signature_hidden`
(the wrapper of torch's); each only where the calls show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs.runs import reached
from stablint.frameworks.programs.seen import calls, of_call, seen_in, stated
from stablint.frameworks.programs.unseen import unless, unseen
from stablint.run.fact import Statement
from stablint.syntax.tree import Call, Document, Module, Node, Scalar

_LOADS = re.compile(r"peft\.(?:\w{1,40}\.){0,8}PeftM\w{0,40}\.from_pretrained")
_ADAPTED = re.compile(r"peft\.(?:\w{1,40}\.){0,8}AutoPeftM\w{0,40}\.from_pretrained")
# Wrappers whose forward takes anything (torch 2.9 nn/parallel/data_parallel.py, distributed.py; fsdp/fully_sharded_data_parallel.py).
_HIDES = re.compile(r"torch\.(?:\w{1,40}\.){1,8}(?:DataParallel|DistributedDataParallel|FullyShardedDataParallel)")
# Methods and functions that give the same model back.
_SAME = frozenset({"to", "cuda", "cpu", "half", "float", "bfloat16", "eval", "train", "prepare_model_for_kbit_training",
                   "prepare_model_for_int8_training"})  # fmt: skip
# By which a model gets rid of its adapter, or another object is made of it.
_APART = re.compile(r"unload\(|deepcopy\(|delete_adapter\(|\.get_base_model\(")
_MERGES = re.compile(r"(?:merge_and_)?unload\(\)|deepcopy\(|delete_adapter\(")
_DEFINES = re.compile(r"^([ \t]*)(?:async[ \t]+def|def|class)[ \t]", re.MULTILINE)


def told(document: Document, module: Module, call: Call, kind: str) -> Iterator[Statement]:
    """Of one of the program's calls. `kind`: which (python_kinds.kind). A trainer tells of its model; without any the first configuration does."""
    wraps = _wraps(module)
    if kind == "unsloth-adapter":
        given = next(iter(call.positional), None) or call.arguments.get("model")
        if (
            isinstance(given, Call)
            and given.name.startswith("transformers.")
            and last_word(given.name) == "from_pretrained"
        ):
            yield of_call(
                document, "launch.shows.unsloth_foreign_model", given.name.rpartition(".")[0].rpartition(".")[2], given
            )
        return
    if kind == "trainer":
        model = call.arguments.get("model") or next(iter(call.positional), None)
        if isinstance(model, Call) and not model.conditional and model.switch is None and not model.attempt:
            if not model.local and _HIDES.fullmatch(model.name) and not _has_no_columns(call):
                yield of_call(document, "launch.shows.signature_hidden", last_word(model.name), model)
            if _is_wrap(model) or (not model.local and _ADAPTED.fullmatch(model.name)):
                yield of_call(document, "launch.shows.adapter_on_model", _named(model), model)
            elif _gets_config(call):
                base = _base(model)
                first = next((one for one in wraps if _wrapped(one) == base and one.end < call.start), None)
                if first is not None and base is not None and _together(document, first, call):
                    yield stated(document, "launch.shows.adapted_twice", _named(first), "model", model.start, model.end)
                    return
        reaches = reached([model]) if model is not None else set()
    elif kind in ("adapter", "loader") and call.start == _speaker(module):
        reaches = {one.start for one in wraps}
    else:
        return
    yield from _base_class(document, wraps, reaches)
    yield from _twice(document, wraps, reaches)
    yield from _all_linear(document, module, wraps, reaches)
    yield from _after_optimizer(document, module, wraps)
    yield from _never_active(document, module, wraps, reaches)
    yield from _merged(document, module, wraps)


def _merged(document: Document, module: Module, wraps: list[Call]) -> Iterator[Statement]:
    """An adapter that is merged into the model that the program's only loader made."""
    loaders = [one for one, kind in python_kinds.kinds(module) if kind == "loader" and not _ADAPTED.fullmatch(one.name)]
    by_start = {one.start: one for one in wraps}
    for call in calls(module, "merge_and_unload"):
        of = call.receiver
        wrap = by_start.get(of.start) if isinstance(of, Call) else None
        if wrap is None or call.conditional or wrap.conditional or len(loaders) != 1:
            continue
        if _wrapped(wrap) == loaders[0].start:
            yield of_call(document, "launch.shows.adapter_merged", _named(wrap), call)
            return


def class_of(node: Node | None) -> str:
    """The class whose `from_pretrained` made a model, through what gives it back and what puts an adapter on it; empty where nobody can say."""
    for _ in range(10):
        if not isinstance(node, Call) or node.conditional or node.switch is not None:
            return ""
        if (
            last_word(node.name) in ("from_pretrained", "from_config")
            and not node.local
            and not _LOADS.fullmatch(node.name)
        ):
            return last_word(node.name.rpartition(".")[0])
        if node.local or not (last_word(node.name) in _SAME or _is_wrap(node)):
            return ""
        node = node.receiver if isinstance(node.receiver, Call) else _first(node)
    return ""


def _first(call: Call) -> Node | None:
    return next(iter(call.positional), None) or call.arguments.get("model")


def _base_class(document: Document, wraps: list[Call], reaches: set[int]) -> Iterator[Statement]:
    """`adapted_class`: what the first adapter is put on; `adapter_named`: under a name of its own."""
    wrap = next((one for one in wraps if one.start in reaches and not one.conditional), None)
    if wrap is None:
        return
    made, name = class_of(_first(wrap)), wrap.arguments.get("adapter_name")
    if made:
        yield of_call(document, "launch.shows.adapted_class", made, wrap)
    if isinstance(name, Scalar) and isinstance(name.value, str) and name.value != "default":
        yield stated(document, "launch.shows.adapter_named", True, "adapter_name", name.start, name.end)


def _has_no_columns(trainer: Call) -> bool:
    """Whether the rows are an object of the program's own: only sets of `datasets` have columns to drop."""
    rows = trainer.arguments.get("train_dataset")
    return isinstance(rows, Call) and (rows.local or last_word(rows.name)[:1].isupper())


def _speaker(module: Module) -> int:
    """The call that tells of a program without a trainer."""
    kinds = python_kinds.kinds(module)
    if any(kind == "trainer" for _, kind in kinds):
        return -1
    return next((one.start for one, kind in kinds if kind in ("adapter", "loader")), -1)


def _is_wrap(call: Call) -> bool:
    if call.local:
        return False
    return call.name in ("get_peft_model", "peft.get_peft_model", "peft.mapping.get_peft_model") or bool(
        _LOADS.fullmatch(call.name)
    )


def _named(call: Call) -> str:
    return ".".join(call.name.split(".")[-2:]) if last_word(call.name) == "from_pretrained" else last_word(call.name)


def _wraps(module: Module) -> list[Call]:
    """Calls that certainly put an adapter on a model, in their order."""
    wraps: list[Call] | None = module.notes.get(_wraps)
    if wraps is None:
        found = [*calls(module, "get_peft_model"), *calls(module, "from_pretrained")]
        sure = [one for one in found if _is_wrap(one) and one.switch is None and not one.attempt]
        wraps = module.notes[_wraps] = sorted(sure, key=lambda one: one.start)
    return wraps


def _base(node: Node | None) -> int | None:
    """Where the call starts that made the model, through what gives the same model back; none where nobody can say."""
    for _ in range(10):
        if not isinstance(node, Call):
            return None
        if node.local or last_word(node.name) not in _SAME:
            return node.start
        node = node.receiver if node.receiver is not None else next(iter(node.positional), None)
    return None


def _wrapped(wrap: Call) -> int | None:
    return _base(next(iter(wrap.positional), None) or wrap.arguments.get("model"))


def _gets_config(trainer: Call) -> bool:
    config = trainer.arguments.get("peft_config")
    return isinstance(config, Call) and python_kinds.kind(config) == "adapter" and not config.conditional


def _twice(document: Document, wraps: list[Call], reaches: set[int]) -> Iterator[Statement]:
    plain = [one for one in wraps if not one.conditional and not _beside_the_model(one)]
    by_start = {one.start: one for one in plain}
    for second in plain:
        base = _wrapped(second)
        if base is None or (second.start not in reaches and base not in reaches):
            continue
        first = by_start.get(base) or next((o for o in plain if o.end < second.start and _wrapped(o) == base), None)
        if (
            first is not None
            and first is not second
            and _together(document, first, second)
            and not _is_loaded_anew(document, base, first, second)
            and not _only_asked(document, second, reaches)
        ):
            yield of_call(document, "launch.shows.adapted_twice", _named(first), second)
            return
    for wrap in wraps:
        base, loop = _wrapped(wrap), _loop_around(document.text.text, wrap.start) if wrap.conditional else None
        if loop is None or base is None or wrap.start not in reaches or base > loop:
            continue
        if not seen_in(_APART, document) and last_word(wrap.name) == "get_peft_model":
            yield of_call(document, "launch.shows.adapted_again_in_loop", True, wrap)
            return


def _all_linear(document: Document, module: Module, wraps: list[Call], reaches: set[int]) -> Iterator[Statement]:
    """A further adapter, on a model that has one, for all linear layers."""
    for one in calls(module, "add_adapter"):
        has = one.receiver
        config = next((node for node in [*one.positional, one.arguments.get("peft_config")] if isinstance(node, Call)), None)  # fmt: skip
        targets = config.arguments.get("target_modules") if config is not None else None
        if isinstance(has, Call) and _is_wrap(has) and has.start in reaches | {w.start for w in wraps}:
            if isinstance(targets, Scalar) and str(targets.value).lower() == "all-linear":
                yield of_call(document, "launch.shows.second_adapter_on_all_linear", True, one)
                return


_TRAINS = re.compile(r"Trainer\w{0,40}\(|\.backward\(")
_ENDS = re.compile(r"\.train\(|\.backward\(")
_GOES_ON = re.compile(r"\btrain\w{0,40}\(|Trainer\w{0,40}\(|\.backward\(|save_pretrained\(|push_to_hub\(|save_model\(")
# Configurations whose tuner stays in the wrapping model and leaves the layers of the base as they are (peft 0.21.2 peft_model.py, PeftModel.__init__).
_PROMPTS = frozenset(
    {"PromptTuningConfig", "PrefixTuningConfig", "PromptEncoderConfig", "MultitaskPromptTuningConfig", "CPTConfig"}
)


def _beside_the_model(wrap: Call) -> bool:
    """Whether it puts nothing into the model: prompts that are learnt stand before the input."""
    config = wrap.arguments.get("peft_config") or next(iter(wrap.positional[1:]), None)
    return last_word(wrap.name) == "get_peft_model" and isinstance(config, Call) and last_word(config.name) in _PROMPTS


def _only_asked(document: Document, second: Call, reaches: set[int]) -> bool:
    """Whether the second is the first again: loaded, not to be trained, from where the first was saved when all training was over. Nothing learns,
    and nothing is saved, behind it."""
    learns = second.arguments.get("is_trainable")
    where = second.arguments.get("model_id") or next(iter(second.positional[1:]), None)
    if last_word(second.name) != "from_pretrained" or second.start in reaches or where is None:
        return False
    if learns is not None and not (isinstance(learns, Scalar) and learns.value is False):
        return False
    text = document.text.text
    saved = _SAVES.search(text, 0, second.start)
    while saved is not None and saved[1].strip() != _argument(text, second):
        saved = _SAVES.search(text, saved.end(), second.start)
    return (
        saved is not None and _ENDS.search(text, 0, saved.start()) is not None and not _GOES_ON.search(text, second.end)
    )


_SAVES = re.compile(r"\.save_(?:pretrained|model)\(((?:[^()\n,=]|\([^()\n]{0,200}\)){1,200})[,)]")
_LINE_OF_A_CELL = re.compile(r"\\n\",\s{0,80}\"")  # of a notebook, whose lines are texts of JSON
_PATH = re.compile(
    r"\([^,()]{1,200},\s{0,80}(?:model_id\s{0,4}=\s{0,4})?((?:[^()\n,=]|\([^()\n]{0,200}\)){1,200}?)\s{0,80}[,)]"
)


def _argument(text: str, call: Call) -> str:
    """The path that it loads from, as it is written."""
    found = _PATH.match(_LINE_OF_A_CELL.sub(" ", text[call.name_end : call.end]))
    return found[1].strip() if found is not None else ""


_CHOOSES = re.compile(r"requires_grad")


def _after_optimizer(document: Document, module: Module, wraps: list[Call]) -> Iterator[Statement]:
    """Weights that come, or begin to require gradients, when the only optimizer has taken its own."""
    text = document.text.text
    optimizer = _only_optimizer(module)
    if optimizer is None or seen_in(r"add_param_group", document):
        return
    held = reached([*optimizer.positional, optimizer.arguments])
    filtered = _CHOOSES.search(text, optimizer.start, optimizer.end) is not None
    later: list[tuple[Call, int | None]] = [
        (one, _wrapped(one)) for one in wraps if last_word(one.name) == "get_peft_model"
    ]
    for word in ("add_adapter", "load_adapter", *(("set_adapter",) if filtered else ())):
        later += [(one, one.receiver.start) for one in calls(module, word) if isinstance(one.receiver, Call) and _is_wrap(one.receiver)]  # fmt: skip
    for one, model in sorted(later, key=lambda pair: pair[0].start):
        learns = one.arguments.get("is_trainable")
        if last_word(one.name) == "load_adapter" and not (isinstance(learns, Scalar) and learns.value is True):
            continue
        ours = model in held or _names_it(text, optimizer, one)
        if ours and optimizer.end < one.start and not one.conditional and _together(document, optimizer, one):
            yield of_call(document, "launch.shows.adapter_after_optimizer", last_word(one.name), one)
            return


def _only_optimizer(module: Module) -> Call | None:
    """Where a program makes one, whichever way it goes."""
    if _only_optimizer not in module.notes:
        made = [one for one in module.calls if python_kinds.is_optimizer(one) and not one.local]
        certain = len(made) == 1 and not made[0].conditional and made[0].switch is None
        module.notes[_only_optimizer] = made[0] if certain else None
    optimizer: Call | None = module.notes[_only_optimizer]
    return optimizer


_OF_MODEL = re.compile(r"(\w{1,80})\.(?:named_)?parameters\(")


def _names_it(text: str, optimizer: Call, method: Call) -> bool:
    """Whether the optimizer's weights are picked from the object whose method is called, by its name."""
    picked = _OF_MODEL.search(text, optimizer.start, optimizer.end)
    if picked is None or text[method.name_start : method.name_end].rpartition(".")[0] != picked[1]:
        return False
    return not re.search(rf"^[ \t]*{picked[1]}[ \t]*=(?!=)", text[optimizer.end : method.start], re.MULTILINE)


_ACTIVATES = re.compile(
    r"set_adapter|active_adapter|set_requires_grad|ref_adapter_name|add_weighted_adapter|requires_grad_?\b|adapter_names"
)


def _never_active(document: Document, module: Module, wraps: list[Call], reaches: set[int]) -> Iterator[Statement]:
    """A further adapter that is to be trained, here, and that nothing makes the active one."""
    if seen_in(_ACTIVATES, document) or not seen_in(_TRAINS, document):
        return
    for one in (*calls(module, "load_adapter"), *calls(module, "add_adapter")):
        learns = one.arguments.get("is_trainable")
        wanted = last_word(one.name) == "add_adapter" or (isinstance(learns, Scalar) and learns.value is True)
        has = one.receiver
        if wanted and isinstance(has, Call) and _is_wrap(has) and has.start in reaches and not one.conditional:
            # who else is handed the model may make it the active one
            idle = unless(unseen(document, module, (has,)), last_word(one.name))
            yield of_call(document, "launch.shows.adapter_never_active", idle, one)
            return


def _together(document: Document, first: Call, second: Call) -> bool:
    """Whether both happen in one run of the same lines, with nothing between them that parts the model from its adapter."""
    text = document.text.text
    if first.end <= second.start and _MERGES.search(text, first.end, second.end):
        return False
    if first.start > second.start or first.end > second.start:
        return second.start <= first.start and first.end <= second.end  # written within one another
    deep = _indent(text, second.start)
    if _indent(text, first.start) > deep:
        return False
    return not any(len(found[1].expandtabs()) < deep for found in _DEFINES.finditer(text, first.end, second.start))


def _is_loaded_anew(document: Document, base: int, first: Call, second: Call) -> bool:
    """Whether the model is made in a function of the program's own, which is called for the first adapter and once more for the second."""
    module = document.root
    assert isinstance(module, Module)
    around = max((one for one in module.functions if one.end < base), key=lambda one: one.start, default=None)
    if around is None or around.end > first.start:
        return False
    text, called = document.text.text, re.compile(rf"\b{re.escape(around.name)}\(")
    return called.search(text, base, first.start) is not None and called.search(text, first.end, second.end) is not None


def _indent(text: str, at: int) -> int:
    begins = text.rfind("\n", 0, at) + 1
    line = text[begins:at].expandtabs()
    return len(line) - len(line.lstrip())


def _loop_around(text: str, at: int) -> int | None:
    """Where the innermost loop begins that a call stands in, within its function."""
    deep = _indent(text, at)
    end = text.rfind("\n", 0, at)
    while end > 0 and deep > 0:
        begins = text.rfind("\n", 0, end) + 1
        line = text[begins:end].expandtabs()
        bare = line.lstrip()
        if bare and not bare.startswith(("#", ")", "]", "}")) and len(line) - len(bare) < deep:
            deep = len(line) - len(bare)
            if bare.startswith(("for ", "while ")):
                return begins
            if bare.startswith(("def ", "class ", "async ")):
                return None
        end = begins - 1
    return None
