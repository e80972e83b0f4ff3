"""ms-swift: YAML, JSON and flags of `swift sft`, `swift rlhf`, `swift pt` and their Megatron counterparts. Its own keys on top of TrainingArguments.

Names of all its generations are read: 4.x (`tuner_type`), 3.x (`train_type`, `torch_dtype`) and 2.x (`sft_type`, `dtype`, `batch_size`).
"""

from __future__ import annotations

from collections.abc import Iterator

from stablint.frameworks import huggingface
from stablint.frameworks.fragment import Block, Fragment, Link, Row, Rows, lower_mapping, table
from stablint.frameworks.near_keys import in_full
from stablint.run.fact import CLOSED, OPEN, Explicit, Place, Statement
from stablint.syntax.tree import Command, Entry, Mapping, Scalar

ROWS = {**huggingface.ROWS, **table("ms-swift")}

_STRONG = frozenset({
    "tuner_type", "train_type", "sft_type", "rlhf_type", "split_dataset_ratio", "train_dataset_sample", "attn_impl", "truncation_strategy",
    "model_author", "loss_scale", "swift_version", "dataset_num_proc", "val_dataset", "self_cognition_sample", "custom_train_dataset_path",
})  # fmt: skip
_OWN_WORDS = frozenset({
    "tuner_type", "train_type", "sft_type", "rlhf_type", "split_dataset_ratio", "train_dataset_sample",
})  # fmt: skip
# What only 2.x knows: from 3.0 on such arguments are refused.
_ONLY_SECOND = frozenset({
    "sft_type", "model_id_or_path", "lora_dropout_p", "lora_bias_trainable", "lora_target_modules", "check_dataset_strategy",
    "train_dataset_sample", "use_flash_attn", "eval_batch_size", "batch_size", "bnb_4bit_comp_dtype", "dtype", "dataset_test_ratio",
    "custom_train_dataset_path",
})  # fmt: skip
_MEGATRON = frozenset({
    "micro_batch_size", "global_batch_size", "tensor_model_parallel_size", "lr_warmup_fraction", "pipeline_model_parallel_size",
})  # fmt: skip
_OF_MEGATRON = _MEGATRON | {"lr", "min_lr", "clip_grad"}
_STAGES = {"sft": "sft", "pt": "pretrain"}
_TASKS = frozenset({"seq_cls", "embedding", "reranker", "generative_reranker"})


def recognise(keys: frozenset[str], block: Block) -> int:
    if {"cmd", "args"} <= keys:  # one of its experiments: the command, and its arguments below
        inner = block.mapping.get("args")
        return (
            recognise(frozenset(entry.key for entry in inner.entries) | {"tuner_type"}, block)
            if isinstance(inner, Mapping)
            else 0
        )
    if not keys & {"model", "model_type", "model_id_or_path"} or "dataset" not in keys:
        return 0
    return (
        94
        if keys & _OWN_WORDS and (len(keys & _STRONG) >= 2 or keys & huggingface.TELLING or keys & {"output_dir", "lr"})
        else 0
    )


def lower(block: Block, layer: str = "file", command: str = "") -> Fragment:
    """`command` is the word behind `swift` or `megatron`: it says what is trained for."""
    inner = block.mapping.get("args") if block.mapping.get("cmd") is not None else None
    if isinstance(inner, Mapping):
        block = block._replace(mapping=inner)
    if command == "export":
        return _merging(block, layer)
    flags = block.kind == "flags"
    keys = frozenset(entry.key.replace("-", "_") for entry in block.mapping.entries)
    # Megatron's trainer has other defaults, and precision of its own.
    megatron = bool(keys & _MEGATRON) or block.name.startswith("megatron")
    block = in_full(
        block, ROWS, ("ms-swift.megatron" if megatron else "ms-swift.train",)
    )  # a file becomes flags as well
    statements = tuple(lower_mapping(block, ROWS, layer, huggingface.training_row, flags=flags))
    statements = (*_sharded(_named(statements)), *_stage(block, layer, command, statements), *_handed(block, layer))
    if (
        "quant_bits" in keys and "quant_method" not in keys and not block.mapping.open
    ):  # a number without a method quantises nothing
        statements = tuple(s for s in statements if not s.fact.startswith("quantization.load_in_"))
    stated = {s.fact: s.value for s in statements}
    state = OPEN if block.mapping.open or inner is not None or megatron else CLOSED
    scopes = dict.fromkeys(("training", "lora", "quantization", "model", "data", "fsdp"), state)
    return Fragment(
        "ms-swift", block, layer, statements,
        {**scopes, "trainer": CLOSED, "tokenizer": OPEN},
        {"training": (huggingface.BASE,), **_switched_on(stated)}, (*huggingface.links(statements), *_fsdp_file(statements)), entry=True,
        framework="ms-swift" if not keys & _ONLY_SECOND else "ms-swift-2",
    )  # fmt: skip


