"""Settings under names of a program's own: `lr`, `epochs`, `lora: {rank: 8}`, in sections that it calls as it likes.

What such a program makes of them is not seen. So all of it is presumed, no library's default holds beside it, and no library refuses a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.base.light import Pattern
from stablint.frameworks import huggingface, hydra
from stablint.frameworks.codec import read_dtype
from stablint.frameworks.fragment import Block, Fragment, Row, spelled, statement
from stablint.run.fact import OPEN, OWN, Explicit, Statement
from stablint.run.objective import OBJECTIVES
from stablint.run.releases.fields import known_key
from stablint.syntax import limits
from stablint.syntax.tree import Entry, Mapping, Node, Scalar, Sequence, Unknown


def _named(fact: str, codec: str, *keys: str) -> dict[str, Row]:
    return {key: Row(key, fact, codec) for key in keys}


RATES = frozenset({"lr", "max_lr", "base_lr", "peak_lr"})
_RATES = RATES | {"learning_rate"}
# What many programs call what TrainingArguments call otherwise.
ALIASES = {
    **_named("training.learning_rate", "plain", "lr", "max_lr", "base_lr", "peak_lr"),
    **_named("training.num_train_epochs", "plain", "epochs", "num_epochs", "n_epochs", "max_epochs", "total_epochs", "train_epochs", "num_train_epoch",
             "epoch"),
    **_named("training.max_steps", "plain", "max_train_steps", "train_steps", "num_train_steps", "max_iters", "train_iters", "iters",
             "total_steps", "total_train_steps", "total_training_steps"),
    **_named(
        "training.per_device_train_batch_size", "plain", "micro_batch_size", "per_device_batch_size", "batch_size_per_device", "batch_size_per_gpu",
        "per_gpu_train_batch_size", "batch_size_training", "train_batch_size", "batch_size", "train_micro_batch_size_per_gpu",
    ),
    **_named(
        "training.gradient_accumulation_steps", "plain", "grad_accum", "grad_accum_steps", "gradient_accumulation", "accumulation_steps",
        "accumulate_grad_batches", "gradient_accumulate_every", "accum_grad_step", "accum_grad_steps", "accumulate_grad_steps", "accum_steps",
        "accumulation_step", "gradient_accumulation_step",
    ),
    **_named("training.global_batch_size", "plain", "effective_batch_size", "global_batch_size", "total_batch_size", "global_train_batch_size"),
    **_named("training.warmup_steps", "plain", "num_warmup_steps", "lr_warmup_steps", "warmup_iters", "warm_up_step", "warm_up_steps",
             "warmup_step"),
    **_named("training.warmup_ratio", "plain", "warmup_proportion", "warmup_fraction"),
    **_named("training.lr_scheduler_type", "plain", "lr_scheduler", "lr_decay_style"),
    # How often it saves is told where a file is shown; by `0` a program may mean never.
    **_named("launch.save_every", "plain", "save_every", "save_interval", "save_every_steps", "save_every_n_steps", "save_freq", "save_frequency",
             "checkpoint_every", "checkpoint_interval", "ckpt_interval", "save_step", "checkpoint_steps"),
    **_named("training.max_grad_norm", "plain", "grad_clip", "gradient_clipping", "clip_grad_norm", "clip_grad", "gradient_clip_val"),
    **_named("training.gradient_checkpointing", "flag", "use_gradient_checkpointing", "grad_checkpointing"),
    **_named("training.bf16", "flag", "use_bf16", "is_bf16"),
    **_named("training.fp16", "flag", "use_fp16", "is_fp16"),
    **_named("lora.use_peft", "flag", "is_peft", "is_lora", "with_lora", "with_peft"),
    **_named("training.optim", "text", "optimizer"),
    **_named(
        "training.max_length", "plain", "max_seq_length", "max_seq_len", "max_sequence_length", "max_length", "seq_length", "seq_len",
        "sequence_len", "sequence_length", "cutoff_len", "context_length", "max_len",
    ),
    **_named("training.amp_dtype", "dtype", "mixed_precision", "precision", "amp_dtype"),
}  # fmt: skip
_MODEL = _named(
    "model.name_or_path", "text", "model_name_or_path", "pretrained_model_name_or_path", "base_model", "model_name", "model_id", "model_path",
    "model_dir", "llm_path", "hf_model_ckpt", "base_model_name", "base_model_path", "policy_name", "policy_model", "pretrained_model",
)  # fmt: skip
_OF_MODEL = {
    **_named("model.name_or_path", "text", "name", "path", "id", "name_or_path", "base"),
    **_named("model.dtype", "dtype", "torch_dtype", "dtype"),
}
_ADAPTER = {
    **_named("lora.r", "plain", "r", "rank", "lora_r", "lora_rank"),
    **_named("lora.lora_alpha", "plain", "alpha", "lora_alpha"),
    **_named("lora.lora_dropout", "plain", "dropout", "lora_dropout"),
    **_named("lora.target_modules", "words", "target_modules", "lora_target_modules"),
    **_named("lora.use_peft", "flag", "use_peft", "use_lora", "enabled", "enable", "lora_enable"),
    **_named("lora.use_dora", "flag", "use_dora"),
    **_named("lora.use_rslora", "flag", "use_rslora"),
    **_named("lora.bias", "plain", "bias", "lora_bias"),
}
_OF_OPTIMIZER = _named("training.optim", "text", "name", "type")
_OF_QUANTISER = {
    **_named("quantization.bits", "plain", "bits", "num_bits", "nbits"),
    **_named("quantization.bnb_4bit_compute_dtype", "dtype", "compute_dtype"),
    **_named("quantization.bnb_4bit_quant_type", "text", "quant_type"),
    **_named("quantization.bnb_4bit_use_double_quant", "flag", "double_quant", "use_double_quant", "use_nested_quant"),
}
_QUANTISER = Pattern(r"quant|bnb|bitsandbytes", re.IGNORECASE)
_SWITCHES = ("enabled", "enable", "use", "use_quantization", "active")
_QUANTISES = Pattern(r"(?:load_in_|use_)[48]bit\Z|use_qlora\Z|bnb_4bit_\w+\Z")
# A trainer's section says `steps` and `epochs` of the run.
_OF_TRAIN = _named("training.max_steps", "plain", "steps", "total_steps")
_SPECIAL = frozenset([
    "kl_coef", "group_size", "num_generations", "max_completion_length", "trust_remote_code", "attn_implementation", "attn_impl",
])  # fmt: skip
# Sections by what their names say that they are about; the rest are read as of the training.
_LORA = Pattern(r"lora|peft|adapter", re.IGNORECASE)
_OPTIMIZER = Pattern(r"optim", re.IGNORECASE)
_ELSEWHERE = Pattern(
    r"eval|test|infer|generat|sampl|valid|wandb|logg|log_|callback|export|deploy|serv|data|prompt|reward|rollout|critic|ref|tokeniz|hardware|search"
    r"|sweep|tune|default|slurm|ray|vllm|monitor|resource|encoder|vae|vision|teacher|draft|judge",
    re.IGNORECASE,
)
# Keys that say how it is trained or to what end, by one of these words.
_KINDS = frozenset(
    {"training_type", "train_type", "finetuning_type", "finetune_type", "tuning_type", "training_method", "train_method", "finetune_method",
     "finetuning_method", "tuning_method", "method", "stage", "algorithm",
     "objective", "task", "trainer_type", "mode", "rl_algorithm", "rl_algo", "rl_method", "rlhf_algorithm", "rlhf_method", "alignment_method",
     "alignment_algorithm", "preference_method", "train_algorithm", "training_algorithm"}
)  # fmt: skip
_METHODS = {
    "full": "full",
    "lora": "lora",
    "qlora": "qlora",
    **dict.fromkeys(("full_finetune", "full_finetuning", "full_tuning", "full_ft"), "full"),
}
_GOALS = {goal: goal for goal in OBJECTIVES.values()} | {
    "rm": "reward",
    "pretraining": "pretrain",
    "cpt": "pretrain",
    "pt": "pretrain",
    "pretrain": "pretrain",
}
_PREFIX = Pattern(r"\A(?:vlm|moe|llm|mm|multimodal)_")
_DEEPEST = 4
_LENGTHS = ("training.num_train_epochs", "training.max_steps")
_SIZES = frozenset({*_LENGTHS, "training.per_device_train_batch_size"})
# What trainings of language models have, and others seldom.
_OF_LANGUAGE_MODELS = frozenset(
    {"training.gradient_accumulation_steps", "training.max_length", "training.gradient_checkpointing", "training.stage", "training.finetuning_type",
     "quantization.load_in_4bit", "lora.r", "lora.lora_alpha", "training.packing"}
)  # fmt: skip
_OF_A_TRAINER = frozenset({
    "per_device_train_batch_size", "lr_scheduler_type", "warmup_ratio", "model_name_or_path", "gradient_accumulation_steps",
})  # fmt: skip


def recognise(keys: frozenset[str], block: Block) -> int:
    """Rate, length or batch, and a word that only trainings of language models have; a flat file by its keys alone."""
    said = list(_said(block.mapping, (), keys if keys else None))
    facts = {row.fact for _, _, row in said}
    rate = "training.learning_rate" in facts
    span = any(name in facts for name in _LENGTHS)
    batch = "training.per_device_train_batch_size" in facts
    names = {path[-1] for path, _, _ in said}
    names |= {
        inner.key
        for entry in block.mapping.entries
        if isinstance(entry.value, Mapping)
        for inner in entry.value.entries[: limits.TABLE.most]
    }
    special = len(facts & _OF_LANGUAGE_MODELS) + len(names & (_OF_A_TRAINER | _SPECIAL))
    enough = rate + span + batch >= 2 and special >= 1
    if not enough or len(facts) < 4:
        return 0
    return (
        92 if "learning_rate" not in keys and not keys.isdisjoint(RATES) else 30
    )  # no library calls the rate so at the top of a file


def row(key: str) -> Row | None:
    """What an option of a program's own is, by its name."""
    found = ALIASES.get(key) or _MODEL.get(key) or huggingface.ROWS.get(key) or huggingface.training_row(key)
    return found if isinstance(found, Row) else None


