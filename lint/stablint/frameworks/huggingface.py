"""HF TrainingArguments and TRL configs, as YAML, JSON or launch flags, with the keys that TRL's ModelConfig and common scripts add.

The fields themselves are not listed here: they are those that any release of the config classes has (knowledge/releases).
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Table
from functools import lru_cache

from stablint.base.light import TYPE_CHECKING, NamedTuple, Pattern, cast
from stablint.frameworks import deepspeed, peft
from stablint.frameworks import own as own_keys
from stablint.frameworks.fragment import (
    Block,
    Fragment,
    Link,
    Row,
    keys_of,
    listed,
    lower_mapping,
    spelled,
    statement,
    table,
)
from stablint.frameworks.launch import scripts as launch_scripts
from stablint.run.fact import CLOSED, OPEN, PRESUMED, Explicit, Statement
from stablint.run.releases.fields import canonical, is_switch, known_key
from stablint.syntax.tree import Entry, Mapping, Scalar, Unknown

if TYPE_CHECKING:
    from stablint.frameworks.launch.scripts import Script

BASE = "transformers.TrainingArguments"

ROWS = cast("dict[str, Row]", table("transformers"))

# Keys of TRL's ModelConfig and ScriptArguments: whoever writes them runs one of TRL's own entry points.
TRL_ONLY = frozenset({
    "use_peft", "lora_r", "lora_target_modules", "lora_modules_to_save", "lora_task_type", "use_bnb_nested_quant", "dataset_name",
    "dataset_config", "dataset_train_split", "dataset_test_split", "dataset_streaming", "gradient_checkpointing_use_reentrant",
    "ignore_bias_buffers", "dataset_mixture", "model_revision",
})  # fmt: skip
SCRIPTS_HAVE = listed("transformers", "of_scripts")
_ENTRY_COMMANDS = {
    "sft": "SFTConfig",
    "dpo": "DPOConfig",
    "kto": "KTOConfig",
    "grpo": "GRPOConfig",
    "reward": "RewardConfig",
    "rloo": "RLOOConfig",
}


# Sections of a script's own file that hold nothing but arguments of the config class.
SECTIONS = ("training_args", "training_arguments")
# A section of a program's own configuration: that program hands some of it on.
LOOSE = ("training", "trainer")
_TELLS = 4  # names of its own that such a section holds at least: Lightning and verl have a `trainer` as well
# Names that no other library has for its settings: several of them in a section tell where they go.
_ITS_OWN = frozenset({
    "per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps", "lr_scheduler_type", "load_best_model_at_end",
    "num_train_epochs", "warmup_ratio", "save_total_limit", "eval_strategy", "evaluation_strategy", "save_strategy", "fp16", "bf16", "optim",
})  # fmt: skip
_LORA_WORDS = {
    "alpha": "lora_alpha", "rank": "r", "dropout": "lora_dropout", "lora_r": "r", "lora_rank": "r", "lora_target_modules": "target_modules",
    "lora_bias": "bias",
}  # fmt: skip

_rows: dict[str, Row | None] = {}


def training_row(key: str) -> Row | None:
    """The row of a config field that no table lists: the fact is the name used longest."""
    if key not in _rows:
        _rows[key] = _make_row(key)
    return _rows[key]


def _is_known(key: str) -> bool:
    return key in ROWS or training_row(key) is not None


def _make_row(key: str) -> Row | None:
    head, dot, rest = key.partition(".")
    if head == "lora" and dot:  # beside such a section
        return Row(key, "lora." + _LORA_WORDS.get(rest, rest))
    if (head in SECTIONS or head in LOOSE) and dot:  # a script's own file: the arguments are handed on as they stand
        row = ROWS.get(rest) or training_row(rest)
        return Row(key, row.fact, row.codec) if row is not None else None
    if head == "peft_config" and dot:
        return Row(key, "lora." + rest)
    if head == "fsdp_config" and dot:
        return Row(key, "fsdp." + rest.removeprefix("fsdp_"))
    if head in ("deepspeed", "deepspeed_config") and dot:
        return deepspeed.inline(key, rest)
    if key == "model_max_length":  # of Alpaca's train.py and most programs that grew out of it; no name to write
        return Row(key, "training.max_length")
    if not known_key(head):
        return None
    name = canonical(head)
    codec = "switch" if not dot and is_switch(head) else "plain"
    return Row(key, f"training.{name}.{rest}" if dot else f"training.{name}", codec)


def recognise(keys: frozenset[str], block: Block) -> int:
    """How many keys are those of the config classes; 0 where they are too few or the lesser part of the document."""
    for section in SECTIONS:
        inner = block.mapping.get(section)
        if isinstance(inner, Mapping):
            keys = frozenset(entry.key for entry in inner.entries)
    inside = max(_told_by(block, section) for section in LOOSE)
    if inside >= _TELLS:
        return 30 + 3 * inside
    telling = keys & TELLING
    if not telling and not ("model_name_or_path" in keys and keys & _TRL_DATA):
        return 0
    anybodys = telling <= _ANY_TRAINER and keys.isdisjoint(_OF_A_RUN)
    anothers = not keys.isdisjoint(_RIVALS) and keys.isdisjoint(_UNMISTAKABLE)
    if (anybodys or anothers) and not any(block.mapping.get(part) for part in SECTIONS):
        return 0
    known = sum(1 for key in keys if _is_known(key))
    if known < 2 or known * 3 < len(keys):
        return 0
    return min(90, 30 + 3 * known)


def _told_by(block: Block, section: str) -> int:
    """How many names a section holds that no other library has for its settings."""
    own = block.mapping.get(section)
    return len(frozenset(entry.key for entry in own.entries) & _ITS_OWN) if isinstance(own, Mapping) else 0


def is_prose(mapping: Mapping) -> bool:
    """Labels, help texts or a schema: where a number or a switch belongs stand words or a section."""
    said = [entry.value for entry in mapping.entries if entry.key in _PLAIN]
    return bool(said) and all(
        isinstance(node, Mapping)
        or (
            isinstance(node, Scalar)
            and isinstance(node.value, str)
            and " " in node.value.strip()
            and "{" not in node.value
        )
        or (
            isinstance(node, Scalar)
            and isinstance(node.value, str)
            and node.value[:1].isupper()
            and node.value.lower() not in _SWITCHES
        )
        for node in said
    )


# Settings with a number or a switch for a value.
_PLAIN = frozenset(
    ["learning_rate", "num_train_epochs", "max_steps", "warmup_ratio", "warmup_steps", "weight_decay", "bf16", "fp16", "max_grad_norm",
     "per_device_train_batch_size", "gradient_accumulation_steps"]
)  # fmt: skip
_SWITCHES = ("true", "false", "auto", "none", "null")
# Words of every library that trains anything; alone they tell no trainer of language models.
_ANY_TRAINER = frozenset(["learning_rate", "weight_decay", "max_steps", "warmup_steps", "optim", "max_grad_norm"])
# What other programs call what these arguments call otherwise: beside such a name it is one of theirs, unless another name says the contrary.
_RIVALS = frozenset(
    ["batch_size", "train_batch_size", "micro_batch_size", "epochs", "num_epochs", "lr", "grad_accum_steps", "accumulation_steps"]
)  # fmt: skip
_UNMISTAKABLE = _ITS_OWN | {"deepspeed", "fsdp"}
_OF_A_RUN = frozenset(
    ["output_dir", "model_name_or_path", "logging_steps", "save_steps", "eval_steps", "lr_scheduler_type", "use_peft"]
)
# What is said of a model that is loaded: with nothing else of a run it is a part of some program's configuration, which says the rest elsewhere.
_OF_A_MODEL = frozenset(["max_seq_length", "gradient_checkpointing"])


def _is_of_a_model(keys: frozenset[str]) -> bool:
    telling = keys & TELLING
    return bool(telling) and telling <= _OF_A_MODEL and keys.isdisjoint(_OF_A_RUN) and keys.isdisjoint(_TRL_DATA)


TELLING = frozenset({
    "learning_rate", "per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "max_steps", "fp16", "bf16",
    "lr_scheduler_type", "warmup_ratio", "warmup_steps", "gradient_checkpointing", "optim", "per_device_eval_batch_size",
    "evaluation_strategy", "eval_strategy", "save_strategy", "deepspeed", "fsdp", "weight_decay", "max_grad_norm",
    "load_best_model_at_end", "num_generations", "max_seq_length", "lora_r", "use_peft", "logging_steps", "save_steps", "eval_steps",
})  # fmt: skip


# With a model these are all that `trl sft --config` needs.
_TRL_DATA = frozenset({"dataset_name", "dataset_mixture", "dataset_text_field"})


def is_trl(keys: Iterable[str]) -> bool:
    """Keys that only TRL has: of its ModelConfig and ScriptArguments, or fields that no TrainingArguments ever had."""
    return any(key in TRL_ONLY or _of_trl(key) for key in _proving(keys))


def _proving(keys: Iterable[str]) -> Iterable[str]:
    """How text is generated is every program's business; beside the Trainer's own batch size it is TRL's."""
    said = frozenset(keys)
    return said if "per_device_train_batch_size" in said else said - _GENERATION


