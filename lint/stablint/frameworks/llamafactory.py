"""LLaMA-Factory: YAML, JSON and flags of `llamafactory-cli train` and the older `src/train_bash.py`. Its own keys on top of TrainingArguments."""

from __future__ import annotations

from stablint.frameworks import huggingface, llamafactory_data
from stablint.frameworks.fragment import Block, Fragment, Link, Row, lower_mapping
from stablint.frameworks.near_keys import in_full
from stablint.run.fact import CLOSED, OPEN, Explicit, Place, Statement
from stablint.syntax.tree import Mapping, Scalar

_OWN = (
    ("stage", "training.stage", "plain"),
    ("finetuning_type", "training.finetuning_type", "plain"),
    ("template", "data.template", "text"),
    ("dataset", "data.dataset", "words"),
    ("eval_dataset", "data.eval_dataset", "words"),
    ("eval_on_each_dataset", "data.eval_on_each_dataset", "flag"),
    ("val_size", "data.val_size", "plain"),
    ("max_samples", "data.max_samples", "plain"),
    ("cutoff_len", "training.max_length", "plain"),
    ("streaming", "data.is_iterable", "flag"),
    ("packing", "training.packing", "flag"),
    ("neat_packing", "training.neat_packing", "flag"),
    ("lora_target", "lora.target_modules", "targets"),
    ("lora_rank", "lora.r", "plain"),
    ("additional_target", "lora.modules_to_save", "words"),
    ("pissa_init", "training.pissa_init", "flag"),
    ("loraplus_lr_ratio", "lora.loraplus_lr_ratio", "plain"),
    ("quantization_type", "quantization.bnb_4bit_quant_type", "plain"),
    ("double_quantization", "quantization.bnb_4bit_use_double_quant", "flag"),
    ("quantization_method", "quantization.quant_method", "plain"),
    ("flash_attn", "model.attn_implementation", "attention"),
    ("pure_bf16", "training.pure_bf16", "flag"),
    ("use_unsloth", "training.use_unsloth", "flag"),
    ("use_kt", "training.use_kt", "flag"),
    ("reward_model_adapters", "training.reward_model_adapters", "text"),
    ("infer_dtype", "model.infer_dtype", "dtype"),
    ("rope_scaling", "model.rope_scaling", "plain"),
    ("pref_beta", "training.beta", "plain"),
    ("pref_loss", "training.loss_type", "plain"),
    ("use_galore", "training.use_galore", "flag"),
    ("use_apollo", "training.use_apollo", "flag"),
    ("disable_gradient_checkpointing", "training.gradient_checkpointing", "inverse"),
    ("use_reentrant_gc", "training.gradient_checkpointing_kwargs.use_reentrant", "flag"),
    ("dpo_beta", "training.beta", "plain"),  # pref_beta and pref_loss until 0.8
    ("dpo_loss", "training.loss_type", "plain"),
    ("simpo_gamma", "training.simpo_gamma", "plain"),
    ("lora_alpha", "lora.lora_alpha", "plain"),
    ("adapter_name_or_path", "lora.adapter_name_or_path", "words"),
    ("create_new_adapter", "lora.create_new_adapter", "flag"),
    ("checkpoint_dir", "lora.adapter_name_or_path", "words"),
    ("quantization_device_map", "model.device_map", "plain"),
    ("enable_liger_kernel", "training.use_liger_kernel", "flag"),
    ("use_badam", "training.use_badam", "flag"),
    ("use_muon", "training.use_muon", "flag"),
    ("use_adam_mini", "training.use_adam_mini", "flag"),
    ("badam_mode", "training.badam_mode", "plain"),
    ("galore_layerwise", "training.galore_layerwise", "flag"),
    ("apollo_layerwise", "training.apollo_layerwise", "flag"),
    ("pissa_convert", "training.pissa_convert", "flag"),
    ("resize_vocab", "model.resize_vocab", "flag"),
    ("add_tokens", "model.added_tokens", "words"),
    ("add_special_tokens", "model.added_tokens", "words"),
    ("new_special_tokens", "model.added_tokens", "words"),
    ("fp8", "training.fp8", "flag"),
    ("early_stopping_steps", "training.early_stopping_patience", "plain"),
    ("reward_model", "training.reward_model", "text"),
    ("ref_model", "training.ref_model", "text"),
    ("train_on_prompt", "training.train_on_prompt", "flag"),
    ("tokenized_path", "data.tokenized_path", "text"),
    ("mask_history", "training.mask_history", "flag"),
    ("freeze_trainable_layers", "training.freeze_trainable_layers", "plain"),
    ("freeze_multi_modal_projector", "training.freeze_multi_modal_projector", "flag"),
    ("freeze_vision_tower", "training.freeze_vision_tower", "flag"),
    ("upcast_layernorm", "training.upcast_layernorm", "flag"),
    ("reward_model_type", "training.reward_model_type", "plain"),
    ("reward_model_quantization_bit", "training.reward_model_quantization_bit", "plain"),
    ("ref_model_quantization_bit", "training.ref_model_quantization_bit", "plain"),
    ("compute_accuracy", "training.compute_accuracy", "flag"),
    ("use_llama_pro", "training.use_llama_pro", "flag"),
    ("dpo_label_smoothing", "training.label_smoothing", "plain"),
    ("pref_ftx", "training.pref_ftx", "plain"),
    ("ld_alpha", "training.ld_alpha", "plain"),
    ("kto_chosen_weight", "training.kto_chosen_weight", "plain"),
    ("kto_rejected_weight", "training.kto_rejected_weight", "plain"),
    ("ppo_buffer_size", "training.ppo_buffer_size", "plain"),
    ("ppo_target", "training.ppo_target", "plain"),
    ("ppo_score_norm", "training.ppo_score_norm", "plain"),
    ("ppo_whiten_rewards", "training.ppo_whiten_rewards", "plain"),
    ("ref_model_adapters", "training.ref_model_adapters", "plain"),
    ("galore_rank", "training.galore_rank", "plain"),
    ("galore_target", "training.galore_target", "plain"),
    ("galore_update_interval", "training.galore_update_interval", "plain"),
    ("galore_scale", "training.galore_scale", "plain"),
    ("galore_proj_type", "training.galore_proj_type", "plain"),
    ("apollo_rank", "training.apollo_rank", "plain"),
    ("apollo_target", "training.apollo_target", "plain"),
    ("apollo_update_interval", "training.apollo_update_interval", "plain"),
    ("apollo_scale", "training.apollo_scale", "plain"),
    ("apollo_proj", "training.apollo_proj", "plain"),
    ("apollo_proj_type", "training.apollo_proj_type", "plain"),
    ("apollo_scale_type", "training.apollo_scale_type", "plain"),
    ("badam_start_block", "training.badam_start_block", "plain"),
    ("badam_switch_mode", "training.badam_switch_mode", "plain"),
    ("badam_switch_interval", "training.badam_switch_interval", "plain"),
    ("badam_update_ratio", "training.badam_update_ratio", "plain"),
    ("pissa_iter", "training.pissa_iter", "plain"),
    ("shift_attn", "model.shift_attn", "flag"),
    ("image_max_pixels", "data.image_max_pixels", "plain"),
    ("image_min_pixels", "data.image_min_pixels", "plain"),
    ("video_max_pixels", "data.video_max_pixels", "plain"),
    ("video_min_pixels", "data.video_min_pixels", "plain"),
    ("interleave_probs", "data.interleave_probs", "plain"),
    ("mix_strategy", "data.mix_strategy", "plain"),
    ("infer_backend", "training.infer_backend", "text"),
    ("export_dir", "training.export_dir", "text"),
    ("tensor_model_parallel_size", "launch.megatron.tensor_model_parallel_size", "plain"),
    ("pipeline_model_parallel_size", "launch.megatron.pipeline_model_parallel_size", "plain"),
    ("expert_model_parallel_size", "launch.megatron.expert_model_parallel_size", "plain"),
)  # fmt: skip
_BITS = (Row("quantization_bit", "quantization.bits"), Row("quantization_bit", "quantization.load_in_4bit", "is-4"),
         Row("quantization_bit", "quantization.load_in_8bit", "is-8"))  # fmt: skip