def are_of_a_training(keys: frozenset[str]) -> bool:
    """Of flags: a rate, a length or a batch, and a word that only trainings of language models have."""
    if keys.isdisjoint(_RATES):
        return False
    facts = _facts(keys)
    special = len(facts & _OF_LANGUAGE_MODELS) + len(keys & _OF_A_TRAINER)
    return not facts.isdisjoint(_SIZES) and special >= 1 and len(facts) >= 4


_OF_TEXTS = Pattern(
    r"(?:\A|_)(?:kl|grpo|ppo|dpo|sft|rlhf|lora|peft|reward|rollout|challenger|teacher|tokens?|llm|seq)(?:_|\Z)"
)


def may_be_of_a_training(keys: frozenset[str]) -> bool:
    """Of the flags of a program that a launcher of several processes starts: a rate, a length or a batch, and a word about texts or preferences."""
    if keys.isdisjoint(_RATES) or _facts(keys).isdisjoint(_SIZES):
        return False
    return any(map(_OF_TEXTS.search, keys)) or not keys.isdisjoint(_SPECIAL)


def _facts(keys: frozenset[str]) -> set[str]:
    return {found.fact for key in keys if (found := row(key)) is not None}


def lower(block: Block) -> Fragment:
    """A file that a program of its own reads."""
    statements = tuple(stated(block, "file"))
    links, cut = huggingface.links(statements), _cut(block.mapping, 1)
    if block.mapping.get("defaults") is not None:
        links = (*links, *hydra.links(block.mapping, block.document))
        cut = (*cut, *hydra.cut(block.mapping))
    return Fragment("own", block, "file", statements, scopes(), {}, links, entry=True, presumed=True, cut=cut)


