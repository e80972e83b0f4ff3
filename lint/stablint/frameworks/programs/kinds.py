"""Which calls of a Python program tell of training, and as what."""

from __future__ import annotations

import re
from collections.abc import Collection

from stablint.frameworks import huggingface
from stablint.frameworks.fragment import last_word
from stablint.run.objective import ENCODERS, OBJECTIVES
from stablint.secrets.keys import is_secret
from stablint.syntax.tree import Call, Entry, Mapping, Module, Node, Scalar, Sequence

ARGUMENTS = {
    "TrainingArguments": huggingface.BASE,
    "Seq2SeqTrainingArguments": "transformers.Seq2SeqTrainingArguments",
    "UnslothTrainingArguments": huggingface.BASE,
    **{f"{name}TrainingArguments": huggingface.BASE for name in ENCODERS},
} | {name: f"trl.{name}" for name in OBJECTIVES}
QUANTISERS = {
    "BitsAndBytesConfig": "bitsandbytes", "GPTQConfig": "gptq", "AwqConfig": "awq", "HqqConfig": "hqq", "EetqConfig": "eetq",
    "QuantoConfig": "quanto", "AqlmConfig": "aqlm", "TorchAoConfig": "torchao", "FineGrainedFP8Config": "fp8", "Mxfp4Config": "mxfp4",
    "HiggsConfig": "higgs", "SpQRConfig": "spqr", "FPQuantConfig": "fp_quant", "AutoRoundConfig": "auto-round", "VptqConfig": "vptq",
    "BitNetQuantConfig": "bitnet", "FbgemmFp8Config": "fbgemm_fp8", "MetalConfig": "metal", "CompressedTensorsConfig": "compressed-tensors",
    "SinqConfig": "sinq",
}  # fmt: skip
UNSLOTH = ("FastLanguageModel", "FastModel", "FastVisionModel", "FastLlamaModel")
TRAINERS = frozenset(
    ["Trainer", "Seq2SeqTrainer", "UnslothTrainer", *(name.removesuffix("Config") + "Trainer" for name in OBJECTIVES),
     *(f"{name}Trainer" for name in ENCODERS)]
)  # fmt: skip
LIGHTNING = ("pytorch_lightning.", "lightning.")
SENTENCES = "sentence_transformers."
_LIBRARIES = ("transformers.", "trl.", "unsloth.", "optimum.", SENTENCES)  # other libraries have a Trainer of their own
# They load by their own rules, with `load_in_4bit` of their own kernels among them.
_OTHER_LOADERS = ("ipex_llm.", "bigdl.", "intel_extension_for_transformers.", "auto_gptq.", "awq.", "gptqmodel.")
# Their quantisation classes have the names of transformers' and other arguments: diffusers 0.35 quantizers/quantization_config.py takes
# `TorchAoConfig("int8wo")`, and what it quantises is no language model.
_OTHER_QUANTISERS = ("diffusers.", "auto_round.", "optimum.quanto.", "torchao.", "vllm.", "sglang.", *_OTHER_LOADERS)
# Positional arguments as the classes take them: transformers 5.23.0 trainer.py:379, trl 1.16.0 trainer/*_trainer.py, peft 0.21.2
# mapping_func.py:105. The ones of preference trainers come after a reference model, those of online ones after reward functions.
_SECOND = {
    **dict.fromkeys(["DPOTrainer", "KTOTrainer", "BCOTrainer"], ("model", "ref_model", "args")),
    **dict.fromkeys(["GKDTrainer", "GOLDTrainer"], ("model", "teacher_model", "args")),
    **dict.fromkeys(["GRPOTrainer", "RLOOTrainer"], ("model", "reward_funcs", "args")),
    **dict.fromkeys(["ORPOTrainer", "CPOTrainer", "PRMTrainer", "SFTTrainer", "RewardTrainer", "Trainer", "Seq2SeqTrainer"],
                    ("model", "args", "data_collator", "train_dataset", "eval_dataset")),
    "PPOTrainer": ("config",),  # then a model (trl 0.11.4 trainer/ppo_trainer.py) or a tokenizer (0.12.2)
    # sentence-transformers 5.1.2 trainer.py:129
    **dict.fromkeys([f"{name}Trainer" for name in ENCODERS], ("model", "args", "train_dataset", "eval_dataset", "loss", "evaluator")),
}  # fmt: skip