# Adapter arguments that TRL's ModelConfig spells otherwise: who has them parses arguments of its own.
_NOT_OF_TRL = frozenset(
    {"lora_rank", "lora_target", "use_lora", "use_qlora", "lora_enabled", "target_modules", "rank", "alpha"}
)
# Fields of some TRL class that any program of one's own may have as well: they prove no TRL.
_ANYBODYS = frozenset(
    ["allow_tf32", "batch_size", "dataset", "exp_name", "max_new_tokens", "mixed_precision", "model_name", "num_epochs", "steps",
     "task_name", "train_batch_size"]
)  # fmt: skip
# Flags of transformers' own examples too (summaries, translations; `--label_smoothing` begins `label_smoothing_factor`): even two of them
# prove no class.
_OF_EXAMPLES = frozenset({"max_target_length", "label_smoothing"})
_GENERATION = frozenset(
    {"use_vllm", "vllm_gpu_memory_utilization", "vllm_tensor_parallel_size", "temperature", "top_p", "top_k"}
)
_trl: dict[str, tuple[str, ...]] = {}


def _of_trl(key: str) -> tuple[str, ...]:
    """The TRL config classes that have a field which no TrainingArguments ever had."""
    if key not in _trl:
        classes = () if key in ROWS or key in _ANYBODYS else known_key(key)
        _trl[key] = (
            ()
            if BASE in classes
            else tuple(c for c in classes if c.startswith("trl.") and c.endswith("Config") and c != "trl.ModelConfig")
        )
    return _trl[key]