ROWS: dict[str, Row | tuple[Row, ...]] = {
    **huggingface.ROWS,
    **{key: Row(key, fact, codec) for key, fact, codec in _OWN},
    "quantization_bit": _BITS,
}

# Keys of `llamafactory-cli chat` and `export`, which train nothing.
_NO_TRAINING = frozenset(["infer_backend", "export_dir"])
_PARTS = ("peft_config", "dist_config", "kernel_config", "quant_config", "init_config", "optim_config")
# The second generation's words; its own arguments are no TrainingArguments (src/llamafactory/v1/config/).
_SECOND_ROWS = (
    ("model", "model.name_or_path", "text"),
    ("trust_remote_code", "model.trust_remote_code", "flag"),
    ("flash_attn", "model.attn_implementation", "text"),
    ("train_dataset", "data.dataset", "plain"),
    ("micro_batch_size", "training.per_device_train_batch_size", "plain"),
    ("global_batch_size", "training.global_batch_size", "plain"),
    ("cutoff_len", "training.max_length", "plain"),
    ("learning_rate", "training.learning_rate", "plain"),
    ("max_steps", "training.max_steps", "plain"),
    ("num_train_epochs", "training.num_train_epochs", "plain"),
    ("max_grad_norm", "training.max_grad_norm", "plain"),
    ("bf16", "training.bf16", "flag"),
    ("enable_activation_checkpointing", "training.gradient_checkpointing", "flag"),
    ("save_steps", "training.save_steps", "plain"),
    ("save_total_limit", "training.save_total_limit", "plain"),
    ("logging_steps", "training.logging_steps", "plain"),
    ("seed", "training.seed", "plain"),
    ("output_dir", "training.output_dir", "text"),
    ("pref_beta", "training.beta", "plain"),
    ("pref_loss", "training.loss_type", "plain"),
    ("dist_config.name", "training.dist_config", "plain"),
    ("dist_config.config_file", "training.deepspeed", "text"),
    ("optim_config.name", "training.optim", "plain"),
    ("optim_config.wd", "training.weight_decay", "plain"),
    ("lr_scheduler_config.name", "training.lr_scheduler_type", "plain"),
    ("peft_config.name", "training.finetuning_type", "plain"),
    ("peft_config.r", "lora.r", "plain"),
    ("peft_config.lora_alpha", "lora.lora_alpha", "plain"),
    ("peft_config.lora_dropout", "lora.lora_dropout", "plain"),
    ("peft_config.target_modules", "lora.target_modules", "targets"),
    ("peft_config.use_rslora", "lora.use_rslora", "flag"),
    ("peft_config.use_dora", "lora.use_dora", "flag"),
    ("peft_config.modules_to_save", "lora.modules_to_save", "words"),
    ("quant_config.name", "quantization.quant_method", "plain"),
)
_QUANTISED = (Row("quant_config.quantization_bit", "quantization.load_in_4bit", "is-4"),
              Row("quant_config.quantization_bit", "quantization.load_in_8bit", "is-8"))  # fmt: skip