def with_own_words(fragment: Fragment, nobody_reads: bool = False) -> Fragment:
    """A file that no library's parser reads, with what it says by names that a program may have of its own. `nobody_reads`: no program is seen to
    read it, whatever it looks like."""
    library = fragment.framework and not (nobody_reads and fragment.dialect == "hf-args")
    if library or fragment.dialect == "own" or fragment.block.kind != "document" or not fragment.entry:
        return fragment
    known = {one.fact for one in fragment.statements}
    more = (one for one in stated(fragment.block, "file") if one.fact not in known)
    return fragment._replace(statements=(*fragment.statements, *more))


def _cut(mapping: Mapping, depth: int) -> tuple[limits.Limit, ...]:
    """Whether a table has settings where nobody reads on. A long list of words that are no settings is one of data."""
    behind = mapping.entries[limits.TABLE.most :]
    within = (one.value for one in mapping.entries[: limits.TABLE.most] if depth < _DEEPEST)
    if any(row(one.key) is not None for one in behind) or any(
        _cut(one, depth + 1) for one in within if isinstance(one, Mapping)
    ):
        return (limits.TABLE,)
    return ()


def scopes() -> dict[str, str]:
    """What is left out is the program's to say."""
    return dict.fromkeys(("training", "lora", "quantization", "model", "fsdp", "trainer", "tokenizer"), OPEN)