# Names of models in 1.x and 2.x that do not say the size, or not the line, of the model behind them (ms-swift 1.5.1 and 2.6.1 swift/llm/utils/model.py,
# register_model); 419 of their 465 names are those of the checkpoints but for letters.
_NAMED = {
    "mixtral-7b-moe": "mistralai/Mixtral-8x7B-v0.1", "mixtral-7b-moe-chat": "mistralai/Mixtral-8x7B-Instruct-v0.1",
    "mixtral-moe-7b": "mistralai/Mixtral-8x7B-v0.1", "mixtral-moe-7b-instruct": "mistralai/Mixtral-8x7B-Instruct-v0.1",
    "mixtral-moe-7b-aqlm-2bit-1x16": "ISTA-DASLab/Mixtral-8x7b-AQLM-2Bit-1x16-hf", "openbuddy-mixtral-moe-7b-chat": "mistralai/Mixtral-8x7B-v0.1",
    "qwen1half-moe-a2_7b": "Qwen/Qwen1.5-MoE-A2.7B",
    "qwen1half-moe-a2_7b-chat": "Qwen/Qwen1.5-MoE-A2.7B-Chat",
    "phi2-3b": "microsoft/phi-2", "phi3-4b-128k-instruct": "microsoft/Phi-3-mini-128k-instruct", "phi3-4b-4k-instruct": "microsoft/Phi-3-mini-4k-instruct",
    "marco-o1": "AIDC-AI/Marco-o1", "minicpm-v-v2-chat": "openbmb/MiniCPM-V-2", "minicpm-v-v2_5-chat": "openbmb/MiniCPM-Llama3-V-2_5",
    "minicpm-v-v2_6-chat": "openbmb/MiniCPM-V-2_6",
}  # fmt: skip