# transformers 4.57.6 and 5.23.0 utils/quantization_config.py, peft 0.21.2 utils/other.py, unsloth 2026.8 models/loader.py and llama.py.
_OF_QUANTISER = {
    "BitsAndBytesConfig": ("load_in_8bit", "load_in_4bit", "llm_int8_threshold", "llm_int8_skip_modules", "llm_int8_enable_fp32_cpu_offload",
                           "llm_int8_has_fp16_weight", "bnb_4bit_compute_dtype", "bnb_4bit_quant_type", "bnb_4bit_use_double_quant",
                           "bnb_4bit_quant_storage"),
    "GPTQConfig": ("bits", "tokenizer", "dataset", "group_size"),
    "AwqConfig": ("bits", "group_size"),
    "HqqConfig": ("nbits", "group_size"),
    "TorchAoConfig": ("quant_type",),
}  # fmt: skip
_UNSLOTH_LOADS = ("model_name", "max_seq_length", "dtype", "load_in_4bit")
_UNSLOTH_ADAPTS = ("model", "r", "target_modules", "lora_alpha", "lora_dropout", "bias")


# deepspeed 0.19.8 __init__.py:433; 0.14.4 has the same order up to `config`.
_ENGINE = ("args", "model", "optimizer", "model_parameters", "training_data", "lr_scheduler", "distributed_port", "mpu", "dist_init_required",
           "collate_fn", "config")  # fmt: skip


ADAPTER_METHODS = frozenset(
    {"load_adapter", "add_adapter", "inject_adapter_in_model"}
)  # methods of transformers' own models


# TRL's PPO before 0.12 (0.11.4 trainer/ppo_config.py): its config extended no TrainingArguments, and the program called each step itself.
_OF_OLD_PPO = frozenset(
    ["ppo_epochs", "model_name", "backward_batch_size", "init_kl_coef", "adap_kl_ctrl", "optimize_cuda_cache", "early_stopping", "steps",
     "forward_batch_size", "use_score_scaling", "tracker_project_name", "accelerator_kwargs", "target_kl", "log_with"]
)  # fmt: skip


def steps_itself(call: Call) -> bool:
    """Whether it is the config of TRL's PPO before 0.12, which knows no epochs and no checkpoints."""
    return last_word(call.name) == "PPOConfig" and any(entry.key in _OF_OLD_PPO for entry in call.arguments.entries)


def trainer_class(call: Call) -> str:
    """The trainer by the library that has it."""
    word = last_word(call.name)
    if encoder(word):
        return SENTENCES + word
    return f"transformers.{word}" if word in ("Trainer", "Seq2SeqTrainer") else f"trl.{word}"


def encoder(name: str) -> str:
    """What one of sentence-transformers' classes is for, by the kind of model that it is named after; empty for any other class."""
    return next((goal for kind, goal in ENCODERS.items() if last_word(name).startswith(kind)), "")


_OPTIMIZERS = (
    "torch.optim.",
    "bitsandbytes.optim.",
    "transformers.AdamW",
    "transformers.optimization.",
    "transformers.Adafactor",
    "deepspeed.ops.adam.",
)


def is_optimizer(call: Call) -> bool:
    """Whether it makes an optimizer of a library's: what that is told of the rate holds for a loop of the program's own."""
    word = last_word(call.name)
    return (
        call.name.startswith(_OPTIMIZERS)
        and word[:1].isupper()
        and "LR" not in word
        and (call.arguments.get("lr") is not None or bool(rates_of_groups(call)))
    )


def rates_of_groups(optimizer: Call) -> list[Entry | None]:
    """The rate of each group of weights that it is given in a list of dictionaries, None for a group without; empty where none has one."""
    found = [
        next((one for one in group.entries if one.key == "lr"), None) if isinstance(group, Mapping) else None
        for group in groups_of(optimizer)
    ]
    return found if any(found) else []


def groups_of(optimizer: Call) -> tuple[Node, ...]:
    """The groups of weights in the list that it is given."""
    given = optimizer.arguments.get("params") or next(iter(optimizer.positional), None)
    return given.items if isinstance(given, Sequence) else ()


# What a loader that gives no rows to train on is called after.
_MEASURES = re.compile(r"val|eval|test|dev(?!ice)|infer|predict", re.IGNORECASE)


