"""What a program's rows are, what makes batches of them, and what its metrics make of the predictions: facts `launch.shows.<what>`.

What `seen_in` finds in the whole text is safe where it speaks against a finding: one word of it anywhere that the program runs ends it. Where the
finding needs that nothing of the kind is there, `unseen` asks besides who else, in another file, is handed the objects that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.base import knowledge
from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs.runs import reached
from stablint.frameworks.programs.seen import any_of, is_call, of_call, seen_in, shown, stated
from stablint.frameworks.programs.unseen import elsewhere, unless, unseen
from stablint.run.fact import Statement
from stablint.syntax.tree import Call, Document, Function, Mapping, Module, Node, Scalar, Sequence, Unknown

_NEXT_METHOD = re.compile(r"\n[ \t]*(?:def|class|@)|\n\S")
_SHARES = re.compile(r"prepare|super\(|[Ss]ampler|get_train_dataloader|num_replicas|world_size|process_index|\brank\b")
_DIVIDES = re.compile(r"\.shard\(|split_dataset_by_node|split_between_processes|Sharded\w{0,40}Dataset")


def rows_elsewhere(document: Document, module: Module, trainer: Call) -> Unknown | None:
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
                hidden = rows_elsewhere(document, module, trainer) if hidden is None else hidden
                yield stated(
                    document, "launch.shows.own_loader_unshared", unless(hidden, True), one.name, one.start, one.end
                )


def functions(document: Document, module: Module, node: Node | None) -> list[Function]:
    """The file's own functions that an argument names."""
    if isinstance(node, Sequence):
        return [one for item in node.items for one in functions(document, module, item)]
    if not isinstance(node, Scalar):
        return []
    name = document.text.text[node.start : node.end]
    found = [one for one in module.functions if one.name == name and not one.owner]
    return found if len(found) == 1 else []


def collated_elsewhere(trainer: Call) -> Unknown | None:
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
        yield shown(document, "loss", last_word(loss.name), loss)
        arguments = trainer.arguments.get("args")
        if isinstance(arguments, Call) and not arguments.arguments.open and not arguments.late:
            sampler = arguments.arguments.get("batch_sampler")
            word = text[sampler.start : sampler.end].strip("\"'") if sampler is not None else "batch_sampler"
            yield shown(document, "batch_sampler", last_word(word).lower(), loss)


