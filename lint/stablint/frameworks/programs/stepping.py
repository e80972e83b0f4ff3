"""How a loop of the program's own wraps its model, goes backward, clips, accumulates and steps: facts `launch.shows.<what>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs import steps
from stablint.frameworks.programs.rows import body
from stablint.frameworks.programs.runs import reached
from stablint.frameworks.programs.seen import any_of, calls, methods, seen_in, shown, stated
from stablint.frameworks.programs.unseen import unless, unseen
from stablint.run.fact import Statement
from stablint.syntax.tree import Call, Document, Module, Node, Scalar

_PLAIN_BACKWARD = re.compile(r"^[ \t]*(?P<said>\w{0,40}loss\w{0,40}\.backward)\(", re.MULTILINE)
# Whatever scales a loss, computes in another dtype or keeps weights in one.
_SCALES = re.compile(
    r"(?i)scaler|scale_loss|loss_scale|autocast|\bamp\b|apex|mixed_?precision|accelerat|deepspeed|fsdp|FullyShard|fabric|lightning|master|fp32|float32|\.float\("
)
_DIVIDED = re.compile(
    r"\bloss\w{0,40}[ \t]{0,8}(?:/=|=[^=\n]{0,120}loss\w{0,40}\)?[ \t]{0,8}/)[ \t]{0,8}[\w.]{0,80}accum", re.IGNORECASE
)
_COUNTS_BATCHES = re.compile(
    r"sync_gradients|%[ \t]{0,8}\(?[\w.]{0,80}(?:accum|gas\b)"
    r"|(?<!\w)(?=\w{0,40}(?:step|batch|idx|iter|i))\w{1,80} {0,8}\+? {0,8}\d{0,8}\)? {0,8}% {0,8}\(?[\w.]",
    re.IGNORECASE,
)
_DEFINES = re.compile(r"^[ \t]*(?:async[ \t]+)?def\b", re.MULTILINE)
_SHARDS = frozenset({"FullyShardedDataParallel", "FSDP"})
# What is saved of it has `_orig_mod.` before each name, and the same file puts a state into a model that is not compiled: one loaded anew, or before.
_COMPILED = re.compile(r"\b(\w{1,40})[ \t]*=[ \t]*torch\.compile\([ \t]*\w")
_LOADED_PLAIN = re.compile(
    r"^[ \t]*(\w{1,40})[ \t]*=[ \t]*(?!torch\.compile)[\w.]{1,80}\([^\n]{0,200}\n"
    r"(?:(?![^\n]{0,80}torch\.compile)[^\n]{0,200}\n){0,20}?[ \t]*\1\.load_state_dict\(",
    re.MULTILINE,
)


def of_optimizer(document: Document, module: Module, optimizer: Call) -> Iterator[Statement]:
    """The order in which a loop of the program's own shards and makes its optimizer, and what its sampler is told."""
    text = document.text.text
    yield from steps.told(document, module, optimizer)
    compiled = seen_in(_COMPILED, document)
    saved = seen_in(rf"\b{compiled[1]}\.(state_dict)\(\)", document) if compiled is not None else None
    if saved is not None and _LOADED_PLAIN.search(text) and not seen_in(r"_orig_mod|unwrap", document):
        yield stated(document, "launch.shows.compiled_state_saved", True, "state_dict", *saved.span())
    backward = seen_in(_PLAIN_BACKWARD, document)
    if backward is not None and not seen_in(_SCALES, document):
        scaled = unless(unseen(document, module, (optimizer,)), True)  # who is handed model or optimizer may do it
        yield stated(document, "launch.shows.steps_unscaled", scaled, "backward", backward.start(), backward.end() - 1)
    sharded = [one for one in any_of(module, _SHARDS) if not one.local and one.name.startswith("torch.")]
    behind = [one.start for one in sharded if one.start > optimizer.end]
    # of two functions the order of the text is not that of the calls
    if sharded and len(behind) == len(sharded) and not _DEFINES.search(text[optimizer.end : min(behind)]):
        original = sharded[0].arguments.get("use_orig_params")
        if not sharded[0].arguments.open and not (isinstance(original, Scalar) and original.value is True):
            yield shown(document, "sharded_after_optimizer", True, sharded[0])
    mixed = next((one for one in sharded if _is_flat(one) and _holds_adapter(one)), None)
    if mixed is not None:
        yield shown(document, "adapter_sharded_flat", True, mixed)
    clips = calls(module, "clip_grad_norm_") if sharded else []
    if clips and all(
        map(_is_torchs, clips)
    ):  # who calls FSDP's own method as well chooses by what the model is wrapped in
        yield shown(document, "shard_clipped_alone", True, clips[0])
    sampler = next((one for one in calls(module, "DistributedSampler") if not one.local), None)
    unshuffled = sampler.arguments.get("shuffle") if sampler is not None else None
    if (
        sampler is not None
        and "set_epoch" not in text
        and re.search(r"\bfor[ \t]{1,8}\w{0,40}epoch\w{0,40}[ \t]{1,8}in[ \t]{1,8}\w{0,8}range\(", text)
    ):
        if not (isinstance(unshuffled, Scalar) and unshuffled.value is False):
            # who is handed the sampler, or a loader that has it, may tell it the epoch
            holders = [one for one in module.calls if sampler.start in reached([one])]
            hidden = unseen(document, module, (), *holders, called="sampler|loader|dl")
            yield shown(document, "sampler_without_epoch", unless(hidden, True), sampler)


