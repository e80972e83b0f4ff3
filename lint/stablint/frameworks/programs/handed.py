"""What of a program's own meets a library: methods that it overrides, functions that it hands over, calls that only some processes come to, and
the order in which it loads, imports, wraps and steps.

Facts `launch.overrides.<method>`, `launch.functions.<what>`, `launch.alone.<call>`, `launch.shows.<what>`; each only where the calls show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs.runs import reached
from stablint.frameworks.programs.seen import calls, is_call, of_call, seen_in, stated
from stablint.frameworks.programs.unseen import elsewhere, unless, unseen
from stablint.run.fact import Statement
from stablint.syntax.tree import Call, Document, Function, Mapping, Module, Node, Scalar, Sequence, Unknown

_TRAINERS = ("trainer", "own-trainer")
# What every process must come to: it exchanges weights, gradients or results with the others. By what it is a method of.
_TOGETHER = re.compile(
    r"(?:\w{1,40}\.){0,8}(?:\w{0,40}trainer\.(?:train|evaluate|predict|save_model|save_state)|accelerator\.(?:prepare|gather|gather_for_metrics|reduce|backward"
    r"|save_state|get_state_dict|wait_for_everyone|pad_across_processes)|\w{0,40}engine\.save_checkpoint|(?:distributed|dist)\.(?:barrier|all_reduce"
    r"|all_gather|all_gather_object|broadcast_object_list))"
)
# `AutoModelForCausalLM.register(Config, Model)`: a type that the library has not.
_REGISTERS = re.compile(r"\bAuto\w{1,60}\.register\b")
_MOVES = frozenset({"to", "cuda", "half", "float"})
_PLAIN_BACKWARD = re.compile(r"^[ \t]*\w{0,40}loss\w{0,40}\.backward\(", re.MULTILINE)
_DIVIDED = re.compile(
    r"\bloss\w{0,40}[ \t]{0,8}(?:/=|=[^=\n]{0,120}loss\w{0,40}\)?[ \t]{0,8}/)[ \t]{0,8}[\w.]{0,80}accum", re.IGNORECASE
)
_COUNTS_BATCHES = re.compile(
    r"sync_gradients|%[ \t]{0,8}\(?[\w.]{0,80}(?:accum|gas\b)"
    r"|(?<!\w)(?=\w{0,40}(?:step|batch|idx|iter|i))\w{1,80} {0,8}\+? {0,8}\d{0,8}\)? {0,8}% {0,8}\(?[\w.]",
    re.IGNORECASE,
)
_UNSLOTH = re.compile(r"^(?:from|import)[ \t]+unsloth\b", re.MULTILINE)
_UNSLOTH_ANYWHERE = r"(?m)^([ \t]*)(?:from|import)[ \t]+unsloth\b"
_PATCHED = re.compile(r"^(?:from|import)[ \t]+(?:transformers|trl|peft)\b", re.MULTILINE)
_GIVES_INPUT_GRADIENTS = re.compile(
    r"enable_input_require_grads|prepare_model_for_(?:kbit|int8)_training|require_grads?_hook|make_inputs_require_grad|use_reentrant"
    r"|gradient_checkpointing_(?:enable|disable)|modules_to_save|requires_grad_\("
)
_TWO_TOWERS = re.compile(r"(?:Encoder|Vision|Speech)\w{0,40}DecoderModel\.from_\w{0,40}pretrained")
_TO_VISIBLE = re.compile(r"os\.environ(?:\[[\"']CUDA_VISIBLE_DEVICES[\"']\]\s*=(?!=)|\.update\()")


def told(document: Document, module: Module, call: Call, kind: str) -> Iterator[Statement]:
    """Of one of the program's calls. `kind`: which (python_kinds.kind)."""
    if kind in _TRAINERS:
        for observe in _OBSERVED:
            yield from observe(document, module, call)
    if kind in (*_TRAINERS, "accelerator", "deepspeed"):
        yield from _alone(document, module)
    if kind in ("accelerator", "deepspeed"):
        yield from _steps(document, module, call)
    if kind == "optimizer":
        yield from _of_torch(document, module, call)
    if kind == "loader":
        yield from _of_loader(document, module, call)