def _columns(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """The columns of the rows, in their order, where the program writes them out or chooses them right before it hands them over."""
    rows = trainer.arguments.get("train_dataset")
    if not isinstance(rows, Call) or rows.conditional:
        return
    file = rows.arguments.get("data_files")
    if rows.name == "datasets.load_dataset" and not rows.local and isinstance(file, Scalar):
        if isinstance(file.value, str) and file.value.endswith((".json", ".jsonl", ".csv")):
            yield shown(document, "rows_file", file.value, rows)
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
    elif last_word(rows.name) == "map":
        names = _replaced_by_tokens(document, module, rows)
    if names and all(isinstance(name, str) for name in names):
        yield shown(document, "columns", names, rows)
        yield shown(document, "first_column", names[0], rows)


_RETURNS = re.compile(r"^[ \t]*return\b[ \t]*(.*)$", re.MULTILINE)
_TOKENIZER = re.compile(r"(?:self\.)?\w{0,40}tokeni[sz]er\(")
_ALL_COLUMNS = re.compile(r"\.column_names(?:\[[^\]\n]{1,40}\])?\Z")


def _replaced_by_tokens(document: Document, module: Module, rows: Call) -> list[object]:
    """The columns of rows that a function of the file replaces, all of them, by what the tokenizer gives."""
    text = document.text.text
    removed = rows.arguments.get("remove_columns")
    if removed is None or not _ALL_COLUMNS.search(text[removed.start : removed.end]):
        return []
    found = functions(document, module, next(iter(rows.positional), None) or rows.arguments.get("function"))
    if not found or text[found[0].start - 4 : found[0].start] != "def ":
        return []
    given = _RETURNS.findall(body(text, found[0].start))
    return ["input_ids", "attention_mask"] if len(given) == 1 and _TOKENIZER.match(given[0]) else []


_INDENT = re.compile(r"[ \t]*")


_ASKED_FOR = re.compile(r"[\"'](\w{1,40})[\"'][ \t]+(?:not[ \t]+)?in[ \t]")


def _collator_reads(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """The columns that the program's own collator, or what transforms the rows as they are asked for, takes out of each row, and no model has a place for."""
    text = document.text.text
    collator = trainer.arguments.get("data_collator")
    made_by = trainer.arguments.get("model") or next(iter(trainer.positional), None)
    if isinstance(collator, Call) and collator.local:  # an object of a class of the file's own
        made = text[collator.name_start : collator.name_end]
        rows = [one for one in module.functions if one.owner == made and one.name == "__call__"]
    else:
        rows = functions(document, module, collator)
    # safe: a model of the program's own may name what it likes, and the program may name its labels
    own = isinstance(made_by, Call) and made_by.local
    if own or seen_in(r"label_names|_signature_columns", document):
        return
    collating = [(rows[0], _EACH)] if len(rows) == 1 else []
    for function, each in (*collating, *_transforms(document, module, trainer)):
        names = [
            name for name in _read_of(text, function, each) if name not in _FEW or not seen_in(_FEW[name], document)
        ]
        if names:
            yield stated(document, "launch.shows.collator_reads", names, function.name, function.start, function.end)
            return


_EACH, _ALL = "each", "all"
# Words of many data sets that few families name in their forward.
_FEW = {"image": r"(?i)layoutlm|bridgetower", "seq_len": r"(?i)modernbert"}


def _transforms(document: Document, module: Module, trainer: Call) -> Iterator[tuple[Function, str]]:
    """The functions that make the trainer's rows as they are asked for, and take columns of many rows."""
    rows = trainer.arguments.get("train_dataset")
    given = reached([rows]) if rows is not None else set()
    for call in any_of(module, ("set_transform", "with_transform")):
        if not call.conditional and (
            call.start in given or is_call(call.receiver, rows if isinstance(rows, Call) else None)
        ):
            for one in functions(
                document, module, next(iter(call.positional), None) or call.arguments.get("transform")
            ):
                yield one, _ALL


def _read_of(text: str, function: Function, each: str) -> list[str]:
    parameters = [name for name in function.parameters if name != "self"]
    if not parameters or text[function.start - 4 : function.start] != "def ":  # in a notebook the text is escaped
        return []
    lines = body(text, function.start)
    several = re.escape(parameters[0])
    of = several
    if each == _EACH:
        loops = re.findall(
            rf"\bfor[ \t]{{1,8}}([\w, \t()]{{1,80}}?)[ \t]{{1,8}}in[ \t][^\n:]{{0,80}}?\b{several}\b", lines
        )
        of = "|".join(sorted({name for loop in loops for name in re.findall(r"\w+", loop)}) or [rf"{several}\[0\]"])
    read = set(re.findall(rf"\b(?:{of})\[[\"'](\w{{1,40}})[\"']\](?![ \t]{{0,4}}=[^=])", lines))
    kept = {*knowledge.load("forwards"), "label", "label_ids", "labels"} - {*_FEW}
    # what is asked for first may be missing; what is written is there
    written = set(re.findall(rf"\b(?:{of})\[[\"'](\w{{1,40}})[\"']\][ \t]{{0,4}}=[^=]", lines))
    return sorted(read - kept - written - set(_ASKED_FOR.findall(lines)))


def body(text: str, start: int) -> str:
    """The lines of a function, by their indentation; `start`: of its name."""
    line = text.rfind("\n", 0, start) + 1
    depth = len(_INDENT.match(text, line)[0])  # type: ignore[index]
    lines = text[line:].split("\n")
    for number, one in enumerate(lines[1:], 1):
        if one.strip() and len(one) - len(one.lstrip()) <= depth and not one.lstrip().startswith(")"):
            return "\n".join(lines[:number])
    return "\n".join(lines)


# `for i in range(len(rows["question"])):`
_COUNTED = re.compile(
    r"\bfor[ \t]+(\w{1,40})[ \t]+in[ \t]+range\([ \t]*len\([ \t]*(\w{1,40})\[[\"'](\w{1,40})[\"']\][ \t]*\)[ \t]*\)"
)


def walks(document: Document, function: Function) -> str:
    """The column that a function of batches reads at the positions of another one; empty where it does not."""
    text = document.text.text
    if text[function.start - 4 : function.start] != "def ":  # in a notebook the text is escaped
        return ""
    lines = body(text, function.start)
    counted = _COUNTED.search(lines)
    if counted is None or counted[2] not in function.parameters:
        return ""
    read = re.findall(rf"\b{counted[2]}\[[\"'](\w{{1,40}})[\"']\]\[{counted[1]}\]", lines)
    return next((name for name in read if name != counted[3]), "")


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
        yield shown(document, "pads_unsaid", last_word(collator.name), collator)
        return
    if last_word(trainer.name) == "DPOTrainer" and not trainer.local:  # which pads the pairs by the tokenizer's token
        tokenizer = trainer.arguments.get("tokenizer") or trainer.arguments.get("processing_class")
        made = isinstance(tokenizer, Call) and last_word(tokenizer.name) == "from_pretrained"
        if made and collator is None and not trainer.arguments.open and not seen_in(r"padding_value", document):
            yield shown(document, "pads_unsaid", "DPOTrainer", trainer)
        return
    asked = seen_in(_PADDING_ASKED, document)
    if asked is not None:
        yield stated(document, "launch.shows.pads_unsaid", "tokenizer", "padding", asked.start(), asked.end())


# Collators that pad labels and make none, and words by which a program has labels in its rows, or gets them there behind the trainer.
_PAD_LABELS = frozenset(
    {"DataCollatorForSeq2Seq", "DataCollatorWithPadding", "DefaultDataCollator", "default_data_collator"}
)
_LABELLED = re.compile(r"label|train_on_responses_only|dataset_kwargs|skip_prepare")


def _unlabelled(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """A collator that makes no labels, handed to a trainer that leaves them to its own one, in a program that says nothing of labels."""
    collator = trainer.arguments.get("data_collator")
    if last_word(trainer.name) != "SFTTrainer" or not isinstance(collator, Call) or collator.local:
        return
    if last_word(collator.name) in _PAD_LABELS and not seen_in(_LABELLED, document):
        hidden = rows_elsewhere(document, module, trainer)
        yield shown(document, "collator_without_labels", unless(hidden, last_word(collator.name)), collator)


# Rows of one length, or padded ones.
_EVEN = re.compile(r"padding|\.pad\(|group_texts|block_size|chunk|packing|concatenate|pad_sequence|pad_to_")


# Rows are cut, or put together by hand.
_TOKENISED = re.compile(r"\b(truncation)\s*=\s*True|\[[\"']input_ids[\"']\]\s*=\s*\w{1,40}[ \t]*(?:\+|$)", re.MULTILINE)
_BY_HAND = re.compile(r"\[[ \t]{0,4}(?:-[ \t]{0,4}100|\w{0,20}IGNORE\w{0,20})[ \t]{0,4}\][ \t]{0,4}\*")
_HELD = re.compile(r"\[[\"']labels[\"']\](?:[ \t]{0,4}=(?!=)|\.append\()|[\"']labels[\"'][ \t]{0,4}:|\blabels=")


def _made_again(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Labels that the program masks by hand, and a collator that makes its own of the inputs."""
    collator = trainer.arguments.get("data_collator")
    if (
        not isinstance(collator, Call)
        or collator.local
        or last_word(collator.name) != "DataCollatorForLanguageModeling"
    ):
        return
    if seen_in(_BY_HAND, document) and seen_in(_HELD, document) and not seen_in(r"compute_metrics", document):
        hidden = rows_elsewhere(document, module, trainer)
        yield shown(document, "labels_made_again", unless(hidden, True), collator)


_SHAPES_BATCH = re.compile(r"\b(?:self\.)?\w{0,40}(?:processor|tokeni[sz]er)\(")
_PASSES_ON = re.compile(r"label|\*\*|collat|super\(|\.pad\(|torch\.stack|default_data")
_NO_LABELS = re.compile(r"(?<!num_)(?<!id2)(?<!_)labels?\b(?!2id|_names|_smoothing)")


def _collates_no_labels(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """A collator of the file's own that makes the whole batch of texts, in a program that says nothing of labels."""
    text = document.text.text
    collator = trainer.arguments.get("data_collator")
    if isinstance(collator, Call) and collator.local:
        made = text[collator.name_start : collator.name_end]
        found = [one for one in module.functions if one.owner == made and one.name == "__call__"]
    else:
        found = functions(document, module, collator)
    if len(found) != 1 or text[found[0].start - 4 : found[0].start] != "def " or seen_in(_NO_LABELS, document):
        return
    if trainer.arguments.open or trainer.arguments.get("compute_loss_func") is not None:
        return
    lines = body(text, found[0].start).partition("\n")[2]
    if _SHAPES_BATCH.search(lines) and not _PASSES_ON.search(lines):
        yield stated(document, "launch.shows.collates_no_labels", True, found[0].name, found[0].start, found[0].end)


_IMAGES_LEARNED = re.compile(
    r"labels\[[ \t]{0,4}labels[ \t]{0,4}==[ \t]{0,4}[\w.]{1,80}pad_token_id[ \t]{0,4}\][ \t]{0,4}=[ \t]{0,4}(?:self\.)?(\w{0,40}image_token\w{0,20})"
)


def _padding_replaced(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Padding becomes image tokens in the labels."""
    found = seen_in(_IMAGES_LEARNED, document)
    if found is not None:
        yield stated(document, "launch.shows.padding_replaced", found[1], "labels", *found.span())


_REMOVES_PAIRS = re.compile(
    r"remove_columns[ \t]{0,4}=[ \t]{0,4}(?:\[[^\]\n]{0,120}[\"']chosen[\"']|[\w.]{1,80}\.column_names)"
)


def _pairs_replaced(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Pairs that the program tokenises by the names of older trainers of reward models, and whose texts it takes out."""
    removed = seen_in(_REMOVES_PAIRS, document)
    if last_word(trainer.name) == "RewardTrainer" and removed is not None and seen_in(r"input_ids_chosen", document):
        hidden = rows_elsewhere(document, module, trainer)
        yield stated(document, "launch.shows.pairs_replaced", unless(hidden, True), "remove_columns", *removed.span())


def _batches(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """What makes a batch of rows, on which side they are padded, and whether the program makes them of one length."""
    side = seen_in(r"\b(padding_side)[ \t]*=[ \t]*[\"'](left|right)[\"']", document)
    if side is not None:
        yield stated(document, "launch.shows.padding_side", side[2], "padding_side", *side.span())
    collator = trainer.arguments.get("data_collator")
    if isinstance(collator, Call) and not collator.local:
        yield shown(document, "collator", last_word(collator.name), collator)
        if last_word(collator.name) == "DataCollatorForSeq2Seq" and len(collator.positional) < 2:
            if not collator.arguments.open and collator.arguments.get("model") is None:
                yield shown(document, "collator_without_model", True, collator)
    tokenised = seen_in(_TOKENISED, document)
    if trainer.arguments.open or tokenised is None or seen_in(_EVEN, document):
        return
    even = rows_elsewhere(
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
        yield shown(document, "nothing_pads", True, trainer)


def _decoded(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """What the program's metrics make of the predictions: logits cannot be decoded, nor can the -100 that joined batches are filled with."""
    found = seen_in(r"\bbatch_decode\([ \t]{0,8}(\w{0,40}pred\w{0,40})", document)
    if found is None or trainer.arguments.get("compute_metrics") is None:
        return
    chosen = seen_in(r"argmax|topk|\.max\(|pred_ids\s*=", document) is not None
    # `compute_metrics=compute_metrics if args.predict_with_generate else None`: asked for where tokens come alone
    chosen = (
        chosen
        or seen_in(r"compute_metrics[ \t]?=[^,\n]{1,80}\bif\b[^,\n]{0,80}predict_with_generate", document) is not None
    )
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

_PREDICTS = re.compile(r"\.predict\(|\.compute_metrics[ \t]*=")


def _generated(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Whether the program says nowhere how long the answers may be that its evaluations generate."""
    if last_word(trainer.name) != "Seq2SeqTrainer" or seen_in(_ANSWER_LENGTH, document):
        return
    # without metrics to compute evaluate() asks for the loss alone and generates nothing; predict() does
    # (transformers 4.57.6 trainer.py:4494, trainer_seq2seq.py:288)
    metrics = trainer.arguments.get("compute_metrics")
    if (metrics is None or (isinstance(metrics, Scalar) and metrics.value is None)) and not seen_in(
        _PREDICTS, document
    ):
        return
    model = trainer.arguments.get("model") or next(iter(trainer.positional), None)
    hidden = unseen(document, module, (model,), trainer)
    yield of_call(document, "launch.shows.answer_length_unsaid", unless(hidden, True), trainer)


_FREED = r"\.config\.forced_decoder_ids[ \t]{0,8}=[ \t]{0,8}None"
_LANGUAGE_SAID = r"generation_config\.(?:language|forced_decoder_ids)[ \t]{0,8}=|gen_kwargs|GenerationConfig\(|set_prefix_tokens|suppress_language|\.generate\b"


def _language(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`language_heard`: Whisper is left to hear which language a batch is in when the trainer lets it generate."""
    model = trainer.arguments.get("model") or next(iter(trainer.positional), None)
    freed = seen_in(_FREED, document) if last_word(trainer.name) == "Seq2SeqTrainer" else None
    if freed is not None and not seen_in(_LANGUAGE_SAID, document):
        heard = unless(unseen(document, module, (model,), trainer), True)
        yield stated(document, "launch.shows.language_heard", heard, "forced_decoder_ids", *freed.span())


# Who looks for the answer in the text of a row, and the argument that says behind what.
_LOOKS_FOR = {"train_on_responses_only": "response_part", "DataCollatorForCompletionOnlyLM": "response_template"}


def _answer_text(call: Call) -> Scalar | None:
    """The text behind which such a call looks for the answer, where it is written out."""
    name = _LOOKS_FOR.get(last_word(call.name), "")
    given = call.arguments.get(name)
    if given is None and name == "response_template":
        given = next(iter(call.positional), None)
    return given if isinstance(given, Scalar) and isinstance(given.value, str) else None


def _answer_template(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """The text behind which TRL's collator looks for the answer."""
    for call in any_of(module, ("DataCollatorForCompletionOnlyLM",)):
        given = _answer_text(call)
        if given is not None:
            yield stated(
                document, "launch.shows.answer_template", given.value, "response_template", given.start, given.end
            )
            return


def _markers(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Where the answer begins, by a program that takes the tokenizer's own chat template, or one of Unsloth's by its name."""
    named = [call for call in any_of(module, ("get_chat_template",)) if not call.local]
    name = named[0].arguments.get("chat_template") if len(named) == 1 and not named[0].conditional else None
    if isinstance(name, Scalar) and isinstance(name.value, str):
        yield stated(document, "launch.shows.template_name", name.value, "chat_template", name.start, name.end)
    elif "apply_chat_template" not in document.text.text or seen_in(_TEMPLATE_GIVEN, document):
        return
    if seen_in(_TEMPLATE_SET, document):
        return
    # who is handed the tokenizer, or makes it, may give it another template
    hidden = unseen(document, module, (), called="tokenizer|processor")
    hidden = _tokenizer_elsewhere(document, module) if hidden is None else hidden
    for call in any_of(module, tuple(_LOOKS_FOR)):
        given = _answer_text(call)
        if given is not None:
            marker = unless(hidden, given.value)
            said = _LOOKS_FOR.get(last_word(call.name), "")
            yield stated(document, "launch.shows.answer_marker", marker, said, given.start, given.end)
            if name is None:
                yield stated(document, "launch.shows.template_name", "own", said, given.start, given.end)
            return


_TEMPLATE_GIVEN = re.compile(r"get_chat_template|\bchat_template\s*=(?!=)")
_TEMPLATE_SET = re.compile(r"\.chat_template\s*=(?!=)|setup_chat_format|set_chat_template|clone_chat_template")
# Of Unsloth's calls that write the trained model, the word that says how, and where it stands among those without a name.
_SAVED_BY = {
    "save_pretrained_merged": ("save_method", 2), "push_to_hub_merged": ("save_method", 2),
    "save_pretrained_gguf": ("quantization_method", 2), "push_to_hub_gguf": ("quantization_method", 2),
}  # fmt: skip


def _saved(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """How Unsloth is asked to write the model, call by call."""
    words: list[tuple[str, Scalar]] = []
    for call in any_of(module, tuple(_SAVED_BY)):
        name, at = _SAVED_BY[last_word(call.name)]
        given = call.arguments.get(name) or (call.positional[at] if len(call.positional) > at else None)
        if not call.conditional and not call.local:
            items = given.items if isinstance(given, Sequence) else (given,)
            words += [(name, one) for one in items if isinstance(one, Scalar) and isinstance(one.value, str)]
    for number, (name, word) in enumerate(words):
        yield stated(document, f"launch.saved.{number}.{name}", word.value, name, word.start, word.end)


# Any word of a template that the tokenizer may be given, or of a test whether it has one.
_TEMPLATE_SAID = re.compile(
    r"\bchat_template\b|\b(?:get|set|clone|add)_chat_template|setup_chat_format"
    r"|\btry:[ \t]{0,8}\n[^\n]{0,200}apply_chat_template"
)


def _templated(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`template_of`: the checkpoint whose tokenizer writes the rows by the chat template that comes with it."""
    if seen_in(_TEMPLATE_SAID, document) or unseen(document, module, (), called="tokenizer|processor") is not None:
        return
    for call in any_of(module, ("apply_chat_template",)):
        made = call.receiver
        named = next(iter(made.positional), None) if isinstance(made, Call) else None
        if isinstance(made, Call) and last_word(made.name) == "from_pretrained" and isinstance(named, Scalar):
            if not call.conditional and not made.conditional and isinstance(named.value, str):
                yield shown(document, "template_of", named.value, call)
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
        and _is_padded(module, copied[0], copied.start())
        and not seen_in(_MASKS, document)
        and (plain or last_word(named) in _PLAIN)
    ):
        yield stated(document, "launch.shows.padding_is_learned", True, "labels", copied.start(), copied.end())


_PLAIN = frozenset(
    {"default_data_collator", "DefaultDataCollator", "DataCollatorWithPadding", "DataCollatorForSeq2Seq"}
)


def _is_padded(module: Module, copied: str, before: int) -> bool:
    """Whether the call that makes the tokens which are copied, the last one of that name before that place, fills them up."""
    names = re.findall(r"\b\w{1,80}(?=\[[\"']input_ids)", copied)
    made = [call for call in module.calls if call.target in names and call.start < before]
    padding = made[-1].arguments.get("padding") if made else None
    return isinstance(padding, Scalar) and padding.value == "max_length"


def _pairs(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Pairs as a library loads them, which nobody in the program has tokenized for a trainer of reward models."""
    rows = trainer.arguments.get("train_dataset")
    root = rows if isinstance(rows, Call) else None
    while root is not None and isinstance(root.receiver, Call):
        root = root.receiver
    if last_word(trainer.name) != "RewardTrainer" or trainer.local or root is None:
        return
    if last_word(root.name) == "load_dataset" and not seen_in(r"input_ids_chosen", document):
        yield shown(document, "pairs_untokenized", unless(unseen(document, module, (rows,), trainer), True), trainer)


def _begun_twice(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`chat_text_begun_again`: what the chat template wrote as text is tokenised as text, which begins it a second time."""
    for call in any_of(module, ("tokenizer", "tokeniser")):
        text = next(iter(call.positional), None) or call.arguments.get("text")
        if not isinstance(text, Call) or last_word(text.name) != "apply_chat_template" or call.arguments.open:
            continue
        written = text.arguments.get("tokenize")
        as_text = isinstance(written, Scalar) and written.value is False
        if as_text and call.arguments.get("add_special_tokens") is None:
            # who makes the tokenizer, or is handed it, may keep it from adding a first token, and whoever gets the rows may take it off
            told = seen_in(_BEGINS_ONCE, document) is None
            hidden = unseen(document, module, (), called="tokenizer|tokeniser") if told else None
            yield shown(document, "chat_text_begun_again", unless(hidden, told), call)
            return


_OF_TEXT = re.compile(r"[\"']text[\"'][ \t]{0,4}:\s{0,40}\[?\s{0,40}(?:\w{1,40}\.)?\Z")


def _written(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """`text_of_tokens`: the column `text` is what the chat template gives without `tokenize=False`. `engine_lora`: what Unsloth's engine alone has."""
    for call in any_of(module, ("apply_chat_template",)):
        before = document.text.text[max(0, call.name_start - 200) : call.name_start]
        if call.arguments.get("tokenize") is None and not call.arguments.open and len(call.positional) < 2:
            if _OF_TEXT.search(before):
                yield shown(document, "text_of_tokens", True, call)
                break
    for call in any_of(module, ("save_lora", "load_lora")):
        if not call.conditional and not call.local and isinstance(call.receiver, Call):
            yield shown(document, "engine_lora", last_word(call.name), call)
            break


_BEGINS_ONCE = re.compile(
    r"add_bos_token|bos_token[ \t]*=(?!=)|removeprefix|chat_template[ \t]*=(?!=)|get_chat_template|post_processor|\[1:\]|\[:, 1:\]"
)


# Trainers that take rows as the program has tokenised them.
_AS_TOKENISED = frozenset({"Trainer", "Seq2SeqTrainer"})


def _tokenised(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """How long the rows may be that the program tokenises itself, and whether all are padded to that: said where each of its calls says so."""
    if last_word(trainer.name) not in _AS_TOKENISED or trainer.local:
        return
    calls = any_of(module, ("tokenizer", "tokeniser"))
    if not calls or unseen(document, module, (), called="tokenizer|tokeniser") is not None:
        return
    lengths: list[tuple[int, Call]] = []
    padded = True
    for call in calls:
        length, cut, padding = (call.arguments.get(name) for name in ("max_length", "truncation", "padding"))
        most = length.value if isinstance(length, Scalar) else None
        is_cut = isinstance(cut, Scalar) and cut.value is True
        if call.arguments.open or not is_cut or not isinstance(most, int) or isinstance(most, bool) or most < 1:
            return
        lengths.append((most, call))
        padded = padded and isinstance(padding, Scalar) and padding.value == "max_length"
    longest, maker = max(lengths, key=lambda one: one[0])
    yield of_call(document, "data.max_length", longest, maker)
    if padded and len({most for most, _ in lengths}) == 1:
        yield of_call(document, "data.pad_to_max_length", True, maker)


# Of each trainer, in this order.
_OBSERVED = (
    _tokenised,
    _own_loader, _of_sentences, _columns, _collator_reads, _padded, _unlabelled, _batches,
    _made_again, _collates_no_labels, _padding_replaced, _pairs_replaced,
    _decoded, _labels, _generated, _language, _answer_template, _markers, _saved, _templated, _pairs, _begun_twice, _written,
)  # fmt: skip


def told(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """Of one of the program's trainers."""
    for observe in _OBSERVED:
        yield from observe(document, module, trainer)