def _is_flat(wrap: Call) -> bool:
    """Whether layers of transformers' classes become one flat tensor each, of the weights that learn and of those that do not."""
    original, policy = wrap.arguments.get("use_orig_params"), wrap.arguments.get("auto_wrap_policy")
    said = original is None or (isinstance(original, Scalar) and original.value is False)
    if wrap.arguments.open or wrap.conditional or not said or wrap.arguments.get("ignored_modules") is not None:
        return False
    within = [one for one in policy.positional if isinstance(one, Scalar)] if isinstance(policy, Call) else []
    return policy is None or (isinstance(policy, Call) and last_word(policy.name) == "partial" and len(within) == 1)


def _holds_adapter(wrap: Call) -> bool:
    """Whether what is wrapped has an adapter of PEFT."""
    model = wrap.arguments.get("module") or next(iter(wrap.positional), None)
    return isinstance(model, Call) and not model.local and last_word(model.name) == "get_peft_model"


def _wrapped_with_optimizer(module: Module, engine: Call) -> Call | None:
    """The `prepare` that wraps a model and, in the same call, takes an optimizer that was made of the model before."""
    prepares = [call for call in methods(module, engine) if last_word(call.name) == "prepare"]
    for call in prepares[:1]:  # a later one may hand over what an earlier one has wrapped
        given = [one for one in call.positional if isinstance(one, Call)]
        models = [one for one in given if last_word(one.name) in ("from_pretrained", "from_config")]
        optimizer = next((one for one in given if python_kinds.is_optimizer(one) and "Dummy" not in one.name), None)
        if models and optimizer is not None:
            return optimizer
    return None


def of_engine(document: Document, module: Module, engine: Call) -> Iterator[Statement]:
    """How a loop of the program's own goes backward, clips and accumulates."""
    text = document.text.text
    engines = methods(module, engine)
    prepared_at = min((one.start for one in engines if last_word(one.name) == "prepare"), default=0)
    early = next((one for one in engines if last_word(one.name) == "load_state" and one.start < prepared_at), None)
    if early is not None and not _DEFINES.search(text[early.end : prepared_at]) and "register_for_" not in text:
        yield shown(document, "state_loaded_first", True, early)
    plain = seen_in(_PLAIN_BACKWARD, document)
    own = seen_in(r"(?:accelerator|engine|\bmodel\w*)\.backward\(", document)
    if plain is not None and own is None:
        yield stated(document, "launch.shows.plain_backward", True, "backward", *plain.span("said"))
    clips = next((c for c in any_of(module, ("clip_grad_norm_", "clip_grad_norm")) if _is_torchs(c)), None)
    if clips is not None and not seen_in(
        r"accelerator\.(?:clip_grad_norm_|unscale_gradients)|scaler\.unscale_|[Ee]ngine\.clip", document
    ):
        yield shown(document, "clips_by_torch", True, clips)
    prepared = [one for call in methods(module, engine) if last_word(call.name) == "prepare" for one in call.positional]
    made = [one for one in prepared if isinstance(one, Call)]
    # Without a backward pass in this file the loop stands elsewhere, and may enter it there.
    if own is not None and not any_of(module, ("accumulate", "no_sync")) and not seen_in(_COUNTS_BATCHES, document):
        hidden = unseen(document, module, made, engine)
        yield shown(document, "never_accumulates", unless(hidden, True), engine)
    divided = seen_in(_DIVIDED, document)
    if divided is not None and calls(module, "accumulate"):
        yield stated(document, "launch.shows.loss_divided", True, "loss", divided.start(), divided.end())
    for loader in prepared:
        sampler = loader.arguments.get("sampler") if isinstance(loader, Call) else None
        if isinstance(sampler, Call) and last_word(sampler.name) == "DistributedSampler" and not sampler.local:
            yield shown(document, "sampler_shards_too", True, sampler)
            break
    # safe: every loader is called so, but one that another function makes, or that is handed over by a name that says nothing
    edited = seen_in(_EDITS_PLUGIN, document)
    if (
        prepared
        and not any(_may_be_loader(one) for one in prepared)
        and "dataloader" not in text.lower()
        and not edited
    ):
        hidden = unseen(document, module, (), engine, called="accelerator|engine")
        yield shown(document, "prepares_no_loader", unless(hidden, True), engine)
    for one in prepared:
        if isinstance(one, Call) and python_kinds.is_optimizer(one) and "Dummy" not in one.name and not edited:
            yield shown(document, "prepares_optimizer", True, one)
            break
    together = _wrapped_with_optimizer(module, engine)
    if together is not None and not edited:
        yield shown(document, "wrapped_with_optimizer", True, together)
    saved = next((call for call in calls(module, "save_pretrained") if _is_unwrapped(call.receiver)), None)
    if saved is not None and saved.arguments.get("state_dict") is None and not saved.arguments.open:
        if not seen_in(r"get_state_dict|GatheredParameters|summon_full_params|FullStateDict|SHARDED_STATE", document):
            hidden = unseen(document, module, (*made, saved.receiver), engine)  # `with gathered(model):`
            yield shown(document, "saves_without_state", unless(hidden, True), saved)
    if python_kinds.kind(engine) == "deepspeed":
        yield from _schedule(document, module, engine)
    else:
        yield from _at_micro_batches(document, module, prepared)