def _named(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """Where no model is named, 1.x and 2.x take it from `model_type`, which from 3.0 on is an architecture beside one that has to be named."""
    yield from statements
    of_type = next((one for one in statements if one.fact == "training.model_type"), None)
    if (
        of_type is not None
        and isinstance(of_type.value, str)
        and not any(s.fact == "model.name_or_path" for s in statements)
    ):
        name = _NAMED.get(of_type.value, of_type.value.replace("qwen1half", "qwen1.5"))
        yield of_type._replace(fact="model.name_or_path", value=name)


_MERGES: dict[str, Row | tuple[Row, ...]] = {
    **{
        key: ROWS[key]
        for key in ("model", "model_id_or_path", "adapters", "quant_method", "quant_bits", "quantization_bit")
    },
    "ckpt_dir": Row("ckpt_dir", "lora.adapter_name_or_path", "text"),
}


def _merging(block: Block, layer: str) -> Fragment:
    """`swift export --merge_lora true`: which adapter goes into which model; the rest stands beside the adapter (args.json)."""
    statements = tuple(lower_mapping(block, _MERGES, layer, lambda key: None, flags=True))
    place = Place(block.document, "export", block.start, block.end, None, ("export",))
    said = Explicit(place, layer, block.number)
    statements += (
        Statement("launch.command", "export", "export", said),
        Statement("launch.trains", False, "export", said),
        Statement("launch.phase", "evaluation", "export", said),
    )
    second = any(entry.key.replace("-", "_") in ("ckpt_dir", "model_id_or_path") for entry in block.mapping.entries)
    scopes = dict.fromkeys(("training", "lora", "quantization", "model", "data", "fsdp", "trainer", "tokenizer"), OPEN)
    return Fragment(
        "ms-swift", block, layer, statements, scopes, {}, (), entry=True, framework="ms-swift-2" if second else "ms-swift",
    )  # fmt: skip


# What transformers takes for `fsdp`; from 3.12 on ms-swift takes a name or a file of its own there (arguments/sft_args.py, _init_fsdp).
_FSDP_WORDS = frozenset(
    {"full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2", "offload", "auto_wrap", "true", "false", ""}
)  # fmt: skip
# swift/config/fsdp2.json, which `--fsdp fsdp2` names.
_FSDP2: dict[str, object] = {
    "fsdp.version": 2, "fsdp.reshard_after_forward": True, "fsdp.auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "fsdp.cpu_ram_efficient_loading": True, "fsdp.state_dict_type": "SHARDED_STATE_DICT", "fsdp.activation_checkpointing": True,
    "training.gradient_checkpointing": False,  # switched off for the other (_check_fsdp2_compatibility)
}  # fmt: skip


def _sharded(statements: Iterator[Statement]) -> Iterator[Statement]:
    """`fsdp: fsdp2` and `fsdp: FILE` switch FSDP on; the name says its options, too."""
    options: list[Statement] = []
    for one in statements:
        if one.fact != "training.fsdp" or not _is_own(one.raw) or not isinstance(one.origin, Explicit):
            yield one
            continue
        place = one.origin.place
        node = Scalar(one.raw, place.start, place.end, "name", False)
        entry = Entry(place.setting, place.start, place.start, node)
        origin = one.origin._replace(place=place._replace(entry=entry))
        yield Statement("training.fsdp", True, True, origin)
        if one.raw == "fsdp2":
            options = [Statement(name, value, value, origin) for name, value in _FSDP2.items()]
    yield from options  # last: whatever else is said


def _is_own(raw: object) -> bool:
    return isinstance(raw, str) and raw[:1] != "{" and not set(raw.lower().split()) <= _FSDP_WORDS


def _fsdp_file(statements: tuple[Statement, ...]) -> Iterator[Link]:
    for one in statements:
        origin = one.origin
        if one.fact == "training.fsdp" and one.raw is True and isinstance(origin, Explicit) and origin.place.entry:
            named = origin.place.entry.value
            if isinstance(named, Scalar) and isinstance(named.value, str) and named.value != "fsdp2":
                yield Link("fsdp", named.value, origin.place)


def rows_for(keys: frozenset[str]) -> Rows:
    """The table of the generation that these keys are of, its own names first."""
    if keys & _ONLY_SECOND:
        return {**{key: ROWS[key] for key in ROWS if key in _ONLY_SECOND}, **ROWS}
    if keys & _MEGATRON:
        return ROWS
    return {
        key: row for key, row in ROWS.items() if key not in _ONLY_SECOND | _OF_MEGATRON and key != "only_save_model"
    }


def _stage(block: Block, layer: str, command: str, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """`swift rlhf` without a type is DPO (rlhf_args.py); the commands of 2.x are named after what they train for."""
    task = next((s for s in statements if s.fact == "training.task_type"), None)
    if task is not None and isinstance(task.value, str) and task.value in _TASKS:  # no language model comes out of it
        return (task._replace(fact="training.stage"),)
    if not command or any(s.fact == "training.stage" for s in statements):
        return ()
    stage = _STAGES.get(command, "dpo" if command == "rlhf" else command)
    place = Place(block.document, command, block.start, block.end, None, (command,))
    return (Statement("training.stage", stage, command, Explicit(place, layer, block.number)),)


def _handed(block: Block, layer: str) -> Iterator[Statement]:
    """How a command is given its file: behind `--config` (3.10 to 4.0), or as the first word behind the command (from 4.1 on)."""
    command = block.origin
    if block.kind != "flags" or not isinstance(command, Command):
        return
    for entry in block.mapping.entries:
        if entry.key.lstrip("-") == "config":
            place = Place(block.document, entry.key, entry.key_start, entry.value.end, entry, ("config",))
            yield Statement("launch.file_given", "flag", "--config", Explicit(place, layer, block.number))
    flags = [entry.key_start for entry in block.mapping.entries]
    for word in command.positionals:
        if (
            isinstance(word.value, str)
            and word.value.endswith((".yaml", ".yml"))
            and word.start < min(flags, default=word.end)
        ):
            place = Place(block.document, word.value, word.start, word.end, None, (word.value,))
            yield Statement("launch.file_given", "word", word.value, Explicit(place, layer, block.number))


def _switched_on(stated: dict[str, object]) -> dict[str, tuple[str, ...]]:
    """LoRA is what it trains where no type is named (but `swift pt` of 2.x, which is full)."""
    kind = stated.get("training.finetuning_type", "lora" if stated.get("training.stage") != "pretrain" else "full")
    quantised = stated.get("quantization.load_in_4bit") is True or stated.get("quantization.quant_method") == "bnb"
    return {
        **({"lora": ("peft.LoraConfig",)} if kind == "lora" else {}),
        **({"quantization": ()} if quantised else {}),
    }