SECOND: dict[str, Row | tuple[Row, ...]] = {
    **{key: Row(key, fact, codec) for key, fact, codec in _SECOND_ROWS},
    "quant_config.quantization_bit": _QUANTISED,
}

_TELLING = frozenset(
    [
        "finetuning_type",
        "stage",
        "template",
        "cutoff_len",
        "lora_target",
        "quantization_bit",
        "dataset_dir",
        "val_size",
        "flash_attn",
        "neat_packing",
        "lora_rank",
        "additional_target",
        "pref_beta",
        "pref_loss",
        "infer_backend",
        "export_dir",
        "adapter_name_or_path",
        "overwrite_cache",
    ]
)


_STAGES = frozenset(["pt", "sft", "rm", "ppo", "dpo", "kto"])  # 0.9.5 hparams/finetuning_args.py


def recognise(keys: frozenset[str], block: Block) -> int:
    found = keys & _TELLING
    strong = keys & {"finetuning_type", "stage", "template", "cutoff_len", "lora_target", "quantization_bit"}
    model = keys & {"model_name_or_path", "adapter_name_or_path"}
    stage = block.mapping.get("stage")
    its_own = not isinstance(stage, Scalar) or type(stage.value) is not str or stage.value in _STAGES
    if len(strong) >= 2 and (model or (its_own and len(found) >= 3)):
        return 94
    return 93 if (model and "template" in keys and keys & _NO_TRAINING) or _is_second(keys, block) else 0