def is_encoder(call: Call) -> bool:
    """Whether it makes a model of sentence-transformers."""
    return call.name.startswith(SENTENCES) and last_word(call.name) in ENCODERS


def is_fit(call: Call) -> bool:
    """Whether a model of sentence-transformers trains itself: `SentenceTransformer(…).fit(…)`."""
    made = call.receiver
    return last_word(call.name) in ("fit", "old_fit") and isinstance(made, Call) and made.name.startswith(SENTENCES)


def positional(kind: str, name: str) -> tuple[str, ...]:
    """The names of the first positional arguments of a call; those behind them are not known."""
    word = last_word(name)
    if kind == "arguments":
        return ("output_dir",)
    if kind == "trainer":
        return _SECOND.get(word, ("model",))
    if kind == "quantiser":
        return _OF_QUANTISER.get(word, ())
    if kind == "loader" and last_word(name) in ENCODERS:
        return ("model_name_or_path",)
    if kind == "loader":
        return _UNSLOTH_LOADS if last_word(name.rpartition(".")[0]) in UNSLOTH else ()
    if kind == "login":
        return LOGINS.get(name, ())
    if kind == "kbit":
        return ("model", "use_gradient_checkpointing")
    if kind == "deepspeed":
        return _ENGINE
    return _UNSLOTH_ADAPTS if kind == "unsloth-adapter" else ()


def kinds(module: Module) -> tuple[tuple[Call, str], ...]:
    """The calls of a program with their kinds: asked for every trainer of a file, and answered once."""
    found: tuple[tuple[Call, str], ...] | None = module.notes.get(kinds)
    if found is None:
        found = module.notes[kinds] = tuple([(call, kind(call)) for call in module.calls])
    return found


def kind(call: Call) -> str:
    word = last_word(call.name)
    if call.local and "." not in call.name:  # a class of the file's own, whichever library has one of that name
        return "program" if call.parsed and trains(_plain(call)) else ""
    if word in ARGUMENTS:
        return "arguments" if _is_ours(call.name, word) else ""
    if is_encoder(call):
        return "loader"
    if is_fit(call):
        return "fit"
    if is_optimizer(call):
        return "optimizer"
    if word == "DataLoader":
        return "batches" if call.name.startswith("torch.utils.data") and not _MEASURES.search(call.target or "") else ""
    if word in ("range", "trange"):
        return "passes"
    if word == "autocast" and call.name.startswith("torch."):
        return "autocast"
    if call.parsed:
        return "program" if trains(_plain(call)) else "program-part" if _is_part(call) else ""
    if word in QUANTISERS:
        return "quantiser" if not call.name.startswith(_OTHER_QUANTISERS) else ""
    if word in ("Trainer", "Fabric") and call.name.startswith(LIGHTNING):
        return "lightning"
    if word in TRAINERS:
        return "trainer" if call.name == word or call.name.startswith(_LIBRARIES) else ""
    if word == "login" and call.name in LOGINS:
        return "login"
    if word == "load_dataset" or (word in _MAKES_ROWS and "IterableDataset" not in call.name):
        return "data"
    if word.endswith("Config") and (call.name.startswith("peft.") or word == "LoraConfig"):
        return "adapter"
    if word == "from_pretrained" and _is_model_class(call.name.rpartition(".")[0]):
        return "loader" if not call.name.startswith(_OTHER_LOADERS) else ""
    if word == "get_peft_model" and call.name.rpartition(".")[0].rpartition(".")[2] in UNSLOTH:
        return "unsloth-adapter"
    if word in ACCELERATES:
        return ACCELERATES[word] if call.name == word or call.name.startswith(("accelerate.", *_LIBRARIES)) else ""
    return _OTHERS.get(call.name) or METHODS.get(word) or ("login" if _tells_a_token(call) else "")


# Arguments by which functions of hubs and trackers are told who calls.
TOKEN_ARGUMENTS = frozenset(
    ["token", "use_auth_token", "hub_token", "hf_token", "auth_token", "access_token", "api_token", "api_key"]
)


def _tells_a_token(call: Call) -> bool:
    """Whether a token stands in the call as a literal: `api.create_repo(token="…")`."""
    return any(
        entry.key in TOKEN_ARGUMENTS
        and type(entry.value) is Scalar
        and isinstance(entry.value.value, str)
        and is_secret(entry.key, entry.value.value)
        for entry in call.arguments.entries
    )


