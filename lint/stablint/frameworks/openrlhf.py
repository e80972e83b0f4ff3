"""OpenRLHF: flags of `openrlhf.cli.train_sft` and its siblings, dotted (from 0.10.2 on) and flat. Its trainer is DeepSpeed throughout.

It reads no TrainingArguments: what its own flags do not say is its own default (knowledge/frameworks).
"""

from __future__ import annotations

from stablint.frameworks import huggingface
from stablint.frameworks.fragment import Block, Fragment, Row, Rows, lower_mapping
from stablint.run.fact import CLOSED, OPEN, PRESUMED, Explicit, Place, Statement
from stablint.syntax.tree import Command, Unknown

_DOTTED = (
    ("model.model_name_or_path", "model.name_or_path", "text"),
    ("actor.model_name_or_path", "model.name_or_path", "text"),
    ("ds.attn_implementation", "model.attn_implementation", "text"),
    ("ds.param_dtype", "model.dtype", "dtype"),
    ("ds.zero_stage", "deepspeed.zero_optimization.stage", "plain"),
    ("ds.adam_offload", "deepspeed.zero_optimization.offload_optimizer.device", "offload"),
    ("ds.zpg", "deepspeed.zero_optimization.zero_hpz_partition_size", "plain"),
    ("ds.overlap_comm", "deepspeed.zero_optimization.overlap_comm", "flag"),
    ("ds.grad_accum_dtype", "deepspeed.data_types.grad_accum_dtype", "plain"),
    ("ds.deepcompile", "deepspeed.compile.deepcompile", "flag"),
    ("ds.tensor_parallel_size", "deepspeed.tensor_parallel.autotp_size", "plain"),
    ("ds.use_liger_kernel", "training.use_liger_kernel", "flag"),
    ("ds.packing_samples", "training.packing", "flag"),
    ("ds.load_in_4bit", "quantization.load_in_4bit", "flag"),
    ("ds.lora.rank", "lora.r", "plain"),
    ("ds.lora.alpha", "lora.lora_alpha", "plain"),
    ("ds.lora.dropout", "lora.lora_dropout", "plain"),
    ("ds.lora.target_modules", "lora.target_modules", "words"),
    ("train.micro_batch_size", "training.per_device_train_batch_size", "plain"),
    ("train.batch_size", "training.global_batch_size", "plain"),
    ("train.max_epochs", "training.num_train_epochs", "plain"),
    ("train.num_episodes", "training.num_episodes", "plain"),
    ("train.seed", "training.seed", "plain"),
    ("train.full_determinism_enable", "training.full_determinism", "flag"),
    ("adam.lr", "training.learning_rate", "plain"),
    ("actor.adam.lr", "training.learning_rate", "plain"),
    ("adam.eps", "training.adam_epsilon", "plain"),
    ("actor.adam.eps", "training.adam_epsilon", "plain"),
    ("adam.weight_decay", "training.weight_decay", "plain"),
    ("actor.adam.weight_decay", "training.weight_decay", "plain"),
    ("actor.max_norm", "training.max_grad_norm", "plain"),
    ("actor.lr_scheduler", "training.lr_scheduler_type", "plain"),
    ("actor.lr_warmup_ratio", "training.warmup_ratio", "plain"),
    ("min_lr_ratio", "training.lr_scheduler_kwargs.min_lr_rate", "plain"),
    ("actor.min_lr_ratio", "training.lr_scheduler_kwargs.min_lr_rate", "plain"),
    ("model.pretrain_mode_enable", "training.pretrain_mode", "flag"),
    ("model.gradient_checkpointing_enable", "training.gradient_checkpointing", "flag"),
    ("actor.gradient_checkpointing_enable", "training.gradient_checkpointing", "flag"),
    ("model.gradient_checkpointing_reentrant", "training.gradient_checkpointing_kwargs.use_reentrant", "flag"),
    ("actor.gradient_checkpointing_reentrant", "training.gradient_checkpointing_kwargs.use_reentrant", "flag"),
    ("model.beta", "training.beta", "plain"),
    ("data.max_len", "training.max_length", "plain"),
    ("data.dataset", "data.dataset", "words"),
    ("data.prompt_dataset", "data.dataset", "words"),
    ("eval.dataset", "data.eval_dataset", "words"),
    ("eval.steps", "training.eval_steps", "plain"),
    ("ckpt.output_dir", "training.output_dir", "text"),
    ("ckpt.save_steps", "training.save_steps", "plain"),
    ("ckpt.max_num", "training.save_total_limit", "plain"),
    ("logger.logging_steps", "training.logging_steps", "plain"),
    ("rollout.n_samples_per_prompt", "training.num_generations", "plain"),
    ("rollout.temperature", "training.temperature", "plain"),
    ("algo.kl.init_coef", "training.kl_coef", "plain"),
    ("algo.advantage.estimator", "training.advantage_estimator", "plain"),
    ("algo.advantage.is_correction_threshold", "training.is_correction_threshold", "plain"),
    ("actor.num_nodes", "launch.nodes", "plain"),
    ("actor.num_gpus_per_node", "launch.processes_per_node", "plain"),
    ("vllm.num_engines", "training.vllm_num_engines", "plain"),
    ("vllm.tensor_parallel_size", "training.vllm_tensor_parallel_size", "plain"),
)  # fmt: skip
# What the entry points hold against other flags, flat and dotted (openrlhf 0.9.0 and 0.11.2 cli/train_*.py). The facts have the flat names.
_CHECKED = (
    ("colocate_all_models", "train.colocate_all", "flag"), ("async_train", "train.async_enable", "flag"),
    ("partial_rollout", "train.partial_rollout_enable", "flag"), ("agent_func_path", "train.agent_func_path", "text"),
    ("colocate_critic_reward", "train.colocate_critic_reward", "flag"), ("remote_rm_url", "reward.remote_url", "text"),
    ("ref_num_nodes", "ref.num_nodes", "plain"), ("ref_num_gpus_per_node", "ref.num_gpus_per_node", "plain"),
    ("critic_num_nodes", "critic.num_nodes", "plain"), ("critic_num_gpus_per_node", "critic.num_gpus_per_node", "plain"),
    ("reward_num_nodes", "reward.num_nodes", "plain"), ("reward_num_gpus_per_node", "reward.num_gpus_per_node", "plain"),
    ("dynamic_filtering", "algo.dynamic_filtering_enable", "flag"), ("ring_attn_size", "ds.ring_attn_size", "plain"),
    ("multiturn", "data.multiturn", "flag"), ("apply_chat_template", "data.apply_chat_template", "flag"),
    ("tokenizer_chat_template", "data.tokenizer_chat_template", "text"),
    ("max_images_per_prompt", "data.max_images_per_prompt", "plain"), ("rollout_batch_size", "rollout.batch_size", "plain"),
    ("micro_rollout_batch_size", "rollout.micro_batch_size", "plain"),
    ("vllm_generate_batch_size", "rollout.vllm_generate_batch_size", "plain"), ("use_kl_loss", "algo.kl.use_loss", "flag"),
    ("kl_estimator", "algo.kl.estimator", "plain"), ("kl_unbiased_gradient", "algo.kl.unbiased_gradient", "flag"),
)  # fmt: skip
_FLAT = (
    ("pretrain", "model.name_or_path", "text"),
    ("attn_implementation", "model.attn_implementation", "text"),
    ("flash_attn", "model.attn_implementation", "flash"),
    ("param_dtype", "model.dtype", "dtype"),
    ("zero_stage", "deepspeed.zero_optimization.stage", "plain"),
    ("bf16", "deepspeed.bf16.enabled", "flag"),
    ("adam_offload", "deepspeed.zero_optimization.offload_optimizer.device", "offload"),
    ("zpg", "deepspeed.zero_optimization.zero_hpz_partition_size", "plain"),
    ("overlap_comm", "deepspeed.zero_optimization.overlap_comm", "flag"),
    ("grad_accum_dtype", "deepspeed.data_types.grad_accum_dtype", "plain"),
    ("deepcompile", "deepspeed.compile.deepcompile", "flag"),
    ("ds_tensor_parallel_size", "deepspeed.tensor_parallel.autotp_size", "plain"),
    ("use_liger_kernel", "training.use_liger_kernel", "flag"),
    ("packing_samples", "training.packing", "flag"),
    ("load_in_4bit", "quantization.load_in_4bit", "flag"),
    ("lora_rank", "lora.r", "plain"),
    ("lora_alpha", "lora.lora_alpha", "plain"),
    ("lora_dropout", "lora.lora_dropout", "plain"),
    ("target_modules", "lora.target_modules", "words"),
    ("micro_train_batch_size", "training.per_device_train_batch_size", "plain"),
    ("train_batch_size", "training.global_batch_size", "plain"),
    ("max_epochs", "training.num_train_epochs", "plain"),
    ("num_episodes", "training.num_episodes", "plain"),
    ("seed", "training.seed", "plain"),
    ("full_determinism", "training.full_determinism", "flag"),
    ("learning_rate", "training.learning_rate", "plain"),
    ("actor_learning_rate", "training.learning_rate", "plain"),
    ("l2", "training.weight_decay", "plain"),
    ("lr_scheduler", "training.lr_scheduler_type", "plain"),
    ("lr_warmup_ratio", "training.warmup_ratio", "plain"),
    ("pretrain_mode", "training.pretrain_mode", "flag"),
    ("max_norm", "training.max_grad_norm", "plain"),
    ("gradient_checkpointing", "training.gradient_checkpointing", "flag"),
    ("gradient_checkpointing_use_reentrant", "training.gradient_checkpointing_kwargs.use_reentrant", "flag"),
    ("beta", "training.beta", "plain"),
    ("max_len", "training.max_length", "plain"),
    ("prompt_max_len", "training.prompt_max_len", "plain"),
    ("generate_max_len", "training.generate_max_len", "plain"),
    ("dataset", "data.dataset", "words"),
    ("prompt_data", "data.dataset", "words"),
    ("eval_steps", "training.eval_steps", "plain"),
    ("save_path", "training.output_dir", "text"),
    ("save_steps", "training.save_steps", "plain"),
    ("max_ckpt_num", "training.save_total_limit", "plain"),
    ("logging_steps", "training.logging_steps", "plain"),
    ("n_samples_per_prompt", "training.num_generations", "plain"),
    ("temperature", "training.temperature", "plain"),
    ("init_kl_coef", "training.kl_coef", "plain"),
    ("advantage_estimator", "training.advantage_estimator", "plain"),
    ("actor_num_nodes", "launch.nodes", "plain"),
    ("actor_num_gpus_per_node", "launch.processes_per_node", "plain"),
    ("vllm_num_engines", "training.vllm_num_engines", "plain"),
    ("vllm_tensor_parallel_size", "training.vllm_tensor_parallel_size", "plain"),
    ("vllm_enable_sleep", "training.vllm_enable_sleep_mode", "flag"),
    ("eval_dataset", "data.eval_dataset", "words"),
    *((key, f"training.{key}", codec) for key, _, codec in _CHECKED),
)  # fmt: skip


