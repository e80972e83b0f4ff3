"""Closed lists of errors against the words that each release's own code takes (knowledge/words.json, tools/read_words.py).

An error that says "none of the values" is wrong as soon as one release takes the value: for every release whose words were read, each of them must be
left in peace, and a word of nobody must still be told.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runs import inspected
from tests.sampling import sampled

WORDS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "knowledge" / "words.json").read_text(encoding="utf-8")
)
TRL = 'from trl import {0}Config, {0}Trainer\n\nargs = {0}Config(output_dir="out", {1}=WORD)\ntrainer = {0}Trainer(model="m", args=args, train_dataset=rows)\n'
PEFT = 'from peft import {0}\n\nconfig = {0}(target_modules=["q_proj"], {1}=WORD)\n'
ARGUMENTS = 'from transformers import TrainingArguments\n\nargs = TrainingArguments(output_dir="out", {0}=WORD)\n'
QUANTISED = "from transformers import {0}\n\nbits = {0}({1}=WORD)\n"
ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: {0}\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 2\n{1}"
FSDP = ACCELERATE.format(
    "FSDP", "fsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_auto_wrap_policy: NO_WRAP\n"
)

PARALLEL = ACCELERATE.format("FSDP", "use_parallelism_config: true\nparallelism_config:\n  parallelism_config_{0}\n")


def of_fsdp(key: str) -> str:
    kept = [line for line in FSDP.splitlines() if f"fsdp_{key}:" not in line]
    return "\n".join([*kept, f"  fsdp_{key}: WORD", ""])


# list → the hazard that holds it, and a text in which WORD stands for a word
CASES: dict[str, tuple[str, str]] = {
    "DPOConfig.loss_type": ("preference-loss-unknown", TRL.format("DPO", "loss_type")),
    "GRPOConfig.loss_type": ("preference-loss-unknown", TRL.format("GRPO", "loss_type")),
    "CPOConfig.loss_type": ("preference-loss-unknown", TRL.format("CPO", "loss_type")),
    "SFTConfig.loss_type": ("sft-loss-unknown", TRL.format("SFT", "loss_type")),
    "LoraConfig.bias": ("lora-bias-unknown", PEFT.format("LoraConfig", "bias")),
    "LoraConfig.init_lora_weights": ("lora-init-unknown", PEFT.format("LoraConfig", "init_lora_weights")),
    "GloraConfig.config_A_B": ("adapter-word-unknown", PEFT.format("GloraConfig", "config_A_B")),
    "PromptEncoderConfig.encoder_reparameterization_type": (
        "adapter-word-unknown",
        'from peft import PromptEncoderConfig\n\nconfig = PromptEncoderConfig(task_type="CAUSAL_LM", encoder_reparameterization_type=WORD)\n',
    ),
    "C3AConfig.init_weights": ("adapter-word-unknown", PEFT.format("C3AConfig", "init_weights")),
    "RoadConfig.variant": ("road-shape", PEFT.format("RoadConfig", "variant")),
    "accelerate.distributed_type": ("accelerate-mode-unknown", ACCELERATE.format("WORD", "")),
    "accelerate.compute_environment": (
        "accelerate-mode-unknown",
        ACCELERATE.format("MULTI_GPU", "").replace("LOCAL_MACHINE", "WORD"),
    ),
    "accelerate.dynamo_backend": (
        "accelerate-mode-unknown",
        ACCELERATE.format("MULTI_GPU", "dynamo_config:\n  dynamo_backend: WORD\n"),
    ),
    "accelerate.fsdp_sharding_strategy": ("fsdp-name-unknown", of_fsdp("sharding_strategy")),
    "accelerate.fsdp_backward_prefetch": ("fsdp-name-unknown", of_fsdp("backward_prefetch")),
    "accelerate.fsdp_state_dict_type": ("fsdp-name-unknown", of_fsdp("state_dict_type")),
    "accelerate.mixed_precision": (
        "accelerate-precision-unknown",
        ACCELERATE.format("MULTI_GPU", "").replace("bf16", "WORD"),
    ),
    "BitsAndBytesConfig.bnb_4bit_quant_type": (
        "bnb-quant-type-unknown",
        QUANTISED.format("BitsAndBytesConfig", "load_in_4bit=True, bnb_4bit_quant_type"),
    ),
    "QuantoConfig.weights": ("quanto-value-refused", QUANTISED.format("QuantoConfig", "weights")),
    "QuantoConfig.activations": ("quanto-value-refused", QUANTISED.format("QuantoConfig", "activations")),
    "FineGrainedFP8Config.activation_scheme": (
        "fp8-value-refused",
        QUANTISED.format("FineGrainedFP8Config", "activation_scheme"),
    ),
    "SchedulerType": ("optimizer-or-scheduler-unknown", ARGUMENTS.format("lr_scheduler_type")),
    "OptimizerNames": ("optimizer-or-scheduler-unknown", ARGUMENTS.format("optim")),
    "AwqConfig.format": ("awq-value-refused", QUANTISED.format("AwqConfig", "format")),
    "AwqConfig.backend": ("awq-value-refused", QUANTISED.format("AwqConfig", "backend")),
    "FPQuantConfig.transform_init": ("fp-quant-value-refused", QUANTISED.format("FPQuantConfig", "transform_init")),
    "FPQuantConfig.forward_method": (
        "fp-quant-value-refused",
        QUANTISED.format("FPQuantConfig", 'forward_dtype="mxfp4", forward_method'),
    ),
    "accelerate.cp_comm_strategy": (
        "parallelism-config-refused",
        PARALLEL.format("cp_size: 2") + "  parallelism_config_cp_comm_strategy: WORD\n",
    ),
    "accelerate.sp_attn_implementation": (
        "sequence-parallel-attention",
        PARALLEL.format("sp_size: 2") + "  parallelism_config_sp_attn_implementation: WORD\n",
    ),
    "OffloadDeviceEnum": (
        "deepspeed-offload-device",
        '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3, "offload_param": {"device": WORD}}}\n',
    ),
}
# Held by the fields of the release tables, which name the same values, or by no error at all.
ELSEWHERE = {"report_to", "accelerate.fsdp_auto_wrap_policy"}


def drawn(folder: Path, name: str, word: str, release: str) -> bool:
    rule, text = CASES[name]
    file = "train.py" if "import" in text else "ds.json" if text.startswith("{") else "accelerate.yaml"
    written = json.dumps(word) if file != "accelerate.yaml" else f"'{word}'"
    stated = [f"{WORDS[name]['library']}=={release}"] if release else []
    found = inspected(folder, {file: text.replace("WORD", written)}, releases=stated)
    return any(one.rule == rule for one in found.report.diagnostics)


def test_every_list_that_was_read_holds_a_hazard() -> None:
    assert WORDS.keys() == CASES.keys() | ELSEWHERE


@pytest.mark.parametrize("name", sampled(CASES, 18))
def test_no_word_that_a_release_takes_is_refused(name: str, tmp_path: Path) -> None:
    refused = [
        (word, release)
        for span in WORDS[name]["spans"]
        for release in dict.fromkeys([span["since"], span.get("last", "")])
        for word in span["words"]
        if word.isidentifier() and drawn(tmp_path, name, word, release)
    ]
    assert not refused


@pytest.mark.parametrize("name", CASES)
def test_a_word_of_nobody_is_told(name: str, tmp_path: Path) -> None:
    newest = WORDS[name]["spans"][-1]
    assert drawn(tmp_path, name, "no_such_word", newest["since"] if "last" in newest else "")
