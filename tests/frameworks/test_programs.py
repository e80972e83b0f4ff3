"""Whose flags a command has: told by a framework's own entry point, else by flags that only that framework knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.frameworks.launch import programs
from stablint.syntax.shell.reader import document, split_launch
from stablint.syntax.tree import Script, Text
from tests.runs import runs, world

READERS = {
    "swift's command": ("swift sft --model a --dataset b", "ms-swift"),
    "swift's command for preferences": ("NPROC_PER_NODE=2 swift rlhf --rlhf_type dpo --model a --dataset b", "ms-swift"),
    "swift's command, Megatron": ("megatron sft --model a --dataset b --micro_batch_size 1", "ms-swift"),
    "swift as a module": ("torchrun --nproc_per_node 2 -m swift.cli.sft --model a", "ms-swift"),
    "swift's script of 2.x, by its flags": ("python llm_sft.py --model_type qwen-7b --sft_type lora --dataset a", "ms-swift"),
    "OpenRLHF, dotted": ("deepspeed --module openrlhf.cli.train_sft --ds.zero_stage 3", "openrlhf"),
    "OpenRLHF, flat": ("python -m openrlhf.cli.train_dpo --pretrain a --zero_stage 3", "openrlhf"),
    "OpenRLHF through Ray": ("ray job submit --address http://1:8265 -- python3 -m openrlhf.cli.train_ppo_ray --pretrain a", "openrlhf"),
    "OpenRLHF's older script, by its flags": (
        "deepspeed ./train_sft.py --pretrain a --train_batch_size 8 --micro_train_batch_size 1 --max_epochs 1",
        "openrlhf",
    ),
    "DeepSpeed-Chat": ("deepspeed main.py --data_split 2,4,4 --model_name_or_path a --zero_stage 2 --learning_rate 1e-5", "deepspeed-chat"),
    "DeepSpeed-Chat, third step": (
        "deepspeed main.py --actor_model_name_or_path a --critic_model_name_or_path b --actor_zero_stage 2",
        "deepspeed-chat",
    ),
    "LLaMA-Factory": ("llamafactory-cli train --stage sft --model_name_or_path a", "llamafactory"),
    "LLaMA-Factory's older script": ("python src/train_bash.py --stage sft --finetuning_type lora --model_name_or_path a", "llamafactory"),
    "TRL": ("trl sft --model_name_or_path a --dataset_name b", "trl"),
    "somebody's script": ("torchrun train.py --learning_rate 1e-5 --bf16 True --output_dir out", None),
    "accelerate's own stage flag": ("accelerate launch --zero_stage 3 train.py --learning_rate 1e-5 --output_dir o", None),
    "swift, but nothing is trained": ("swift infer --adapters out --stream true", None),
    "swift, a server": ("swift deploy --model a --port 8000", None),
    "another swift": ("swift build -c release", None),
    "one word in common": ("python sweep.py --zero_stage 2 --seed 1", None),
}  # fmt: skip


@pytest.mark.parametrize(("command", "dialect"), READERS.values(), ids=READERS)
def test_a_command_tells_its_reader(command: str, dialect: str | None) -> None:
    script = document(Text("run.sh", "run.sh", command + "\n")).root
    assert isinstance(script, Script)
    program = programs.of(*split_launch(script.commands[-1]))
    assert (program.dialect if program else None) == dialect


DOTTED = (
    "deepspeed --module openrlhf.cli.train_sft --model.model_name_or_path meta-llama/Meta-Llama-3-8B --train.batch_size 256 "
    "--train.micro_batch_size 2 --ds.zero_stage 3 --ds.param_dtype bf16 --ds.adam_offload --adam.lr 5e-6 --adam.betas 0.9 0.98 "
    "--data.max_len 4096 --train.max_epochs 1 --model.gradient_checkpointing_enable --ds.packing_samples --ds.lora.rank 64 --ds.lora.alpha 32\n"
)
FLAT = (
    "deepspeed --module openrlhf.cli.train_sft --pretrain meta-llama/Meta-Llama-3-8B --train_batch_size 256 --micro_train_batch_size 2 "
    "--zero_stage 3 --bf16 --adam_offload --learning_rate 5e-6 --adam_betas 0.9 0.98 --max_len 4096 --max_epochs 1 --gradient_checkpointing "
    "--packing_samples --lora_rank 64 --lora_alpha 32\n"
)
OPENRLHF = {
    "model.name_or_path": "meta-llama/Meta-Llama-3-8B",
    "deepspeed.zero_optimization.stage": 3,
    "deepspeed.zero_optimization.offload_optimizer.device": "cpu",
    "training.learning_rate": 5e-6,
    "training.adam_beta2": 0.98,
    "training.max_length": 4096,
    "training.packing": True,
    "training.gradient_checkpointing": True,
    "training.lr_scheduler_type": "cosine_with_min_lr",  # the framework's own
    "training.max_grad_norm": 1.0,
    "lora.lora_alpha": 32,
    "derived.compute_dtype": "bfloat16",
    "derived.method": "lora",
    "derived.objective": "sft",
    "derived.effective_batch": 256,
    "derived.zero_stage": 3,
    "derived.deepspeed": True,
}


@pytest.mark.parametrize("command", [DOTTED, FLAT], ids=["dotted", "flat"])
def test_openrlhf_says_the_same_in_both_spellings(command: str, tmp_path: Path) -> None:
    found = world(tmp_path, {"run.sh": command})
    assert {fact: found.value(fact) for fact in OPENRLHF} == OPENRLHF


def test_openrlhf_without_a_rank_trains_every_weight_in_bf16(tmp_path: Path) -> None:
    found = world(tmp_path, {"run.sh": "python -m openrlhf.cli.train_dpo --model.model_name_or_path Qwen/Qwen2.5-7B\n"})
    assert [found.value(f"derived.{name}") for name in ("method", "objective", "compute_dtype", "zero_stage")] == [
        "full",
        "dpo",
        "bfloat16",
        2,
    ]
    assert found.value("training.learning_rate") == 1e-5
    assert found.value("training.beta") == 0.1


def test_before_the_flag_for_the_format_openrlhf_trained_in_the_checkpoint_s_own(tmp_path: Path) -> None:
    found = world(
        tmp_path,
        {"run.sh": "python -m openrlhf.cli.train_sft --pretrain Qwen/Qwen2.5-7B\n"},
        releases=["openrlhf==0.8.9"],
    )
    assert found.value("deepspeed.bf16.enabled") is False


# One run in the words of three generations.
SWIFT = {
    "4.x": "swift sft --model Qwen/Qwen2.5-7B --tuner_type full --torch_dtype bfloat16 --per_device_train_batch_size 2 "
    "--gradient_accumulation_steps 4 --dataset a --learning_rate 1e-5 --max_length 2048 --deepspeed zero3\n",
    "3.x": "swift sft --model Qwen/Qwen2.5-7B --train_type full --torch_dtype bfloat16 --per_device_train_batch_size 2 "
    "--gradient_accumulation_steps 4 --dataset a --learning_rate 1e-5 --max_length 2048 --deepspeed zero3\n",
    "2.x": "swift sft --model_id_or_path Qwen/Qwen2.5-7B --sft_type full --dtype bf16 --batch_size 2 "
    "--gradient_accumulation_steps 4 --dataset a --learning_rate 1e-5 --max_length 2048 --deepspeed default-zero3\n",
    "4.x, a file": "model: Qwen/Qwen2.5-7B\ntuner_type: full\ntorch_dtype: bfloat16\nper_device_train_batch_size: 2\n"
    "gradient_accumulation_steps: 4\ndataset: [a]\nlearning_rate: 1e-5\nmax_length: 2048\ndeepspeed: zero3\n",
}
SWIFT_SAYS = {
    "model.name_or_path": "Qwen/Qwen2.5-7B",
    "training.learning_rate": 1e-5,
    "training.per_device_train_batch_size": 2,
    "training.max_length": 2048,
    "training.logging_steps": 5,
    "derived.method": "full",
    "derived.compute_dtype": "bfloat16",
    "derived.zero_stage": 3,
    "derived.deepspeed": True,
    "derived.objective": "sft",
}


@pytest.mark.parametrize("generation", SWIFT)
def test_every_generation_of_swift_says_the_same(generation: str, tmp_path: Path) -> None:
    name = "run.yaml" if "file" in generation else "run.sh"
    found = world(tmp_path, {name: SWIFT[generation]})
    assert {fact: found.value(fact) for fact in SWIFT_SAYS} == SWIFT_SAYS


LEFT_OUT = {
    "an adapter, and its rate": ("swift sft --model Qwen/Qwen2.5-7B --dataset a\n", {"derived.method": "lora", "training.learning_rate": 1e-4, "lora.r": 8}),
    "every weight, and its rate": ("swift sft --model Qwen/Qwen2.5-7B --dataset a --tuner_type full\n", {"training.learning_rate": 1e-5}),
    "the checkpoint's dtype": ("swift sft --model Qwen/Qwen2.5-7B --dataset a\n", {"training.bf16": True, "training.fp16": False}),
    "fp16 for float32 weights": (
        "swift sft --model Qwen/Qwen2.5-7B --dataset a --torch_dtype float32\n",
        {"training.fp16": True, "derived.compute_dtype": "float16"},
    ),
    "DPO": ("swift rlhf --model Qwen/Qwen2.5-7B --dataset a\n", {"derived.objective": "dpo"}),
    "2.x, pretraining": ("swift pt --model_id_or_path a --dataset a --batch_size 1\n", {"derived.method": "full", "derived.objective": "pretrain"}),
    "4 bits in nf4": (
        "swift sft --model Qwen/Qwen2.5-7B --dataset a --quant_method bnb --quant_bits 4 --torch_dtype bfloat16\n",
        {"derived.method": "qlora", "quantization.bnb_4bit_quant_type": "nf4", "quantization.bnb_4bit_compute_dtype": "bfloat16"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_swift_makes_of_what_is_left_out(command: str, expected: dict[str, object], tmp_path: Path) -> None:
    found = world(tmp_path, {"run.sh": command})
    assert {fact: found.value(fact) for fact in expected} == expected


def test_trl_s_own_checks_are_not_made_by_trainers_that_replace_its_constructors(tmp_path: Path) -> None:
    own = world(tmp_path, {"run.sh": "swift rlhf --rlhf_type kto --model a --dataset b\n"})
    assert own.value("derived.objective") == "kto"
    assert own.value("derived.trl_trainer") is False


def test_deepspeed_chat_trains_in_fp16_unless_told_otherwise(tmp_path: Path) -> None:
    command = "deepspeed main.py --data_split 2,4,4 --model_name_or_path facebook/opt-1.3b --zero_stage 2 --learning_rate 1e-5"
    silent = world(tmp_path / "silent", {"run.sh": command + "\n"})
    told = world(tmp_path / "told", {"run.sh": command + " --dtype bf16 --offload --lora_dim 128\n"})
    assert silent.value("derived.compute_dtype") == "float16"
    assert silent.value("derived.method") == "full"
    assert told.value("derived.compute_dtype") == "bfloat16"
    assert told.value("derived.method") == "lora"
    assert told.value("deepspeed.zero_optimization.offload_param.device") == "cpu"


_COMMON = "--model_name_or_path {model} --data_path d.json --bf16 True --output_dir out --learning_rate 2e-4 --model_max_length 2048 --lazy_preprocess True"
SCRIPTS = {
    "Qwen, an adapter on a quantised checkpoint": (
        "torchrun finetune.py " + _COMMON.format(model="Qwen/Qwen-7B-Chat-Int4") + " --use_lora --q_lora",
        {"derived.method": "qlora", "lora.r": 64, "training.max_length": 2048, "lora.target_modules": ["c_attn", "c_proj", "w1", "w2"]},
    ),
    "Qwen, every weight": ("torchrun finetune.py " + _COMMON.format(model="Qwen/Qwen-7B") + " --use_lora False", {"derived.method": "full"}),
    "FastChat with four bits": (
        "deepspeed train_lora.py " + _COMMON.format(model="lmsys/vicuna-7b-v1.5") + " --lora_r 8 --q_lora True",
        {"derived.method": "qlora", "quantization.bnb_4bit_quant_type": "nf4", "quantization.bnb_4bit_compute_dtype": "bfloat16"},
    ),
    "FastChat without": (
        "deepspeed train_lora.py " + _COMMON.format(model="lmsys/vicuna-7b-v1.5") + " --lora_r 8 --q_lora False",
        {"derived.method": "lora", "lora.lora_alpha": 16},
    ),
    "LLaVA, an adapter in four bits": (
        "deepspeed train.py " + _COMMON.format(model="lmsys/vicuna-7b-v1.5") + " --vision_tower a --lora_enable True --bits 4",
        {"derived.method": "qlora", "quantization.load_in_4bit": True, "quantization.bnb_4bit_compute_dtype": "bfloat16", "lora.r": 64},
    ),
    "LLaVA, the projector alone": (
        "deepspeed train.py " + _COMMON.format(model="lmsys/vicuna-7b-v1.5") + " --vision_tower a --tune_mm_mlp_adapter True",
        {"derived.method": "projector", "model.dtype": "bfloat16"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), SCRIPTS.values(), ids=SCRIPTS)
def test_arguments_that_scripts_add(command: str, expected: dict[str, object], tmp_path: Path) -> None:
    (run,) = runs(tmp_path, {"run.sh": command + "\n"})
    assert run.dialects[0] == "hf-args"
    found = world(tmp_path, {"run.sh": command + "\n"})
    assert {fact: found.value(fact) for fact in expected} == expected


RECIPE = (
    "model_name_or_path: meta-llama/Llama-2-7b-hf\ndataset_name: a\nuse_lora: true\nuse_qlora: true\nlora_rank: 64\nlearning_rate: 1.0e-4\n"
    "max_seq_length: 4096\nwith_tracking: true\ncheckpointing_steps: epoch\nper_device_train_batch_size: 1\n"
)


def test_open_instruct_has_a_loop_of_its_own_with_words_like_trl_s(tmp_path: Path) -> None:
    found = world(tmp_path, {"run.yaml": RECIPE})
    expected = {
        "derived.method": "qlora",
        "training.max_length": 4096,
        "training.weight_decay": 0.0,
        "training.bf16": False,  # TRL's class would switch it on
        "quantization.bnb_4bit_compute_dtype": "bfloat16",
        "lora.lora_alpha": 16,
    }
    assert {fact: found.value(fact) for fact in expected} == expected


HANDBOOK = (
    "model_name_or_path: mistralai/Mistral-7B-v0.1\ndataset_mixer: {a: 1.0}\ndataset_splits: [train]\nbf16: true\nlearning_rate: 2.0e-5\n"
    "max_seq_length: 2048\nattn_implementation: flash_attention_2\nper_device_train_batch_size: 8\ntorch_dtype: bfloat16\n"
)


def test_recipes_of_the_alignment_handbook_are_trl_s(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, {"run.yaml": HANDBOOK})
    assert run.dialects == ("trl",)


def test_flags_of_trl_s_command_win_over_its_file(tmp_path: Path) -> None:
    files = {
        "sft.yaml": "model_name_or_path: Qwen/Qwen2.5-0.5B\ndataset_name: a\nlearning_rate: 1.0e-3\nuse_peft: true\n",
        "run.sh": "trl sft --config sft.yaml --learning_rate 2e-5 --bf16 False\n",
    }
    found = world(tmp_path, files)
    assert found.value("training.learning_rate") == 2e-5
    assert found.value("training.bf16") is False
    assert found.value("derived.method") == "lora"
    assert found.value("derived.objective") == "sft"