def _plain(call: Call) -> list[str]:
    """A setting is no table: a table of labels, say, has the settings' names too."""
    return [entry.key for entry in call.arguments.entries if type(entry.value) is not Mapping]


def _is_part(call: Call) -> bool:
    """A class of settings that says which model, or which adapter: `class LoraConfig`, `class ModelArguments`."""
    names = {entry.key for entry in call.arguments.entries}
    about = (call.target or "").lower()
    if "lora" in about or "peft" in about or "adapter" in about:
        return len(names & {"r", "rank", "alpha", "lora_r", "lora_rank", "lora_alpha", "target_modules"}) >= 2
    return "model" in about and not names.isdisjoint(
        {"model_name_or_path", "model_name", "llm_path", "model_id", "base_model", "model_path"}
    )


# Methods by which a set with a length is made; of a stream there is none of the last.
_MAKES_ROWS = frozenset({"from_generator", "from_list", "from_dict", "from_pandas", "train_test_split"})
_OTHERS = {
    "os.environ": "environment",
    "deepspeed.initialize": "deepspeed",
    "tokenizer.set": "tokenizer",
    "import": "imports",
    "weights.frozen": "frozen",
    "modules.replaced": "rebuilt",
}
# They take a token, some as their first argument: huggingface_hub 1.26.0 _login.py, wandb sdk/wandb_login.py takes the key by name.
LOGINS = {
    "login": ("token",), "huggingface_hub.login": ("token",), "huggingface_hub._login.login": ("token",), "wandb.login": (),
    "swanlab.login": ("api_key",), "comet_ml.login": (),
}  # fmt: skip
# Classes of accelerate, by their import: a program may have an Accelerator of its own.
ACCELERATES = {
    "Accelerator": "accelerator", "AcceleratorState": "accelerator", "PartialState": "accelerator", "DeepSpeedPlugin": "plugin",
}  # fmt: skip
METHODS = {
    "gradient_checkpointing_enable": "checkpointing",
    "DataCollatorForLanguageModeling": "collator",
    "DataCollatorForCompletionOnlyLM": "collator",
    "prepare_model_for_kbit_training": "kbit",
    "prepare_model_for_int8_training": "kbit",  # its name before PEFT 0.10
}


# What programs that train language models let their callers set; the second are those of no other training.
_SETTINGS = frozenset(
    [
        "learning_rate", "lr", "num_epochs", "num_train_epochs", "epochs", "batch_size", "batch_size_training", "train_batch_size",
        "per_device_train_batch_size", "weight_decay", "max_grad_norm", "gradient_clipping", "gradient_clipping_threshold", "warmup_steps",
        "num_warmup_steps", "warmup_ratio", "lr_scheduler_type", "max_steps", "max_train_steps", "save_steps", "optimizer",
    ]
)  # fmt: skip
_OF_LANGUAGE_MODELS = frozenset(
    [
        "gradient_accumulation_steps", "gradient_checkpointing", "mixed_precision", "fp16", "bf16", "use_fp16", "deepspeed", "zero_stage",
        "use_peft", "use_lora", "lora_r", "lora_rank", "lora_alpha", "lora_dropout", "lora_target_modules", "target_modules", "max_seq_length",
        "max_seq_len", "model_max_length", "model_name_or_path", "quantization", "sharding_strategy", "fsdp_activation_checkpointing",
        "fsdp_cpu_offload",
    ]
)  # fmt: skip


def trains(names: Collection[str]) -> bool:
    """Whether these are settings of a training of language models."""
    settings = len(_SETTINGS.intersection(names))
    special = len(_OF_LANGUAGE_MODELS.intersection(names))
    return special >= 3 or (special >= 1 and settings >= 2)


def _is_ours(name: str, word: str) -> bool:
    """Imported from a library, or by a star; other programs have a RewardConfig of their own. A module of the program's own that has
    TrainingArguments has them from transformers."""
    return name == word or name.startswith(_LIBRARIES) or word.endswith("TrainingArguments")


def _is_model_class(name: str) -> bool:
    word = last_word(name)
    return (
        word.startswith(("AutoModel", "FastLanguage", "FastModel", "FastVision", "AutoPeftModel"))
        or "For" in word[1:]
        or word == "SentenceTransformer"
        or word.endswith("LMHeadModel")
    )
