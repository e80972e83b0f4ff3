"""Hydra programs: words behind the program, the file of the decorator, its groups, and what a command chooses of them."""

from __future__ import annotations

import pytest

from stablint.hazard.checked import Checked
from stablint.run.fact import is_unknown
from stablint.run.world import World
from tests.runs import inspected, rules

TRAIN = """import hydra
from src.pipeline import train
@hydra.main(version_base=None, config_path="configs", config_name="main")
def main(config):
    train(config)
main()
"""
MAIN = """defaults:
  - _self_
  - model: qwen
  - peft: lora
  - training: args
lr: 1e-5
batch_size: 4
gradient_accumulation_steps: 2
epochs: 3
use_bf16: true
"""
GROUPS = {
    "configs/model/qwen.yaml": "model_name_or_path: Qwen/Qwen2.5-7B\n",
    "configs/model/llama.yaml": "model_name_or_path: meta-llama/Llama-3.1-8B\n",
    "configs/peft/lora.yaml": "_target_: peft.LoraConfig\nr: 8\nlora_alpha: 16\n",
    "configs/peft/none.yaml": "enabled: false\n",
    "configs/training/args.yaml": "_target_: transformers.TrainingArguments\nlearning_rate: ${lr}\nper_device_train_batch_size: ${batch_size}\n"
    "num_train_epochs: ${epochs}\nwarmup_ratio: 0.1\nlr_scheduler_type: cosine\nbf16: ${use_bf16}\n",
    "configs/training/embeddings.yaml": "_target_: sentence_transformers.SentenceTransformerTrainingArguments\nlearning_rate: ${lr}\n"
    "per_device_train_batch_size: ${batch_size}\nnum_train_epochs: 1\nwarmup_ratio: 0.2\n",
}
FILES = {"train.py": TRAIN, "configs/main.yaml": MAIN, **GROUPS}


def run_of(tmp_path, files: dict[str, str], first: str) -> World:
    (tmp_path / ".git").mkdir(exist_ok=True)
    found = inspected(tmp_path, files)
    assert not rules(found, "error")
    return Checked(next(run for run in found.runs if run.files[0] == first)).newest


# The command, a fact, and its value ("?": not known).
COMMANDS = [
    ("python train.py lr=3e-5 batch_size=16 gradient_accumulation_steps=1 epochs=2", "training.learning_rate", 3e-5),
    (
        "python train.py lr=3e-5 batch_size=16 gradient_accumulation_steps=1 epochs=2",
        "training.per_device_train_batch_size",
        16,
    ),
    (
        "python train.py lr=3e-5 batch_size=16 gradient_accumulation_steps=1 epochs=2",
        "model.name_or_path",
        "Qwen/Qwen2.5-7B",
    ),
    ("python train.py lr=3e-5 batch_size=16 gradient_accumulation_steps=1 epochs=2", "training.warmup_ratio", 0.1),
    ("python train.py lr=3e-5 batch_size=16 gradient_accumulation_steps=1 epochs=2", "lora.r", 8),
    ("python train.py lr=3e-5 batch_size=16 gradient_accumulation_steps=1 epochs=2", "derived.method", "lora"),
    (
        "python train.py lr=3e-5 batch_size=16 gradient_accumulation_steps=1 model=llama",
        "model.name_or_path",
        "meta-llama/Llama-3.1-8B",
    ),
    ("python train.py lr=3e-5 batch_size=16 gradient_accumulation_steps=1 peft=none", "lora.r", "?"),
    ("python train.py lr=3e-5 batch_size=16 gradient_accumulation_steps=1 peft=none", "derived.method", "full"),
    (
        "python train.py lr=3e-5 batch_size=16 gradient_accumulation_steps=1 model=$MODEL",
        "model.name_or_path",
        "?",
    ),
    (
        "python train.py lr=3e-5 batch_size=16 gradient_accumulation_steps=1 training=embeddings",
        "derived.objective",
        "embeddings",
    ),
    ("python train.py lr=$LR batch_size=16 gradient_accumulation_steps=1 epochs=2", "training.learning_rate", "?"),
    (
        "python train.py optim.lr=3e-5 train.batch_size=16 train.gradient_accumulation_steps=1",
        "training.learning_rate",
        3e-5,
    ),
    (
        "python train.py model.lr=3e-5 data.batch_size=16 +gradient_accumulation_steps=1 epochs=7",
        "training.num_train_epochs",
        7,
    ),
]


@pytest.mark.parametrize(("command", "fact", "value"), COMMANDS)
def test_words_of_a_command_and_the_groups_of_the_programs_file(tmp_path, command, fact, value):
    run = run_of(tmp_path, {**FILES, "run.sh": command + "\n"}, "run.sh")
    found = run.fact(fact)
    assert ("?" if is_unknown(found.value) else found.value) == value
    assert is_unknown(found.value) or found.presumed


