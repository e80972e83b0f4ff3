"""What a program hands its trainer, accelerate or DeepSpeed besides settings: callbacks, an optimizer with its schedule, loaders; and what it does
to its model and tokenizer.

Facts `launch.done.<name>`, `launch.optimizer.<argument>`; each is stated only where the calls themselves show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.base.light import Pattern
from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs.seen import any_of, calls, is_call, methods, of_call, seen_in, tests_above
from stablint.frameworks.programs.unseen import unless, unseen
from stablint.run.fact import Statement
from stablint.syntax.tree import Call, Document, Entry, Mapping, Module, Node, Scalar, Sequence, Unknown

_SCHEDULE = re.compile(
    r"\bget_scheduler\Z|\bget_\w{1,80}_schedule\w{0,40}\Z|\b[A-Z]\w{0,80}(?:LR|Schedule|Scheduler)\Z"
)
_OPTIMIZER = re.compile(r"[A-Z]\w*")
# Arguments that count steps of a schedule (torch optim/lr_scheduler.py, transformers optimization.py).
_COUNTS = ("num_training_steps", "total_steps", "T_max", "step_size", "total_iters", "num_warmup_steps")
_SECOND_IS_STEPS = frozenset(
    {"StepLR", "CosineAnnealingLR"}
)  # StepLR(optimizer, step_size), CosineAnnealingLR(optimizer, T_max)
_PROCESSES = re.compile(r"num_processes|world_size|n_gpu|num_gpus|device_count|split_batches", re.IGNORECASE)
_LENGTH = re.compile(r"\blen\(\s*([A-Za-z_][\w.]*)\s*\)")
_ARGUMENTS_OF = {"Adafactor": ("lr", "relative_step", "warmup_init", "scale_parameter")}


def told(document: Document, module: Module, call: Call, kind: str) -> Iterator[Statement]:
    """Of one of the program's calls. `kind`: which (python_kinds.kind)."""
    if kind == "trainer":
        yield from _callbacks(document, module, call)
        yield from _optimizers(document, call)
        yield from _steps_of_adalora(document, module, call)
        yield from _merges(document, module, call)
    elif kind == "deepspeed":
        made = call.arguments.get("optimizer")
        if isinstance(made, Call) and not call.arguments.open:
            yield from _made(document, made)
    elif kind == "accelerator":
        yield from _prepared(document, module, call)
    elif kind == "loader":
        yield from _tokens(document, module, call)


# `trainer.callback_handler.callbacks = …`, `EarlyStoppingCallback.on_train_begin = …`
_CALLBACKS = re.compile(
    r"\.callbacks[ ]?=[^=]|\bEarlyStoppingCallback\.\w+[ ]?=[^=]|\bsetattr\([ ]?EarlyStoppingCallback\b"
)

# Libraries whose callbacks are called with other arguments than transformers'.
_CALL_OTHERWISE = frozenset({"pytorch_lightning", "lightning", "keras", "tensorflow", "tf_keras"})


