"""A file that is named and was not read may say anything: nothing of what it would say counts as absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.run.fact import is_unknown
from tests.runs import inspected, rules, world

PLAIN = (
    "--model_name_or_path Qwen/Qwen2.5-72B --learning_rate 1e-5 --per_device_train_batch_size 4 --output_dir o --bf16"
)
CARDS = "compute_environment: LOCAL_MACHINE\ndistributed_type: {}\nnum_machines: 1\nnum_processes: 8\n"
PLAIN_CARDS = CARDS.format("MULTI_GPU")
DEEPSPEED = "deepspeed_config:\n  deepspeed_config_file: {}\n"
PROGRAM = """from transformers import Trainer, TrainingArguments
args = TrainingArguments(output_dir="o", deepspeed={})
Trainer(model=model, args=args, train_dataset=rows).train()
"""

# What names the file, where it is not at hand and where its name is not known, and a fact that it may state.
NAMED = {
    "the trainer's flag": ("accelerate launch --config_file a.yaml t.py --deepspeed {} " + PLAIN, PLAIN_CARDS, "deepspeed.zero_optimization.stage"),
    "accelerate's file": ("accelerate launch --config_file a.yaml t.py " + PLAIN, CARDS.format("DEEPSPEED") + DEEPSPEED, "deepspeed.zero_optimization.stage"),
    "accelerate's flag": ("accelerate launch --use_deepspeed --deepspeed_config_file {} t.py " + PLAIN, "", "deepspeed.zero_optimization.stage"),
    "the launcher's flag": ("accelerate launch --config_file {} t.py " + PLAIN, "", "deepspeed.zero_optimization.stage"),
    "the trainer's FSDP file": ("torchrun t.py --fsdp full_shard --fsdp_config {} " + PLAIN, "", "fsdp.offload_params"),
}  # fmt: skip
LOST = ("conf/gone.json", "$OURS", "$OURS/ds.json")


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("how", NAMED)
def test_what_it_would_say_is_not_known(tmp_path: Path, how: str, lost: str) -> None:
    command, file, fact = NAMED[how]
    lost = lost if "{}" in command else lost.replace("$OURS", "${OURS}")  # as a template has it
    files = {"run.sh": command.format(lost) + "\n", **({"a.yaml": file.format(lost)} if file else {})}
    found = world(tmp_path, files)
    assert is_unknown(found.value(fact))
    report = inspected(tmp_path, files, gpus=["A100-80GB x8"])
    assert not rules(report, "error") & {"deepspeed-batch-missing", "deepspeed-without-zero-block"}
    assert not rules(report, "error", "warning") & {"training-state-exceeds-card", "deepspeed-batch-missing"}


@pytest.mark.parametrize("value", ["'gone.json'", "ask()", "args.deepspeed"])
def test_a_program_may_name_it_as_well(tmp_path: Path, value: str) -> None:
    assert is_unknown(world(tmp_path, {"t.py": PROGRAM.format(value)}).value("deepspeed.zero_optimization.stage"))


@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_was_read_says_it_all(tmp_path: Path, there: bool) -> None:
    command, file, _ = NAMED["the trainer's flag"]
    files = {"run.sh": command.format("ds.json") + "\n", "a.yaml": file} | (
        {"ds.json": '{"fp16": {"enabled": false}}'} if there else {}
    )
    found = inspected(tmp_path, files)
    assert ("deepspeed-batch-missing" in rules(found, "error") | rules(found, "warning")) is there