def stated(block: Block, layer: str, above: tuple[str, ...] = ()) -> Iterator[Statement]:
    """One statement a fact; of a fact that several sections say differently only that it is said. `above`: the section that the block is."""
    found: dict[str, list[Statement]] = {}
    if above and _ELSEWHERE.search(above[-1]) and not _LORA.search(above[-1]):
        return
    for path, entry, row in _said(block.mapping, above, None):
        one = statement(block, entry, path, row, layer)
        if isinstance(one.origin, Explicit):
            one = one._replace(origin=one.origin._replace(reader=OWN))
        found.setdefault(row.fact, []).append(meant(one, entry.value))
    if len(found.get("training.learning_rate", ())) > 1 and "training.stage" in found:
        several = Unknown("several sections train, each to an end of its own")
        found["training.stage"] = [one._replace(value=several) for one in found["training.stage"][:1]]
    yield from map(agreed, found.values())


def agreed(several: list[Statement]) -> Statement:
    """The first of the statements of one fact, whose value is not known where they differ."""
    first = several[0]
    alike = all(repr(one.value) == repr(first.value) for one in several)
    if not alike and (meant := [one for one in several if _of_training(one)]) and len(meant) < len(several):
        return agreed(meant)
    return first if alike else first._replace(value=Unknown("several sections say it, each something else"))


_TRAINING = Pattern(
    r"(?:\A|_)(?:train|training|trainer|finetune|finetuning|hyperparameters|hparams)(?:_|\Z)", re.IGNORECASE
)


def _of_training(one: Statement) -> bool:
    """Whether it stands in a section that is called after the training: another one's `batch_size` is for what that does."""
    path = one.origin.place.path if isinstance(one.origin, Explicit) else ()
    return any(map(_TRAINING.search, path[:-1]))


def meant(one: Statement, node: Node) -> Statement:
    """A program's own word for a method or an objective as ours; of several only that they are said."""
    if isinstance(node, Sequence) and one.fact != "lora.target_modules":
        return one._replace(value=Unknown("one of several"))
    if one.fact == "training.stage":
        return one._replace(value=_goal(one.raw) or Unknown("the program's own word for what it trains for"))
    if one.fact == "training.finetuning_type":
        word = _METHODS.get(spelled(str(one.raw).lower()))
        return one._replace(value=word or Unknown("the program's own word for what is trained"))
    return one


def _said(
    mapping: Mapping, above: tuple[str, ...], flat: frozenset[str] | None
) -> Iterator[tuple[tuple[str, ...], Entry, Row]]:
    """The entries that mean something, each with its path and row. `flat`: only keys are looked at, whatever their values."""
    micro = any(entry.key in ("micro_batch_size", "per_device_train_batch_size") for entry in mapping.entries)
    for entry in mapping.entries[: limits.TABLE.most]:
        path = (*above, entry.key)
        node = entry.value
        if isinstance(node, Mapping):
            if _QUANTISER.search(entry.key) and any(map(_is_off, map(node.get, _SWITCHES))):
                continue
            if len(path) < _DEEPEST and (not _ELSEWHERE.search(entry.key) or _LORA.search(entry.key)):
                goal = _goal(_PREFIX.sub("", entry.key.lower().removesuffix("_config").removesuffix("_args")))
                if goal and node.get("learning_rate") is not None:
                    yield (
                        path,
                        entry._replace(value=Scalar(goal, entry.key_start, entry.key_end, "name", False)),
                        Row(entry.key, "training.stage", "plain"),
                    )
                yield from _said(node, path, None)
            continue
        row = _row(entry, above)
        if row is None or (micro and entry.key in ("batch_size", "train_batch_size")):
            continue
        yield path, entry, row


def _row(entry: Entry, above: tuple[str, ...]) -> Row | None:
    key, section = entry.key, above[-1] if above else ""
    if _QUANTISES.match(key):  # below `qlora:` as well
        return huggingface.ROWS.get(key)
    if section and _QUANTISER.search(section) and key in _OF_QUANTISER:
        return _OF_QUANTISER[key]
    if any(map(_LORA.search, above)):
        found = _ADAPTER.get(key)  # `enabled` is of the section that it stands in, which may be one within
        return found if found is None or found.fact != "lora.use_peft" or _LORA.search(section + key) else None
    if key in _KINDS:
        return _kind(entry)
    if section.startswith("model") and key in _OF_MODEL:
        return _OF_MODEL[key]
    if key in _MODEL:
        return _MODEL[key]
    if not section and key == "model" and isinstance(entry.value, Scalar) and "/" in str(entry.value.value):
        return Row(key, "model.name_or_path", "text")
    if _OPTIMIZER.search(section) and key in _OF_OPTIMIZER:
        return _OF_OPTIMIZER[key]
    if section in ("train", "training", "trainer") and key in _OF_TRAIN:
        return _OF_TRAIN[key]
    row = ALIASES.get(key) or huggingface.ROWS.get(key) or huggingface.training_row(key)
    if row is None or (row.fact == "training.amp_dtype" and not _is_dtype(entry.value)):
        return None
    # a switch of that name is the program's own business; a file says itself what it is
    return None if row.fact in _SHARDS and not _is_path(entry.value) else row