def _votes(keys: Iterable[str]) -> dict[str, int]:
    """How many of the keys only TRL has, by the class that has them."""
    votes: dict[str, int] = {}
    for key in _proving(keys):
        for owner in _of_trl(key):
            votes[owner] = votes.get(owner, 0) + 1
    return votes


def candidates(keys: Iterable[str]) -> tuple[str, ...]:
    """The TRL config classes that have most of the TRL-only keys, whatever their order; the common ones before the rare ones."""
    votes = _votes(keys)
    most = max(votes.values(), default=0)
    left = {owner for owner, count in votes.items() if count == most} or None
    common = tuple(f"trl.{name}" for name in _ENTRY_COMMANDS.values())
    return tuple(c for c in common if left is None or c in left) or tuple(sorted(left or ()))


def _only_rare(keys: Iterable[str]) -> bool:
    """Whether the one class that has most of the TRL-only keys is none of a command's: a name or two that it shares with anybody's program."""
    possible = candidates(keys)
    return len(possible) == 1 and possible[0].removeprefix("trl.") not in _ENTRY_COMMANDS.values()


def lower(block: Block, layer: str = "file", config_class: str | None = None, *, plain: bool = False) -> Fragment:
    """A document or the flags of a command. `config_class` is the class that the entry point is known to build; `plain`: it is no
    well-known script, whatever the names look like."""
    flags = block.kind == "flags"
    keys = keys_of(block.mapping)
    if flags:
        keys = frozenset(map(spelled, keys))
    script = _script(keys, flags) if not plain else None
    statements = tuple(lower_mapping(block, script.rows if script else ROWS, layer, training_row, flags=flags))
    if "trainer" in keys and _told_by(block, "trainer") < _TELLS:
        statements = tuple(one for one in statements if not _is_in(one, "trainer."))
    if not flags and not (keys.isdisjoint(LOOSE) and keys.isdisjoint(SECTIONS)):
        told = {one.fact for one in statements}
        statements += tuple(one for one in own_keys.stated(block, layer) if one.fact not in told)
    if not flags:
        statements += _of_another_method(block, layer, statements)
    known = (keys, flags, config_class, block.mapping.open)
    reading = _readings.get(known)
    if reading is None:
        reading = _readings[known] = _read(keys, flags, config_class, block.mapping.open)
    if script is not None:  # it has dataclasses of its own, whichever names TRL has too
        statements = (*statements, *script.stage(block, layer))
        if any(_is_frozen(entry) and not known_key(spelled(entry.key)) for entry in block.mapping.entries):
            reading = reading._replace(
                scopes={**reading.scopes, "lora": OPEN}
            )  # another program with the script's flags
        return Fragment(
            "hf-args", block, layer, statements, reading.scopes, script.switched_on(statements), links(statements),
            entry=True, framework=script.name,
        )  # fmt: skip
    scopes = reading.scopes
    if _names_no_deepspeed(block):
        statements = tuple(one for one in statements if not one.fact.startswith("deepspeed."))
        scopes = {**scopes, "deepspeed": OPEN}
    if not reading.trl:
        statements = tuple(map(_as_a_program_may_mean_it, statements))
        said = {one.fact for one in statements}
        if "model.attn_implementation" in said and "model.dtype" not in said:
            # no argument of the Trainer's: whoever reads it loads the model, in a dtype that may stand in the program
            scopes = {**scopes, "model": OPEN}
    if config_class is None and any(map(_decides_what_is_trained, block.mapping.entries)):
        scopes = {**scopes, "lora": OPEN}
    return Fragment(
        dialect="trl" if reading.trl else "hf-args", block=block, layer=layer, statements=statements, scopes=scopes,
        classes=reading.classes, links=links(statements), entry=True, framework=reading.framework,
    )  # fmt: skip