def _betas(key: str) -> tuple[Row, Row]:
    return Row(key, "training.adam_beta1", "first"), Row(key, "training.adam_beta2", "second")


def _format(key: str) -> tuple[Row, ...]:
    """DeepSpeed gets one of its two blocks; the weights are loaded in the same format, masters stay float32."""
    return (
        Row(key, "deepspeed.bf16.enabled", "is-bf16"),
        Row(key, "deepspeed.fp16.enabled", "is-fp16"),
        Row(key, "model.dtype", "dtype"),
    )


def _range(key: str) -> tuple[Row, Row]:
    return Row(key, "training.dynamic_filtering_reward_low", "first"), Row(
        key, "training.dynamic_filtering_reward_high", "second"
    )


DOTTED: dict[str, Row | tuple[Row, ...]] = {
    **{key: Row(key, fact, codec) for key, fact, codec in _DOTTED},
    **{key: Row(key, f"training.{fact}", codec) for fact, key, codec in _CHECKED},
    "vllm.enable_sleep": Row("vllm.enable_sleep", "training.vllm_enable_sleep_mode", "flag"),
    "algo.dynamic_filtering_range": _range("algo.dynamic_filtering_range"),
    "ds.param_dtype": _format("ds.param_dtype"),
    "adam.betas": _betas("adam.betas"),
    "actor.adam.betas": _betas("actor.adam.betas"),
}
FLAT: dict[str, Row | tuple[Row, ...]] = {
    **{key: Row(key, fact, codec) for key, fact, codec in _FLAT},
    "param_dtype": _format("param_dtype"),
    "adam_betas": _betas("adam_betas"),
    "dynamic_filtering_reward_range": _range("dynamic_filtering_reward_range"),
}
ROWS: dict[str, Row | tuple[Row, ...]] = {**FLAT, **DOTTED}