def test_the_file_itself_with_its_groups(tmp_path):
    run = run_of(tmp_path, FILES, "configs/main.yaml")
    facts = (
        "training.learning_rate",
        "training.per_device_train_batch_size",
        "lora.r",
        "training.warmup_ratio",
        "model.name_or_path",
    )
    assert [run.value(fact) for fact in facts] == [1e-5, 4, 8, 0.1, "Qwen/Qwen2.5-7B"]
    assert all(run.fact(fact).presumed for fact in facts)


# Lists that name no file here, or none that is plain.
DEFAULTS = [
    "- peft: ???",
    "- peft: null",
    "- peft: missing",
    "- peft: ${oc.env:PEFT}",
    "- optional peft: missing",
    "- peft: [a, b]",
]


@pytest.mark.parametrize("entry", DEFAULTS)
def test_a_group_that_is_not_at_hand_says_nothing(tmp_path, entry):
    main = MAIN.replace("- peft: lora", entry)
    run = run_of(tmp_path, {**FILES, "configs/main.yaml": main}, "configs/main.yaml")
    assert is_unknown(run.value("lora.r")) and run.value("derived.method") == "unknown"


def test_other_trainings_with_such_words_are_none_of_ours(tmp_path):
    assert (
        inspected(
            tmp_path, {"run.sh": "python train.py model.lr=0.1 data.batch_size=128 trainer.max_epochs=200\n"}
        ).runs
        == ()
    )


def test_numbers_are_read_as_omegaconf_reads_them(tmp_path):
    engine = (
        "train_micro_batch_size_per_gpu: ${batch_size}\nzero_optimization:\n  stage: 2\n  reduce_bucket_size: 5e8\n"
    )
    main = MAIN.replace("- peft: lora", "- deepspeed: ds")
    files = {**FILES, "configs/main.yaml": main, "configs/deepspeed/ds.yaml": engine}
    run = run_of(tmp_path, files, "configs/main.yaml")
    assert run.value("deepspeed.zero_optimization.reduce_bucket_size") == 5e8
    assert not rules(inspected(tmp_path, {"alone.yaml": engine}), "error")


UPLOADS = """import hydra
from huggingface_hub import HfApi
@hydra.main(version_base=None, config_path="configs", config_name="main")
def upload(config):
    HfApi().upload_folder(repo_id=config.repo, folder_path=config.out)
upload()
"""


def test_a_program_that_uses_the_same_file_and_trains_nothing_is_no_run(tmp_path):
    files = {**FILES, "upload.py": UPLOADS, "run.sh": "python upload.py lr=1e-5 batch_size=4\n"}
    (tmp_path / ".git").mkdir()
    assert not [run for run in inspected(tmp_path, files).runs if run.files[0] == "run.sh"]


ENGINES = {
    "verl/trainer/main_ppo.py": "import hydra\nfrom verl.trainer import train\n@hydra.main(config_path='config', config_name='ppo_trainer')\n"
    "def main(config):\n    train(config)\nmain()\n",
    "verl/trainer/config/ppo_trainer.yaml": "actor_rollout_ref:\n  actor:\n    use_dynamic_bsz: false\n    ppo_micro_batch_size_per_gpu: 4\n",
    "verl/trainer/config/other_trainer.yaml": "actor_rollout_ref:\n  actor:\n    use_dynamic_bsz: false\n    ppo_micro_batch_size_per_gpu: null\n",
    "verl/trainer/plans/ppo_trainer.yaml": "actor_rollout_ref:\n  actor:\n    use_dynamic_bsz: false\n    ppo_micro_batch_size_per_gpu: null\n",
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "twice"),
    [
        ("", True),
        ("--config-name=ppo_trainer", True),
        ("--config-name other_trainer", False),
        ("--config-name=other_trainer.yaml", False),
        ("--config-path=./config --config-name='other_trainer'", False),
        ("--config-path=./config", True),
        ("--config-path plans", False),
        ("--config-path=/elsewhere", False),
        ("--config-dir=more --config-name=ppo_trainer", False),  # either folder may hold it
    ],
)
def test_the_file_that_a_command_of_verl_names_is_the_one_that_is_read(tmp_path, words, twice):
    command = f"python3 -m verl.trainer.main_ppo {words} data.train_files=a.parquet data.train_batch_size=128 "
    command += "actor_rollout_ref.actor.ppo_micro_batch_size=32 actor_rollout_ref.actor.optim.lr=1e-6\n"
    (tmp_path / ".git").mkdir()
    found = rules(inspected(tmp_path, {"run.sh": command, **ENGINES}), "error", "warning")
    assert ("verl-micro-batch-twice" in found) is twice