_SCHEDULES = re.compile(r"get_(?:\w{1,40}_)?schedul\w{1,60}|\w{1,40}(?:LR|Restarts)")
_ACCUMULATES = re.compile(r"^[ \t]{0,200}(?:async )?(with) [^\n]{0,200}\.accumulate\(", re.MULTILINE)
# What a number of optimizer steps is called or counted by; batches are not divided.
_UPDATES = re.compile(
    r"//?[ \t]{0,4}(?:[\w.]{0,80}accum\w{0,40}|\d)|max_(?:train_|training_)?steps|update_steps|optimizer_steps",
    re.IGNORECASE,
)


def _at_micro_batches(document: Document, module: Module, prepared: list[Node]) -> Iterator[Statement]:
    """`schedule_at_batches`, `schedule_prepared`: a schedule of so many optimizer steps is stepped with each batch that is accumulated."""
    text = document.text.text
    within = _ACCUMULATES.search(text)
    if within is None or seen_in(r"sync_gradients|%[ \t]{0,4}[\w.]{0,80}accum", document, re.IGNORECASE):
        return
    ends = within.start() + len(body(text, within.start(1)))
    for call in calls(module, "step"):
        made, wrapped = call.receiver, False
        if not isinstance(made, Call):
            name = text[call.name_start : call.name_end].rpartition(".")[0]
            made = next((one for one in prepared if isinstance(one, Call) and one.target == name), None)
            wrapped = True
        if not within.start() <= call.start < ends or not isinstance(made, Call) or made.local:
            continue
        if _SCHEDULES.fullmatch(last_word(made.name)) and _counts_updates(text, made):
            yield shown(document, "schedule_at_batches", True, call)
            yield shown(document, "schedule_prepared", wrapped, call)
            return


def _counts_updates(text: str, schedule: Call) -> bool:
    """Whether the length that it is made with is a number of optimizer steps: by what is written there, or where the name is assigned, once."""
    said = text[schedule.name_end : schedule.end]
    for name in re.findall(r"num_training_steps[ \t]{0,4}=[ \t]{0,4}([A-Za-z_]\w{0,80})[ \t]{0,4}[,)]", said):
        assigned = re.findall(rf"^[ \t]*{name}[ \t]*=(?!=)[ \t]*([^\n]+)", text, re.MULTILINE)
        said += assigned[0] if len(assigned) == 1 else ""
    return _UPDATES.search(said) is not None and not re.search(r"\*[ \t]{0,4}[\w.]{0,80}accum", said, re.IGNORECASE)


# The plugin's file as it was read, which a program may change before `prepare` looks at it: `plugin.deepspeed_config["train_…"] = 4`.
_EDITS_PLUGIN = re.compile(
    r"deepspeed_config(?:\[[^\]\n]{1,80}\]){1,4}[ \t]{0,8}=(?!=)|deepspeed_config\.(?:pop|update|setdefault|clear)\("
    r"|hf_ds_config\.config\b|\bdel[ \t][^\n]{0,80}deepspeed_config"
)
_STEPS = re.compile(r"(?:torch\.optim|bitsandbytes\.optim|deepspeed\.ops|accelerate|transformers|peft|torch\.nn)\.\w")


def _may_be_loader(node: Node) -> bool:
    """Whether what is prepared may be one: all but a model, an optimizer and a schedule of a library's."""
    return not (isinstance(node, Call) and not node.local and _STEPS.match(node.name) and "oader" not in node.name)


def _is_unwrapped(node: Node | None) -> bool:
    return isinstance(node, Call) and last_word(node.name) == "unwrap_model"


def _is_torchs(call: Call) -> bool:
    return call.name.startswith(("torch.", "nn.utils.", "clip_grad"))


def _schedule(document: Document, module: Module, engine: Call) -> Iterator[Statement]:
    """A schedule that is DeepSpeed's to step and that the program steps as well."""
    given = engine.arguments.get("lr_scheduler")
    if given is None or (isinstance(given, Scalar) and given.value is None):
        return
    name = document.text.text[given.start : given.end] if not isinstance(given, Call) else (given.target or "")
    for call in calls(module, "step") if name else ():
        if document.text.text[call.name_start : call.name_end] == f"{name}.step":
            yield shown(document, "schedule_stepped_twice", True, call)
            return