def _overridden(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Methods of the trainer's own class, with the names that they take."""
    made = document.text.text[trainer.name_start : trainer.name_end]
    for one in module.functions if trainer.local or not trainer.name.rpartition(".")[0] else ():
        if one.owner == made and not one.open:
            yield stated(document, f"launch.overrides.{one.name}", list(one.parameters), one.name, one.start, one.end)


_NEXT_METHOD = re.compile(r"\n[ \t]*(?:def|class|@)|\n\S")
_SHARES = re.compile(r"prepare|super\(|[Ss]ampler|get_train_dataloader|num_replicas|world_size|process_index|\brank\b")
_DIVIDES = re.compile(r"\.shard\(|split_dataset_by_node|split_between_processes|Sharded\w{0,40}Dataset")


def _rows_elsewhere(document: Document, module: Module, trainer: Call) -> Unknown | None:
    """Why nobody can say what the rows are: another file makes them, or a caller hands them over."""
    rows = trainer.arguments.get("train_dataset")
    if isinstance(rows, Scalar) and isinstance(rows.value, Unknown) and rows.value.reason.endswith("is a parameter"):
        return Unknown(rows.value.reason)
    made = reached([rows]) if rows is not None else set()
    maker = next((call for call in elsewhere(document, module) if call.start in made), None)
    return Unknown(f"`{last_word(maker.name)}` stands in another file") if maker is not None else None


def _own_loader(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """A method of the trainer's own that makes the loader, and does nothing by which each process would get rows of its own."""
    text = document.text.text
    made = text[trainer.name_start : trainer.name_end]
    for one in module.functions:
        if one.owner == made and one.name == "get_train_dataloader":
            ends = _NEXT_METHOD.search(text, one.end)
            body = text[one.end : ends.start() if ends else len(text)]
            # safe: a word of any way to share the rows out ends it, in the loader or where the rows are made
            if "DataLoader(" in body and not _SHARES.search(body) and not seen_in(_DIVIDES, document):
                inner = [call for call in elsewhere(document, module) if one.end < call.start < one.end + len(body)]
                hidden = Unknown(f"`{last_word(inner[0].name)}` stands in another file") if inner else None
                hidden = _rows_elsewhere(document, module, trainer) if hidden is None else hidden
                yield stated(
                    document, "launch.shows.own_loader_unshared", unless(hidden, True), one.name, one.start, one.end
                )


_SHARDS = frozenset({"FullyShardedDataParallel", "FSDP"})


def _of_torch(document: Document, module: Module, optimizer: Call) -> Iterator[Statement]:
    """The order in which a loop of the program's own shards and makes its optimizer, and what its sampler is told."""
    text = document.text.text
    sharded = [
        one
        for one in module.calls
        if last_word(one.name) in _SHARDS and not one.local and one.name.startswith("torch.")
    ]
    if sharded and all(one.start > optimizer.end for one in sharded):
        original = sharded[0].arguments.get("use_orig_params")
        if not sharded[0].arguments.open and not (isinstance(original, Scalar) and original.value is True):
            yield _called(document, "sharded_after_optimizer", True, sharded[0])
    clips = [call for call in module.calls if last_word(call.name) == "clip_grad_norm_"] if sharded else []
    if clips and all(
        map(_is_torchs, clips)
    ):  # who calls FSDP's own method as well chooses by what the model is wrapped in
        yield _called(document, "shard_clipped_alone", True, clips[0])
    sampler = next((one for one in module.calls if last_word(one.name) == "DistributedSampler" and not one.local), None)
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
            yield _called(document, "sampler_without_epoch", unless(hidden, True), sampler)


def _functions(document: Document, module: Module, node: Node | None) -> list[Function]:
    """The file's own functions that an argument names."""
    if isinstance(node, Sequence):
        return [one for item in node.items for one in _functions(document, module, item)]
    if not isinstance(node, Scalar):
        return []
    name = document.text.text[node.start : node.end]
    found = [one for one in module.functions if one.name == name and not one.owner]
    return found if len(found) == 1 else []


def _rewards(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """A function that rewards completions and has no place for the other columns and lists that the trainer hands it."""
    given = trainer.arguments.get("reward_funcs")
    if given is None and last_word(trainer.name) in ("GRPOTrainer", "RLOOTrainer") and len(trainer.positional) > 1:
        given = trainer.positional[1]
    for one in _functions(document, module, given):
        if not one.open and "completion_ids" not in one.parameters:
            yield stated(document, "launch.functions.reward_closed", one.name, one.name, one.start, one.end)
            return


def _formatted(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    for one in _functions(document, module, trainer.arguments.get("formatting_func")):
        if one.gives:
            yield stated(document, "launch.functions.formatting_gives", one.gives, one.name, one.start, one.end)


# What `seen_in` finds in the whole text is safe where it speaks against a finding: one word of it anywhere, in a comment too, ends it. Where the
# finding needs that nothing of the kind is there, `unseen` asks besides who else, in another file, is handed the objects that it is about.


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
        yield _called(document, "model_made_by", last_word(model.name), model)


def _reference(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`reference_is_model`: one object is trained and held against; a copy is another one."""
    model, reference = _model(trainer), trainer.arguments.get("ref_model")
    if not isinstance(model, Call) or not isinstance(reference, Call):
        return
    if (model.start, model.instance) == (reference.start, reference.instance):
        yield _called(document, "reference_is_model", True, reference)


def _switched(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`adapter_switched_between_trainings`: another adapter is active in the second training, whose optimizer has the first one's weights."""
    steps = [one for one in calls(module, "train") if is_call(one.receiver, trainer)]
    switched = next((one for one in calls(module, "set_adapter")
                     if any(step.start < one.start for step in steps) and any(one.start < step.start for step in steps)), None)  # fmt: skip
    # safe: whatever is called so may make a new optimizer
    if switched is not None and not seen_in(r"\.optimizer\s*=|create_optimizer|optimizer\s*=\s*None", document):
        renewed = unseen(document, module, (), trainer, called="trainer")
        yield _called(document, "adapter_switched_between_trainings", unless(renewed, True), switched)


def _input_gradients(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`adapter_without_input_gradients`: nothing lets the inputs of the adapted model have gradients."""
    model = _adapted(trainer)
    if model is None or model.local:
        return
    given = (
        seen_in(_GIVES_INPUT_GRADIENTS, document) is not None
    )  # safe: every spelling of a call or an argument that does
    hidden = None if given else unseen(document, module, (model, trainer.arguments.get("callbacks")), trainer)
    yield _called(document, "adapter_without_input_gradients", unless(hidden, not given), model)


def _unsloth(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`unsloth_imported_late`: its import stands below one of a library that it patches; both are found at the beginning of a line."""
    own, other = seen_in(_UNSLOTH, document), seen_in(_PATCHED, document)
    if own is not None and other is not None and other.start() < own.start():
        yield stated(document, "launch.shows.unsloth_imported_late", True, "unsloth", *own.span())
    if _only_by_branch not in module.notes:  # asked for every trainer of a program
        module.notes[_only_by_branch] = _only_by_branch(document.text.text)
    branch: tuple[int, int] | None = module.notes[_only_by_branch]
    if branch is not None:
        yield stated(document, "launch.shows.patched_by_branch", True, "unsloth", *branch)


def _only_by_branch(text: str) -> tuple[int, int] | None:
    """Where a program first imports Unsloth, if a test decides of all its imports whether they are reached."""
    first: tuple[int, int] | None = None
    for found in re.finditer(_UNSLOTH_ANYWHERE, text):
        if not _in_a_branch(text, found.start(), len(found[1])):
            return None
        first = first or found.span()
    return first


def _in_a_branch(text: str, at: int, depth: int) -> bool:
    """Whether a test decides if the line at this place, which stands so deep, is reached: in its function or in the module."""
    end = at - 1
    for _ in range(_BRANCH):
        if end < 0 or not depth:
            return False
        begin = text.rfind("\n", 0, end) + 1
        line = text[begin:end]
        end = begin - 1
        words, indent = line.strip(), len(line) - len(line.lstrip(" \t"))
        if words and words[0] != "#" and indent < depth:
            depth = indent
            if re.match(r"(?:if|elif|else|match|case)\b", words):
                return True
    return False


_BRANCH = 200  # lines in which a branch begins


def _visible(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`devices_chosen_late`: the visible cards are set when the arguments or the model are made already."""
    text = document.text.text
    seen = seen_in(_TO_VISIBLE, document)
    if seen is not None and "CUDA_VISIBLE_DEVICES" in text[seen.start() : seen.end() + 80]:
        begun = [one for one, kind in python_kinds.kinds(module) if kind in ("arguments", "loader") and not one.parsed]
        if begun and all(one.end < seen.start() for one in begun) and seen.start() < trainer.start:
            yield stated(document, "launch.shows.devices_chosen_late", True, "environ", seen.start(), seen.end())


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
        hidden = hidden or _rows_elsewhere(document, module, trainer) or _collated_elsewhere(trainer)
        yield _called(document, "decoder_knows_its_start", unless(hidden, known), tower)


def _collated_elsewhere(trainer: Call) -> Unknown | None:
    """Why nobody can say which keys a batch has: what puts it together is no class of a library's."""
    collator = trainer.arguments.get("data_collator")
    if collator is None or (isinstance(collator, Call) and not collator.local and "DataCollator" in collator.name):
        return None
    return Unknown("what puts the batch together is the program's own")


def _of_sentences(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`loss`, `batch_sampler`: the loss of sentence-transformers by its class, and who chooses its batches."""
    text = document.text.text
    loss = trainer.arguments.get("loss")
    if isinstance(loss, Call) and loss.name.startswith(python_kinds.SENTENCES):
        yield _called(document, "loss", last_word(loss.name), loss)
        arguments = trainer.arguments.get("args")
        if isinstance(arguments, Call) and not arguments.arguments.open and not arguments.late:
            sampler = arguments.arguments.get("batch_sampler")
            word = text[sampler.start : sampler.end].strip("\"'") if sampler is not None else "batch_sampler"
            yield _called(document, "batch_sampler", last_word(word).lower(), loss)


def _bare_model(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`adapted_bare_model`: the adapter is put into a class without a head."""
    model = _adapted(trainer)
    if model is None:
        return
    base = next(iter(model.positional), None) or model.arguments.get("model")
    if not isinstance(base, Call):
        return
    made = base.name.rpartition(".")[0] if last_word(base.name) == "from_pretrained" else ""
    if _BARE.fullmatch(made):
        yield _called(document, "adapted_bare_model", last_word(made), model)


# Classes without a head, whose layers stand at the top: `layers.0.…`.
_BARE = re.compile(
    r"(?:transformers\.)?(?:Llama|Mistral|Mixtral|Qwen2|Qwen2Moe|Qwen3|Qwen3Moe|Gemma|Gemma2|Phi|Phi3|Olmo|Olmo2|StableLm|Starcoder2)Model"
)


def _columns(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """The columns of the rows, in their order, where the program writes them out or chooses them right before it hands them over."""
    rows = trainer.arguments.get("train_dataset")
    if not isinstance(rows, Call) or rows.conditional:
        return
    given = next(iter(rows.positional), None) or rows.arguments.get("mapping") or rows.arguments.get("column_names")
    names: list[object] = []
    if last_word(rows.name) == "from_dict" and isinstance(given, Mapping) and not given.open:
        names = [entry.key for entry in given.entries]
    elif last_word(rows.name) == "from_list" and isinstance(given, Sequence) and given.items:
        first = given.items[0]
        names = [entry.key for entry in first.entries] if isinstance(first, Mapping) and not first.open else []
    elif last_word(rows.name) == "select_columns" and isinstance(given, Sequence):
        names = [item.value for item in given.items if isinstance(item, Scalar)]
    if names and all(isinstance(name, str) for name in names):
        yield _called(document, "columns", names, rows)
        yield _called(document, "first_column", names[0], rows)


_INDENT = re.compile(r"[ \t]*")


def _collator_reads(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """The columns that the program's own collator takes out of each row."""
    rows = _functions(document, module, trainer.arguments.get("data_collator"))
    if not rows or not rows[0].parameters:
        return
    function, text = rows[0], document.text.text
    if text[function.start - 4 : function.start] != "def ":  # in a notebook the text is escaped
        return
    body = _body(text, function.start)
    several = re.escape(function.parameters[0])
    looped = re.findall(
        rf"\bfor[ \t]+(?:\w{{1,40}}[ \t]*,[ \t]*)?(\w{{1,40}})[ \t]+in[ \t]+(?:enumerate\()?{several}\b", body
    )
    each = "|".join(sorted({re.escape(name) for name in looped}) or [rf"{several}\[0\]"])
    names = sorted(set(re.findall(rf"\b(?:{each})\[[\"'](\w{{1,40}})[\"']\]", body)))
    if names:
        yield stated(document, "launch.shows.collator_reads", names, function.name, function.start, function.end)


def _body(text: str, start: int) -> str:
    """The lines of a function, by their indentation; `start`: of its name."""
    line = text.rfind("\n", 0, start) + 1
    depth = len(_INDENT.match(text, line)[0])  # type: ignore[index]
    lines = text[line:].split("\n")
    for number, one in enumerate(lines[1:], 1):
        if one.strip() and len(one) - len(one.lstrip()) <= depth and not one.lstrip().startswith(")"):
            return "\n".join(lines[:number])
    return "\n".join(lines)


# Any word of a token to pad with: it is set, added, or the tokenizer comes from somebody who does it.
_PAD_SAID = re.compile(
    r"pad_token|add_special_tokens|add_tokens|get_chat_template|setup_chat_format|FastLanguageModel|Processor"
)
_PADDING_ASKED = re.compile(r"\bpadding[ \t]{0,4}=[ \t]{0,4}(?:True\b|[\"'](?:max_length|longest)[\"'])")
_PADS = frozenset(
    {
        "DataCollatorForLanguageModeling",
        "DataCollatorWithPadding",
        "DataCollatorForSeq2Seq",
        "DataCollatorForTokenClassification",
    }
)


def _padded(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """What pads the rows of a program that says nowhere with which token."""
    if seen_in(_PAD_SAID, document) or unseen(document, module, (), called="tokenizer|tokeniser") is not None:
        return
    collator = trainer.arguments.get("data_collator")
    if isinstance(collator, Call) and not collator.local and last_word(collator.name) in _PADS:
        yield _called(document, "pads_unsaid", last_word(collator.name), collator)
        return
    asked = seen_in(_PADDING_ASKED, document)
    if asked is not None:
        yield stated(document, "launch.shows.pads_unsaid", "tokenizer", "padding", asked.start(), asked.end())


# Rows of one length, or padded ones.
_EVEN = re.compile(r"padding|\.pad\(|group_texts|block_size|chunk|packing|concatenate|pad_sequence|pad_to")


def _batches(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """What makes a batch of rows, and whether the program makes them of one length."""
    collator = trainer.arguments.get("data_collator")
    if isinstance(collator, Call) and not collator.local:
        yield _called(document, "collator", last_word(collator.name), collator)
        if last_word(collator.name) == "DataCollatorForSeq2Seq" and len(collator.positional) < 2:
            if not collator.arguments.open and collator.arguments.get("model") is None:
                yield _called(document, "collator_without_model", True, collator)
    tokenised = seen_in(r"\btruncation\s*=\s*True", document)
    if trainer.arguments.open or tokenised is None or seen_in(_EVEN, document):
        return
    even = _rows_elsewhere(
        document, module, trainer
    )  # safe: a word of any way to even them out ends it, but in another file
    yield stated(
        document,
        "launch.shows.rows_of_any_length",
        unless(even, True),
        "truncation",
        tokenised.start(),
        tokenised.end(),
    )
    given = {entry.key for entry in trainer.arguments.entries}
    if given.isdisjoint({"data_collator", "processing_class", "tokenizer"}) and len(trainer.positional) < 3:
        yield _called(document, "nothing_pads", True, trainer)


def _decoded(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """What the program's metrics make of the predictions: logits cannot be decoded, nor can the -100 that joined batches are filled with."""
    found = seen_in(r"\bbatch_decode\([ \t]{0,8}(\w{0,40}pred\w{0,40})", document)
    if found is None or trainer.arguments.get("compute_metrics") is None:
        return
    chosen = seen_in(r"argmax|topk|\.max\(|pred_ids\s*=", document) is not None
    yield stated(
        document,
        "launch.shows.predictions_decoded",
        "chosen" if chosen else "plain",
        "batch_decode",
        found.start(),
        found.end(),
    )
    filled = (
        seen_in(
            rf"{found[1]}[ \t]{{0,8}}\[[^\]]{{0,80}}-[ \t]{{0,8}}100|where\([ \t]{{0,8}}{found[1]}\b|-100", document
        )
        is not None
    )
    hidden = None if filled else unseen(document, module, (), called=found[1])
    told = unless(hidden, not filled)
    yield stated(document, "launch.shows.padding_decoded", told, "batch_decode", found.start(), found.end())


# Any way to say how long a generated answer may be; the words alone are asked for, since tokenizers take a max_length too.
_ANSWER_LENGTH = re.compile(
    r"generation_config|max_new_tokens|generation_max_length|gen_kwargs|config\.max_length|\.generate\(|(?:evaluate|predict)\([^()\n]{0,200}max_length"
)


def _generated(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Whether the program says nowhere how long the answers may be that its evaluations generate."""
    if last_word(trainer.name) != "Seq2SeqTrainer" or seen_in(_ANSWER_LENGTH, document):
        return
    model = trainer.arguments.get("model") or next(iter(trainer.positional), None)
    hidden = unseen(document, module, (model,), trainer)
    yield of_call(document, "launch.shows.answer_length_unsaid", unless(hidden, True), trainer)


def _markers(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Where the answer begins, by a program that takes the tokenizer's own chat template."""
    text = document.text.text
    if "apply_chat_template" not in text or seen_in(
        r"get_chat_template|chat_template\s*=(?!=)|setup_chat_format|set_chat_template", document
    ):
        return
    # who is handed the tokenizer, or makes it, may give it another template
    hidden = unseen(document, module, (), called="tokenizer|processor")
    hidden = _tokenizer_elsewhere(document, module) if hidden is None else hidden
    for call in module.calls:
        name = {"train_on_responses_only": "response_part", "DataCollatorForCompletionOnlyLM": "response_template"}.get(
            last_word(call.name)
        )
        given = call.arguments.get(name) if name else None
        if given is None and name == "response_template":
            given = next(iter(call.positional), None)
        if isinstance(given, Scalar) and isinstance(given.value, str):
            marker = unless(hidden, given.value)
            yield stated(document, "launch.shows.answer_marker", marker, name or "", given.start, given.end)
            return


_TO_TOKENIZER = re.compile(
    r"[ \t]*(?:\w{1,40}[ \t]{0,4},[ \t]{0,4}){0,4}\w{0,40}(?:tokenizer|processor)\b[^=\n]{0,80}=[ \t]{0,8}\Z"
)


def _tokenizer_elsewhere(document: Document, module: Module) -> Unknown | None:
    """Why nobody can say what the tokenizer's template is: another file makes it."""
    text = document.text.text
    for call in elsewhere(document, module):
        if _TO_TOKENIZER.match(text, text.rfind("\n", 0, call.start) + 1, call.start):
            return Unknown(f"`{last_word(call.name)}` stands in another file")
    return None


_COPIED = re.compile(
    r"\[[\"']labels[\"']\]\s*=\s*(?:copy\.(?:deep)?copy\()?\w+\[[\"']input_ids[\"']\](?:\.(?:copy|clone)\(\)|\[:\])?\)?\s*$"
    r"|[\"']labels[\"']\s*:\s*\w+\[[\"']input_ids[\"']\](?:\.(?:copy|clone)\(\))?\s*[,}]",
    re.MULTILINE,
)
_PADDED = re.compile(r"padding\s*=\s*[\"']max_length[\"']")
_MASKS = re.compile(
    r"-100|ignore_index|DataCollatorForLanguageModeling|DataCollatorForCompletionOnly|labels_mask|IGNORE"
)


def _labels(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Labels that are the padded tokens themselves, in rows that the plain collators pass on as they are."""
    copied = seen_in(_COPIED, document)
    collator = trainer.arguments.get("data_collator")
    plain = collator is None or (isinstance(collator, Call) and last_word(collator.name) in _PLAIN)
    named = document.text.text[collator.start : collator.end] if isinstance(collator, Scalar) else ""
    if (
        copied
        and seen_in(_PADDED, document)
        and not seen_in(_MASKS, document)
        and (plain or last_word(named) in _PLAIN)
    ):
        yield stated(document, "launch.shows.padding_is_learned", True, "labels", copied.start(), copied.end())


_PLAIN = frozenset(
    {"default_data_collator", "DefaultDataCollator", "DataCollatorWithPadding", "DataCollatorForSeq2Seq"}
)


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
    for one in (*calls(module, "evaluate"), *calls(module, "predict")):
        if is_call(one.receiver, trainer):
            yield of_call(document, "launch.shows.evaluates_apart", last_word(one.name), one)
            return


def _pairs(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Pairs as a library loads them, which nobody in the program has tokenized for a trainer of reward models."""
    rows = trainer.arguments.get("train_dataset")
    root = rows if isinstance(rows, Call) else None
    while root is not None and isinstance(root.receiver, Call):
        root = root.receiver
    if last_word(trainer.name) != "RewardTrainer" or trainer.local or root is None:
        return
    if last_word(root.name) == "load_dataset" and not seen_in(r"input_ids_chosen", document):
        yield _called(document, "pairs_untokenized", unless(unseen(document, module, (rows,), trainer), True), trainer)


# Of each trainer, in this order.
_OBSERVED = (
    _evaluates_apart,
    _overridden,
    _own_loader,
    _rewards,
    _formatted,
    _made_by,
    _reference,
    _switched,
    _input_gradients,
    _unsloth,
    _visible,
    _towers,
    _of_sentences,
    _bare_model,
    _columns,
    _collator_reads,
    _padded,
    _batches,
    _decoded,
    _labels,
    _generated,
    _picked,
    _markers,
    _pairs,
)


def _alone(document: Document, module: Module) -> Iterator[Statement]:
    if not module.alone:
        return
    told: set[str] = set()
    for call in module.calls:
        word = last_word(call.name)
        if word not in told and not call.local and _TOGETHER.fullmatch(call.name):
            if any(start <= call.start < end for start, end in module.alone):
                if _others_call(word, module, document):
                    continue
                told.add(word)
                yield stated(document, f"launch.alone.{word}", call.name, word, call.name_start, call.name_end)


def _others_call(word: str, module: Module, document: Document) -> bool:
    """Whether the other processes call it in a branch of theirs: `if rank != 0: barrier()` before, `if rank == 0: barrier()` behind."""
    text = document.text.text
    elsewhere = (
        call
        for call in module.calls
        if last_word(call.name) == word and not any(start <= call.start < end for start, end in module.alone)
    )
    return any(_RANK.search(test) for call in elsewhere for test in _tests_of(text, call.start))


def _tests_of(text: str, at: int) -> Iterator[str]:
    """The tests of the branches that a place stands in, as they are written; `else` for what has none."""
    begin = text.rfind("\n", 0, at) + 1
    depth = len(text[begin:at].expandtabs()) - len(text[begin:at].expandtabs().lstrip())
    for line in reversed(text[max(0, begin - _ABOVE) : begin].splitlines()):
        indent = len(line.expandtabs()) - len(line.expandtabs().lstrip())
        if not line.strip() or indent >= depth:
            continue
        depth, words = indent, line.strip()
        if words.startswith(("if ", "if(", "elif ", "else")):
            yield words
        if not depth:
            return


_RANK = re.compile(r"\brank|_rank|main_process|process_zero|process_index|\Aelse\b")
_ABOVE = 4000  # characters in which the branches of a call are looked for


def _wrapped_with_optimizer(module: Module, engine: Call) -> Call | None:
    """The `prepare` that wraps a model and, in the same call, takes an optimizer that was made of the model before."""
    prepares = [call for call in module.calls if last_word(call.name) == "prepare" and is_call(call.receiver, engine)]
    for call in prepares[:1]:  # a later one may hand over what an earlier one has wrapped
        given = [one for one in call.positional if isinstance(one, Call)]
        models = [one for one in given if last_word(one.name) in ("from_pretrained", "from_config")]
        optimizer = next((one for one in given if python_kinds.is_optimizer(one) and "Dummy" not in one.name), None)
        if models and optimizer is not None:
            return optimizer
    return None


def _steps(document: Document, module: Module, engine: Call) -> Iterator[Statement]:
    """How a loop of the program's own goes backward, clips and accumulates."""
    text = document.text.text
    words = {last_word(call.name) for call in module.calls}
    plain = seen_in(_PLAIN_BACKWARD, document)
    own = seen_in(r"(?:accelerator|engine|\bmodel\w*)\.backward\(", document)
    if plain is not None and own is None:
        yield stated(document, "launch.shows.plain_backward", True, "backward", plain.start(), plain.end() - 1)
    clips = next((c for c in module.calls if last_word(c.name) in ("clip_grad_norm_", "clip_grad_norm") and _is_torchs(c)), None)  # fmt: skip
    if clips is not None and not seen_in(
        r"accelerator\.(?:clip_grad_norm_|unscale_gradients)|scaler\.unscale_|[Ee]ngine\.clip", document
    ):
        yield _called(document, "clips_by_torch", True, clips)
    prepared = [
        one
        for c in module.calls
        if last_word(c.name) == "prepare" and is_call(c.receiver, engine)
        for one in c.positional
    ]
    made = [one for one in prepared if isinstance(one, Call)]
    # Without a backward pass in this file the loop stands elsewhere, and may enter it there.
    if own is not None and words.isdisjoint({"accumulate", "no_sync"}) and not seen_in(_COUNTS_BATCHES, document):
        hidden = unseen(document, module, made, engine)
        yield _called(document, "never_accumulates", unless(hidden, True), engine)
    divided = seen_in(_DIVIDED, document)
    if divided is not None and "accumulate" in words:
        yield stated(document, "launch.shows.loss_divided", True, "loss", divided.start(), divided.end())
    for loader in prepared:
        sampler = loader.arguments.get("sampler") if isinstance(loader, Call) else None
        if isinstance(sampler, Call) and last_word(sampler.name) == "DistributedSampler" and not sampler.local:
            yield _called(document, "sampler_shards_too", True, sampler)
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
        yield _called(document, "prepares_no_loader", unless(hidden, True), engine)
    for one in prepared:
        if isinstance(one, Call) and python_kinds.is_optimizer(one) and "Dummy" not in one.name and not edited:
            yield _called(document, "prepares_optimizer", True, one)
            break
    together = _wrapped_with_optimizer(module, engine)
    if together is not None and not edited:
        yield _called(document, "wrapped_with_optimizer", True, together)
    saved = next((c for c in module.calls if last_word(c.name) == "save_pretrained" and isinstance(c.receiver, Call)
                  and last_word(c.receiver.name) == "unwrap_model"), None)  # fmt: skip
    if saved is not None and saved.arguments.get("state_dict") is None and not saved.arguments.open:
        if not seen_in(r"get_state_dict|GatheredParameters|summon_full_params|FullStateDict|SHARDED_STATE", document):
            hidden = unseen(document, module, (*made, saved.receiver), engine)  # `with gathered(model):`
            yield _called(document, "saves_without_state", unless(hidden, True), saved)
    if python_kinds.kind(engine) == "deepspeed":
        yield from _schedule(document, module, engine)


# The plugin's file as it was read, which a program may change before `prepare` looks at it: `plugin.deepspeed_config["train_…"] = 4`.
_EDITS_PLUGIN = re.compile(
    r"deepspeed_config(?:\[[^\]\n]{1,80}\]){1,4}[ \t]{0,8}=(?!=)|deepspeed_config\.(?:pop|update|setdefault|clear)\("
    r"|hf_ds_config\.config\b|\bdel[ \t][^\n]{0,80}deepspeed_config"
)
_STEPS = re.compile(r"(?:torch\.optim|bitsandbytes\.optim|deepspeed\.ops|accelerate|transformers|peft|torch\.nn)\.\w")


def _may_be_loader(node: Node) -> bool:
    """Whether what is prepared may be one: all but a model, an optimizer and a schedule of a library's."""
    return not (isinstance(node, Call) and not node.local and _STEPS.match(node.name) and "oader" not in node.name)


def _is_torchs(call: Call) -> bool:
    return call.name.startswith(("torch.", "nn.utils.", "clip_grad"))


def _schedule(document: Document, module: Module, engine: Call) -> Iterator[Statement]:
    """A schedule that is DeepSpeed's to step and that the program steps as well."""
    given = engine.arguments.get("lr_scheduler")
    if given is None or (isinstance(given, Scalar) and given.value is None):
        return
    name = document.text.text[given.start : given.end] if not isinstance(given, Call) else (given.target or "")
    for call in module.calls:
        spelled = document.text.text[call.name_start : call.name_end]
        if name and last_word(call.name) == "step" and spelled == f"{name}.step":
            yield _called(document, "schedule_stepped_twice", True, call)
            return


def _of_loader(document: Document, module: Module, loader: Call) -> Iterator[Statement]:
    made = loader.name.rpartition(".")[0]
    yield _called(document, "model_class", last_word(made), loader)
    if (
        loader.arguments.get("config") is None
        and not loader.arguments.open
        and not _REGISTERS.search(document.text.text)
    ):
        yield _called(document, "class_by_name", True, loader)  # the checkpoint's own type chooses the class
    if _is_wrapper(made):
        return
    for call in module.calls:
        if last_word(call.name) in _MOVES and is_call(call.receiver, loader) and not call.conditional:
            if last_word(call.name) == "to" and not _is_device(document, call):
                continue
            yield _called(document, f"moved.{last_word(call.name)}", True, call)


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


def _called(document: Document, what: str, value: object, call: Call) -> Statement:
    return of_call(document, f"launch.shows.{what}", value, call)