_MODULE = "openrlhf.cli.train_"
_STAGES = {
    "sft": "sft",
    "dpo": "dpo",
    "kto": "kto",
    "rm": "reward",
    "prm": "prm",
    "kd": "distillation",
    "ppo": "ppo",
    "ppo_ray": "ppo",
}
# Flags that together no other program has.
_TELLING_DOTTED = frozenset(
    {"train.micro_batch_size", "train.batch_size", "ds.zero_stage", "ds.param_dtype", "ckpt.output_dir"}
)
_TELLING_FLAT = frozenset(
    {"micro_train_batch_size", "train_batch_size", "pretrain", "max_epochs", "zpg", "packing_samples"}
)


def module(command: Command) -> str:
    """The entry point among the words: `openrlhf.cli.train_sft`; empty where there is none."""
    words = [*command.words, *(p.value for p in command.positionals if isinstance(p.value, str))]
    return next((word for word in words if word.startswith(_MODULE)), "")


def recognise_flags(keys: frozenset[str], command: Command) -> bool:
    """Enough of the flags that only it has."""
    return len(keys & _TELLING_DOTTED) >= 2 or len(keys & _TELLING_FLAT) >= 3


def lower(block: Block, layer: str = "flags", command: str = "") -> Fragment:
    """The stage is the entry point's; flags alone do not tell it."""
    origin = block.origin
    assert isinstance(origin, Command)
    statements = tuple(lower_mapping(block, ROWS, layer, _nothing, flags=True))
    entry = module(origin)
    stage = _STAGES.get(entry.removeprefix(_MODULE), "")
    if stage == "sft" and any(s.fact == "training.pretrain_mode" and s.value is True for s in statements):
        stage = "pretrain"
    if entry:
        said = Explicit(Place(block.document, entry, block.start, block.end, None, (entry,)), layer, block.number)
        statements += (Statement("launch.command", entry.rpartition(".")[2], entry, said),)
        statements += (Statement("training.stage", stage, entry, said),) if stage else ()
    if entry.endswith("_ray") and not any(s.fact == "launch.processes_per_node" for s in statements):
        place = Place(block.document, entry, block.start, block.end, None, (entry,))
        rays = Unknown("Ray starts as many as the entry point's default says")
        statements += (Statement("launch.processes_per_node", rays, entry, Explicit(place, layer, block.number)),)
    state = OPEN if block.mapping.open else CLOSED if entry else PRESUMED
    owned = ("training", "deepspeed", "lora", "quantization", "model", "data", "fsdp")
    return Fragment(
        "openrlhf", block, layer, statements, {**dict.fromkeys(owned, state), "trainer": CLOSED, "tokenizer": OPEN},
        switched_on(statements), huggingface.links(statements), entry=True, framework="openrlhf",
    )  # fmt: skip


def rows_for(keys: frozenset[str]) -> Rows:
    """The spelling that these flags have."""
    return DOTTED if any("." in key for key in keys) else FLAT


def _nothing(key: str) -> Row | None:
    return None


def switched_on(statements: tuple[Statement, ...]) -> dict[str, tuple[str, ...]]:
    """The classes of what these flags switch on: a rank above 0 is LoRA, `load_in_4bit` is bitsandbytes."""
    stated = {s.fact: s.value for s in statements}
    rank = stated.get("lora.r", 0)
    lora = {} if rank == 0 else {"lora": ("peft.LoraConfig",)}
    return {**lora, **({"quantization": ()} if stated.get("quantization.load_in_4bit") is True else {})}