_SHARDS = frozenset({"training.deepspeed", "training.fsdp", "training.fsdp_config"})


def _is_off(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.value is False


def _is_path(node: Node) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, str) and "." in node.value


def _is_dtype(node: Node) -> bool:
    return isinstance(node, Scalar) and read_dtype(node.value) in ("float16", "bfloat16", "float32")


def _kind(entry: Entry) -> Row | None:
    word = entry.value.value if isinstance(entry.value, Scalar) else None
    if not isinstance(word, str):
        return None
    if spelled(word.lower()) in _METHODS:
        return Row(entry.key, "training.finetuning_type", "plain")
    return Row(entry.key, "training.stage", "plain") if _goal(word) else None


def _goal(word: object) -> str:
    return _GOALS.get(_PREFIX.sub("", str(word).lower()), "")


def settable(block: Block, section: str) -> Iterator[Statement]:
    """The defaults of what a program lets its caller set; `section`: the class that has them."""
    above = (re.sub(r"(?<=[a-z])(?=[A-Z])", "_", section).lower(),) if section else ()
    if above and _ELSEWHERE.search(above[0]) and not _LORA.search(above[0]):
        return
    told: dict[str, list[tuple[tuple[str, ...], Entry, Row]]] = {}
    for path, entry, row in _said(block.mapping, above, None):
        if not (isinstance(entry.value, Scalar) and isinstance(entry.value.value, Unknown)):
            told.setdefault(row.fact, []).append((path, entry, row))
    for several in told.values():
        # of several names for the same the one that the program reads
        read = (one for one in several if len(several) > 1 and reads(block.document.text.text, one[1].key))
        path, entry, row = next(read, several[0])
        one = statement(block, entry, path[-1:], row, "script-default")
        if isinstance(one.origin, Explicit):
            one = one._replace(origin=one.origin._replace(reader=OWN))
        yield meant(one, entry.value)


# What a program of one's own alone calls so: where it stands, nothing parses TrainingArguments.
_ALONE = frozenset(
    {"training.learning_rate", "training.num_train_epochs", "training.max_steps", "training.warmup_steps", "training.gradient_accumulation_steps"}
)  # fmt: skip


def of_flags(block: Block, layer: str, known: frozenset[str]) -> tuple[list[Statement], bool]:
    """What flags say by a program's own names, of facts that are not `known`, and whether one of these proves that it is one."""
    found, alone = [], False
    for entry in block.mapping.entries:
        key = spelled(entry.key)
        row = ALIASES.get(key) or (_kind(entry._replace(key=key)) if key in _KINDS else None)
        if row is None or row.fact in known or (row.fact == "training.amp_dtype" and not _is_dtype(entry.value)):
            continue
        one = statement(block, entry, (key,), row, layer)
        if isinstance(one.origin, Explicit):
            one = one._replace(origin=one.origin._replace(reader=OWN))
        found.append(meant(one, entry.value))
        alone = alone or (row.fact in _ALONE and not known_key(key))
    return found, alone


def reads(text: str, option: str) -> bool:
    """Whether a program reads an option of its own, as an attribute or by its name."""
    return re.search(rf"\.{re.escape(option)}\b|(?<!-)[\"\']{re.escape(option)}[\"\']", text) is not None


_CONVERTED = re.compile(
    r"""\.add_argument\([^()]{0,80}["']--([\w-]{1,80})["'][^()]{0,200}\btype[ ]?=[ ]?(?!(?:str|int|float|bool|json\.loads|Path|pathlib\.Path)\b)"""
)


def converted(text: str) -> frozenset[str]:
    """Options of which a function makes what the program gets: `add_argument("--x", type=ast.literal_eval)`."""
    return frozenset(spelled(one[1]) for one in _CONVERTED.finditer(text)) if "type" in text else frozenset()


def is_written_out(raw: object) -> bool:
    """Whether a word of a command is a dictionary or a list, which a function may read otherwise than JSON does."""
    return isinstance(raw, str) and raw.lstrip()[:1] in ("{", "[")