def _is_second(keys: frozenset[str], block: Block) -> bool:
    """The second generation of its files: `model`, and parts that are named by `name`."""
    parts = [
        part
        for part in _PARTS
        if isinstance(inner := block.mapping.get(part), Mapping) and inner.get("name") is not None
    ]
    return (
        "model" in keys
        and bool(parts)
        and (len(parts) >= 2 or bool(keys & {"model_class", "train_dataset", "sample_backend"}) or len(keys) <= 3)
    )


def lower(block: Block, layer: str = "file", command: str = "") -> Fragment:
    keys = frozenset(entry.key for entry in block.mapping.entries)
    if block.kind == "document" and _is_second(keys, block):
        return _second(block, layer)
    if block.kind == "flags" and (command := _command(block)) in _STAGE_OF:
        said = _named(block, command, layer)
        return Fragment("llamafactory", block, layer, (said,), {}, {}, (), entry=True, framework="llamafactory-v1")
    if block.kind == "flags" and not block.mapping.entries:  # the file says of which generation it is
        return Fragment("llamafactory", block, layer, (), {}, {}, (), entry=True)
    if block.kind == "flags":  # keys of a file are compared whole (0.9.5 hparams/parser.py, parse_dict)
        block = in_full(block, ROWS, ("llamafactory.train", "llamafactory.infer"))
    statements = tuple(lower_mapping(block, ROWS, layer, huggingface.training_row, flags=block.kind == "flags"))
    sets, tables = _rows(block, statements)
    no_training = bool(keys & _NO_TRAINING) and "stage" not in keys
    state = OPEN if block.mapping.open or no_training else CLOSED
    return Fragment(
        "llamafactory", block, layer, (*statements, *sets),
        dict.fromkeys(("training", "lora", "quantization", "model", "fsdp"), state)
        | {"data": OPEN if block.mapping.open else CLOSED, "trainer": CLOSED, "tokenizer": OPEN},
        {"training": (huggingface.BASE,), **_switched_on(statements)}, (*huggingface.links(statements), *tables), entry=True,
        framework="llamafactory",
    )  # fmt: skip


def _rows(block: Block, statements: tuple[Statement, ...]) -> tuple[tuple[Statement, ...], tuple[Link, ...]]:
    """The sets that are trained on, and the table that says what they are."""
    if not any(one.fact == "data.dataset" for one in statements):
        return (), ()
    return llamafactory_data.used(block, statements)


# Commands of the second generation's command line (src/llamafactory/v1/launcher.py).
_STAGE_OF = {"sft": "sft", "dpo": "dpo", "rm": "rm"}


def _command(block: Block) -> str:
    return (*block.name.split(), "", "")[1]


def _named(block: Block, command: str, layer: str) -> Statement:
    place = Place(block.document, command, block.start, block.end, None, (command,))
    return Statement("training.stage", _STAGE_OF[command], command, Explicit(place, layer, block.number))


def _switched_on(statements: tuple[Statement, ...]) -> dict[str, tuple[str, ...]]:
    """The config classes that it builds: of PEFT unless the run is a full one, of bitsandbytes where bits are named."""
    said = {one.fact: one.value for one in statements}
    classes: dict[str, tuple[str, ...]] = {}
    if said.get("training.finetuning_type", "lora") == "lora":
        classes["lora"] = ("peft.LoraConfig",)
    if said.get("quantization.load_in_4bit") is True or said.get("quantization.load_in_8bit") is True:
        classes["quantization"] = ("transformers.BitsAndBytesConfig",)
    return classes


def _second(block: Block, layer: str) -> Fragment:
    statements = tuple(lower_mapping(block, SECOND, layer, lambda key: None))
    said = {one.fact: one.value for one in statements}
    state = OPEN if block.mapping.open or said.get("training.learning_rate") is None else CLOSED
    classes: dict[str, tuple[str, ...]] = (
        {"lora": ("peft.LoraConfig",)} if said.get("training.finetuning_type") == "lora" else {}
    )
    return Fragment(
        "llamafactory", block, layer, statements,
        dict.fromkeys(("training", "lora", "quantization", "model"), state) | dict.fromkeys(("data", "fsdp", "trainer", "tokenizer"), OPEN),
        classes, huggingface.links(statements), entry=True, framework="llamafactory-v1",
    )  # fmt: skip
