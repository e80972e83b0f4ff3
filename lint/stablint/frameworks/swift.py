"""ms-swift: YAML, JSON and flags of `swift sft`, `swift rlhf`, `swift pt` and their Megatron counterparts. Its own keys on top of TrainingArguments.

Names of all its generations are read: 4.x (`tuner_type`), 3.x (`train_type`, `torch_dtype`) and 2.x (`sft_type`, `dtype`, `batch_size`).
"""

from __future__ import annotations

from collections.abc import Iterator

from stablint.frameworks import huggingface
from stablint.frameworks.fragment import Block, Fragment, Link, Row, Rows, lower_mapping
from stablint.frameworks.near_keys import in_full
from stablint.run.fact import CLOSED, OPEN, Explicit, Place, Statement
from stablint.syntax.tree import Command, Entry, Mapping, Scalar

_OWN = (
    ("model", "model.name_or_path", "text"),
    ("model_name", "training.self_cognition_name", "plain"),  # what the model is to call itself
    ("torch_dtype", "model.dtype", "dtype"),
    ("attn_impl", "model.attn_implementation", "flash-word"),
    ("dataset", "data.dataset", "plain"),
    ("val_dataset", "data.eval_dataset", "plain"),
    ("split_dataset_ratio", "data.val_size", "plain"),
    ("max_length", "training.max_length", "plain"),
    ("use_ray", "training.use_ray", "flag"),
    ("ignore_args_error", "training.ignore_args_error", "flag"),
    ("packing", "training.packing", "flag"),
    ("padding_free", "training.padding_free", "flag"),
    ("tuner_type", "training.finetuning_type", "plain"),
    ("train_type", "training.finetuning_type", "plain"),
    ("sft_type", "training.finetuning_type", "plain"),
    ("lora_rank", "lora.r", "plain"),
    ("target_modules", "lora.target_modules", "targets"),
    ("modules_to_save", "lora.modules_to_save", "words"),
    ("task_type", "training.task_type", "plain"),
    ("init_weights", "lora.init_lora_weights", "swift-init"),
    ("lorap_lr_ratio", "lora.loraplus_lr_ratio", "plain"),
    ("quant_method", "quantization.quant_method", "text"),
    ("tuner_backend", "training.tuner_backend", "text"),
    ("teacher_model", "training.teacher_model", "text"),
    ("adapters", "lora.adapter_name_or_path", "words"),
    ("freeze_parameters", "training.freeze_parameters", "plain"),
    ("freeze_parameters_ratio", "training.freeze_parameters_ratio", "plain"),
    ("freeze_parameters_regex", "training.freeze_parameters_regex", "text"),
    ("trainable_parameters", "training.trainable_parameters", "plain"),
    ("freeze_vit", "training.freeze_vision_tower", "flag"),
    ("trainable_parameters_regex", "training.trainable_parameters_regex", "text"),
    ("resume_only_model", "training.resume_only_model", "flag"),
    ("bnb_4bit_compute_dtype", "quantization.bnb_4bit_compute_dtype", "dtype"),
    ("lr", "training.learning_rate", "plain"),
    ("min_lr", "training.min_learning_rate", "plain"),
    ("micro_batch_size", "training.per_device_train_batch_size", "plain"),
    ("global_batch_size", "training.global_batch_size", "plain"),
    ("lr_warmup_fraction", "training.warmup_ratio", "plain"),
    ("clip_grad", "training.max_grad_norm", "plain"),
    ("zero_hpz_partition_size", "deepspeed.zero_optimization.zero_hpz_partition_size", "plain"),
    ("deepspeed_autotp_size", "deepspeed.tensor_parallel.autotp_size", "plain"),
    ("sleep_level", "training.sleep_level", "plain"),
    ("vllm_enable_lora", "training.vllm_enable_lora", "flag"),
    ("lazy_tokenize", "training.lazy_tokenize", "flag"),
    ("sequence_parallel_size", "training.sequence_parallel_size", "plain"),
    ("ref_model", "training.ref_model", "text"),
    ("advantage_estimator", "training.advantage_estimator", "text"),
    ("log_entropy", "training.log_entropy", "flag"),
    ("truncation_strategy", "training.truncation_strategy", "text"),
    ("padding_side", "training.padding_side", "text"),
    ("optimizer", "training.custom_optimizer", "text"),
    ("use_galore", "training.use_galore", "flag"),
    ("vit_lr", "training.vit_lr", "plain"),
    ("aligner_lr", "training.aligner_lr", "plain"),
    ("loss_scale", "training.loss_scale", "text"),
    ("async_generate", "training.async_generate", "flag"),
    ("multi_turn_scheduler", "training.multi_turn_scheduler", "text"),
    ("loss_weights", "training.loss_weights", "plain"),
    ("gkd_logits_topk", "training.gkd_logits_topk", "plain"),
    ("advantage_reweight", "training.advantage_reweight", "text"),
    ("rlsd_lambda", "training.rlsd_lambda", "plain"),
    ("rlsd_reweight_clip_range", "training.rlsd_reweight_clip_range", "plain"),
    ("sdar_loss_coef", "training.sdar_loss_coef", "plain"),
    ("sdar_gate_beta", "training.sdar_gate_beta", "plain"),
    ("teacher_model_server", "training.teacher_model_server", "text"),
    ("soft_cache_length", "training.soft_cache_length", "plain"),
    ("dynamic_sample", "training.dynamic_sample", "flag"),
    ("off_policy_sequence_mask_delta", "training.off_policy_sequence_mask_delta", "plain"),
    ("cached_dataset", "data.cached_dataset", "plain"),
    ("cached_val_dataset", "data.cached_val_dataset", "plain"),
    ("eval_dataset", "training.eval_dataset", "plain"),
    ("swanlab_notification_method", "training.swanlab_notification_method", "text"),
    ("rope_scaling", "training.rope_scaling", "plain"),
    ("max_model_len", "training.max_model_len", "plain"),
    ("swanlab_sender_email", "training.swanlab_sender_email", "text"),
    ("swanlab_receiver_email", "training.swanlab_receiver_email", "text"),
    ("swanlab_smtp_server", "training.swanlab_smtp_server", "text"),
    ("swanlab_smtp_port", "training.swanlab_smtp_port", "plain"),
    ("top_entropy_quantile", "training.top_entropy_quantile", "plain"),
    ("pipeline_model_parallel_size", "launch.megatron.pipeline_model_parallel_size", "plain"),
    ("tensor_model_parallel_size", "launch.megatron.tensor_model_parallel_size", "plain"),
    ("context_parallel_size", "launch.megatron.context_parallel_size", "plain"),
    ("expert_model_parallel_size", "launch.megatron.expert_model_parallel_size", "plain"),
    ("virtual_pipeline_model_parallel_size", "launch.megatron.virtual_pipeline_model_parallel_size", "plain"),
    ("decoder_first_pipeline_num_layers", "launch.megatron.decoder_first_pipeline_num_layers", "plain"),
    ("decoder_last_pipeline_num_layers", "launch.megatron.decoder_last_pipeline_num_layers", "plain"),
    ("pipeline_model_parallel_layout", "launch.megatron.pipeline_model_parallel_layout", "text"),
    ("main_grads_dtype", "launch.megatron.main_grads_dtype", "text"),
    ("model_type", "training.model_type", "text"),
    ("template", "training.template", "text"),
    ("external_plugins", "training.external_plugins", "plain"),
    ("custom_register_path", "training.custom_register_path", "plain"),
)  # fmt: skip
# 2.x (argument.py at v2.6.1).
_SECOND = (
    ("model_id_or_path", "model.name_or_path", "text"),
    ("use_flash_attn", "model.attn_implementation", "flash"),
    ("batch_size", "training.per_device_train_batch_size", "plain"),
    ("eval_batch_size", "training.per_device_eval_batch_size", "plain"),
    ("dataset_test_ratio", "data.val_size", "plain"),
    ("lora_target_modules", "lora.target_modules", "targets"),
    ("lora_dropout_p", "lora.lora_dropout", "plain"),
    ("lora_bias_trainable", "lora.bias", "plain"),
    ("bnb_4bit_comp_dtype", "quantization.bnb_4bit_compute_dtype", "swift-dtype"),
    ("only_save_model", "training.save_only_model", "flag"),
)  # fmt: skip


def _bits(key: str) -> tuple[Row, ...]:
    return (
        Row(key, "quantization.bits"),
        Row(key, "quantization.load_in_4bit", "is-4"),
        Row(key, "quantization.load_in_8bit", "is-8"),
    )


ROWS: dict[str, Row | tuple[Row, ...]] = {
    **huggingface.ROWS,
    **{key: Row(key, fact, codec) for key, fact, codec in _SECOND},
    **{key: Row(key, fact, codec) for key, fact, codec in _OWN},
    "rlhf_type": (Row("rlhf_type", "training.rlhf_type"), Row("rlhf_type", "training.stage")),
    "quant_bits": _bits("quant_bits"),
    "quantization_bit": _bits("quantization_bit"),
    "dtype": Row("dtype", "model.dtype", "swift-dtype"),
}

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
_MEGATRON = frozenset(
    {
        "micro_batch_size",
        "global_batch_size",
        "tensor_model_parallel_size",
        "lr_warmup_fraction",
        "pipeline_model_parallel_size",
    }
)
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
    statements = (*_sharded(statements), *_stage(block, layer, command, statements), *_handed(block, layer))
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


def _sharded(statements: tuple[Statement, ...]) -> Iterator[Statement]:
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
