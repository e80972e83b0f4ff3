"""Argument sets for the config classes: valid ones, broken ones, and those near the edges, drawn from what the class itself says of its fields."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

Given = dict[str, Any]


class Subject(NamedTuple):
    """A constructor to be asked, and the smallest set of arguments that it takes."""

    kind: str
    base: Given
    left_out: frozenset[str] = frozenset()
    seldom: bool = False  # only in the long run


# These reach out of the constructor: the Hub, files, launchers, other packages, objects that no file can hold.
_OUTSIDE = frozenset(
    [
        "hub_always_push",
        "hub_model_id",
        "hub_private_repo",
        "hub_revision",
        "hub_strategy",
        "hub_token",
        "push_to_hub",
        "output_dir",
        "run_name",
        "deepspeed",
        "logging_dir",
        "resume_from_checkpoint",
        "local_rank",
        "ddp_backend",
        "ddp_timeout",
        "ddp_broadcast_buffers",
        "parallelism_config",
        "trackio_space_id",
        "trackio_bucket_id",
        "trackio_static_space_id",
        "project",
        "use_cpu",
        "report_to",
        "accelerator_config",
        "distributed_config",
        "peft_version",
        "auto_mapping",
        "revision",
        "inference_mode",
        "runtime_config",
        "base_model_name_or_path",
        "peft_type",
        "megatron_config",
        "megatron_core",
        "layer_replication",
        "use_bdlora",
        "lora_ga_config",
        "monteclora_config",
        "arrow_config",
        "velora_config",
        "kasa_config",
        "eva_config",
        "corda_config",
        "loftq_config",
        "init_lora_weights",
        "task_type",
        "torch_compile_backend",
        "data_seed",
        "eval_use_gather_object",
        "backend",
        "max_memory",
        "tokenizer",
        "model",
        "hqq_config",
        "exllama_config",
        "modules_in_block_to_quantize",
        "jit_mode_eval",
        "log_completions_hub_repo",
    ]
)
_SUBJECTS = (
    Subject("transformers.TrainingArguments", {"output_dir": "out"}),
    Subject("trl.SFTConfig", {"output_dir": "out"}),
    Subject("trl.DPOConfig", {"output_dir": "out"}),
    Subject("trl.KTOConfig", {"output_dir": "out"}),
    Subject("trl.RewardConfig", {"output_dir": "out"}),
    Subject("trl.GRPOConfig", {"output_dir": "out"}),
    Subject("trl.RLOOConfig", {"output_dir": "out"}),
    Subject("peft.LoraConfig", {"target_modules": ["q_proj", "v_proj"]}),
    Subject("peft.AdaLoraConfig", {"target_modules": ["q_proj"], "total_step": 1000, "tinit": 100, "tfinal": 200}),
    Subject("peft.LoHaConfig", {"target_modules": ["q_proj"]}),
    Subject("peft.LoKrConfig", {"target_modules": ["q_proj"]}),
    Subject("peft.OFTConfig", {"target_modules": ["q_proj"], "r": 0, "oft_block_size": 4}),
    Subject("peft.BOFTConfig", {"target_modules": ["q_proj"]}),
    Subject("peft.VeraConfig", {"target_modules": ["q_proj"]}),
    Subject("peft.RoadConfig", {"target_modules": ["q_proj"], "group_size": 4}),
    Subject("peft.FourierFTConfig", {"target_modules": ["q_proj"], "n_frequency": 8}),
    Subject("peft.HRAConfig", {"target_modules": ["q_proj"]}),
    Subject("peft.VBLoRAConfig", {"target_modules": ["q_proj"], "vector_length": 8}),
    Subject("peft.IA3Config", {"target_modules": ["q_proj", "down_proj"], "feedforward_modules": ["down_proj"]}),
    Subject("peft.DeloraConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.GloraConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.LilyConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.PeanutConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.PsoftConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.SupertuningConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.TinyLoraConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.WaveFTConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.RandLoraConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.GraloraConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.MissConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.PveraConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.FrodConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.HiraConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.DeftConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.C3AConfig", {"target_modules": ["q_proj"], "block_size": 16}, seldom=True),
    Subject("peft.PolyConfig", {"target_modules": ["q_proj"]}, seldom=True),
    Subject("peft.PrefixTuningConfig", {"task_type": "CAUSAL_LM", "num_virtual_tokens": 4}, seldom=True),
    Subject("peft.CartridgeConfig", {"task_type": "CAUSAL_LM", "num_virtual_tokens": 4}, seldom=True),
    Subject("trl.DistillationConfig", {"output_dir": "out"}, seldom=True),
    Subject("transformers.BitsAndBytesConfig", {"load_in_4bit": True}),
    Subject("transformers.GPTQConfig", {"bits": 4}),
    Subject("transformers.AwqConfig", {}),
    Subject("transformers.QuantoConfig", {"weights": "int8"}),
    Subject("transformers.AqlmConfig", {"in_group_size": 8}),
    Subject("transformers.HiggsConfig", {"bits": 4}),
    Subject("transformers.FineGrainedFP8Config", {"activation_scheme": "dynamic"}),
    Subject("transformers.SpQRConfig", {"bits": 3}),
    Subject("transformers.FPQuantConfig", {"forward_dtype": "nvfp4"}),
    Subject("transformers.AutoRoundConfig", {"bits": 4}),
    Subject("deepspeed", {"train_batch_size": 8}),
    Subject(
        "trainer+deepspeed",
        {"deepspeed": {"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}},
    ),
)
SUBJECTS = {one.kind: one for one in _SUBJECTS}

# Read by hand in DeepSpeed's configuration, so that no class tells of them.
_DEEPSPEED: dict[str, list[Any]] = {
    "train_micro_batch_size_per_gpu": [1, 2, 8, 0, -1, "4", 2.0],
    "gradient_accumulation_steps": [1, 2, 4, 0],
    "train_batch_size": [8, 16, 1, 0, -8, "8"],
    "gradient_clipping": [1.0, 0, 0.5, "auto"],
    "communication_data_type": ["fp16", "bf16", "fp32", "bfp16", "float16", "auto", None],
    "gradient_allreduce_op": ["mean", "sum", "max", "SUM"],
    "prescale_gradients": [True, False],
    "steps_per_print": [10, 2000, 0],
    "data_types.grad_accum_dtype": ["fp32", "bf16", "fp16", None, "float32", "fp8"],
    "checkpoint.tag_validation": ["Warn", "ignore", "FAIL", "loud"],
    "torch_autocast.enabled": [True, False],
    "torch_autocast.dtype": ["bfloat16", "float16", "bf16", "fp64", "half"],
    "nebula": [{"enabled": False}],
    "elasticity": [{"enabled": False}],
    "amp": [{"enabled": False}],
    "sparse_gradients": [False, True],
    "compression_training": [{}],
    "progressive_layer_drop": [{"enabled": True}],
    "optimizer": [{"type": "AdamW", "params": {"lr": 1e-4}}, {"type": "Adam", "params": {"lr": 1e-4, "max_grad_norm": 1.0}}, {"type": "SGD"}],
    "scheduler": [{"type": "WarmupLR", "params": {"warmup_num_steps": 10}}],
    "zero_allow_untested_optimizer": [True, False],
    "wall_clock_breakdown": [True],
    "gradient_cliping": [1.0],
}  # fmt: skip
# What transformers compares: the trainer's side and DeepSpeed's.
_BOTH: dict[str, list[Any]] = {
    "per_device_train_batch_size": [1, 2, 8],
    "gradient_accumulation_steps": [1, 2, 4],
    "learning_rate": [1e-4, 5e-5],
    "weight_decay": [0.0, 0.1],
    "adam_beta2": [0.999, 0.95],
    "adam_epsilon": [1e-8, 1e-6],
    "max_grad_norm": [1.0, 0.3],
    "warmup_steps": [0, 10],
    "bf16": [True, False],
    "fp16": [True, False],
    "max_steps": [100, 50],
    "deepspeed.train_batch_size": ["auto", 1, 8, 16],
    "deepspeed.train_micro_batch_size_per_gpu": ["auto", 1, 2, 8],
    "deepspeed.gradient_accumulation_steps": ["auto", 1, 2],
    "deepspeed.gradient_clipping": ["auto", 1.0, 0.3, 0.5],
    "deepspeed.bf16.enabled": ["auto", True, False],
    "deepspeed.fp16.enabled": ["auto", True, False],
    "deepspeed.optimizer": [
        {"type": "AdamW", "params": params}
        for params in (
            {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"},
            {"lr": 1e-4}, {"lr": 5e-5}, {"weight_decay": 0.1}, {"betas": [0.9, 0.95]}, {"betas": [0.9, 0.999]}, {"eps": 1e-6},
        )
    ],
    "deepspeed.scheduler": [
        {"type": "WarmupDecayLR", "params": params}
        for params in (
            {"warmup_max_lr": "auto", "warmup_num_steps": "auto", "total_num_steps": "auto"},
            {"warmup_max_lr": 1e-4, "warmup_num_steps": "auto", "total_num_steps": "auto"},
            {"warmup_num_steps": 10, "total_num_steps": 100},
        )
    ],
    "deepspeed.zero_optimization.stage": [0, 1, 2, 3, "auto", "2"],
    "deepspeed.zero_optimization.reduce_bucket_size": ["auto", 1000000],
    "deepspeed.zero_optimization.stage3_prefetch_bucket_size": ["auto", 1000000],
}  # fmt: skip


def values(kind: str, name: str, field: Given) -> list[Any]:
    """Values for a field by its annotation: right ones, edges, and a few of another type."""
    written, default = str(field.get("type", "")), field.get("default")
    found: list[Any] = [] if default is None else [default]
    if "bool" in written or isinstance(default, bool):
        found += [True, False, True, False]
    if "int" in written or (isinstance(default, int) and not isinstance(default, bool)):
        found += [0, 1, 2, 4, 8, -1]
    if "float" in written or isinstance(default, float):
        found += [0.0, 0.1, 0.5, 1.0, 1.5, -0.5]
    if "str" in written or isinstance(default, str):
        found += [default or "x", "nonsense"]
    if "list" in written.lower():
        found += [["q_proj"], []] if kind.startswith("peft.") else [["a", "b"]]
    if "dict" in written.lower():
        found += [{}]
    if "None" in written or "Optional" in written:
        found += [None]
    return found or [True, 1, "x"]


_FOREIGN: tuple[Any, ...] = ("true", "1e-4", "4", 1, 0.5, [1], None)


def _value(draw: Any, kind: str, name: str, field: Given, constants: list[Any]) -> Any:
    near = [c for c in constants if isinstance(c, str)]
    for number in constants:
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            near += [number, number + 1, number - 1]
    pool = values(kind, name, field)
    choice = draw(st.integers(0, 99))
    if near and choice < 35:
        return draw(st.sampled_from(near))
    if choice >= 92:
        return draw(st.sampled_from(_FOREIGN))
    return draw(st.sampled_from(pool))


@st.composite
def arguments(draw: Any, subject: Subject, description: Given) -> Given:
    """The smallest set with one field changed, two, or those that one check reads together."""
    if subject.kind == "trainer+deepspeed":
        return _nested(
            subject.base, {name: draw(st.sampled_from(_BOTH[name])) for name in _some(draw, sorted(_BOTH), 4)}
        )
    if subject.kind == "deepspeed":
        fields, groups = description["fields"], []
    else:
        fields = {n: f for n, f in description["fields"].items() if n not in _OUTSIDE | subject.left_out}
        groups = [g for g in description["groups"] if set(g["fields"]) & set(fields)]
    changed: Given = {}
    if groups and draw(st.integers(0, 99)) < 65:
        group = draw(st.sampled_from(groups))
        for name in group["fields"]:
            if name in fields:
                changed[name] = _value(draw, subject.kind, name, fields[name], group["constants"])
        if draw(st.booleans()):
            return subject.base | changed
    names = sorted(fields) + (sorted(_DEEPSPEED) if subject.kind == "deepspeed" else [])
    for name in _some(draw, names, 3):
        if name in _DEEPSPEED and subject.kind == "deepspeed":
            changed[name] = draw(st.sampled_from(_DEEPSPEED[name]))
        else:
            changed[name] = _value(draw, subject.kind, name, fields[name], [])
    return _nested(subject.base, changed) if subject.kind == "deepspeed" else subject.base | changed


def _some(draw: Any, names: list[str], most: int) -> list[str]:
    return draw(st.lists(st.sampled_from(names), min_size=1, max_size=most, unique=True))


def _nested(base: Given, changed: Given) -> Given:
    """Dotted names as nested mappings; a plain value in the way of a nested one gives way."""
    import copy

    made = copy.deepcopy(base)
    for name in sorted(changed, key=lambda n: n.count(".")):
        *above, last = name.split(".")
        at = made
        for key in above:
            if not isinstance(at.get(key), dict):
                at[key] = {}
            at = at[key]
        at[last] = copy.deepcopy(changed[name])
    return made