# Keys by which programs of one's own choose what is trained, and PEFT's methods that are no LoRA, as they spell them.
_CHOOSES = frozenset({"method_name", "peft_method", "adapter_method", "adapter_type", "tuning_method", "peft_name"})
_NO_LORA = frozenset({kind.lower() for kind in peft.CLASSES} - {"lora"})


def _of_another_method(block: Block, layer: str, told: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """What an own key says is trained where that is another of PEFT's methods: settings of LoRA beside it are for other files of the kind."""
    if any(one.fact == "training.finetuning_type" for one in told):
        return ()
    for entry in block.mapping.entries:
        word = entry.value.value if entry.key in _CHOOSES and isinstance(entry.value, Scalar) else None
        if isinstance(word, str) and spelled(word.lower()) in _NO_LORA:
            one = statement(block, entry, (entry.key,), Row(entry.key, "training.finetuning_type"), layer)
            return (one._replace(value=Unknown(f"the program's own word for what is trained: {word}")),)
    return ()


def _is_in(one: Statement, section: str) -> bool:
    return isinstance(one.origin, Explicit) and one.origin.place.setting.startswith(section)


def _names_no_deepspeed(block: Block) -> bool:
    """Whether a section `deepspeed:` holds words of another program, such as the path of DeepSpeed's file, and none of DeepSpeed's own."""
    for entry in block.mapping.entries:
        if entry.key == "deepspeed" and isinstance(entry.value, Mapping) and entry.value.entries:
            return deepspeed.knows_none(inner.key for inner in entry.value.entries)
    return False


# For layers of a kind, in lists of target modules that a program of one's own takes apart: no module is called so.
_KINDS_OF_LAYERS = frozenset({"all", "all-linear", "all_linear", "auto", "default", "linear"})


def _as_a_program_may_mean_it(one: Statement) -> Statement:
    """`lora_target_modules: [all]` is PEFT's error, and a word of the program's that reads the file."""
    if one.fact != "lora.target_modules" or not isinstance(one.value, list):
        return one
    words = [word for word in one.value if isinstance(word, str) and word.lower() in _KINDS_OF_LAYERS]
    return one._replace(value=Unknown(f"the program may mean layers by `{words[0]}`")) if words else one


# `--freeze_vision_tower`, `--tune_language_model`, `--mm_tunable_parts`, `--qlora_enabled`, `--peft_path`: a program's own switches.
_TRAINED = Pattern(r"(?:^|_)(?:(?:un)?freez|frozen|tune_|tunable|trainable|q?lora|peft|adapter)")


def _is_own_switch(key: str) -> bool:
    """What is trained, by a name that no library has: `use_lora`."""
    return _TRAINED.search(key) is not None and not known_key(key)


_OFF = (False, None, 0, "false", "no", "none", "")


def _is_frozen(entry: Entry) -> bool:
    """`--llm_train_mode freeze`, `--tune_type_llm frozen`."""
    value = entry.value.value if isinstance(entry.value, Scalar) else None
    return isinstance(value, str) and value.lower() in ("freeze", "frozen")


# Words for how a program trains: `method: qlora`.
_ADAPTERS = frozenset({"lora", "qlora", "dora", "rslora", "peft", "adapter"})


@lru_cache(maxsize=4_096)
def _is_a_programs(key: str) -> bool:
    return key not in ROWS and not known_key(key)


def _decides_what_is_trained(entry: Entry) -> bool:
    """Whether a key that no library has may say which weights are trained; a switch to freeze or adapt that is off says nothing."""
    key = spelled(entry.key)
    if not _is_a_programs(key):
        return False
    value = entry.value.value if isinstance(entry.value, Scalar) else True
    if _is_frozen(entry) or key == "target_modules" or (isinstance(value, str) and value.lower() in _ADAPTERS):
        return True
    if not _TRAINED.search(key):
        return False
    off = not isinstance(value, Unknown) and (value.lower() if isinstance(value, str) else value) in _OFF
    return not off or "tun" in key or "trainable" in key


def _script(keys: frozenset[str], flags: bool) -> Script | None:
    """The well-known script that reads the settings, which adds arguments and defaults of its own."""
    if keys.isdisjoint(SCRIPTS_HAVE):
        return None
    return launch_scripts.script(keys, flags=flags)


class _Reading(NamedTuple):
    """What the keys alone say of their reader."""

    trl: bool
    scopes: dict[str, str]
    classes: dict[str, tuple[str, ...]]
    framework: str


_readings: dict[tuple[frozenset[str], bool, str | None, bool], _Reading] = {}


def _read(keys: frozenset[str], flags: bool, config_class: str | None, is_open: bool) -> _Reading:
    if not flags and config_class is None and _is_of_a_model(keys):
        heads = ("training", "lora", "quantization", "model", "tokenizer", "fsdp", "trainer")
        return _Reading(False, dict.fromkeys(heads, OPEN), {}, "")
    unknown = sum(1 for key in keys if key not in TRL_ONLY and not _is_known(key))
    # TRL's own parser takes no key that nobody knows: such flags, and more than one such key, are another program's, which may set more.
    foreign = unknown >= (1 if flags else 2) or not keys.isdisjoint(LOOSE)
    trl = config_class is not None or (
        is_trl(keys)
        and keys.isdisjoint(_NOT_OF_TRL)
        and not any(map(_is_own_switch, keys))
        and not (foreign and _only_rare(keys))
    )
    classes: tuple[str, ...] = (BASE,)
    if config_class:
        classes = (config_class, BASE)
    elif trl:
        possible = candidates(keys)
        single = (
            len(possible) == 1
            and not (foreign and possible[0].removeprefix("trl.") not in _ENTRY_COMMANDS.values())
            and not (flags and _votes(keys)[possible[0]] < 2)  # one flag any program may have
            and not (flags and not _votes(keys - _OF_EXAMPLES).get(possible[0]))
        )
        classes = (possible[0], BASE) if single else (*(f"?{name}" for name in possible), BASE)
    certain = config_class is not None or (trl and not flags and not foreign)
    training = OPEN if is_open else CLOSED if certain else PRESUMED
    owned = CLOSED if certain and not is_open else OPEN if is_open else PRESUMED
    scopes = {
        "training": training,
        "lora": owned,
        "quantization": owned,
        "model": owned,
        "tokenizer": OPEN,
        "fsdp": training,
        "trainer": OPEN,
    }
    adapter = {"lora": ("peft.LoraConfig",)} if "peft_config" in keys else {}
    model = {"model": ("trl.ModelConfig",)} if trl else {}
    framework = "trl" if trl else "transformers" if keys.isdisjoint(LOOSE) and keys.isdisjoint(SECTIONS) else ""
    return _Reading(trl, scopes, {"training": classes, **adapter, **model}, framework)


LINKS: Table[str, str] = {
    "training.deepspeed": "deepspeed",
    "training.fsdp_config": "fsdp",
    "model.name_or_path": "model",
}


def links(statements: tuple[Statement, ...]) -> tuple[Link, ...]:
    last = {s[0]: s for s in statements if s[0] in LINKS}
    found = []
    for fact, role in LINKS.items():
        stated = last.get(fact)
        if stated is not None and isinstance(stated.value, str) and isinstance(stated.origin, Explicit):
            found.append(Link(role, stated.value, stated.origin.place))
    return tuple(found)


def entry_class(words: tuple[str, ...]) -> str | None:
    """`trl sft …` builds an SFTConfig, and so does the module that it starts, `accelerate launch --module trl.scripts.sft …`."""
    if len(words) >= 2 and words[0] == "trl" and words[1] in _ENTRY_COMMANDS:
        return "trl." + _ENTRY_COMMANDS[words[1]]
    package, _, name = words[0].rpartition(".") if words else ("", "", "")
    if package == "trl.scripts" and name in _ENTRY_COMMANDS:
        return "trl." + _ENTRY_COMMANDS[name]
    return None