def _callbacks(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    given = trainer.arguments.get("callbacks")
    found = [one for one in given.items if isinstance(one, Call)] if isinstance(given, Sequence) else []
    there = methods(module, trainer)
    for call in there:
        if last_word(call.name) == "add_callback" and not call.conditional:
            found += [one for one in call.positional if isinstance(one, Call)]
    if not found:
        return  # what replaces callbacks is looked for in the whole text
    if any(last_word(call.name) in ("remove_callback", "pop_callback") for call in there):
        return
    if seen_in(_CALLBACKS, document):
        return
    for one in found:
        library = one.name.partition(".")[0]
        if library in _CALL_OTHERWISE and not one.local and not one.conditional and ".callbacks." in one.name:
            yield of_call(document, "launch.done.callback_of", library, one)
            return
    for one in found:
        if last_word(one.name) == "EarlyStoppingCallback" and not one.local and not one.conditional:
            yield of_call(document, "launch.done.early_stopping", True, one)
            return


def _optimizers(document: Document, trainer: Call) -> Iterator[Statement]:
    pair = trainer.arguments.get("optimizers")
    if isinstance(pair, Call) and python_kinds.is_optimizer(pair) and not pair.conditional:
        yield of_call(document, "launch.optimizer.alone", True, pair)
    if not isinstance(pair, Sequence) or len(pair.items) != 2:
        return
    first, second = pair.items
    if isinstance(first, Call) and not first.conditional:
        yield from _made(document, first)
        if isinstance(second, Scalar) and second.value is None:
            yield of_call(document, "launch.optimizer.schedule", "none", first)
        elif isinstance(second, Call):
            yield of_call(document, "launch.optimizer.schedule", last_word(second.name), second)


def _made(document: Document, made: Call) -> Iterator[Statement]:
    """The class of an optimizer, the library that it is imported from, and what it is told: of one name several have classes, with other arguments."""
    word = last_word(made.name)
    if made.local or not _OPTIMIZER.fullmatch(word):
        return
    yield of_call(document, "launch.optimizer.made", word, made)
    yield of_call(document, "launch.optimizer.library", made.name.partition(".")[0], made)
    names = _ARGUMENTS_OF.get(word, ())
    if made.arguments.open or len(made.positional) > 1:
        return
    for name in names:
        value = made.arguments.get(name)
        default = {"relative_step": True, "warmup_init": False, "scale_parameter": True}.get(name)
        if value is None:
            yield of_call(document, f"launch.optimizer.{name}", default, made)
        elif isinstance(value, Scalar):
            yield of_call(document, f"launch.optimizer.{name}", value.value, made)


def _steps_of_adalora(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """AdaLoRA moves its ranks in a call of its own after each step, which no release of the Trainer makes."""
    if not trainer.local and not seen_in(r"update_and_allocate|rankallocator", document):
        objects = (
            trainer.arguments.get("model") or next(iter(trainer.positional), None),
            trainer.arguments.get("callbacks"),
        )
        yield of_call(
            document,
            "launch.done.ranks_reallocated",
            unless(unseen(document, module, objects, trainer), False),
            trainer,
        )


def _merges(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    if seen_in(r"GatheredParameters|zero_to_fp32|gather", document):
        return
    for call in calls(module, "merge_and_unload"):
        if call.start > trainer.end and not call.conditional:
            of = call.receiver
            model = trainer.arguments.get("model") or next(iter(trainer.positional), None)
            if is_call(of, model) or call.name == "trainer.model.merge_and_unload" or is_call(of, trainer):
                # who else is handed the model may gather its weights first
                merged = unless(unseen(document, module, (model,), trainer), True)
                yield of_call(document, "launch.done.merged_after_training", merged, call)
                return


def _prepared(document: Document, module: Module, accelerator: Call) -> Iterator[Statement]:
    """What goes through `accelerator.prepare`: loaders with their batch, a schedule with what its length is counted from."""
    prepares = [call for call in methods(module, accelerator) if last_word(call.name) == "prepare"]
    given = [(call, one) for call in prepares for one in call.positional if isinstance(one, Call)]
    for _, one in given:
        if last_word(one.name) == "DataLoader":
            batch = one.arguments.get("batch_size")
            if isinstance(batch, Scalar) and isinstance(batch.value, int) and not isinstance(batch.value, bool):
                yield of_call(document, "launch.done.loader_batch", batch.value, one)
                break
    steps_alone = accelerator.arguments.open or any(_steps_once(entry) for entry in accelerator.arguments.entries)
    for _, one in () if steps_alone else given:
        if _SCHEDULE.search(last_word(one.name)) and not one.local and not one.arguments.open:
            counted = _counted(document, module, one, prepares)
            if counted:
                yield of_call(document, "launch.done.schedule_counts", counted, one)
            break


def _steps_once(entry: Entry) -> bool:
    """Whether an argument may keep a prepared schedule from being stepped once for each process (accelerate 1.15.0 scheduler.py, step)."""
    said = entry.value.value if isinstance(entry.value, Scalar) else Unknown("not a literal")
    if entry.key in ("split_batches", "dataloader_config"):
        return said is not False and said is not None
    return entry.key == "step_scheduler_with_optimizer" and said is not True


def _counted(document: Document, module: Module, schedule: Call, prepares: list[Call]) -> str:
    """`shard`: steps of one process, by the length of a prepared loader; `number`: a literal; empty where nobody can say."""
    text = document.text.text
    made = text[schedule.start : schedule.end]
    said = _resolved(text, made, schedule.start)
    if any(_PROCESSES.search(part) for part, _ in said):
        return ""
    first = min((one.end for one in prepares), default=len(text))
    targets = {name for one in prepares for name in _targets(text, one)}
    accumulates = re.search(r"accum", text, re.IGNORECASE) is not None
    divided = any(re.search(r"accum", part, re.IGNORECASE) for part, _ in said)
    for part, start in said:
        for found in _LENGTH.finditer(part):
            if found[1] in targets and start >= first:
                return "shard" if divided or not accumulates else ""
            return ""
    for name in _COUNTS:
        value = schedule.arguments.get(name)
        if value is None and name in ("step_size", "T_max") and last_word(schedule.name) in _SECOND_IS_STEPS:
            value = schedule.positional[1] if len(schedule.positional) > 1 else None
        if isinstance(value, Scalar) and type(value.value) is int and value.value > 1:
            return "number"
    return ""


def _targets(text: str, call: Call) -> list[str]:
    """The names left of `… = accelerator.prepare(…)`."""
    line = text[max(text.rfind("\n", 0, call.start) + 1, 0) : call.start]
    before = text[: call.start].rstrip().rstrip("(").rstrip()
    if not before.endswith("="):
        return []
    left = line.rpartition("=")[0] or before.rpartition("\n")[2].rpartition("=")[0]
    if ")" in left:  # a bracketed list over several lines
        left = before[before.rfind("(") :]
    return list(re.findall(r"[A-Za-z_][\w.]*", left))


def _resolved(text: str, expression: str, start: int, depth: int = 4) -> list[tuple[str, int]]:
    """The expression, and those that its names are assigned, with where they stand; a name that is assigned twice ends the search."""
    found = [(expression, start)]
    if depth == 0:
        return found
    for name in dict.fromkeys(re.findall(r"=\s*([A-Za-z_][\w.]*)\s*[,)]|\b(\w*steps\w*)\b", expression)):
        word = name[0] or name[1]
        assigned = list(re.finditer(rf"^[ \t]*{re.escape(word)}[ \t]*=(?!=)[ \t]*([^\n]+)", text, re.MULTILINE))
        if len(assigned) == 1 and assigned[0].start(1) < start:
            found += _resolved(text, assigned[0][1], assigned[0].start(1), depth - 1)
    return found


# The pad token becomes another one: what was added for padding stands in no row.
_PADS_WITH = Pattern(r"\.pad_token(?:_id)?[ \t]*=(?!=)")


def _tokens(document: Document, module: Module, loader: Call) -> Iterator[Statement]:
    """Tokens that the program adds to its tokenizer, and whether the model's embeddings grow with them."""
    if _tokens not in module.notes:
        module.notes[_tokens] = _added(document, module)
    first, learned = module.notes[_tokens]
    if first is None:
        # TRL's marks of turns, which some models have in their vocabulary
        chat = next((one for one in calls(module, "setup_chat_format") if not one.local and not one.conditional), None)
        if chat is not None:
            yield of_call(document, "launch.done.tokens_added", "chatml", chat)
            yield of_call(document, "launch.done.embeddings_resized", True, chat)
        return
    resized = seen_in(r"resize_token_embeddings|resize_and_embedding|smart_tokenizer|set_input_embeddings|setup_chat_format"
                        r"|clone_chat_template|resize_vocab|add_new_tokens|init_new_embeddings", document)  # fmt: skip
    yield of_call(document, "launch.done.tokens_added", "all" if learned else "pad", first)
    grown = True if resized is not None else unless(unseen(document, module, (loader,)), False)
    yield of_call(document, "launch.done.embeddings_resized", grown, first)


_LACKS_PAD = re.compile(
    r"if[ \t]+(?:not[ \t]+[\w.]{1,60}\.pad_token\b|[\w.]{1,60}\.pad_token(?:_id)?[ \t]+(?:is|==)[ \t]+None\b)[ \t]*:"
)
_SAME_LINE = re.compile(r"^[ \t]*(if\b[^\n]*:)[^\n]*\Z", re.MULTILINE)


def _added(document: Document, module: Module) -> tuple[Call | None, bool]:
    """The first call that adds tokens, if they stand in a row, and whether one of them is learned."""
    added = any_of(module, ("add_tokens", "add_special_tokens"))
    text = document.text.text
    # a branch for tokenizers without a pad token is where the token is a new one
    added = [
        call
        for call in added
        if _new(call)
        and not _is_of_own_words(call.receiver)
        and (
            not call.conditional
            or all(map(_LACKS_PAD.match, [*tests_above(text, call.start), *_SAME_LINE.findall(text[: call.start])]))
        )
    ]
    learned = _learned(added)
    if not added or (not learned and _PADS_WITH.search(document.text.text, added[0].end)):
        return None, False
    return added[0], learned


def _is_of_own_words(tokenizer: Node | None) -> bool:
    """Whether it is made of a file or an object of the program's own: how many words it has nobody says."""
    return isinstance(tokenizer, Call) and last_word(tokenizer.name)[:1].isupper()


def _new(call: Call) -> bool:
    """Whether tokens are certainly added: literals that no tokenizer has by itself."""
    node: Node | None = next(iter(call.positional), None) or next((e.value for e in call.arguments.entries), None)
    if isinstance(node, Sequence):
        return any(isinstance(one, Scalar) and isinstance(one.value, str) for one in node.items)
    if isinstance(node, Mapping):
        return any(isinstance(one.value, (Scalar, Sequence)) and not _is_name(one.value) for one in node.entries)
    return isinstance(node, Scalar) and isinstance(node.value, str)


def _is_name(node: Node) -> bool:
    """A variable, or what is looked up in the tokenizer: it may have that token."""
    return isinstance(node, Scalar) and not isinstance(node.value, str)


def _learned(added: list[Call]) -> bool:
    """Whether one of them stands in rows that are learned: any but padding."""
    for call in added:
        node = next(iter(call.positional), None)
        if not isinstance(node, Mapping) or any(entry.key != "pad_token" for entry in node.entries):
            return True
    return False
