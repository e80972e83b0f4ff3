"""The constructors that are asked, the smallest set of arguments that each takes, and the fields that a file cannot decide."""

from __future__ import annotations

from typing import Any, NamedTuple

Given = dict[str, Any]


class Subject(NamedTuple):
    """A constructor to be asked, and the smallest set of arguments that it takes."""

    kind: str
    base: Given
    left_out: frozenset[str] = frozenset()
    seldom: bool = False  # only in the long run


# These reach out of the constructor: the Hub, files, launchers, other packages, objects that no file can hold.
OUTSIDE = frozenset([
    "hub_model_id", "hub_token", "push_to_hub", "output_dir", "run_name", "deepspeed", "logging_dir",
    "resume_from_checkpoint", "local_rank", "parallelism_config", "distributed_config", "trackio_space_id",
    "trackio_bucket_id", "trackio_static_space_id", "project", "peft_version", "auto_mapping",
    "base_model_name_or_path", "peft_type", "megatron_config", "megatron_core", "use_bdlora", "lora_ga_config",
    "monteclora_config", "arrow_config", "velora_config", "kasa_config", "eva_config", "corda_config", "tokenizer",
    "model", "hqq_config", "log_completions_hub_repo", "jit_mode_eval", "ddp_backend",
    "modules_in_block_to_quantize",
])  # fmt: skip
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
    Subject("peft.WaveFTConfig", {"target_modules": ["q_proj"], "n_frequency": 100}, seldom=True),
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
    Subject(
        "accelerate+deepspeed",
        {
            "distributed_type": "DEEPSPEED",
            "mixed_precision": "bf16",
            "num_machines": 1,
            "num_processes": 2,
            "deepspeed_config": {"zero_stage": 2},
        },
    ),
    Subject(
        "accelerate+deepspeed-file",
        {
            "distributed_type": "DEEPSPEED",
            "num_machines": 1,
            "num_processes": 2,
            "deepspeed_config": {"deepspeed_config_file": "ds.json"},
            "ds": {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}},
        },
    ),
    Subject(
        "accelerate+fsdp",
        {
            "distributed_type": "FSDP",
            "mixed_precision": "bf16",
            "num_machines": 1,
            "num_processes": 2,
            "fsdp_config": {"fsdp_version": 1},
        },
    ),
)
SUBJECTS = {one.kind: one for one in _SUBJECTS}
